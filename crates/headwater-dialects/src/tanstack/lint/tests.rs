use headwater_protocol::Framing;

use crate::lint;

fn found(framing: Framing, stream: &str) -> Vec<(&'static str, Option<u64>)> {
    let reader = crate::reader("tanstack").unwrap();
    let findings = lint(reader, framing, stream.as_bytes());
    for finding in &findings {
        assert!(
            reader.lint_rules().iter().any(|rule| rule.name == finding.rule),
            "unlisted: {}",
            finding.rule
        );
    }
    findings.iter().map(|finding| (finding.rule, finding.frame)).collect()
}

/// A chunk with the fields that all have.
fn chunk(kind: &str, rest: &str) -> String {
    format!(r#"{{"type":"{kind}","id":"1","model":"m","timestamp":1{rest}}}"#)
}

fn text(delta: &str) -> String {
    chunk("content", &format!(r#","delta":"{delta}""#))
}

fn call(arguments: &str) -> String {
    let function = format!(r#"{{"name":"f","arguments":"{arguments}"}}"#);
    chunk(
        "tool_call",
        &format!(r#","toolCall":{{"id":"c","type":"function","function":{function}}},"index":0"#),
    )
}

fn result() -> String {
    chunk("tool_result", r#","toolCallId":"c","content":"1""#)
}

fn done() -> String {
    chunk("done", r#","finishReason":"stop""#)
}

#[test]
fn each_rule_is_found_where_it_is_broken() {
    let again = chunk("content", r#","delta":"B","content":"""#);
    let approval =
        chunk("approval-requested", r#","toolCallId":"c","approval":{"id":"a","needsApproval":true}"#);
    let table: Vec<(&str, Vec<String>, u64)> = vec![
        ("json", vec!["{oops".into(), done()], 0),
        ("shape", vec!["null".into(), done()], 0),
        ("shape", vec![chunk("tool_call", ""), done()], 0),
        ("base-fields", vec![r#"{"type":"done","id":"1","model":"m"}"#.into()], 0),
        ("known-type", vec![chunk("RUN_STARTED", ""), done()], 0),
        ("delta", vec![text("A"), chunk("content", r#","content":"A""#), done()], 1),
        ("segment", vec![text("A"), call("{}"), text("B"), done()], 2),
        ("segment", vec![text("A"), chunk("thinking", r#","delta":"x""#), text("B"), done()], 2),
        ("segment", vec![call(""), text("A"), call("{}"), again.clone(), done()], 3),
        ("finish-reason", vec![chunk("done", r#","finishReason":"tired""#)], 0),
        ("tool-result", vec![chunk("tool_result", r#","toolCallId":"c","content":{}"#), done()], 0),
        ("tool-id-once", vec![call("{}"), result(), call("{}"), done()], 2),
        ("known-call", vec![approval.clone(), done()], 0),
        ("after-done", vec![call("{}"), approval, done()], 1),
        ("nothing-after-error", vec![chunk("error", r#","error":{"message":"x"}"#), text("A")], 1),
    ];
    for (rule, chunks, frame) in table {
        assert_eq!(found(Framing::Ndjson, &chunks.join("\n")), [(rule, Some(frame))], "{rule}: {chunks:?}");
    }
    assert_eq!(found(Framing::Ndjson, &text("A")), [("terminal", None)]);
    assert_eq!(found(Framing::Ndjson, &[text("A"), call("{}"), result(), again, done()].join("\n")), []);
}

#[test]
fn input_that_the_clients_reader_rejects_is_named() {
    let done = done();
    let table = [
        ("one-space", format!("data:{done}\n\n")),
        ("no-comment", format!(": hello\n\ndata: {done}\n\n")),
        ("data-only", format!("id: 1\ndata: {done}\n\n")),
        ("data-only", format!("event: message\ndata: {done}\n\n")),
        ("data-only", format!("retry: 1\n\ndata: {done}\n\n")),
        ("marker-last", format!("data: {done}\n\ndata: [DONE]\n\ndata: {done}\n\n")),
    ];
    for (rule, stream) in table {
        let found = found(Framing::Sse, &stream);
        assert_eq!(found.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), [rule], "{stream:?}");
    }
    let found_in = |stream: String| -> Vec<_> {
        found(Framing::Sse, &stream).into_iter().map(|(rule, _)| rule).collect()
    };
    assert_eq!(found_in(format!("data: {done}\r\n\r\n")), ["lf"]);
    assert!(found_in(format!("data: {done}\ndata: {done}\n\n")).contains(&"one-line"));
    assert_eq!(found(Framing::Ndjson, &format!("{done}\n[DONE]")), [("json", Some(1))]);
    // Blank lines keep the connection open and are ignored.
    assert_eq!(found(Framing::Sse, &format!("\n\ndata: {done}\n\n\n\ndata: [DONE]\n\n")), []);
}

#[test]
fn example_of_the_protocols_documentation_is_clean() {
    let stream = concat!(
        r#"data: {"type":"content","id":"chunk_1","model":"gpt-4","timestamp":1699123456789,"delta":"Hello","content":"Hello"}"#,
        "\n\n",
        r#"data: {"type":"content","id":"chunk_2","model":"gpt-4","timestamp":1699123456790,"delta":" world","content":"Hello world"}"#,
        "\n\ndata: [DONE]\n\n",
    );
    assert_eq!(found(Framing::Sse, stream), []);
}

/// The example of the protocol's documentation.
const DOCUMENTED: &str = r#"data: {"type":"content","id":"chunk_1","model":"gpt-4","timestamp":1699123456789,"delta":"Hello","content":"Hello"}

data: {"type":"content","id":"chunk_2","model":"gpt-4","timestamp":1699123456790,"delta":" world","content":"Hello world"}

data: [DONE]"#;

#[test]
fn documented_example_keeps_the_contract_with_and_without_a_last_blank_line() {
    for end in ["", "\n", "\n\n"] {
        assert_eq!(found(Framing::Sse, &format!("{DOCUMENTED}{end}")), [], "{end:?}");
    }
}
