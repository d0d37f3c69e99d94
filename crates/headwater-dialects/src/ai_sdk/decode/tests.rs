use headwater_protocol::{ErrorKind, Framing, RunState, RunStatus};

use super::*;
use crate::{decoder::Decoder as Reader, lint_stream::lint};

fn body(chunks: &[&str]) -> Vec<u8> {
    chunks.iter().flat_map(|chunk| format!("data: {chunk}\n\n").into_bytes()).collect()
}

fn read(chunks: &[&str]) -> (RunState, DecodeOutput) {
    let dialect = &crate::ai_sdk::AiSdk;
    let mut reader = Reader::new(dialect, Framing::Sse);
    let mut out = DecodeOutput::default();
    reader.feed(&body(chunks), &mut out);
    reader.finish(&mut out);
    let mut state = RunState::with_rules(crate::Reader::rules(dialect));
    for record in &out.records {
        state.apply(record).unwrap();
    }
    (state, out)
}

#[test]
fn chunks_rejected_by_the_client_are_fatal_and_linted() {
    let table = [
        (r#"{"type":"pong"}"#, ErrorKind::UnknownType, "unknown-type"),
        (r#"{"type":"text-delta","id":"t"}"#, ErrorKind::Field, "field"),
        (r#"{"type":"source-url","sourceId":"s","url":"u","title":null}"#, ErrorKind::Field, "null-field"),
        (r#"{"type":"text-start","id":"t","providerMetadata":{"p":1}}"#, ErrorKind::Field, "field"),
        (r#"{"type":"data-x"}"#, ErrorKind::Field, "field"),
        ("{oops", ErrorKind::Json, "json"),
        ("[done]", ErrorKind::Json, "json"),
        ("", ErrorKind::Json, "json"),
        ("null", ErrorKind::Field, "field"),
        ("[]", ErrorKind::Field, "field"),
        (r#"{"type":"text-delta","id":"t","delta":"x"}"#, ErrorKind::Order, "block-order"),
        (r#"{"type":"reasoning-end","id":"t"}"#, ErrorKind::Order, "block-order"),
        (
            r#"{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"x"}"#,
            ErrorKind::Order,
            "tool-order",
        ),
        (r#"{"type":"tool-output-available","toolCallId":"c","output":1}"#, ErrorKind::Order, "tool-order"),
        (
            r#"{"type":"tool-approval-response","approvalId":"a","approved":true}"#,
            ErrorKind::Order,
            "tool-order",
        ),
    ];
    for (chunk, kind, rule) in table {
        let chunks = [
            r#"{"type":"start","messageId":"m"}"#,
            r#"{"type":"start-step"}"#,
            chunk,
            r#"{"type":"finish"}"#,
        ];
        let (state, out) = read(&chunks);
        let error = out.fatal().unwrap_or_else(|| panic!("{chunk} is accepted"));
        assert_eq!(error.kind(), kind, "{chunk}: {error}");
        assert_eq!(error.place().unwrap().frame, 2, "{chunk}");
        assert_eq!(state.run().status, RunStatus::Running, "nothing is read after {chunk}");
        let findings = lint(&crate::ai_sdk::AiSdk, Framing::Sse, &body(&chunks));
        assert!(
            findings.iter().any(|found| found.rule == rule && found.frame == Some(2)),
            "{chunk}: {findings:?}"
        );
    }
}

#[test]
fn chunks_tolerated_by_the_client_are_decoded() {
    let (state, out) = read(&[
        r#"{ "messageId":"m", "type":"start" }"#,
        r#"{"type":"text-start","id":"1","id":"2","extra":[null]}"#,
        "[DONE]",
        r#"{"type":"text-delta","id":"2","delta":"x"}"#,
        r#"{"type":"data-n","data":[12345678901234567890]}"#,
        r#"{"type":"data-n","data":{"constructor":1,"prototype":2}}"#,
        r#"{"type":"finish","finishReason":"interrupted"}"#,
    ]);
    assert_eq!(out.errors, []);
    assert_eq!(state.messages()[0].plain_text(), "x");
    assert_eq!(state.run().status, RunStatus::Finished);
}

#[test]
fn error_fails_the_run_and_abort_cancels_it() {
    let failed = [r#"{"type":"start"}"#, r#"{"type":"error","errorText":"boom"}"#];
    let (state, _) = read(&failed);
    assert_eq!(state.run().status, RunStatus::Failed);
    assert_eq!(state.run().error.as_ref().unwrap().message, "boom");
    let (state, _) = read(&[r#"{"type":"start"}"#, r#"{"type":"abort","reason":"user"}"#]);
    assert_eq!(state.run().status, RunStatus::Cancelled);
    let (state, _) = read(&[r#"{"type":"start","messageId":"m"}"#]);
    assert_eq!(state.run().status, RunStatus::Running, "the reducer reports a truncated stream");
}

#[test]
fn reset_step_retracts_the_whole_step() {
    let (state, out) = read(&[
        r#"{"type":"start","messageId":"m"}"#,
        r#"{"type":"start-step"}"#,
        r#"{"type":"text-start","id":"a"}"#,
        r#"{"type":"text-end","id":"a"}"#,
        r#"{"type":"finish-step"}"#,
        r#"{"type":"start-step"}"#,
        r#"{"type":"tool-input-available","toolCallId":"c","toolName":"t","input":{}}"#,
        r#"{"type":"tool-output-available","toolCallId":"c","output":1}"#,
        r#"{"type":"data-d","data":1}"#,
        r#"{"type":"reset-step"}"#,
        r#"{"type":"file","url":"https://e/x","mediaType":"image/png"}"#,
    ]);
    assert_eq!(out.errors, []);
    let kinds: Vec<_> = state.messages()[0].parts.iter().map(std::mem::discriminant).collect();
    assert_eq!(kinds.len(), 4, "{:?}", state.messages()[0].parts);
}

#[test]
fn output_is_refused_only_without_a_possible_call() {
    let chunks = [r#"{"type":"start","messageId":"m"}"#, r#"{"type":"tool-output-denied","toolCallId":"c"}"#];
    assert!(read(&chunks).1.fatal().is_none(), "it may belong to the continued message");
    let dialect = &crate::ai_sdk::AiSdk;
    let mut reader = Reader::new(dialect, Framing::Sse).with_messages(&[]);
    let mut out = DecodeOutput::default();
    reader.feed(&body(&chunks), &mut out);
    assert!(out.fatal().is_some(), "there is no such message");
}

#[test]
fn chunks_after_the_terminal_one_are_ignored() {
    for end in [r#"{"type":"finish"}"#, r#"{"type":"abort"}"#] {
        let (state, out) = read(&[
            r#"{"type":"start","messageId":"m"}"#,
            r#"{"type":"text-start","id":"a"}"#,
            r#"{"type":"text-delta","id":"a","delta":"before"}"#,
            end,
            r#"{"type":"text-delta","id":"a","delta":" after"}"#,
            r#"{"type":"error","errorText":"late"}"#,
            r#"{"type":"no-such-type"}"#,
        ]);
        assert_eq!(out.errors, [], "{end}");
        assert_eq!(state.messages()[0].plain_text(), "before", "{end}");
        assert_ne!(state.run().status, RunStatus::Failed, "{end}");
    }
}
