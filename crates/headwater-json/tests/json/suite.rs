//! Texts that must be accepted or refused, modelled on the JSON parsing test suite.

use headwater_json::{Completion, ErrorKind, Options, PartialValue};
use serde_json::Value;

const ACCEPTED: &[&str] = &[
    "[]",
    "{}",
    "[[]]",
    "[{}]",
    "{\"a\":[]}",
    " [] ",
    "\t[\n]\r\n",
    "[null]",
    "[true,false]",
    "\"\"",
    "0",
    "-0",
    "12",
    "-1",
    "null",
    "true",
    "false",
    "[1]",
    "[1 ]",
    "[ 1]",
    "[1,2]",
    "[1 , 2]",
    "[0]",
    "[-0]",
    "[-1]",
    "[0.5]",
    "[-0.0]",
    "[1.5e3]",
    "[1E3]",
    "[1e+3]",
    "[1e-3]",
    "[0e1]",
    "[0e+1]",
    "[0E+1]",
    "[123e65]",
    "[123.456e78]",
    "[20e1]",
    "[1e-400]",
    "[123123123123123123123123]",
    "[-123123123123123123123123]",
    "[0.000000000000000000000000000000000000001]",
    "[1.7976931348623157e308]",
    r#"["a"]"#,
    r#"["\"\\\/\b\f\n\r\t"]"#,
    r#"["A"]"#,
    r#"["é"]"#,
    r#"["é"]"#,
    r#"["😀"]"#,
    r#"["🤨"]"#,
    r#"["￿"]"#,
    r#"["﷐"]"#,
    r#"["\u0000"]"#,
    r#"["\u005C"]"#,
    r#"["\u2028 "]"#,
    "[\"\u{2028}\u{2029}\"]",
    "[\"\u{7f}\"]",
    "[\"\u{FEFF}\"]",
    "[\"😀日本語é\"]",
    r#"{"":0}"#,
    r#"{"a":1,"b":2}"#,
    r#"{"a":1,"a":2}"#,
    r#"{"\u0061":1}"#,
    r#"{"é":{"😀":[]}}"#,
    r#"{"a":"b","c":{"d":[1,{"e":null}]}}"#,
    "[\"/\"]",
    r#"["\/"]"#,
    "[1,null,2]",
    "[\"a\" , \"b\"]",
    "[[[[[[]]]]]]",
    r#"{"__proto__":1}"#,
    "\"\\ud834\\udd1e\"",
    "[\"asd\"]",
    "[ \"x\" ]",
    "{ \"a\" : 1 }",
    r#"["\u0041\u00e9\uFFFF\ufdd0"]"#,
    r#"["\ud83d\ude00\uD83E\uDD28"]"#,
];

const REFUSED: &[&str] = &[
    "[",
    "]",
    "{",
    "}",
    "[1,]",
    "[,1]",
    "[,]",
    "[1,,2]",
    "[1 2]",
    "[1}",
    "{]",
    "{\"a\":1]",
    "{,}",
    "{\"a\":1,}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\" 1}",
    "{\"a\"::1}",
    "{a:1}",
    "{'a':1}",
    "{1:1}",
    "{null:1}",
    "{\"a\":1 \"b\":2}",
    "{\"a\":1,,\"b\":2}",
    "{\"a\",\"b\"}",
    "{\"a\":1;\"b\":2}",
    "[01]",
    "[-01]",
    "[00]",
    "[-]",
    "[+1]",
    "[.5]",
    "[5.]",
    "[-.5]",
    "[1.e3]",
    "[1e]",
    "[1e+]",
    "[1ee3]",
    "[1.2.3]",
    "[1 000]",
    "[0x1]",
    "[1_000]",
    "[--1]",
    "[-a]",
    "[1a]",
    "[NaN]",
    "[Infinity]",
    "[-Infinity]",
    "[nan]",
    "[True]",
    "[TRUE]",
    "[nul]",
    "[tru]",
    "[fals]",
    "[nulll]",
    "[truefalse]",
    "[null null]",
    "nulx",
    "tru e",
    "[\"a]",
    "[a]",
    "['a']",
    "[\"a\"",
    "[\"\t\"]",
    "[\"\n\"]",
    "[\"\u{0}\"]",
    "[\"\u{1f}\"]",
    r#"["\x"]"#,
    r#"["\a"]"#,
    r#"["\'"]"#,
    r#"["\0"]"#,
    r#"["\u"]"#,
    r#"["\u1"]"#,
    r#"["\u12"]"#,
    r#"["\u123"]"#,
    r#"["\u123g"]"#,
    r#"["\U0041"]"#,
    r#"["\ "]"#,
    r#"["\"]"#,
    r#"["\ud83d"]"#,
    r#"["\ud83dx"]"#,
    r#"["\ud83d\n"]"#,
    r#"["\ud83d\u0041"]"#,
    r#"["\ud83d\ud83d"]"#,
    r#"["\ude00"]"#,
    r#"["\ude00\ud83d"]"#,
    r#"["\ud83d\u"]"#,
    "[1e400]",
    "[-1e400]",
    "[1e99999]",
    "[1]x",
    "[1] x",
    "[1][2]",
    "{}{}",
    "[]]",
    "{}}",
    "1 2",
    "1x",
    "1.2.3",
    "01",
    "nulll",
    "\"a\"b",
    "// c\n[]",
    "/* c */[]",
    "[1/* c */]",
    "[1]#",
    "\u{FEFF}[]",
    "\u{a0}[]",
    "[\u{a0}1]",
    "[\u{c}1]",
    "[\u{b}1]",
    "[1\u{2028}]",
    "<html>",
    "",
    " ",
    "\"",
    "-",
    "\\",
    "$",
    "[\u{ff11}]",
    "undefined",
    "[undefined]",
    "{\"a\":undefined}",
    "[(1)]",
    "[1:2]",
    "{\"a\":1:2}",
    "*",
    "[*]",
    "[\"a\":1]",
];

fn verdict(bytes: &[u8], size: usize) -> Result<Value, headwater_json::Error> {
    let mut value = PartialValue::new();
    for piece in bytes.chunks(size) {
        value.push_bytes(piece)?;
    }
    value.into_value()
}

#[test]
fn valid_texts_are_accepted() {
    for text in ACCEPTED {
        let expected: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        for size in [1, 2, 1_000] {
            assert_eq!(verdict(text.as_bytes(), size), Ok(expected.clone()), "{text}");
        }
    }
}

#[test]
fn invalid_texts_are_refused() {
    for text in REFUSED {
        assert!(serde_json::from_str::<Value>(text).is_err(), "serde_json accepts {text}");
        let whole = verdict(text.as_bytes(), 1_000).expect_err(text);
        assert_eq!(verdict(text.as_bytes(), 1), Err(whole), "{text}");
    }
}

#[test]
fn invalid_utf_8_is_refused_at_its_offset() {
    let table: &[(&[u8], u64)] = &[
        (b"[\"\xFF\"]", 2),
        (b"[\"\xC0\xAF\"]", 2),
        (b"[\"a\xE2\x82\"]", 3),
        (b"[\"\xED\xA0\x80\"]", 2),
        (b"[\"\xF4\x90\x80\x80\"]", 2),
        (b"[\"\x80\"]", 2),
        (b"\xFF[]", 0),
        (b"[\xE2\x82\xAC]", 1),
        (b"{\"\xF0\x9F\x98x\":1}", 2),
        (b"[\"\\\xE6\x97\xA5\"]", 3),
        (b"[\"\\\xE6", 3),
    ];
    for (bytes, offset) in table {
        for size in [1, 2, 3, 1_000] {
            let error = verdict(bytes, size).unwrap_err();
            assert_eq!(error.offset(), *offset, "{bytes:?} by {size}: {error}");
        }
    }
}

#[test]
fn incomplete_text_is_truncated_and_wrong_text_is_invalid() {
    let text = r#"{"a": [1.5e3, "é\u00e9\ud83d\ude00", true], "b": {"c": null}}"#;
    for end in 0..text.len() {
        let mut value = PartialValue::new();
        value.push_bytes(&text.as_bytes()[..end]).unwrap();
        let Completion::Truncated(error) = value.finish() else { panic!("{}", &text[..end]) };
        assert_eq!(error.offset(), end as u64);
        assert_eq!(error.kind(), ErrorKind::Truncated);

        let mut value = PartialValue::new();
        value.push_bytes(&text.as_bytes()[..end]).unwrap();
        if value.push_bytes(b"\x01").is_err() {
            assert!(matches!(value.finish(), Completion::Invalid(error) if error.offset() <= end as u64));
        } else {
            panic!("a control character may stand nowhere: {}", &text[..end]);
        }
    }
}

#[test]
fn errors_name_position_and_cause() {
    let table = [
        ("{\n  \"a\" 1}", "expected a colon, found `1`, at line 2 column 7"),
        ("[1\r\n 2]", "expected a comma or the end of the array, found `2`, at line 2 column 2"),
        ("{1}", "expected a key or the end of the object, found `1`, at line 1 column 2"),
        ("[1,]", "expected a value, found `]`, at line 1 column 4"),
        ("[-x]", "expected a digit, found `x`, at line 1 column 3"),
        ("[\"\u{1}\"]", "unescaped control character in a string, at line 1 column 3"),
        (r#"["\q"]"#, "invalid escape, at line 1 column 4"),
        ("[1e999]", "the number is out of range for a 64-bit float, at line 1 column 7"),
        ("[] []", "unexpected text after the value, at line 1 column 4"),
        ("\u{e9}", "expected a value, found a non-ASCII character, at line 1 column 1"),
        ("{\"a\":{\"b", "the text ends within a key, at line 1 column 9"),
    ];
    for (text, message) in table {
        assert_eq!(verdict(text.as_bytes(), 2).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn limits_hold_however_the_text_is_split() {
    let mut options = Options::default();
    options.limits.max_bytes = 6;
    options.limits.max_depth = 2;
    for (text, kind, offset) in [
        ("[1,2,3,4]", ErrorKind::TooLarge, 6),
        ("\"abcdé\"", ErrorKind::TooLarge, 6),
        ("[[[]]]", ErrorKind::TooDeep, 2),
    ] {
        for size in [1, 4, 1_000] {
            let mut value = PartialValue::with(options);
            let error = text.as_bytes().chunks(size).find_map(|piece| value.push_bytes(piece).err()).unwrap();
            assert_eq!((error.kind(), error.offset()), (kind, offset), "{text} by {size}");
        }
    }
    options.limits.max_bytes = 2;
    options.trailing = headwater_json::Trailing::Ignore;
    let mut value = PartialValue::with(options);
    value.push("[]").unwrap();
    // Ignored text after the value does not count towards the limit.
    assert!(value.push("x").is_err() || value.is_complete());
}
