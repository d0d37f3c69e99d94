//! Rules of field extraction, one by one.

use headwater_json::{FieldKind, Options};
use serde_json::Value;

use crate::reduce::{OwnedChunk, build, extract};

/// The chunks of a document split into pieces of one size, formatted one per line.
fn lines(fields: &[&str], text: &str, size: usize) -> Vec<String> {
    let fields: Vec<(FieldKind, String)> = fields
        .iter()
        .map(|field| {
            let (kind, path) = field.split_once(' ').unwrap();
            (kind.parse().unwrap(), path.to_owned())
        })
        .collect();
    let (chunks, verdict) = extract(&build(&fields), Options::default(), text.as_bytes().chunks(size));
    assert_eq!(verdict, Ok(()), "{text}");
    let line = |chunk: &OwnedChunk| match chunk {
        OwnedChunk::Set(path, Some(value)) => format!("{path} = {value}"),
        OwnedChunk::Set(path, None) => format!("{path} unset"),
        OwnedChunk::Text(path, delta) => format!("{path} += {delta}"),
        OwnedChunk::Append(path, items) => format!("{path} ++ {}", Value::from(items.clone())),
    };
    chunks.iter().map(line).collect()
}

#[test]
fn fields_are_emitted_in_document_order() {
    let table: &[(&[&str], &str, &[&str])] = &[
        (&["set a"], r#"{"b":1,"a":{"x":[1]},"c":2}"#, &[r#"a = {"x":[1]}"#]),
        (
            &["append c", "text-delta b", "set a"],
            r#"{"a":true,"b":"x\ny","c":[1,"z"]}"#,
            &["a = true", "b += x\ny", r#"c ++ [1,"z"]"#],
        ),
        (&["set a.b.c"], r#"{"a":{"b":{"c":null}}}"#, &["a.b.c = null"]),
        // Indexes, and keys made of digits.
        (&["set a.1"], r#"{"a":[5,6,7]}"#, &["a.1 = 6"]),
        (&["set a.1"], r#"{"a":{"1":5,"2":6}}"#, &["a.~:1 = 5"]),
        (&["set a.~:1"], r#"{"a":[5,6]}"#, &[]),
        (&["set a.01"], r#"{"a":[5,6]}"#, &[]),
        (&["set a.01"], r#"{"a":{"01":5}}"#, &["a.~:01 = 5"]),
        (&["set 0"], "[7,8]", &["0 = 7"]),
        // Wildcards.
        (
            &["set *"],
            r#"{"x.y":1,"":2,"0":3,"~1":4,"*":5}"#,
            &["x~1y = 1", "~: = 2", "~:0 = 3", "~01 = 4", "* = 5"],
        ),
        (&["set ~2"], r#"{"a":1,"*":2}"#, &["* = 2"]),
        (&["set x~1y"], r#"{"x.y":1,"x":{"y":2}}"#, &["x~1y = 1"]),
        (&["set ~:"], r#"{"":1}"#, &["~: = 1"]),
        (
            &["text-delta rows.*.t"],
            r#"{"rows":[{"t":"a"},{"u":1},{"t":"b"}]}"#,
            &["rows.0.t += a", "rows.2.t += b"],
        ),
        (&["text-delta *.*.t"], r#"{"r":{"k":{"t":"a"}}}"#, &["r.k.t += a"]),
        (&["set a.*", "set *.b"], r#"{"a":{"b":1,"c":2},"d":{"b":3}}"#, &["a.b = 1", "a.c = 2", "d.b = 3"]),
        // A value of the wrong type.
        (&["text-delta a", "append a"], r#"{"a":12}"#, &[]),
        (&["text-delta a", "append a"], r#"{"a":"x"}"#, &["a += x"]),
        (&["text-delta a", "append a"], r#"{"a":[1]}"#, &["a ++ [1]"]),
        // Empty values are emitted.
        (
            &["text-delta a", "append b", "set c"],
            r#"{"a":"","b":[],"c":{}}"#,
            &["a += ", "b ++ []", "c = {}"],
        ),
        // Several kinds at one path: growing kinds come before `set`.
        (&["set a", "append a"], r#"{"a":[1]}"#, &["a ++ [1]", "a = [1]"]),
        (&["set a", "text-delta a"], r#"{"a":"x"}"#, &["a += x", r#"a = "x""#]),
        (&["set a", "set a.b"], r#"{"a":{"b":[1]}}"#, &["a.b = [1]", r#"a = {"b":[1]}"#]),
        // An item that nested fields have created is not appended.
        (
            &["append rows", "text-delta rows.*.t"],
            r#"{"rows":[{"t":"a"},{"u":1},2]}"#,
            &["rows.0.t += a", r#"rows.0 = {"t":"a"}"#, r#"rows ++ [{"u":1},2]"#],
        ),
        (&["append a", "set a.1"], r#"{"a":[5,6,7]}"#, &["a ++ [5]", "a.1 = 6", "a ++ [7]"]),
        (
            &["append a", "append a.*"],
            r#"{"a":[[1],[],3]}"#,
            &["a.0 ++ [1]", "a.0 = [1]", "a.1 ++ []", "a.1 = []", "a ++ [3]"],
        ),
        // Repeated keys.
        (&["set a"], r#"{"a":1,"a":2}"#, &["a = 1", "a = 2"]),
        (&["text-delta a"], r#"{"a":"x","a":"y"}"#, &["a += x", "a unset", "a += y"]),
        (&["append a"], r#"{"a":[1],"a":[2,3]}"#, &["a ++ [1]", "a unset", "a ++ [2,3]"]),
        (&["set a.b"], r#"{"a":{"b":1},"a":{"c":2}}"#, &["a.b = 1", "a unset"]),
        (&["text-delta *"], r#"{"k":"x","l":"z","k":"y"}"#, &["k += x", "l += z", "k unset", "k += y"]),
        (&["text-delta r.*.t"], r#"{"r":[{"t":"x"},{"t":"y"}]}"#, &["r.0.t += x", "r.1.t += y"]),
    ];
    for (fields, text, expected) in table {
        assert_eq!(lines(fields, text, 1_000), *expected, "{fields:?} of {text}");
    }
}

#[test]
fn scalar_is_emitted_as_early_as_possible() {
    let at = |text: &str| {
        let fields = build(&[(FieldKind::Set, "a".to_owned())]);
        let mut extractor = headwater_json::Extractor::new(fields);
        let mut found = None;
        for (at, piece) in text.as_bytes().chunks(1).enumerate() {
            extractor.push_bytes(piece, |_| found = Some(at)).unwrap();
        }
        found
    };
    assert_eq!(at(r#"{"a":true}"#), Some(8));
    assert_eq!(at(r#"{"a":null ,"b":1}"#), Some(8));
    assert_eq!(at(r#"{"a":12 }"#), Some(7));
    assert_eq!(at(r#"{"a":"x"}"#), Some(7));
    assert_eq!(at(r#"{"a":[1]}"#), Some(7));
    assert_eq!(at(r#"{"a":12"#), None);
}

#[test]
fn items_of_one_piece_are_grouped_and_text_never_splits_a_character() {
    assert_eq!(lines(&["append a"], r#"{"a":[1,2,3,4,5]}"#, 9), ["a ++ [1]", "a ++ [2,3,4,5]"]);
    assert_eq!(lines(&["text-delta a"], r#"{"a":"é\ud83d\ude00x"}"#, 7), ["a += é", "a += 😀x"]);
    assert_eq!(lines(&["text-delta a"], r#"{"a":"1\n2\t3\"4"}"#, 1_000), ["a += 1\n2\t3\"4"]);
    assert_eq!(lines(&["text-delta a"], "{\"a\":\"日本\"}", 10), ["a += 日", "a += 本"]);
    assert_eq!(lines(&["text-delta a"], "{\"a\":\"日本 x\"}", 10), ["a += 日", "a += 本 x"]);
}

#[test]
fn many_fields_match_in_one_object() {
    let mut fields: Vec<String> = (0..500).map(|n| format!("set rows.*.key{n}")).collect();
    fields.push("set rows.*.*".to_owned());
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    assert_eq!(
        lines(&fields, r#"{"rows":[{"key499":1,"other":2,"key0":3}]}"#, 5),
        ["rows.0.key499 = 1", "rows.0.other = 2", "rows.0.key0 = 3"]
    );
}

#[test]
fn wildcards_with_too_many_overlaps_are_refused() {
    // All paths of one length in which each segment is `*` or `a`, with distinct last segments: every subset
    // is a state.
    let mut builder = headwater_json::Fields::builder();
    for bits in 0..1_u32 << 14 {
        let segments = (0..14).map(|bit| if bits >> bit & 1 == 1 { "*" } else { "a" }).collect::<Vec<_>>();
        builder = builder.set(segments.join("."));
    }
    let error = builder.build().unwrap_err();
    assert_eq!(error.kind(), headwater_json::FieldErrorKind::TooManyStates);
}
