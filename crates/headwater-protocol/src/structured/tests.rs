//! The rules, case by case. Properties over many updates are in `tests/protocol`.

use serde_json::{Value, json};

use super::*;

fn update(op: StructuredOp) -> StructuredUpdate {
    StructuredUpdate::new("s1", "t", op)
}

fn unset(path: &str) -> StructuredOp {
    StructuredOp::Set { path: path.to_owned(), value: None }
}

/// Applies all operations, of which only the last may be refused.
fn reduce_within(
    limits: StructuredLimits,
    ops: impl IntoIterator<Item = StructuredOp>,
) -> Result<StructuredState, StructuredError> {
    let mut state: Option<StructuredState> = None;
    for op in ops {
        match &mut state {
            None => state = Some(StructuredState::begin_within(limits, update(op))?),
            Some(state) => state.apply(update(op))?,
        }
    }
    Ok(state.expect("at least one update"))
}

fn reduce(ops: impl IntoIterator<Item = StructuredOp>) -> StructuredState {
    reduce_within(StructuredLimits::default(), ops).expect("all are accepted")
}

fn data(ops: impl IntoIterator<Item = StructuredOp>) -> Value {
    reduce(ops).data().cloned().expect("there is data")
}

fn refusal(ops: impl IntoIterator<Item = StructuredOp>) -> String {
    reduce_within(StructuredLimits::default(), ops).expect_err("the last is refused").to_string()
}

use StructuredOp as Op;

#[test]
fn writes() {
    let table = [
        (vec![Op::set("a.b.c", 1)], json!({"a": {"b": {"c": 1}}})),
        (
            vec![Op::set("a", 1), Op::set("a", json!({"b": 2})), Op::set("a.c", 3)],
            json!({"a": {"b": 2, "c": 3}}),
        ),
        (vec![Op::set("0.name", "n"), Op::set("1", "m")], json!([{"name": "n"}, "m"])),
        (vec![Op::append("a", Vec::<Value>::new())], json!({"a": []})),
        (vec![Op::append("a", [json!([1])]), Op::append("a", [json!([2])])], json!({"a": [[1], [2]]})),
        (vec![Op::append("a", ["he"]), Op::text("a.0", "llo")], json!({"a": ["hello"]})),
        (vec![Op::text("a", ""), Op::text("a", "é"), Op::text("a", "😀")], json!({"a": "é😀"})),
        (vec![Op::set("a.01", "x"), Op::set("a.1", "y"), Op::text("a.001", "z")], json!({"a": [null, "yz"]})),
        (
            vec![Op::set("a.１", 1), Op::set("a.+1", 2), Op::set("a.1e3", 3)],
            json!({"a": {"１": 1, "+1": 2, "1e3": 3}}),
        ),
        (
            vec![Op::set("a[0]", 1), Op::set("*", 2), Op::set(" . ", 3)],
            json!({"a[0]": 1, "*": 2, " ": {" ": 3}}),
        ),
        (vec![Op::set("a", 1), Op::finish(json!(["all"]))], json!(["all"])),
    ];
    for (ops, expected) in table {
        assert_eq!(data(ops.clone()), expected, "{ops:?}");
    }
}

#[test]
fn names_that_javascript_inherits_are_plain_data() {
    let ops = [
        Op::set("__proto__.polluted", true),
        Op::append("constructor", [1]),
        Op::text("toString", "x"),
        Op::set("hasOwnProperty.x.__proto__", 1),
    ];
    assert_eq!(
        data(ops),
        json!({
            "__proto__": {"polluted": true}, "constructor": [1], "toString": "x",
            "hasOwnProperty": {"x": {"__proto__": 1}}
        })
    );
}

#[test]
fn refusals_have_the_messages_of_kortyx() {
    let table = [
        (vec![Op::set("", 1)], "Structured chunk path must be a non-empty dot-separated string."),
        (vec![Op::set(".", 1)], r#"Structured chunk path "." must not contain empty segments."#),
        (vec![Op::text("a.", "x")], r#"Structured chunk path "a." must not contain empty segments."#),
        (
            vec![Op::set("0", 1), Op::set("k", 1)],
            r#"Structured path conflict at <root> for "k": expected object container, received array."#,
        ),
        (
            vec![Op::set("a.00.b", true), Op::set("a.00.b.0", 1)],
            r#"Structured path conflict at a.00.b for "a.00.b.0": expected array container, received boolean."#,
        ),
        (
            vec![Op::set("a", Value::Null), Op::set("a.b", 1)],
            r#"Structured path conflict at a for "a.b": expected object container, received null."#,
        ),
        (
            vec![Op::set("a", 1), Op::append("a", [1])],
            r#"Structured append requires path "a" to target an array, received number."#,
        ),
        (
            vec![Op::append("a", [1]), Op::text("a", "x")],
            r#"Structured text-delta requires path "a" to target a string, received array."#,
        ),
        (vec![Op::finish(1), Op::set("", 1)], "Structured stream s1 already completed with a final chunk."),
        (vec![Op::finish(1), Op::finish(1)], "Structured stream s1 already completed with a final chunk."),
    ];
    for (ops, expected) in table {
        assert_eq!(refusal(ops.clone()), expected, "{ops:?}");
    }

    let mut state = reduce([Op::finish(1)]);
    let other = state.apply(StructuredUpdate::new("s2", "t", Op::set("", 1))).unwrap_err();
    assert_eq!(other.to_string(), "Structured chunk streamId mismatch: expected s1, received s2.");
}

#[test]
fn skipped_element_is_unset_but_an_explicit_null_is_not() {
    assert_eq!(data([Op::set("a.2", "z"), Op::text("a.1", "hi")]), json!({"a": [null, "hi", "z"]}));
    assert_eq!(data([Op::set("a.2", "z"), Op::append("a.1", [1])]), json!({"a": [null, [1], "z"]}));
    assert_eq!(data([Op::set("a.2", "z"), Op::set("a.0.k", 1)]), json!({"a": [{"k": 1}, null, "z"]}));
    assert_eq!(
        data([Op::set("2", "z"), Op::set("0.1", 1), Op::text("0.0", "x")]),
        json!([["x", 1], null, "z"])
    );
    assert!(
        refusal([Op::set("a.2", "z"), Op::set("a.1", Value::Null), Op::text("a.1", "x")])
            .contains("received null")
    );
    assert!(
        refusal([Op::set("a.1", "z"), Op::set("a", json!([null, "z"])), Op::text("a.0", "x")])
            .contains("null")
    );
    assert!(refusal([Op::append("a", [Value::Null]), Op::append("a.0", [1])]).contains("received null"));
}

#[test]
fn set_without_a_value_unsets() {
    assert_eq!(data([unset("a.b")]), json!({"a": {}}));
    assert_eq!(data([Op::set("a", 1), unset("a"), Op::text("a", "x")]), json!({"a": "x"}));
    assert_eq!(
        data([Op::set("a", json!([1, 2])), unset("a.0"), Op::append("a.0", [3])]),
        json!({"a": [[3], 2]})
    );
    assert_eq!(
        data([unset("1.2"), Op::text("1.2", "x"), Op::set("0.k", 1)]),
        json!([{"k": 1}, [null, null, "x"]])
    );
    assert_eq!(data([unset("1")]), json!([null, null]));
    assert_eq!(reduce([Op::Final { data: None }]).data(), None);
}

#[test]
fn unset_elements_are_limited_per_stream_and_released() {
    let limits = StructuredLimits { max_unset: 3, ..StructuredLimits::default() };
    let within = |ops: Vec<StructuredOp>| reduce_within(limits, ops).map_err(|error| error.kind());
    assert!(within(vec![Op::set("a.3", 1)]).is_ok());
    assert_eq!(within(vec![Op::set("a.4", 1)]), Err(StructuredErrorKind::TooSparse));
    assert_eq!(within(vec![Op::set("2.2", 1)]), Err(StructuredErrorKind::TooSparse));
    assert_eq!(within(vec![Op::set("a.2", 1), Op::set("b.2", 1)]), Err(StructuredErrorKind::TooSparse));
    assert_eq!(within(vec![unset("a.3")]), Err(StructuredErrorKind::TooSparse));
    assert!(within(vec![Op::set("a.2", 1), Op::set("a", 1), Op::set("b.3", 1)]).is_ok());
    assert!(within(vec![Op::set("a.3", 1), Op::set("a.0.1", 1), Op::set("a.5", 1)]).is_err());
    assert!(within(vec![Op::set("a.3", 1), Op::set("a.0", 1), Op::set("a.5", 1)]).is_ok());

    for digits in ["100001", "4294967294", "4294967295", "99999999999999999999", &"9".repeat(10_000)] {
        let path = format!("a.{digits}");
        assert_eq!(
            refusal([Op::set(path.as_str(), 1)]),
            format!(
                "Structured path \"{path}\" would leave more than 100000 array elements of its stream unset."
            )
        );
    }
    assert_eq!(data([Op::set(format!("a.{}", "0".repeat(10_000)), 1)]), json!({"a": [1]}));
}

#[test]
fn depth_limit_counts_paths_and_values_together() {
    let limits = StructuredLimits { max_depth: 3, ..StructuredLimits::default() };
    let kind = |op: StructuredOp| {
        StructuredState::begin_within(limits, update(op)).map_err(|error| error.kind()).err()
    };
    for op in [
        Op::set("a.b.c", 1),
        Op::set("a.b", json!([1])),
        Op::append("a", [json!({})]),
        Op::finish(json!([[[1]]])),
    ] {
        assert_eq!(kind(op.clone()), None, "{op:?}");
    }
    for op in [
        Op::set("a.b.c.d", 1),
        Op::text("a.b.c.d", "x"),
        Op::set("a.b", json!([{}])),
        Op::append("a.b.c", [1]),
        Op::append("a.b", [json!([])]),
        Op::finish(json!([[[[]]]])),
    ] {
        assert_eq!(kind(op.clone()), Some(StructuredErrorKind::TooDeep), "{op:?}");
    }
    assert!(refusal([Op::set("a.".repeat(500_000) + "a", 1)]).ends_with("deeper than 120 levels."));
}

#[test]
fn metadata_is_kept_and_the_latest_data_type_applies() {
    let mut first = update(Op::set("a", 1));
    first.node = Some("n1".to_owned());
    first.id = Some("i".to_owned());
    first.schema_id = Some("sid".to_owned());
    first.schema_version = Some("1".to_owned());
    let mut second = StructuredUpdate::new("s1", "u", Op::set("b", 2));
    second.node = Some("n2".to_owned());
    second.id = Some(String::new());

    let mut state = StructuredState::begin(&first).unwrap();
    state.apply(&second).unwrap();
    assert_eq!(
        serde_json::to_value(&state).unwrap(),
        json!({
            "streamId": "s1", "dataType": "u", "status": "streaming", "data": {"a": 1, "b": 2},
            "node": "n2", "id": "i", "schemaId": "sid", "schemaVersion": "1"
        })
    );

    let before = state.clone();
    let mut refused = StructuredUpdate::new("s1", "v", Op::text("a", "x"));
    refused.node = Some("n3".to_owned());
    assert!(state.apply(&refused).is_err());
    assert_eq!(state, before);
}

#[test]
fn growth_reallocates_logarithmically_and_never_copies_per_update() {
    let mut state = reduce([Op::set("text", ""), Op::set("rows", json!([]))]);
    let (mut text_grew, mut rows_grew, mut sizes) = (0, 0, (0, 0));
    for n in 0..20_000 {
        state.apply(update(Op::text("text", "x"))).unwrap();
        state.apply(update(Op::append("rows", [n]))).unwrap();
        let data = state.data().unwrap();
        let (Value::String(text), Value::Array(rows)) = (&data["text"], &data["rows"]) else {
            panic!("{data}")
        };
        text_grew += usize::from(text.capacity() != sizes.0);
        rows_grew += usize::from(rows.capacity() != sizes.1);
        sizes = (text.capacity(), rows.capacity());
    }
    assert!(text_grew <= 16 && rows_grew <= 16, "{text_grew} and {rows_grew} reallocations");
}

#[test]
fn streams_are_separate_and_ordered() {
    let mut streams = StructuredStreams::new();
    for stream in ["b", "a", "__proto__", ""] {
        streams.apply(StructuredUpdate::new(stream, "t", Op::set("x", stream))).unwrap();
    }
    assert!(streams.apply(StructuredUpdate::new("bad", "t", Op::set("", 1))).is_err());
    assert!(streams.get("bad").is_none());
    assert_eq!(streams.len(), 4);

    streams.invalidate("a").unwrap();
    streams.apply(StructuredUpdate::new("a", "t", Op::finish(1))).unwrap();
    let json = serde_json::to_string(&streams).unwrap();
    assert_eq!(
        json,
        concat!(
            r#"{"b":{"streamId":"b","dataType":"t","status":"streaming","data":{"x":"b"}},"#,
            r#""__proto__":{"streamId":"__proto__","dataType":"t","status":"streaming","data":{"x":"__proto__"}},"#,
            r#""":{"streamId":"","dataType":"t","status":"streaming","data":{"x":""}},"#,
            r#""a":{"streamId":"a","dataType":"t","status":"done","data":1}}"#
        )
    );
}

#[test]
fn updates_survive_a_json_round_trip() {
    let table = [
        r#"{"streamId":"s","dataType":"t","kind":"set","path":"a","value":null}"#,
        r#"{"streamId":"s","dataType":"t","kind":"set","path":"a"}"#,
        r#"{"streamId":"s","dataType":"t","kind":"append","path":"a","items":[1,null]}"#,
        r#"{"streamId":"s","dataType":"t","kind":"text-delta","path":"","delta":""}"#,
        r#"{"streamId":"s","dataType":"t","kind":"final","data":null}"#,
        r#"{"streamId":"s","dataType":"t","kind":"final"}"#,
        r#"{"streamId":"s","dataType":"t","kind":"final","data":[],"schemaId":"a","schemaVersion":"","id":"c","node":"d"}"#,
    ];
    for json in table {
        let update: StructuredUpdate = serde_json::from_str(json).expect(json);
        assert_eq!(serde_json::to_string(&update).unwrap(), json);
    }
    let foreign = r#"{"type":"structured-data","node":null,"kind":"final","delta":5,"dataType":"t","streamId":"s","new":{}}"#;
    let update: StructuredUpdate = serde_json::from_str(foreign).unwrap();
    assert_eq!(update, StructuredUpdate::new("s", "t", Op::Final { data: None }));
}

#[test]
fn invalid_update_names_the_wrong_field() {
    let table = [
        (json!({"streamId": "s", "dataType": "t"}), "missing field `kind`"),
        (
            json!({"kind": "merge"}),
            "unknown variant `merge`, expected one of `set`, `append`, `text-delta`, `final`",
        ),
        (json!({"kind": "final", "dataType": "t"}), "missing field `streamId`"),
        (json!({"kind": "final", "streamId": 1}), "field `streamId` must be a string, received number"),
        (json!({"kind": "set", "path": null}), "field `path` must be a string, received null"),
        (json!({"kind": "append", "path": "a"}), "missing field `items`"),
        (
            json!({"kind": "append", "path": "a", "items": {}}),
            "field `items` must be an array, received object",
        ),
        (
            json!({"kind": "text-delta", "path": "a", "delta": 1}),
            "field `delta` must be a string, received number",
        ),
        (
            json!({"kind": "final", "streamId": "s", "dataType": "t", "id": 7}),
            "field `id` must be a string, received number",
        ),
    ];
    for (json, expected) in table {
        let error = serde_json::from_value::<StructuredUpdate>(json.clone()).expect_err(&json.to_string());
        assert_eq!(error.to_string(), expected, "{json}");
    }
}

#[test]
fn extracted_chunks_rebuild_their_parts_of_the_document() {
    let fields =
        headwater_json::Fields::builder().set("m.*").text("rows.*.t").append("rows").build().unwrap();
    let text = r#"{"m":{"x.y":1,"":2,"0":3,"~1":4,"*":5},"rows":[{"t":"a"},{"t":"b","u":[]},null]}"#;
    let mut extractor = headwater_json::Extractor::new(fields);
    let mut state: Option<StructuredState> = None;
    for piece in text.as_bytes().chunks(7) {
        let apply = |chunk: headwater_json::Chunk<'_>| {
            let update = StructuredUpdate::new("s1", "t", chunk.into());
            match &mut state {
                Some(state) => state.apply(update).unwrap(),
                None => state = Some(StructuredState::begin(update).unwrap()),
            }
        };
        extractor.push_bytes(piece, apply).unwrap();
    }
    let state = state.unwrap();
    assert_eq!(state.data(), serde_json::from_str(text).ok().as_ref());

    let mut rebuilt: Option<StructuredState> = None;
    for update in state.updates() {
        match &mut rebuilt {
            Some(rebuilt) => rebuilt.apply(update).unwrap(),
            None => rebuilt = Some(StructuredState::begin(update).unwrap()),
        }
    }
    assert_eq!(rebuilt.as_ref(), Some(&state));
}

#[test]
fn special_keys_are_escaped_in_paths() {
    let mut state =
        StructuredState::begin(StructuredUpdate::new("s1", "t", StructuredOp::set("~:0.a~1b", 1))).unwrap();
    state.apply(StructuredUpdate::new("s1", "t", StructuredOp::append("~:0.~:", [2]))).unwrap();
    state.apply(StructuredUpdate::new("s1", "t", StructuredOp::text("~:0.~01", "x"))).unwrap();
    state.apply(StructuredUpdate::new("s1", "t", StructuredOp::text("~:0.~user.3", "y"))).unwrap();
    state.apply(StructuredUpdate::new("s1", "t", StructuredOp::text("~:0.~0user.1", "z"))).unwrap();
    assert_eq!(
        state.data(),
        Some(&json!({"0": {"a.b": 1, "": [2], "~1": "x", "~user": [null, "z", null, "y"]}}))
    );
    assert_eq!(state.updates().first().map(|update| update.op.path()), Some(Some("~:0")));
}
