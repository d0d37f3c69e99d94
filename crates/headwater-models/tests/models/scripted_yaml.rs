use headwater_models::{ModelError, ModelErrorKind};
use headwater_models::{
    ModelRequest,
    scripted::{Call, Fault, Rule, Script, ScriptedModel, When},
};
use headwater_protocol::{FinishReason, Usage};
use serde_json::json;
use std::time::Duration;

use crate::call::lines;

#[test]
fn yaml_and_rust_write_the_same_script() {
    let yaml = Script::from_yaml(
        r#"
name: all
chunk: 3
pace: 20
rules:
  - when: { input: a, attempt: 1, pass: 2, turn: 3, call: 4, schema: true, tool: t }
    say:
      - reasoning: { text: hm, metadata: { signature: s } }
      - text: "{input}"
      - json: { a: [1, true, null] }
      - tool: { name: search, input: { q: "{input}" } }
      - tools:
          - { name: a, input: {}, id: one }
          - { name: b, raw: "{", metadata: 1 }
          - { name: c, input: 1, output: 2 }
      - source: { url: u, title: t }
      - file: { media_type: m, url: u }
      - warning: { feature: f, message: m }
      - delay: 5
      - fault: { error: rate-limit, message: slow, retry_after: 100, status: 429 }
    chunk: 2
    pace: 1
    finish: tool-calls
    usage: { inputTokens: 1 }
    metadata: { scripted: 1 }
  - when: { input_contains: a }
    say: [{ fault: stall }]
  - when: { input_starts_with: a, system_contains: b }
    say: [{ fault: cut }]
  - when: { after_tool: t, result_contains: r }
    say: [{ fault: malformed }]
"#,
    )
    .unwrap();
    let limit = ModelError::new(ModelErrorKind::RateLimit, "slow")
        .retry_after(Duration::from_millis(100))
        .status(429);
    let all = When::input("a")
        .and(When::attempt(1))
        .and(When::pass(2))
        .and(When::turn(3))
        .and(When::call(4))
        .and(When::schema(true))
        .and(When::tool_offered("t"));
    let rust = Script::new("all")
        .chunk(3)
        .pace(Duration::from_millis(20))
        .rule(
            Rule::when(all)
                .signed_reasoning("hm", json!({ "signature": "s" }))
                .text("{input}")
                .json(json!({ "a": [1, true, null] }))
                .tool("search", json!({ "q": "{input}" }))
                .tools([
                    Call::new("a", json!({})).id("one"),
                    Call::raw("b", "{").metadata(1),
                    Call::new("c", 1).output(2),
                ])
                .source("u", "t")
                .file("m", "u")
                .warning("f", "m")
                .delay(Duration::from_millis(5))
                .fault(Fault::error(limit))
                .chunk(2)
                .pace(Duration::from_millis(1))
                .finish(FinishReason::ToolCalls)
                .usage(Usage { input_tokens: Some(1), ..Usage::default() })
                .metadata(json!({ "scripted": 1 })),
        )
        .rule(Rule::when(When::input_contains("a")).fault(Fault::stall()))
        .rule(Rule::when(When::input_starts_with("a").and(When::system_contains("b"))).fault(Fault::cut()))
        .rule(Rule::when(When::tool_gave("t", "r")).fault(Fault::malformed()));
    assert_eq!(yaml, rust);
}

#[test]
fn error_has_position_and_suggestion() {
    let cases = [
        ("", "line 1, column 1: "),
        ("rules: []\n", "line 1, column 1: missing field `name`"),
        (
            "name: x\nruls: []\n",
            "line 2, column 1: unknown field `ruls`: did you mean `rules`? (known: name, chunk, pace, rules)",
        ),
        (
            "name: x\nrules:\n  - wen: {}\n",
            "line 3, column 5: unknown field `wen`: did you mean `when`? (known: when, say, chunk, pace, finish, usage, \
             metadata)",
        ),
        (
            "name: x\nrules:\n  - when: { input_contain: a }\n",
            "line 3, column 13: unknown field `input_contain`: did you mean `input_contains`? (known: input, \
             input_contains, input_starts_with, system_contains, attempt, pass, turn, call, after_tool, result_contains, \
             schema, tool)",
        ),
        (
            "name: x\nrules:\n  - say:\n      - txt: hi\n",
            "line 4, column 9: unknown word `txt`: did you mean `text`? (known: reasoning, text, json, tool, tools, \
             source, file, warning, delay, fault)",
        ),
        (
            "name: x\nrules:\n  - say:\n      - tool: { name: a, inptu: {} }\n",
            "line 4, column 26: unknown field `inptu`: did you mean `input`? (known: name, input, raw, id, output, \
             metadata)",
        ),
        (
            "name: x\nrules:\n  - say:\n      - fault: { error: rate-limt }\n",
            "line 4, column 25: unknown word `rate-limt`: did you mean `rate-limit`? (known: auth, rate-limit, \
             overloaded, invalid-request, unknown-model, context-length, content-filter, timeout, unreachable, cut, \
             malformed, provider)",
        ),
        (
            "name: x\nrules:\n  - say:\n      - fault: stal\n",
            "line 4, column 9: invalid value: string \"stal\", expected `stall`, `cut`, `malformed`, or a mapping with",
        ),
        (
            "name: x\nrules:\n  - say:\n      - text: 42\n",
            "line 4, column 9: invalid type: integer `42`, expected a text (put a number in quotes)",
        ),
        ("name: x\nrules:\n  - say:\n      - delay: soon\n", "line 4, column 16: invalid u64"),
        ("name: x\nrules:\n  - when: { result_contains: a }\n", "line 3, column "),
        ("name: x\nchunk: 0\n", "line 2, column 1: invalid value: integer `0`"),
        ("name: [x\n", "line "),
    ];
    for (yaml, expected) in cases {
        let error = Script::from_yaml(yaml).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{yaml}\n   {error}\n   {expected}");
    }
}

#[test]
fn text_may_span_lines() {
    let yaml = "name: x\nrules:\n  - say:\n      - text: |\n          one\n          two\n";
    let model = ScriptedModel::new(Script::from_yaml(yaml).unwrap());
    let said = lines(&model, ModelRequest::new("x"));
    assert_eq!(said[2..4], [r#"text-delta 0 "one\n""#, r#"text-delta 0 "two\n""#]);
}

#[test]
fn documented_script_works() {
    let page = include_str!("../../../../docs/models.md");
    let (_, section) = page.split_once("## The scripted model\n").unwrap();
    let (_, yaml) = section.split_once("```yaml\n").unwrap();
    let (yaml, _) = yaml.split_once("```").unwrap();
    let model = ScriptedModel::new(Script::from_yaml(yaml).unwrap());
    let said = lines(&model, ModelRequest::new("an unreliable thing"));
    assert_eq!(said.last().unwrap(), r#"text-delta 0 "to""#);
    let said = lines(&model, ModelRequest::new("rust"));
    assert!(said.contains(&r#"tool-call-delta 1 "{\"q\":\"rust\"}""#.to_owned()), "{said:?}");
}
