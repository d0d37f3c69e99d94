use headwater_protocol::{
    BlockDelta, BlockKind, DataEvent, Event, FinishReason, Record, RunFinished, ToolDenied, UnknownEvent,
};
use serde_json::{Value, json};

use super::*;

fn decode(chunks: &[Value]) -> DecodeOutput {
    let mut decoder = MuiDecoder::new();
    let mut out = DecodeOutput::default();
    for (index, chunk) in chunks.iter().enumerate() {
        let data = chunk.to_string();
        let frame = Frame { event: None, id: None, data: &data, offset: 0, index: index as u64 };
        decoder.frame(&frame, &mut out);
        if out.fatal().is_some() {
            return out;
        }
    }
    decoder.end(&mut out);
    out
}

fn kinds(records: &[Record]) -> Vec<&'static str> {
    records.iter().map(|record| record.event.kind().name()).collect()
}

/// The events of the chunks between `start` and `finish`.
fn events(chunks: &[Value]) -> Vec<Event> {
    let mut all = vec![json!({ "type": "start", "messageId": "m" })];
    all.extend_from_slice(chunks);
    let out = decode(&all);
    assert_eq!(out.errors, []);
    out.records.into_iter().skip(1).map(|record| record.event).collect()
}

fn text(delta: &str) -> Value {
    json!({ "type": "text-delta", "id": "t", "delta": delta })
}

fn numbered(sequence: i64, chunk: Value) -> Value {
    json!({ "eventId": format!("m:{sequence}"), "sequence": sequence, "chunk": chunk })
}

#[test]
fn chunks_become_events_with_any_field_values() {
    let delta = |delta: &str| Event::BlockDelta(BlockDelta::new(BlockKind::Text, "t", delta));
    let table = [
        (text("x"), vec![delta("x")]),
        (json!({ "type": "text-delta", "id": "t" }), vec![delta("undefined")]),
        (json!({ "type": "text-delta", "id": "t", "delta": 4.5 }), vec![delta("4.5")]),
        (
            json!({ "type": "message-metadata", "metadata": ["x"] }),
            vec![Event::MessageMetadata { metadata: json!({ "0": "x" }) }],
        ),
        (
            json!({ "type": "data-", "data": null, "transient": "yes" }),
            vec![Event::Data(DataEvent { data: Value::Null, ..Default::default() })],
        ),
        (
            json!({ "type": "finish", "finishReason": "content_filter" }),
            vec![Event::RunFinished(RunFinished {
                reason: Some(FinishReason::ContentFilter),
                ..Default::default()
            })],
        ),
        (
            json!({ "type": "banana", "x": [1] }),
            vec![Event::Unknown(UnknownEvent::new("banana", json!({ "type": "banana", "x": [1] })))],
        ),
        (
            json!({ "type": "error", "errorText": "gone" }),
            vec![Event::RunFailed(headwater_protocol::ErrorInfo::new("gone"))],
        ),
        (json!({ "type": "ping" }), vec![]),
        (json!({ "type": "text-end", "id": "never" }), vec![]),
        (
            json!({ "type": "tool-output-denied", "toolCallId": 7, "reason": null }),
            vec![Event::ToolDenied(ToolDenied { call: "7".into(), ..Default::default() })],
        ),
    ];
    for (chunk, expected) in table {
        assert_eq!(events(std::slice::from_ref(&chunk)), expected, "{chunk}");
    }
}

#[test]
fn only_a_closed_block_can_be_started_again() {
    let start = json!({ "type": "text-start", "id": "t" });
    let end = json!({ "type": "text-end", "id": "t" });
    let chunks = [start.clone(), start.clone(), text("a"), end.clone(), end, text("b"), start];
    let out = events(&chunks);
    let names: Vec<_> = out.iter().map(|event| event.kind().name()).collect();
    assert_eq!(names, ["block-started", "block-delta", "block-ended", "block-delta"]);
}

#[test]
fn envelopes_are_ordered_and_nothing_is_read_after_the_end() {
    let start = json!({ "type": "start", "messageId": "m" });
    let finish = json!({ "type": "finish", "messageId": "m" });
    let out = decode(&[
        numbered(4, start),
        numbered(6, text("b")),
        numbered(5, text("a")),
        numbered(5, text("a")),
        numbered(7, finish),
        json!("not even a chunk"),
    ]);
    assert_eq!(out.errors, []);
    assert_eq!(kinds(&out.records), ["message-started", "block-delta", "block-delta", "run-finished"]);
    assert!(out.records.iter().enumerate().all(|(index, record)| record.seq == index as u64));
}

#[test]
fn gap_is_reported_at_the_end_and_waiting_chunks_are_bounded() {
    let start = json!({ "type": "start", "messageId": "m" });
    let out = decode(&[numbered(0, start.clone()), numbered(2, text("b"))]);
    assert_eq!(kinds(&out.records), ["message-started"]);
    assert_eq!(out.errors.len(), 1);
    assert_eq!(out.errors[0].kind(), ErrorKind::Cut);

    let many: Vec<_> = (0..2_000).map(|n| numbered(n + 2, text("x"))).collect();
    let out = decode(&[vec![numbered(0, start.clone())], many].concat());
    assert_eq!(out.fatal().unwrap().kind(), ErrorKind::Limit);
    let large: Vec<_> = (0..9).map(|n| numbered(n + 2, text(&"x".repeat(2 << 20)))).collect();
    let out = decode(&[vec![numbered(0, start)], large].concat());
    assert_eq!(out.fatal().unwrap().kind(), ErrorKind::Limit);
}

#[test]
fn non_integer_sequence_stalls_the_stream_and_is_reported() {
    let odd = |sequence: Value, chunk: Value| json!({ "sequence": sequence, "chunk": chunk });
    let start = json!({ "type": "start", "messageId": "m" });
    let out = decode(&[odd(json!("0"), start), odd(json!("1"), text("a")), odd(json!(2), text("b"))]);
    assert_eq!(kinds(&out.records), ["message-started"]);
    assert_eq!(out.errors.len(), 2);
    assert!(out.errors.iter().all(|error| error.kind() == ErrorKind::Field && !error.is_fatal()));
}

#[test]
fn invalid_chunk_ends_the_stream() {
    let start = json!({ "type": "start", "messageId": "m" });
    let bad = [
        json!(null),
        json!(3),
        json!([]),
        json!("[DONE]"),
        json!({ "x": 1 }),
        json!({ "type": 5 }),
        json!({ "chunk": null }),
        json!({ "chunk": { "chunk": { "type": "ping" } } }),
    ];
    for bad in bad {
        let out = decode(&[start.clone(), bad.clone(), text("x")]);
        let error = out.fatal().unwrap_or_else(|| panic!("{bad} was taken"));
        assert_eq!(error.place().unwrap().frame, 1, "{bad}");
        assert_eq!(kinds(&out.records), ["message-started"]);
    }
    let mut decoder = MuiDecoder::new();
    let mut out = DecodeOutput::default();
    decoder.frame(&Frame { event: None, id: None, data: "{\"type\":", offset: 0, index: 0 }, &mut out);
    assert_eq!(out.fatal().unwrap().kind(), ErrorKind::Json);
}

#[test]
fn last_of_duplicate_fields_counts() {
    let mut decoder = MuiDecoder::new();
    let mut out = DecodeOutput::default();
    for data in [
        r#"{"type":"finish","type":"start","messageId":"m"}"#,
        r#"{"sequence":0,"chunk":{"type":"text-delta","id":"t","delta":"x","delta":"y"},"sequence":3}"#,
    ] {
        decoder.frame(&Frame { event: None, id: None, data, offset: 0, index: 0 }, &mut out);
    }
    assert_eq!(out.errors, []);
    assert_eq!(decoder.next_sequence(), Some(4));
    assert!(
        matches!(&out.records[1].event, Event::BlockDelta(BlockDelta { kind: BlockKind::Text, delta, .. }) if delta == "y")
    );
}

#[test]
fn fast_path_equals_the_parser() {
    let written = |kind: &str, id: &str, text: &str, value: &str| {
        format!(r#"{{"eventId":"m:4","sequence":4,"chunk":{{"type":"{kind}","{id}":"i","{text}":{value}}}}}"#)
    };
    let taken = [
        written("text-delta", "id", "delta", r#""a\n\u00e9 \"é\"""#),
        written("reasoning-delta", "id", "delta", r#""""#),
        written("tool-input-delta", "toolCallId", "inputTextDelta", r#""{\"a\":""#),
    ];
    for json in &taken {
        let frame = Frame { event: None, id: None, data: json, offset: 0, index: 0 };
        let [mut compared, mut parsed] = [MuiDecoder::new(), MuiDecoder::new()];
        let [mut fast, mut slow] = [DecodeOutput::default(), DecodeOutput::default()];
        assert!(compared.delta(&frame, &mut fast), "{json}");
        parsed.line(&frame, &mut slow).unwrap();
        assert_eq!(fast, slow);
        assert_eq!(compared.next_sequence(), parsed.next_sequence());
        assert_eq!(
            compared.seen_event_ids().collect::<Vec<_>>(),
            parsed.seen_event_ids().collect::<Vec<_>>()
        );
    }
    let left = [
        taken[0].replace("\"m:4\"", "\"m\\u003a4\""),
        taken[0].replace(":4,", ":04,"),
        taken[0].replace(":4,", ":-4,"),
        taken[0].replace(":4,", ":4.0,"),
        taken[0].replace("}}", r#","more":{}}}"#),
        taken[0].replace("}}", r#","delta":"x"}}"#),
        taken[0].replace("}}", r#"},"sequence":5}"#),
        taken[0].replace("}}", "} }"),
        taken[0].replace("text-delta", "text-end"),
        written("text-delta", "id", "delta", "\"\t\""),
        written("text-delta", "id", "delta", "3"),
        "{}".to_owned(),
    ];
    for json in &left {
        assert!(wire::as_written(json).is_none(), "{json}");
    }
}

#[test]
fn stream_can_be_resumed() {
    let mut decoder = MuiDecoder::new().with_message("mine").resume(Some(2), ["m:0", "m:1"]);
    let mut out = DecodeOutput::default();
    for (index, chunk) in [numbered(1, text("old")), numbered(2, text("new"))].iter().enumerate() {
        let data = chunk.to_string();
        decoder
            .frame(&Frame { event: None, id: None, data: &data, offset: 0, index: index as u64 }, &mut out);
    }
    assert_eq!(kinds(&out.records), ["message-started", "block-delta"]);
    assert_eq!(out.records[1].origin.message.as_ref().unwrap().as_str(), "mine");
    assert_eq!(decoder.seen_event_ids().collect::<Vec<_>>(), ["m:0", "m:1", "m:2"]);
}

#[test]
fn chunks_waiting_behind_the_terminal_one_are_dropped() {
    let start = json!({ "type": "start", "messageId": "m" });
    let finish = json!({ "type": "finish", "messageId": "m" });
    let out =
        decode(&[numbered(0, start), numbered(3, text("late")), numbered(2, finish), numbered(1, text("a"))]);
    assert_eq!(kinds(&out.records), ["message-started", "block-delta", "run-finished"]);
    assert_eq!(out.errors, []);
}
