//! The scanner of JSON text against values that `serde_json` parses from the same text.

use headwater_json::{InputLimits, LimitKind};
use serde_json::Value;

use crate::generate::{Random, document};

fn unlimited() -> InputLimits {
    let mut limits = InputLimits::default();
    (limits.depth, limits.values) = (usize::MAX, usize::MAX);
    (limits.string, limits.key, limits.text) = (usize::MAX, usize::MAX, usize::MAX);
    limits
}

/// The exact size of a value in each dimension, counted by an independent method: a flat list of all its
/// parts.
fn extent(value: &Value) -> InputLimits {
    let mut extent = unlimited();
    (extent.depth, extent.values, extent.string, extent.key, extent.text) = (0, 0, 0, 0, 0);
    let mut open = vec![(value, 0)];
    while let Some((value, around)) = open.pop() {
        extent.values += 1;
        match value {
            Value::Array(items) => {
                extent.depth = extent.depth.max(around + 1);
                open.extend(items.iter().map(|item| (item, around + 1)));
            }
            Value::Object(fields) => {
                extent.depth = extent.depth.max(around + 1);
                for (key, value) in fields {
                    extent.key = extent.key.max(key.len());
                    extent.text += key.len();
                    open.push((value, around + 1));
                }
            }
            Value::String(text) => {
                extent.string = extent.string.max(text.len());
                extent.text += text.len();
            }
            _ => {}
        }
    }
    extent
}

/// The limits with each dimension in turn lowered by one.
fn lowered(limits: InputLimits) -> Vec<(LimitKind, InputLimits)> {
    let mut all = Vec::new();
    for kind in [LimitKind::Depth, LimitKind::Values, LimitKind::String, LimitKind::Key, LimitKind::Text] {
        let mut lower = limits;
        let field = match kind {
            LimitKind::Depth => &mut lower.depth,
            LimitKind::Values => &mut lower.values,
            LimitKind::String => &mut lower.string,
            LimitKind::Key => &mut lower.key,
            _ => &mut lower.text,
        };
        if *field > 0 {
            *field -= 1;
            all.push((kind, lower));
        }
    }
    all
}

/// Text and value get the same verdict, exactly at the limits and one below each of them.
fn assert_same_verdict(text: &str) {
    let value: Value = serde_json::from_str(text).unwrap();
    let exact = extent(&value);
    assert_eq!(exact.check(text.as_bytes()), Ok(()), "{text}");
    assert_eq!(exact.check_value(&value), Ok(()), "{text}");
    if let Value::Object(object) = &value {
        assert_eq!(exact.check_object(object), Ok(()), "{text}");
    }
    for (kind, lower) in lowered(exact) {
        let of_text = lower.check(text.as_bytes()).unwrap_err();
        let of_value = lower.check_value(&value).unwrap_err();
        assert_eq!((of_text.kind(), of_value.kind()), (kind, kind), "{text}");
        assert_eq!(of_text.limit(), of_value.limit(), "{text}");
    }
}

/// A repeated key counts twice in the text but once in the value.
fn has_repeated_keys(text: &str) -> bool {
    let value: Value = serde_json::from_str(text).unwrap();
    let mut roomy = unlimited();
    roomy.values = extent(&value).values;
    roomy.check(text.as_bytes()).is_err()
}

#[test]
fn text_and_value_get_the_same_verdict() {
    for text in [
        "0",
        "null",
        r#""""#,
        "[]",
        "{}",
        " [ ] ",
        r#"{"":""}"#,
        r#"{"a":[{"b":"\u00e9\ud83d\ude00\u0041\u0800\n\"\\\/"},-1.5e3,true,false,null]}"#,
        r#"{"\u00e9\ud83d\ude00" : "x" , "b"	:
["y","z"]}"#,
        r#"["a:b","{[","]}"]"#,
        r#"["\\","\\\"",":"]"#,
    ] {
        assert_same_verdict(text);
    }
    let mut judged = 0;
    for seed in 0..3_000 {
        let text = document(&mut Random::new(seed));
        if !has_repeated_keys(&text) {
            assert_same_verdict(&text);
            judged += 1;
        }
    }
    assert!(judged > 1_000, "only {judged} documents without a repeated key");
}

#[test]
fn depth_is_counted_exactly() {
    let limits = InputLimits::default();
    for depth in 1..=200 {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let text = format!("{}0{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(limits.check(text.as_bytes()).is_ok(), depth <= limits.depth, "{depth}");
        }
        let value = (0..depth).fold(Value::Null, |value, _| Value::Array(vec![value]));
        assert_eq!(limits.check_value(&value).is_ok(), depth <= limits.depth, "{depth}");
    }
}

#[test]
fn refusal_names_the_location_briefly() {
    let mut limits = InputLimits::default();
    limits.key = 3;
    let text = r#"{"a":{"long":1}}"#;
    assert_eq!(
        limits.check(text.as_bytes()).unwrap_err().to_string(),
        "a key of more than 3 bytes, at byte 6"
    );
    let value: Value = serde_json::from_str(text).unwrap();
    let refused = limits.check_value(&value).unwrap_err();
    assert_eq!(refused.to_string(), "a key of more than 3 bytes, at /a/long");

    let long = "k".repeat(1 << 20);
    let value = (0..100).fold(Value::Null, |value, _| serde_json::json!({ "\n": value }));
    let value = serde_json::json!({ long: value });
    let refused = unlimited_but_depth().check_value(&value).unwrap_err();
    assert!(refused.to_string().len() < 200, "{refused}");
    assert!(!refused.to_string().contains('\n'), "{refused}");
}

fn unlimited_but_depth() -> InputLimits {
    let mut limits = unlimited();
    limits.depth = 64;
    limits
}

#[test]
fn scan_never_panics_on_any_bytes() {
    const ALPHABET: &[u8] = b"{}[]\",:\\ud8a0123 \n\xF0\x9F\x98\x80\xFF\x00";
    for seed in 0..20_000 {
        let random = &mut Random::new(seed);
        let bytes: Vec<_> = (0..random.below(24)).map(|_| *random.pick(ALPHABET)).collect();
        let _ = InputLimits::default().check(&bytes);
    }
}

#[test]
fn scanning_allocates_nothing() {
    let text = format!("[{}]", vec![r#"{"a":"b\n"}"#; 10_000].join(","));
    let counted = allocation_counter::measure(|| InputLimits::default().check(text.as_bytes()).unwrap());
    assert_eq!(counted.count_total, 0);
}

/// `serde_json` would parse the string behind this key as JSON, where the scan has not looked.
#[test]
fn key_that_hides_json_in_a_string_is_refused() {
    let hidden = format!(r#"{{"$serde_json::private::RawValue":"{}{}"}}"#, "[".repeat(100), "]".repeat(100));
    let escaped = hidden.replace('$', r"\u0024");
    for text in [&hidden, &escaped] {
        assert!(
            serde_json::from_str::<Value>(text).unwrap().is_array(),
            "serde_json does not parse it any more"
        );
        let refused = InputLimits::default().check(text.as_bytes()).unwrap_err();
        assert_eq!((refused.kind(), refused.kind().code()), (LimitKind::ReservedKey, "reserved-key"));
    }
    // The key is plain if it is not the first, but it would become the first if the other key were removed.
    let second: Value = serde_json::from_str(r#"{"a":1,"$serde_json::private::RawValue":"[1]"}"#).unwrap();
    assert_eq!(InputLimits::default().check_value(&second).unwrap_err().kind(), LimitKind::ReservedKey);
}
