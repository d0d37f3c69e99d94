use super::*;

#[test]
fn texts_of_one_request_share_the_value_budget() {
    let text = format!("[{}]", vec!["{\"a\":0}"; 2_000].join(","));
    let read = |mut json: EmbeddedJson| [(); 4].map(|()| json.read(&text).is_some());
    assert_eq!(read(EmbeddedJson::of_request()), [true, true, false, false]);
    assert_eq!(read(EmbeddedJson::of_stream()), [true; 4]);
}

#[test]
fn invalid_json_uses_no_budget() {
    let mut json = EmbeddedJson::of_request();
    let broken = format!("[{}", vec!["0"; 8_000].join(","));
    assert_eq!(json.read(&broken), None);
    assert!(json.read(&format!("{broken}]")).is_some());
}
