use headwater_protocol::{
    BlockDelta, BlockKind, ErrorKind, MessageStarted, Part, Role, RunState, RunStatus, ToolState,
    UnknownEvent,
};
use serde_json::json;

use super::*;

fn decode(chunks: &[Value]) -> DecodeOutput {
    let mut decoder = TanStackDecoder::default();
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

fn reduce(chunks: &[Value]) -> RunState {
    let mut state = RunState::default();
    for record in decode(chunks).records {
        state.apply(&record).unwrap();
    }
    state
}

fn said(delta: &str) -> Value {
    json!({ "type": "content", "id": "1", "model": "m", "timestamp": 1, "delta": delta })
}

fn said_of(delta: &str, content: &str) -> Value {
    json!({ "type": "content", "id": "1", "model": "m", "timestamp": 1, "delta": delta, "content": content })
}

fn thought(delta: &str) -> Value {
    json!({ "type": "thinking", "delta": delta })
}

fn call(id: &str, arguments: &str) -> Value {
    json!({ "type": "tool_call", "toolCall": { "id": id, "type": "function", "function": { "name": "f", "arguments": arguments } } })
}

fn result(id: &str, content: &str) -> Value {
    json!({ "type": "tool_result", "toolCallId": id, "content": content })
}

fn done(reason: &str) -> Value {
    json!({ "type": "done", "finishReason": reason })
}

fn texts(chunks: &[Value]) -> Vec<String> {
    let state = reduce(chunks);
    let parts = state.messages().iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.text.clone()),
            _ => None,
        })
        .collect()
}

#[test]
fn text_is_split_like_in_the_client() {
    let tool = || [call("c", "{}"), done("tool_calls"), result("c", "1")];
    let with_tool = |before: Value, after: &[Value]| {
        let mut chunks = vec![before];
        chunks.extend(tool());
        chunks.extend_from_slice(after);
        texts(&chunks)
    };
    // A new segment, marked by an empty or a fresh `content`.
    assert_eq!(with_tool(said("A"), &[said_of("B", ""), said("C")]), ["A", "BC"]);
    assert_eq!(with_tool(said("A"), &[said_of("B", "B"), said_of("C", "BC")]), ["A", "BC"]);
    // Without it the client shows the old text again.
    assert_eq!(with_tool(said("A"), &[said("B")]), ["A", "AB"]);
    assert_eq!(with_tool(said("A"), &[said_of("B", "AB")]), ["A", "AB"]);
    assert_eq!(texts(&[said("A"), thought("x"), said("B")]), ["A", "AB"]);
    // Without a part between them, one text overwrites the other.
    assert_eq!(texts(&[call("c", "{}"), said_of("a", ""), said_of("b", "")]), ["b"]);
}

#[test]
fn content_counts_without_a_delta() {
    assert_eq!(texts(&[said_of("", "Hello"), said_of("", "Hello world")]), ["Hello world"]);
    assert_eq!(texts(&[said_of("", "Hello"), said_of("", "Hell")]), ["Hello"]);
    assert_eq!(texts(&[said_of("", "Hello"), said_of("", "Bye")]), ["HelloBye"]);
    assert_eq!(texts(&[json!({ "type": "content", "content": "Hello" })]), ["Hello"]);
}

#[test]
fn all_reasoning_is_one_part() {
    let state = reduce(&[thought("a"), call("c", "{}"), thought("b"), said("x"), done("stop")]);
    let thoughts: Vec<_> = state.messages()[0]
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Reasoning(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(thoughts, ["ab"]);
}

#[test]
fn call_is_complete_with_the_next_text_or_the_end() {
    let tool = |chunks: &[Value]| {
        let state = reduce(chunks);
        let tool = state.messages()[0].tool("c").unwrap();
        (tool.state, tool.input.clone(), tool.input_text.clone(), tool.output.clone())
    };
    let pieces = [call("c", "{\"a\""), call("c", ":1}")];
    let whole = (ToolState::InputAvailable, Some(json!({ "a": 1 })), String::new(), None);
    for end in [said("x"), done("stop"), done("tool_calls")] {
        let mut chunks = pieces.to_vec();
        chunks.push(end);
        assert_eq!(tool(&chunks), whole);
    }
    assert_eq!(tool(&pieces), whole, "the end of the stream completes it too");
    let broken = (ToolState::InputAvailable, None, "not json".to_owned(), None);
    assert_eq!(tool(&[call("c", "not json"), done("stop")]), broken);
    let output = tool(&[call("c", "{}"), result("c", "a"), result("c", "{\"b\":1}"), done("stop")]);
    assert_eq!((output.0, output.3), (ToolState::OutputAvailable, Some(json!("{\"b\":1}"))));
    // An input that continues afterwards is another input.
    let late = tool(&[call("c", "{}"), done("stop"), result("c", "1"), call("c", "{}"), done("stop")]);
    assert_eq!(late, (ToolState::OutputAvailable, None, "{}{}".to_owned(), Some(json!("1"))));
}

#[test]
fn run_ends_with_the_stream_or_waits() {
    let status = |chunks: &[Value]| {
        let mut state = reduce(chunks);
        state.end_of_stream();
        (state.run().status, state.run().pending_tool_calls.clone())
    };
    let approval = json!({ "type": "approval-requested", "toolCallId": "c", "toolName": "f", "input": {}, "approval": { "id": "a", "needsApproval": true } });
    let execute = json!({ "type": "tool-input-available", "toolCallId": "c", "toolName": "f", "input": {} });
    assert_eq!(status(&[said("x"), done("stop"), said("y")]).0, RunStatus::Finished);
    assert_eq!(status(&[said("x")]).0, RunStatus::Failed, "it was cut");
    assert_eq!(status(&[call("c", "{}"), done("tool_calls"), approval]).0, RunStatus::Waiting);
    let (waits, pending) = status(&[call("c", "{}"), done("tool_calls"), execute]);
    assert_eq!((waits, pending.len()), (RunStatus::Waiting, 1));
    let error = json!({ "type": "error", "error": { "message": "gone", "code": "x" } });
    assert_eq!(status(&[said("x"), error, done("stop")]).0, RunStatus::Failed);
}

#[test]
fn chunk_that_breaks_the_client_is_an_error() {
    let deadly = [
        json!(null),
        json!({ "type": "content", "delta": "" }),
        json!({ "type": "content" }),
        json!({ "type": "thinking" }),
        json!({ "type": "tool_call" }),
        json!({ "type": "tool_call", "toolCall": { "id": "c" } }),
        json!({ "type": "tool_call", "toolCall": { "id": "c", "function": { "name": "f", "arguments": {} } } }),
        json!({ "type": "error" }),
        json!({ "type": "approval-requested", "toolCallId": "c" }),
    ];
    for chunk in deadly {
        let decoded = decode(&[said("a"), chunk.clone(), said("b")]);
        let fatal = decoded.fatal().unwrap_or_else(|| panic!("{chunk} is survived"));
        assert_eq!(fatal.place().unwrap().frame, 1, "{chunk}");
    }
}

#[test]
fn chunks_ignored_by_the_client_are_kept() {
    for chunk in [json!({ "type": "weird", "x": 1 }), json!({ "x": 1 }), json!(42), json!("s"), json!([1])] {
        let decoded = decode(&[chunk.clone(), said("a")]);
        assert!(decoded.errors.is_empty(), "{chunk}");
        assert!(
            matches!(&decoded.records[0].event, Event::Unknown(UnknownEvent { data, .. }) if *data == chunk)
        );
    }
    // A line that is not JSON only causes a warning in the client and is reported here.
    let mut decoder = TanStackDecoder::default();
    let mut out = DecodeOutput::default();
    let frame = Frame { event: None, id: None, data: "{oops", offset: 0, index: 0 };
    decoder.frame(&frame, &mut out);
    assert_eq!(out.errors[0].kind(), ErrorKind::Json);
    assert!(!out.errors[0].is_fatal());
}

#[test]
fn every_line_of_an_event_is_a_chunk() {
    let mut decoder = TanStackDecoder::default();
    let mut out = DecodeOutput::default();
    let data = format!("{}\n{}", said("a"), said("b"));
    decoder.frame(&Frame { event: None, id: None, data: &data, offset: 0, index: 0 }, &mut out);
    let texts = out
        .records
        .iter()
        .filter(|record| matches!(record.event, Event::BlockDelta(BlockDelta { kind: BlockKind::Text, .. })))
        .count();
    assert_eq!(texts, 2);
}

#[test]
fn response_is_one_message_with_the_model_name() {
    let decoded = decode(&[said("a"), done("stop")]);
    let Event::RunStarted(started) = &decoded.records[0].event else { panic!("{:?}", decoded.records[0]) };
    assert_eq!(started.model.as_deref(), Some("m"));
    assert_eq!(decoded.records[0].time, 1);
    let Event::MessageStarted(MessageStarted { message, role, .. }) = &decoded.records[1].event else {
        panic!()
    };
    assert_eq!((message.as_str(), *role), ("msg-1", Role::Assistant));
}

#[test]
fn nothing_is_read_after_an_error() {
    let error = json!({ "type": "error", "error": { "message": "gone" } });
    let state = reduce(&[said("before"), error, said(" after"), call("c", "{}"), done("stop")]);
    assert_eq!(state.messages()[0].plain_text(), "before");
    assert_eq!(state.messages()[0].parts.len(), 1);
    assert_eq!(state.run().status, RunStatus::Failed);
}

#[test]
fn foreign_approval_keeps_its_input() {
    let approval = json!({
        "type": "approval-requested", "toolCallId": "c", "toolName": "f",
        "input": { "path": "/tmp/x" }, "approval": { "id": "a", "needsApproval": true },
    });
    let decoded = decode(&[call("c", ""), done("tool_calls"), approval]);
    let asked = decoded.records.iter().find_map(|record| match &record.event {
        Event::ApprovalRequested(asked) => asked.input.clone(),
        _ => None,
    });
    assert_eq!(asked, Some(json!({ "path": "/tmp/x" })));
}
