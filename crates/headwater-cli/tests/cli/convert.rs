//! `headwater convert`: from one dialect to another.

use serde_json::{Value, json};

use crate::run::{DIALECTS, example, headwater, read_example};

/// Structured objects and questions that some pages show as tool calls.
const SHOWN_AS_CALLS: [&str; 2] = ["email.compose", "ask_user"];

/// The content that must survive a conversion: the joined texts, and the tools with inputs and outputs.
fn gist(dialect: &str, stream: &[u8]) -> Value {
    let ran = headwater(&["reduce", "--dialect", dialect], stream);
    let state = ran.json();
    let parts: Vec<&Value> = state["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] != "tool")
        .flat_map(|message| message["parts"].as_array().unwrap())
        .collect();
    let text: String =
        parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()).collect();
    let tools: Vec<Value> = parts
        .iter()
        .filter(|part| part["type"].as_str().unwrap().starts_with("tool-"))
        .filter(|part| !SHOWN_AS_CALLS.contains(&part["toolName"].as_str().unwrap()))
        .map(|part| {
            json!({
                "call": part["toolCallId"], "name": part["toolName"], "state": part["state"],
                "input": part["input"], "output": parsed(&part["output"]), "error": part["errorText"],
            })
        })
        .collect();
    json!({ "status": state["run"]["status"], "text": text, "tools": tools })
}

/// Some wires carry an output as text.
fn parsed(output: &Value) -> Value {
    output.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| output.clone())
}

fn convert(from: &str, to: &str, stream: &[u8]) -> Vec<u8> {
    let ran = headwater(&["convert", "--from", from, "--to", to], stream);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{from} to {to}");
    ran.stdout.into_bytes()
}

#[test]
fn round_trip_keeps_text_and_tools() {
    for from in DIALECTS {
        let original = read_example(&format!("{from}.sse"));
        let expected = gist(from, &original);
        assert_ne!(expected["text"], "", "{from}");
        assert_ne!(expected["tools"], json!([]), "{from}");
        for to in DIALECTS {
            let there = convert(from, to, &original);
            assert_eq!(gist(to, &there), expected, "{from} to {to}");
            let back = convert(to, from, &there);
            assert_eq!(gist(from, &back), expected, "{from} to {to} and back");
        }
    }
}

#[test]
fn converted_stream_is_recognised_and_passes_lint() {
    for from in [
        "native.sse",
        "kortyx.sse",
        "kortyx-interrupt.sse",
        "tanstack.sse",
        "mui.sse",
        "agents.sse",
        "ai-sdk.sse",
        "ag-ui.sse",
    ] {
        for to in DIALECTS {
            let ran = headwater(&["convert", "--to", to, &example(from)], "");
            assert_eq!(ran.code, Some(0), "{from} to {to}: {}", ran.stderr);
            let ran = headwater(&["lint"], ran.stdout);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{from} to {to}");
            assert_eq!(ran.stderr, format!("note: recognised {to} over sse\n"), "{from} to {to}");
        }
    }
}

#[test]
fn truncated_stream_stays_truncated() {
    for from in DIALECTS {
        let stream = read_example(&format!("{from}.sse"));
        let cut = &stream[..stream.len() / 3];
        for to in DIALECTS {
            let ran = headwater(&["convert", "--from", from, "--to", to], cut);
            assert_eq!(ran.code, Some(1), "{from} to {to}");
            assert_eq!(gist(to, ran.stdout.as_bytes())["status"], "failed", "{from} to {to}");
            assert!(!ran.stdout.contains("[DONE]"), "{from} to {to}: {}", ran.stdout);
        }
    }
}

#[test]
fn framing_and_content_can_be_chosen() {
    let file = example("tanstack.sse");
    let convert = |args: &[&str]| headwater(&[&["convert", "--to", "tanstack"], args, &[&file]].concat(), "");

    let ndjson = convert(&["--framing", "ndjson"]);
    assert_eq!(ndjson.code, Some(0));
    assert!(ndjson.json_lines().iter().all(|chunk| chunk["type"].is_string()), "{}", ndjson.stdout);

    let last = |mode: &str| {
        let chunks = convert(&["--framing", "ndjson", "--content", mode]).json_lines();
        chunks.iter().rfind(|chunk| chunk["type"] == "content").unwrap()["content"].clone()
    };
    assert_eq!(last("full"), "Let me look.It is sunny and 72 °F.");
    assert_eq!(last("hybrid"), "It is sunny and 72 °F.");

    let ran = headwater(&["convert", "--to", "kortyx", "--framing", "ndjson", &example("kortyx.sse")], "");
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("warning: the clients of kortyx do not read ndjson"), "{}", ran.stderr);
}
