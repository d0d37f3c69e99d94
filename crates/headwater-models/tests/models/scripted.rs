use std::{sync::Arc, task::Poll, time::Duration};

use headwater_models::{
    ContentPart, Model, ModelError, ModelErrorKind, ModelMessage, ModelRequest, ResponseFormat,
    ToolResultOutput,
    scripted::{Call, Fault, Rule, Script, ScriptedModel, When},
};
use headwater_protocol::{FinishReason, ToolSpec, Usage};
use serde_json::json;

use crate::call::{ask, line, lines, poll};

fn of(rule: Rule) -> ScriptedModel {
    ScriptedModel::new(Script::new("test").rule(rule))
}

fn user(text: &str) -> ModelMessage {
    ModelMessage::User { content: vec![ContentPart::Text { text: text.to_owned(), provider_options: None }] }
}

fn assistant(text: &str) -> ModelMessage {
    ModelMessage::Assistant {
        content: vec![ContentPart::Text { text: text.to_owned(), provider_options: None }],
    }
}

fn tool(name: &str, output: ToolResultOutput) -> ModelMessage {
    ModelMessage::Tool {
        content: vec![ContentPart::ToolResult {
            tool_call_id: "c1".into(),
            tool_name: name.to_owned(),
            output,
            provider_options: None,
        }],
    }
}

#[test]
fn every_step_emits_its_events() {
    let started = r#"started {"model":"test"}"#;
    let end = |reason: &str, output: u64| {
        format!(
            r#"finished {{"reason":"{reason}","usage":{{"inputTokens":1,"outputTokens":{output},"totalTokens":{}}}}}"#,
            output + 1
        )
    };
    let cases: [(Rule, Vec<String>); 9] = [
        (Rule::always(), vec![end("stop", 0)]),
        (
            Rule::always().text("Hello big world"),
            vec![
                "text-start 0".into(),
                r#"text-delta 0 "Hello ""#.into(),
                r#"text-delta 0 "big ""#.into(),
                r#"text-delta 0 "world""#.into(),
                "text-end 0".into(),
                end("stop", 3),
            ],
        ),
        (
            Rule::always().json(json!({ "said": "{input}", "n": [1, 2.5] })).chunk(14),
            vec![
                "text-start 0".into(),
                r#"text-delta 0 "{\"said\":\"Hi\",\"""#.into(),
                r#"text-delta 0 "n\":[1,2.5]}""#.into(),
                "text-end 0".into(),
                end("stop", 3),
            ],
        ),
        (
            Rule::always().tool("search", json!({ "q": "x" })).text("Looking.").finish(FinishReason::Length),
            vec![
                r#"tool-call-start 0 "call-dbef73f6-0" "search""#.into(),
                r#"tool-call-delta 0 "{\"q\":\"x\"}""#.into(),
                "tool-call-end 0".into(),
                "text-start 1".into(),
                r#"text-delta 1 "Looking.""#.into(),
                "text-end 1".into(),
                end("length", 2),
            ],
        ),
        (
            Rule::always().chunk(4).tools([
                Call::new("a", json!({ "q": 1 })).id("one"),
                Call::raw("b", "{\"q").id("two-{turn}").metadata(json!({ "s": 1 })),
            ]),
            vec![
                r#"tool-call-start 0 "one" "a""#.into(),
                r#"tool-call-start 1 "two-1" "b""#.into(),
                r#"tool-call-delta 0 "{\"q\"""#.into(),
                r#"tool-call-delta 1 "{\"q""#.into(),
                r#"tool-call-delta 0 ":1}""#.into(),
                r#"tool-call-end 1 {"metadata":{"s":1}}"#.into(),
                "tool-call-end 0".into(),
                end("tool-calls", 2),
            ],
        ),
        (
            Rule::always()
                .tools([Call::new("web", json!({})).id("c").output(json!({ "hits": ["{input}"] }))])
                .source("https://a.example", "A")
                .document("B", "the passage"),
            vec![
                r#"tool-call-start 0 "c" "web" {"providerExecuted":true}"#.into(),
                r#"tool-call-delta 0 "{}""#.into(),
                "tool-call-end 0".into(),
                r#"tool-result 0 {"output":{"hits":["Hi"]}}"#.into(),
                r#"source-url {"url":"https://a.example","title":"A"}"#.into(),
                r#"source-document {"title":"B","text":"the passage"}"#.into(),
                end("stop", 1),
            ],
        ),
        (
            Rule::always().file("image/png", "data:image/png;base64,AA==").warning("temperature", "not known"),
            vec![
                r#"file {"mediaType":"image/png","url":"data:image/png;base64,AA=="}"#.into(),
                r#"warning {"feature":"temperature","message":"not known"}"#.into(),
                end("stop", 0),
            ],
        ),
        (
            Rule::always()
                .text("")
                .usage(Usage { input_tokens: Some(7), ..Usage::default() })
                .metadata(json!({ "scripted": { "tier": 1 } })),
            vec![
                "text-start 0".into(),
                "text-end 0".into(),
                r#"finished {"reason":"stop","usage":{"inputTokens":7},"metadata":{"scripted":{"tier":1}}}"#.into(),
            ],
        ),
        (
            Rule::always().signed_reasoning("Hm", json!({ "signature": "s" })),
            vec![
                "reasoning-start 0".into(),
                r#"reasoning-delta 0 "Hm""#.into(),
                r#"reasoning-end 0 {"metadata":{"signature":"s"}}"#.into(),
                r#"finished {"reason":"stop","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2,"reasoningTokens":1}}"#.into(),
            ],
        ),
    ];
    for (rule, mut expected) in cases {
        expected.insert(0, started.to_owned());
        assert_eq!(lines(&of(rule), ModelRequest::new("Hi")), expected);
    }
}

#[test]
fn first_matching_rule_answers() {
    let offered = |mut request: ModelRequest| {
        request.tools.push(ToolSpec::new("search", json!({})));
        request
    };
    let in_json = |mut request: ModelRequest| {
        request.response_format = Some(ResponseFormat::Json { schema: None, name: None });
        request
    };
    let tried = |mut request: ModelRequest, attempt| {
        request.attempt = attempt;
        request
    };
    let text = |value: &str| ToolResultOutput::Text { value: value.to_owned() };
    let after_tool = |output| ModelRequest::of(vec![user("go"), assistant("ok"), tool("search", output)]);
    let cases = [
        (When::input("go"), ModelRequest::new("go"), true),
        (When::input("go"), ModelRequest::new("go off"), false),
        (When::input_contains("o o"), ModelRequest::new("go off"), true),
        (When::input_starts_with("on"), ModelRequest::new("go off"), false),
        (When::input("two"), ModelRequest::of(vec![user("one"), assistant("x"), user("two")]), true),
        (When::system_contains("poet"), ModelRequest::new("go").system("You are a poet."), true),
        (When::system_contains("poet"), ModelRequest::new("poet"), false),
        (When::attempt(0), ModelRequest::new("go"), true),
        (When::attempt(1), tried(ModelRequest::new("go"), 1), true),
        (When::turn(2), ModelRequest::of(vec![user("one"), assistant("x"), user("two")]), true),
        (When::turn(2), ModelRequest::new("go"), false),
        (When::pass(0), ModelRequest::of(vec![user("one"), assistant("x"), user("two")]), true),
        (When::pass(1), after_tool(text("found")), true),
        (When::after_tool("search"), after_tool(text("found")), true),
        (When::after_tool("other"), after_tool(text("found")), false),
        (When::after_tool("search"), ModelRequest::new("go"), false),
        (When::tool_gave("search", "und"), after_tool(text("found")), true),
        (
            When::tool_gave("search", "1"),
            after_tool(ToolResultOutput::Json { value: json!({ "n": 1 }) }),
            true,
        ),
        (When::tool_gave("search", "lost"), after_tool(text("found")), false),
        (When::schema(true), in_json(ModelRequest::new("go")), true),
        (When::schema(false), in_json(ModelRequest::new("go")), false),
        (When::tool_offered("search"), offered(ModelRequest::new("go")), true),
        (When::tool_offered("other"), offered(ModelRequest::new("go")), false),
        (When::input("go").and(When::attempt(1)), ModelRequest::new("go"), false),
    ];
    for (when, request, expected) in cases {
        let script =
            Script::new("test").rule(Rule::when(when.clone()).text("yes")).rule(Rule::always().text("no"));
        let said = lines(&ScriptedModel::new(script), request.clone()).join("\n");
        assert_eq!(said.contains("\"yes\""), expected, "{when} on {request:?}");
    }
}

#[test]
fn unmatched_request_is_an_error_that_lists_the_rules() {
    let script = Script::new("shy").rule(Rule::when(When::input("a"))).rule(Rule::when(When::turn(3)));
    let error = ask(&ScriptedModel::new(script), ModelRequest::new("hello")).pop().unwrap().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::InvalidRequest);
    assert_eq!(
        error.to_string(),
        "scripted:shy: no rule matches the input \"hello\" (turn 1, pass 0, attempt 0); rules: 1. input is \"a\"; \
         2. turn is 3. Add a rule without conditions to answer everything else",
    );
}

#[test]
fn tool_loop_runs_to_its_end() {
    let script = Script::new("loop")
        .rule(Rule::when(When::after_tool("search")).text("Found {tool.search}."))
        .rule(Rule::always().tool("search", json!({ "q": "{input}" })));
    let model = ScriptedModel::new(script);
    let first = lines(&model, ModelRequest::new("rust"));
    assert!(first.contains(&r#"tool-call-delta 0 "{\"q\":\"rust\"}""#.to_owned()), "{first:?}");
    let found = tool("search", ToolResultOutput::Json { value: json!({ "hits": 3 }) });
    let second = lines(&model, ModelRequest::of(vec![user("rust"), assistant(""), found]));
    assert!(second.contains(&r#"text-delta 0 "{\"hits\":3}.""#.to_owned()), "{second:?}");
}

#[test]
fn call_condition_answers_in_call_order() {
    let script = Script::new("run")
        .rule(Rule::when(When::call(0)).text("first"))
        .rule(Rule::when(When::call(1)).text("second"));
    let model = ScriptedModel::new(script);
    let say = || lines(&model, ModelRequest::new("go")).join("\n");
    assert!(say().contains("first"));
    assert!(say().contains("second"));
    assert!(say().contains("call is 1"), "the run is over: {}", say());
}

#[test]
fn same_request_gets_same_answer_and_other_passes_get_other_call_ids() {
    let model = of(Rule::always().reasoning("So").tool("a", json!({})).text("{turn} {attempt} {input}"));
    let request = ModelRequest::new("again");
    assert_eq!(ask(&model, request.clone()), ask(&model, request.clone()));

    let mut retried = request.clone();
    retried.attempt = 1;
    let id = |request| {
        lines(&model, request).into_iter().find(|line| line.starts_with("tool-call-start")).unwrap()
    };
    assert_ne!(id(request), id(retried));
}

#[test]
fn whole_answer_has_one_delta_per_part() {
    let mut request = ModelRequest::new("Hi");
    request.whole = true;
    let said = lines(&of(Rule::always().text("one two three").json(json!([1, 2])).chunk(1)), request);
    let deltas: Vec<_> = said.iter().filter(|line| line.starts_with("text-delta")).collect();
    assert_eq!(deltas, [r#"text-delta 0 "one two three""#, r#"text-delta 1 "[1,2]""#]);
}

#[test]
fn fault_interrupts_the_part_before_it() {
    let cut =
        lines(&of(Rule::always().text("Half a").fault(Fault::cut()).text("never")), ModelRequest::new("x"));
    assert_eq!(cut.last().unwrap(), r#"text-delta 0 "a""#);

    let error = ModelError::new(ModelErrorKind::RateLimit, "slow down").retry_after(Duration::from_secs(2));
    let failed =
        ask(&of(Rule::always().text("Half").fault(Fault::error(error.clone()))), ModelRequest::new("x"));
    assert_eq!(failed.last().unwrap(), &Err(error));
    assert_eq!(line(&failed[failed.len() - 2]), r#"text-delta 0 "Half""#);

    let rubbish = ask(&of(Rule::always().fault(Fault::malformed())), ModelRequest::new("x"));
    assert_eq!(rubbish.last().unwrap().as_ref().unwrap_err().kind(), ModelErrorKind::Malformed);
}

#[test]
fn stall_never_continues_and_dropping_the_stream_ends_it() {
    let model = of(Rule::always().text("Half").fault(Fault::stall()));
    let mut stream = model.ask(ModelRequest::new("x"));
    let mut said = Vec::new();
    while let Poll::Ready(item) = poll(&mut stream) {
        said.push(line(&item.unwrap()));
    }
    assert_eq!(said, [r#"started {"model":"test"}"#, "text-start 0", r#"text-delta 0 "Half""#]);
    assert!(poll(&mut stream).is_pending());

    let request = Arc::downgrade(&model.calls()[0]);
    drop(stream);
    drop(model);
    assert!(request.upgrade().is_none(), "a dropped stream holds nothing");
}

#[tokio::test(start_paused = true)]
async fn delay_and_pace_are_kept() {
    let rule = Rule::always().delay(Duration::from_millis(300)).text("a b c").pace(Duration::from_millis(50));
    let mut stream = of(rule).ask(ModelRequest::new("x"));
    let began = tokio::time::Instant::now();
    let mut times = Vec::new();
    while let Some(item) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        // The clock is paused and moves only during waits, so the times are exact.
        times.push((line(&item).split(' ').next().unwrap().to_owned(), began.elapsed().as_millis()));
    }
    let times: Vec<_> = times.iter().map(|(kind, at)| (kind.as_str(), *at)).collect();
    assert_eq!(
        times,
        [
            ("started", 0),
            ("text-start", 300),
            ("text-delta", 350),
            ("text-delta", 400),
            ("text-delta", 450),
            ("text-end", 450),
            ("finished", 450),
        ]
    );
}

#[test]
fn calls_returns_the_last_requests() {
    let model = of(Rule::always());
    let unpolled = model.ask(ModelRequest::new("never polled"));
    drop(unpolled);
    assert_eq!((model.asked(), model.calls().len()), (0, 0));
    for number in 0..300 {
        ask(&model.clone(), ModelRequest::new(number.to_string()));
    }
    let calls = model.calls();
    assert_eq!((model.asked(), calls.len()), (300, 256));
    assert_eq!(*calls[255], ModelRequest::new("299"));
}
