use serde_json::json;

use super::*;

#[test]
fn any_value_becomes_the_text_of_javascript() {
    for (json, expected) in [
        (r#""a\nb""#, "a\nb"),
        ("null", "null"),
        ("true", "true"),
        ("-3", "-3"),
        ("0.5", "0.5"),
        ("2.0", "2"),
        ("{\"a\":1}", "[object Object]"),
        ("[1,null,[\"x\",{}]]", "1,,x,[object Object]"),
    ] {
        assert_eq!(text(&mut serde_json::Deserializer::from_str(json)).unwrap(), expected, "{json}");
    }
}

#[test]
fn any_value_can_be_spread() {
    assert_eq!(Value::Object(spread(json!(["x", 1]))), json!({ "0": "x", "1": 1 }));
    assert_eq!(Value::Object(spread(json!("ab"))), json!({ "0": "a", "1": "b" }));
    assert_eq!(Value::Object(spread(json!({ "a": null }))), json!({ "a": null }));
    assert!(spread(json!(7)).is_empty());
}
