//! Model calls: the request, the streamed output, and the result.

mod failover;
mod kept_answers;

use std::time::Duration;

use headwater_models::{
    ContentPart, ModelError, ModelErrorKind, ModelMessage, ReasoningEffort, ResponseFormat, ToolChoice,
    scripted::{Fault, Rule, Script, ScriptedModel, When},
};
use headwater_protocol::{
    BlockKind, DataEvent, Event, EventKind, FinishReason, RunStatus, StructuredStatus, ToolSpec, Usage,
};
use headwater_runtime::{
    AgentBuilder, AgentFile, Cx, END, Failover, FileOptions, Next, NodeResult, ReasonReply, START, Start,
    StructuredOutput, Text, Workflow,
};
use headwater_tools::{ClientTool, Schema, schemars::JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harness::{TestRun, World, one, scripted};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Draft {
    subject: String,
    body: String,
    bullets: Vec<String>,
}

fn draft() -> Value {
    json!({ "subject": "Beta", "body": "Hi team, beta is open.", "bullets": ["Faster", "Live"] })
}

fn shown() -> StructuredOutput {
    StructuredOutput::new("email.compose").set("subject").text("body").append("bullets")
}

fn world<T: serde::de::DeserializeOwned + 'static>(
    node: impl headwater_runtime::NodeFunction<T>,
    model: &ScriptedModel,
) -> World {
    World::with(one(node), |agent| agent.model("writer", model.clone()))
}

/// The structured updates, as kind and path.
fn updates(ran: &TestRun) -> Vec<(&str, &str)> {
    let updates = ran.events.iter().filter_map(|event| match event {
        Event::Structured(update) => Some((update.op.kind(), update.op.path().unwrap_or_default())),
        Event::StructuredInvalidated(_) => Some(("invalidated", "")),
        _ => None,
    });
    let mut updates: Vec<_> = updates.collect();
    updates.dedup();
    updates
}

fn words<T>(reply: &ReasonReply<T>) -> Value {
    let warnings: Vec<_> = reply.warnings.iter().map(|warning| &warning.feature).collect();
    json!({
        "text": reply.text,
        "usage": reply.usage,
        "finish": reply.finish_reason.as_str(),
        "metadata": reply.provider_metadata,
        "warnings": warnings,
        "passes": reply.passes,
        "answer": reply.interrupt_response,
    })
}

#[tokio::test]
async fn every_option_reaches_the_model() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let Value::Object(provider) = json!({ "scripted": { "seed": 7 } }) else { unreachable!() };
        let earlier = vec![
            ModelMessage::User {
                content: vec![ContentPart::Text { text: "Hi".into(), provider_options: None }],
            },
            ModelMessage::Assistant {
                content: vec![ContentPart::Text { text: "Hello".into(), provider_options: None }],
            },
        ];
        cx.reason("writer")
            .system("Be brief.")
            .messages(earlier)
            .input("Continue")
            .temperature(0.2)
            .max_output_tokens(600)
            .stop_sequences(["</final>"])
            .reasoning_effort(ReasoningEffort::Medium)
            .reasoning_budget(256)
            .response_format(ResponseFormat::Json { schema: None, name: None })
            .provider_options(provider)
            .tool(ClientTool::new(ToolSpec::new("look", json!({ "type": "object" }))))
            .tool_choice(ToolChoice::Required)
            .stream(false)
            .await?;
        Ok(Next::go())
    }
    let model = scripted([Rule::always().text("Done")]);
    let ran = world(node, &model).run("").await;
    assert_eq!(ran.text(), "Done");
    let request = model.calls()[0].clone();
    let said = serde_json::to_value(&*request).unwrap();
    assert_eq!(
        said["messages"],
        json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [{ "type": "text", "text": "Hi" }] },
            { "role": "assistant", "content": [{ "type": "text", "text": "Hello" }] },
            { "role": "user", "content": [{ "type": "text", "text": "Continue" }] },
        ])
    );
    assert_eq!((request.temperature, request.max_output_tokens), (Some(0.2), Some(600)));
    assert_eq!(request.stop_sequences, ["</final>"]);
    assert_eq!(said["reasoning"], json!({ "effort": "medium", "maxTokens": 256 }));
    assert_eq!(request.response_format, Some(ResponseFormat::Json { schema: None, name: None }));
    assert_eq!(said["providerOptions"], json!({ "scripted": { "seed": 7 } }));
    assert_eq!(request.tools[0].name, "look");
    assert_eq!(request.tool_choice, Some(ToolChoice::Required));
    assert!(request.whole);
}

#[tokio::test]
async fn text_is_streamed_and_returned_with_its_metadata() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let reply = cx.reason("writer").input("Hi").await?;
        let so_far = cx.usage();
        Ok(Next::go().with_result(&json!({ "reply": words(&reply), "so_far": so_far }))?)
    }
    let usage =
        Usage { input_tokens: Some(3), output_tokens: Some(4), total_tokens: Some(7), ..Usage::default() };
    let model = scripted([Rule::always()
        .reasoning("Hm.")
        .text("Hello there, friend.")
        .source("https://example.org", "Example")
        .warning("temperature", "not supported")
        .usage(usage.clone())
        .metadata(json!({ "scripted": { "tier": "demo" } }))
        .finish(FinishReason::Length)]);
    let ran = world(node, &model).run("").await;
    assert_eq!(ran.text(), "Hello there, friend.");
    assert!(ran.count_blocks(BlockKind::Text, EventKind::BlockDelta) >= 3);
    assert_eq!(
        (ran.count_blocks(BlockKind::Reasoning, EventKind::BlockStarted), ran.count("source-url")),
        (1, 1)
    );
    assert_eq!(ran.warnings(), ["model.temperature"]);
    let reply = &ran.result()["reply"];
    assert_eq!(reply["usage"], serde_json::to_value(&usage).unwrap());
    assert_eq!(ran.result()["so_far"], reply["usage"]);
    assert_eq!((&reply["finish"], &reply["passes"]), (&json!("length"), &json!(1)));
    assert_eq!(reply["metadata"]["scripted"]["tier"], "demo");
    assert_eq!(reply["warnings"], json!(["temperature"]));
    let run = ran.outcome.state.run();
    assert_eq!((run.finish_reason.as_ref(), run.usage.as_ref()), (Some(&FinishReason::Length), Some(&usage)));
}

#[tokio::test]
async fn hidden_output_emits_no_events() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let ask = cx.reason("writer").input("Hi").emit(false);
        let text = if input == "object" {
            ask.output::<Draft>().structured(shown()).await?.text
        } else {
            ask.await?.text
        };
        Ok(Next::data(&json!({ "text": text }))?)
    }
    let model = scripted([
        Rule::when(When::schema(true)).json(draft()),
        Rule::always().reasoning("Hm.").text("secret").warning("x", "y").source("https://e.org", "E"),
    ]);
    let world = world(node, &model);
    for input in ["text", "object"] {
        let ran = world.run(input).await;
        assert_eq!(ran.emitted(), ["run-finished"], "{input}");
    }
    assert_eq!(model.asked(), 2);
}

#[tokio::test]
async fn text_without_streaming_comes_in_one_piece() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.reason("writer").input("Hi").stream(false).await?;
        Ok(Next::go())
    }
    let model = scripted([Rule::always().text("Hello there, friend.")]);
    let ran = world(node, &model).run("").await;
    assert_eq!(
        (ran.count_blocks(BlockKind::Text, EventKind::BlockDelta), &*ran.text()),
        (1, "Hello there, friend.")
    );
}

#[tokio::test]
async fn object_streams_by_field_in_one_stream_and_never_as_text() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let reply = cx
            .reason("writer")
            .id("compose-email")
            .input("Write")
            .output::<Draft>()
            .structured(shown().schema("email-compose", "1"))
            .await?;
        assert_eq!(reply.output.subject, "Beta");
        Ok(Next::data(&reply.output)?)
    }
    let model = scripted([Rule::always().reasoning("Hm.").json(draft()).chunk(5)]);
    let ran = world(node, &model).run("").await;
    assert_eq!(
        updates(&ran),
        [("set", "subject"), ("text-delta", "body"), ("append", "bullets"), ("final", "")]
    );
    assert_eq!(
        (
            ran.count_blocks(BlockKind::Text, EventKind::BlockDelta),
            ran.count_blocks(BlockKind::Reasoning, EventKind::BlockStarted)
        ),
        (0, 1)
    );
    let streams: Vec<_> = ran.outcome.structured().iter().collect();
    assert_eq!(streams.len(), 1);
    assert_eq!((streams[0].data(), streams[0].status()), (Some(&draft()), StructuredStatus::Done));
    assert_eq!((streams[0].schema_id(), streams[0].schema_version()), (Some("email-compose"), Some("1")));
    assert_eq!((streams[0].id(), streams[0].node()), (Some("compose-email"), Some("node")));
    let request = model.calls()[0].clone();
    let Some(ResponseFormat::Json { schema: Some(schema), name }) = &request.response_format else {
        panic!("{:?}", request.response_format);
    };
    assert_eq!(schema["properties"]["bullets"]["type"], "array");
    assert_eq!(name.as_deref(), Some("email_compose"));
}

#[tokio::test]
async fn object_without_streaming_is_shown_when_complete() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let ask = cx.reason("writer").input("Write").output::<Draft>();
        match &*input {
            "no fields" => ask.structured(StructuredOutput::new("email")).await?,
            "no stream" => ask.structured(shown()).stream(false).await?,
            _ => ask.await?,
        };
        Ok(Next::go())
    }
    let model = scripted([Rule::always().json(draft()).chunk(5)]);
    let world = world(node, &model);
    assert_eq!(updates(&world.run("no fields").await), [("final", "")]);
    assert_eq!(updates(&world.run("no stream").await), [("final", "")]);
    assert_eq!(updates(&world.run("nothing").await), []);
}

#[tokio::test]
async fn object_in_a_code_fence_after_prose_is_found() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let reply = cx.reason("writer").input("Write").output::<Draft>().structured(shown()).await?;
        Ok(Next::go().with_result(&reply.output)?)
    }
    let model = scripted([Rule::always().text(format!("Here it is:\n```json\n{}\n```\nDone.", draft()))]);
    let ran = world(node, &model).run("").await;
    assert_eq!(*ran.result(), draft());
    assert!(updates(&ran).contains(&("text-delta", "body")));
}

#[tokio::test]
async fn invalid_output_names_the_paths_and_is_retracted() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.reason("writer").input("Write").output::<Draft>().structured(shown()).await?;
        Ok(Next::go())
    }
    let wrong = json!({ "subject": "Beta", "body": "Hi", "bullets": ["a", 7] });
    let model = scripted([Rule::always().json(wrong).chunk(4)]);
    let ran = world(node, &model).run("").await;
    assert_eq!(ran.code(), "output.invalid");
    assert!(ran.error().contains("bullets[1]: expected a string, got 7"), "{}", ran.error());
    assert_eq!(updates(&ran).last(), Some(&("invalidated", "")));
    assert!(ran.outcome.structured().is_empty(), "nothing is left of it");
}

#[tokio::test]
async fn invalid_output_is_retried_if_allowed() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let reply = cx
            .reason("writer")
            .input("Write")
            .output::<Draft>()
            .structured(shown().stream("email"))
            .output_retries(2)
            .await?;
        Ok(Next::go().with_result(&words(&reply))?)
    }
    let model = scripted([
        Rule::when(When::input("Write")).json(json!({ "subject": 1 })),
        Rule::when(When::input_contains("not JSON")).json(draft()),
        Rule::when(When::input_contains("subject: expected a string")).text("sorry!"),
    ]);
    let ran = world(node, &model).run("").await;
    assert_eq!(ran.result()["passes"], 3);
    let stream = ran.outcome.structured().get("email").unwrap();
    assert_eq!((stream.data(), stream.status()), (Some(&draft()), StructuredStatus::Done));
}

#[tokio::test]
async fn truncated_output_is_an_error_and_not_retried() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.reason("writer").input("Write").output::<Draft>().output_retries(3).await?;
        Ok(Next::go())
    }
    let model = scripted([Rule::always().text("{\"subject\": \"Be").finish(FinishReason::Length)]);
    let ran = world(node, &model).run("").await;
    assert_eq!(ran.code(), "output.truncated");
    assert!(ran.error().contains("ran out of tokens"), "{}", ran.error());
    assert_eq!(model.asked(), 1);
}

#[tokio::test]
async fn invalid_path_is_refused_before_the_model_call() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let ask = cx.reason("writer").input("Write").output::<Draft>();
        ask.structured(StructuredOutput::new("email").set(input)).stream(false).await?;
        Ok(Next::go())
    }
    let model = scripted([Rule::always().json(draft())]);
    let world = world(node, &model);
    for path in ["", "a..b", ".a", "a."] {
        let ran = world.run(path).await;
        assert_eq!(ran.code(), "structured.invalid", "{path:?}");
    }
    assert_eq!(model.asked(), 0);
}

#[tokio::test]
async fn output_schema_can_be_json() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let schema = Schema::new(json!({ "type": "array", "items": { "type": "integer" } }))?;
        let reply = cx.reason("writer").input("Count").output_schema(schema).await?;
        Ok(Next::go().with_result(&reply.output)?)
    }
    let ran = world(node, &scripted([Rule::always().json(json!([1, 2]))])).run("").await;
    assert_eq!(*ran.result(), json!([1, 2]));
}

#[tokio::test]
async fn usage_is_the_sum_of_all_passes_of_all_nodes_also_after_an_answer() {
    async fn first(cx: Cx, _: ()) -> NodeResult {
        cx.reason("writer").input("one").await?;
        cx.interrupt(Text::new("Continue?")).await?;
        Ok(Next::go())
    }
    async fn second(cx: Cx, _: ()) -> NodeResult {
        let before = cx.usage();
        cx.reason("writer").input("two").await?;
        Ok(Next::go().with_result(&json!([before.total_tokens, cx.usage().total_tokens]))?)
    }
    let usage = Usage { input_tokens: Some(2), output_tokens: Some(3), ..Usage::default() };
    let model = scripted([Rule::always().text("ok").usage(usage)]);
    let workflow = Workflow::new("w")
        .node("first", first)
        .node("second", second)
        .edge(START, "first")
        .edge("first", "second")
        .edge("second", END)
        .build()
        .unwrap();
    let world = World::with(workflow, |agent| agent.model("writer", model.clone()));
    let ran = world.run("").await.answer("yes").await;
    assert_eq!(*ran.result(), json!([5, 10]));
    let used = ran.outcome.state.run().usage.clone().unwrap();
    assert_eq!((used.input_tokens, used.output_tokens), (Some(4), Some(6)));
    assert_eq!(model.asked(), 2, "a call that was made is not made again");
}

#[tokio::test]
async fn concurrent_calls_need_ids_and_keep_them() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let ask = |id: &str| {
            let ask = cx.reason("writer").input(id).emit(false);
            if input == "named" { ask.id(id) } else { ask }.into_future()
        };
        let (one, two) = tokio::join!(ask("one"), ask("two"));
        let (one, two) = (one?.text, two?.text);
        cx.interrupt(Text::new("Continue?")).await?;
        Ok(Next::message(format!("{one} {two}")))
    }
    let model = scripted([Rule::always().text("<{input}>")]);
    let world = world(node, &model);
    let ran = world.run("named").await.answer("yes").await;
    assert_eq!((&*ran.text(), model.asked()), ("<one> <two>", 2));
    let ran = world.run("nameless").await;
    assert_eq!(ran.code(), "hook.invalid");
    assert!(ran.error().contains("two `reason` hooks without an id"), "{}", ran.error());
    assert_eq!(model.asked(), 2, "no model is called");
}

#[tokio::test]
async fn call_with_the_same_id_in_a_loop_is_another_call() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let mut said = String::new();
        for nth in 0..3 {
            said += &cx.reason("writer").id("same").input(format!("{nth}")).emit(false).await?.text;
        }
        cx.interrupt(Text::new("Continue?")).await?;
        Ok(Next::message(said))
    }
    let model = scripted([Rule::always().text("<{input}>")]);
    let ran = world(node, &model).run("").await.answer("yes").await;
    assert_eq!((&*ran.text(), model.asked()), ("<0><1><2>", 3));
}

#[tokio::test]
async fn streamed_text_is_not_repeated_on_replay() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let draft = cx.reason("writer").input("Hi").await?.text;
        let answer = cx.interrupt(Text::new("Good?")).await?;
        Ok(Next::message(format!("{answer}: {draft}")))
    }
    let model = scripted([Rule::always().text("A draft.")]);
    let ran = world(node, &model).run("").await.answer("yes").await;
    assert_eq!(
        (
            model.asked(),
            ran.count_blocks(BlockKind::Text, EventKind::BlockStarted),
            ran.count_blocks(BlockKind::Text, EventKind::BlockEnded)
        ),
        (1, 1, 1)
    );
    assert_eq!(ran.text(), "A draft.yes: A draft.");
    assert_eq!(ran.status(), RunStatus::Finished);
}

#[tokio::test]
async fn stream_keeps_its_id_on_replay() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let first = cx.reason("writer").id("a").input("Write").output::<Draft>().structured(shown()).await?;
        cx.interrupt(Text::new("Good?")).await?;
        let second = cx.reason("writer").id("b").input("Write").output::<Draft>().structured(shown()).await?;
        assert_eq!(first.output, second.output);
        Ok(Next::go())
    }
    let model = scripted([Rule::always().json(draft())]);
    let ran = world(node, &model).run("").await.answer("yes").await;
    assert_eq!(ran.status(), RunStatus::Finished, "{:?}", ran.outcome.state.run().error);
    assert_eq!((ran.outcome.structured().len(), model.asked()), (2, 2));
    let finals = updates(&ran).iter().filter(|(kind, _)| *kind == "final").count();
    assert_eq!(finals, 2);
}

/// The model named at the start of a run.
fn named_model(ran: &TestRun) -> Option<&str> {
    match ran.events.first() {
        Some(Event::RunStarted(started)) => started.model.as_deref(),
        other => panic!("a run begins with {other:?}"),
    }
}

#[tokio::test]
async fn run_start_names_the_model_if_known() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.reason("second").input("x").await?;
        Ok(Next::go())
    }
    let model = |name: &str| ScriptedModel::new(Script::new(name).rule(Rule::always().text("ok")));
    let only = World::with(one(node), |agent| agent.model("second", model("one"))).run("").await;
    assert_eq!(named_model(&only), Some("scripted:one"));
    let two = |agent: AgentBuilder| agent.model("first", model("one")).model("second", model("two"));
    let unknown = World::with(one(node), two).run("").await;
    assert_eq!(named_model(&unknown), None, "it is unknown before the node asks");
    let workflow =
        Workflow::new("w").model("second").node("node", node).edge(START, "node").edge("node", END);
    let named = World::with(workflow.build().unwrap(), two).run("").await;
    assert_eq!(named_model(&named), Some("scripted:two"));

    let text = "
name: a
models:
  first: { script: { name: one, rules: [{ say: [{ text: hi }] }] } }
  second: { script: { name: two, rules: [{ say: [{ text: hi }] }] } }
workflows:
  w:
    start: begin
    nodes:
      begin: { message: Hello. }
      answer: { reason: { model: second } }
    edges: [{ from: begin, to: answer }]
";
    let (store, _) = crate::harness::memory();
    let agent = AgentFile::parse("a.yaml", text).unwrap().build(FileOptions::new(store)).unwrap();
    let ran = TestRun::of(&agent, agent.start(Start::new("")).await.unwrap()).await;
    assert_eq!(named_model(&ran), Some("scripted:two"));
}

#[tokio::test]
async fn raw_reply_of_the_provider_is_returned_live_and_after_a_resume() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let raw = cx.reason("m").input("hi").await?.raw;
        cx.emit().data("raw", None, json!(raw))?;
        cx.interrupt(Text::new("Continue?")).await?;
        Ok(Next::go().with_result(&raw)?)
    }
    let talker = crate::streaming_model::StreamingModel::new("word ", 3);
    let build = |agent: AgentBuilder| agent.workflow(one(node)).model("m", talker.clone());
    let world = World::build(build);
    let ran = world.run("").await;
    let live = ran.events.iter().find_map(|event| match event {
        Event::Data(DataEvent { data, .. }) => Some(data),
        _ => None,
    });
    assert_eq!(live, Some(&json!({ "times": 3 })));
    world.agent.abandon();
    let next = world.restarted(build);
    let ran = TestRun { agent: next.agent.clone(), run: next.agent.run(ran.id().clone()), ..ran };
    let ran = ran.answer("yes").await;
    assert_eq!(*ran.result(), json!({ "times": 3 }), "{:?}", ran.outcome.state.run().error);
    assert_eq!(talker.asked(), 1);
}
