use super::*;

#[test]
fn null_output_differs_from_no_output() {
    let read = |json: &str| serde_json::from_str::<ToolPart>(json).unwrap();
    let null = r#"{"call":"c","name":"n","state":"output-available","executor":"server","output":null}"#;
    assert_eq!(read(null).output, Some(Value::Null));
    assert_eq!(serde_json::to_string(&read(null)).unwrap(), null);
    assert_eq!(read(&null.replace(r#","output":null"#, "")).output, None);
}
