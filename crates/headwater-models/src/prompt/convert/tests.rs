use headwater_dialects::ui_message;
use serde_json::json;

use super::*;

fn prompt(messages: Value, options: &PromptOptions) -> Value {
    let messages = messages.as_array().unwrap().iter();
    let messages: Vec<_> = messages.map(|message| ui_message::read(message, "m").unwrap()).collect();
    json!(to_model_messages(&messages, options).unwrap())
}

fn tool(call: &str, state: &str, more: Value) -> Value {
    let mut part = json!({ "type": "tool-t", "toolCallId": call, "state": state, "input": {} });
    part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    part
}

#[test]
fn each_step_becomes_an_assistant_turn_and_a_tool_turn() {
    let answer = json!({ "id": "a", "role": "assistant", "parts": [
        { "type": "step-start" },
        { "type": "text", "text": "Let me see." },
        tool("c1", "output-available", json!({ "output": "4 °C" })),
        tool("c2", "output-error", json!({ "errorText": "closed" })),
        tool("c3", "output-available", json!({ "output": 1, "providerExecuted": true })),
        { "type": "data-chart", "data": 1 },
        { "type": "step-start" },
        { "type": "text", "text": "Cold." },
    ]});
    let turns = prompt(json!([answer]), &PromptOptions::default());
    let kinds: Vec<Vec<&str>> = turns
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| {
            let parts = turn["content"].as_array().unwrap().iter().map(|part| part["type"].as_str().unwrap());
            turn["role"].as_str().into_iter().chain(parts).collect()
        })
        .collect();
    assert_eq!(
        kinds,
        [
            vec!["assistant", "text", "tool-call", "tool-call", "tool-call", "tool-result"],
            vec!["tool", "tool-result", "tool-result"],
            vec!["assistant", "text"],
        ]
    );
    assert_eq!(turns[1]["content"][1]["output"], json!({ "type": "error-text", "value": "closed" }));
}

#[test]
fn undecided_call_is_dropped_when_the_conversation_continues() {
    let asked = tool("c1", "approval-requested", json!({ "approval": { "id": "ap" } }));
    let user = |id: &str| json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": "x" }] });
    let answer = json!({ "id": "a", "role": "assistant", "parts": [asked] });
    let still_asked = prompt(json!([user("u1"), answer]), &PromptOptions::default());
    assert_eq!(still_asked[1]["content"][1]["type"], "tool-approval-request");
    let gone_on = prompt(json!([user("u1"), answer, user("u2")]), &PromptOptions::default());
    assert_eq!(gone_on.as_array().unwrap().len(), 2);
    let ignoring = PromptOptions::ignoring_incomplete_tool_calls();
    assert_eq!(prompt(json!([user("u1"), answer]), &ignoring).as_array().unwrap().len(), 1);
}

#[test]
fn denial_reaches_the_model_as_a_result() {
    let refused = |state: &str| {
        let approval = json!({ "approval": { "id": "ap", "approved": false, "reason": "no" } });
        let answer = json!({ "id": "a", "role": "assistant", "parts": [tool("c1", state, approval)] });
        prompt(json!([answer]), &PromptOptions::default())[1]["content"][1]["output"].clone()
    };
    assert_eq!(refused("approval-responded"), json!({ "type": "execution-denied", "reason": "no" }));
    assert_eq!(refused("output-denied"), json!({ "type": "error-text", "value": "no" }));
}

#[test]
fn file_needs_a_valid_url() {
    for (url, given) in [
        ("https://Example.com", Some("https://example.com/")),
        ("https://e/x?y", Some("https://e/x?y")),
        ("data:image/png;base64,AA==", Some("data:image/png;base64,AA==")),
        ("a.png", None),
        ("https://", None),
    ] {
        assert_eq!(address(url).ok().as_deref(), given, "{url}");
    }
}
