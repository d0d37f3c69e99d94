//! Tools: the loop, the results that models get, approvals, and client tools.

mod approvals;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use headwater_models::{
    ContentPart, ModelMessage, ToolChoice,
    scripted::{Call, Rule, ScriptedModel, When},
};
use headwater_protocol::{
    ApprovalRequested, BlockKind, ClientTool, Event, EventKind, FinishReason, RunStatus,
};
use headwater_runtime::{
    Answer, AnswerValue, Cx, Next, NodeResult, OpenQuestion, ReasonReply, Start, StructuredOutput, Text,
    ToolOptions,
};
use headwater_tools::{FunctionTool, ToolContext, ToolError, ToolOutput, schemars::JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harness::{TestRun, World, one, scripted};

#[derive(Deserialize, JsonSchema)]
struct City {
    city: String,
}

/// The inputs of the executed calls.
type Calls = Arc<Mutex<Vec<String>>>;

/// A tool that reports the weather and records its calls.
fn weather(made: &Calls) -> FunctionTool<City> {
    let made = made.clone();
    FunctionTool::new("weather", move |input: City, context: ToolContext| {
        let made = made.clone();
        async move {
            made.lock().unwrap().push(format!("{} {}", input.city, context.idempotency_key));
            if input.city == "Atlantis" {
                return Err(ToolError::new("it is under water"));
            }
            Ok(format!("sunny in {}", input.city))
        }
    })
}

fn cities(made: &Calls) -> Vec<String> {
    let made = made.lock().unwrap();
    made.iter().map(|call| call.split(' ').next().unwrap().to_owned()).collect()
}

fn result_of<T>(reply: &ReasonReply<T>) -> Value {
    let results: Vec<_> = reply
        .tool_results
        .iter()
        .map(|made| match &made.result {
            Ok(output) => {
                json!({ "call": made.call, "name": made.name, "input": made.input, "output": output.output })
            }
            Err(error) => {
                json!({ "call": made.call, "name": made.name, "input": made.input, "error": error })
            }
        })
        .collect();
    json!({ "text": reply.text, "finish": reply.finish_reason.as_str(), "passes": reply.passes, "results": results,
            "usage": reply.usage.total_tokens, "answer": reply.interrupt_response })
}

fn options(input: &str) -> ToolOptions {
    match input {
        "approve" => ToolOptions::default().approval(true),
        "one step" => ToolOptions::default().max_steps(1),
        "one step or fail" => ToolOptions::default().max_steps(1).fail_at_max_steps(),
        "in a minute" => ToolOptions::default().approval(true).approval_expires(Duration::from_secs(60)),
        "quiet" => ToolOptions::default().emit(false),
        _ => ToolOptions::default(),
    }
}

async fn node(cx: Cx, input: String) -> NodeResult {
    let options = options(&input);
    let reply = cx.reason("writer").agent_tools(["weather"]).tool_options(options).input("go").await?;
    Ok(Next::go().with_result(&result_of(&reply))?)
}

fn world(model: &ScriptedModel, made: &Calls) -> World {
    World::with(one(node), |agent| agent.model("writer", model.clone()).tool(weather(made)))
}

/// A model that calls tools and then replies with their outputs.
fn caller(calls: impl IntoIterator<Item = Call>) -> ScriptedModel {
    scripted([
        Rule::when(When::pass(0)).text("Let me see. ").tools(calls),
        Rule::always().text("It is {tool.weather}."),
    ])
}

fn call(city: &str) -> Call {
    Call::new("weather", json!({ "city": city }))
}

/// The tool results in the last request to the model.
fn results(model: &ScriptedModel) -> Value {
    let request = model.calls().last().unwrap().clone();
    let Some(ModelMessage::Tool { content }) = request.messages.last() else {
        panic!("{:?}", request.messages);
    };
    let outputs = content.iter().map(|part| match part {
        ContentPart::ToolResult { output, .. } => serde_json::to_value(output).unwrap(),
        other => panic!("{other:?}"),
    });
    outputs.collect()
}

#[tokio::test]
async fn model_calls_a_tool_and_uses_its_output() {
    let made = Calls::default();
    let model = caller([call("Oslo").id("c1")]);
    let ran = world(&model, &made).run("").await;
    assert_eq!(cities(&made), ["Oslo"]);
    assert_eq!(ran.text(), "Let me see. It is sunny in Oslo.");
    let result = ran.result();
    assert_eq!((&result["passes"], &result["finish"]), (&json!(2), &json!("stop")));
    assert_eq!(result["text"], "It is sunny in Oslo.");
    assert_eq!(
        result["results"],
        json!([{ "call": "c1", "name": "weather", "input": { "city": "Oslo" }, "output": "sunny in Oslo" }])
    );
    assert!(result["usage"].as_u64().unwrap() > 0);
    assert_eq!(results(&model), json!([{ "type": "text", "value": "sunny in Oslo" }]));
    let told: Vec<_> = ran.emitted().into_iter().filter(|kind| kind.starts_with("tool")).collect();
    assert_eq!(told, ["tool-input-start", "tool-input-delta", "tool-input-available", "tool-output"]);
    assert_eq!((ran.count("step-started"), ran.count("step-finished")), (2, 2));
}

#[tokio::test]
async fn calls_of_one_step_run_in_parallel_with_separate_results() {
    let made = Calls::default();
    let model = caller([call("Oslo").id("c1"), call("Bergen").id("c2"), call("Oslo").id("c3")]);
    let ran = world(&model, &made).run("").await;
    assert_eq!(made.lock().unwrap().len(), 3);
    let keys: std::collections::HashSet<_> = made.lock().unwrap().iter().cloned().collect();
    assert_eq!(keys.len(), 3, "each has an idempotency key of its own");
    let calls: Vec<_> =
        ran.result()["results"].as_array().unwrap().iter().map(|one| one["call"].clone()).collect();
    assert_eq!(calls, ["c1", "c2", "c3"], "in the order in which they were asked for");
}

#[tokio::test]
async fn invalid_calls_are_reported_to_the_model_and_fail_nothing() {
    let made = Calls::default();
    let cases = [
        (Call::new("wether", json!({})), "there is no tool \"wether\"; the tools are: weather"),
        (Call::raw("weather", "{\"city\": "), "the input is not JSON"),
        (Call::new("weather", json!({ "town": "Oslo" })), "city: missing"),
        (call("Atlantis"), "it is under water"),
    ];
    for (call, says) in cases {
        let model = caller([call]);
        let ran = world(&model, &made).run("").await;
        assert_eq!(ran.status(), RunStatus::Finished, "{says}");
        let error = ran.result()["results"][0]["error"].as_str().unwrap().to_owned();
        assert!(error.contains(says), "{error}");
        assert_eq!(results(&model)[0]["type"], "error-text");
        assert!(results(&model)[0]["value"].as_str().unwrap().contains(says));
        let settled = ran.outcome.state.messages()[0].parts.iter().all(|part| match part {
            headwater_protocol::Part::Tool(tool) => tool.state.is_settled(),
            _ => true,
        });
        assert!(settled, "readers see the end of it: {:?}", ran.emitted());
    }
    assert_eq!(cities(&made), ["Atlantis"]);
}

#[tokio::test]
async fn model_that_never_stops_calling_is_stopped_and_its_last_calls_are_closed() {
    let made = Calls::default();
    let model = scripted([Rule::always().text("Hm.").tool("weather", json!({ "city": "Oslo" }))]);
    let world = world(&model, &made);
    let ran = world.run("").await;
    assert_eq!(
        (model.asked(), cities(&made).len()),
        (8, 7),
        "eight passes; the tools of the last are not run"
    );
    assert_eq!(ran.result()["finish"], "max-steps");
    assert_eq!(ran.outcome.state.run().finish_reason, Some(FinishReason::Other("max-steps".into())));
    assert_eq!(ran.count("tool-output-error"), 1);

    let ran = world.run("one step").await;
    assert_eq!((&ran.result()["finish"], &ran.result()["text"]), (&json!("max-steps"), &json!("Hm.")));
    assert_eq!(ran.count("tool-output-error"), 1);

    let ran = world.run("one step or fail").await;
    assert_eq!(ran.code(), "reason.max-steps");
    assert_eq!(cities(&made).len(), 7);
}

#[tokio::test]
async fn call_id_is_kept_and_a_missing_or_reused_one_is_replaced() {
    let made = Calls::default();
    let model = scripted([
        Rule::when(When::pass(0)).tools([call("Oslo").id("same")]),
        Rule::when(When::pass(1)).tools([call("Bergen").id("same"), call("Molde").id("")]),
        Rule::always().text("Done."),
    ]);
    let ran = world(&model, &made).run("").await;
    let results = ran.result()["results"].as_array().unwrap().clone();
    assert_eq!(results[0]["call"], "same");
    assert_ne!(results[1]["call"], "same");
    assert!(results[2]["call"].as_str().unwrap().starts_with("call_"));
    assert_eq!(cities(&made), ["Oslo", "Bergen", "Molde"]);
    let replaced = ran.events.iter().find_map(|event| match event {
        Event::ToolInputStart(tool) => tool.metadata.clone(),
        _ => None,
    });
    assert_eq!(replaced.unwrap()["headwater"]["providerCallId"], "same");
}

#[tokio::test]
async fn hidden_calls_are_not_shown() {
    let made = Calls::default();
    let ran = world(&caller([call("Oslo")]), &made).run("quiet").await;
    assert_eq!(cities(&made), ["Oslo"]);
    assert!(!ran.emitted().iter().any(|kind| kind.starts_with("tool")), "{:?}", ran.emitted());
    assert_eq!(ran.text(), "Let me see. It is sunny in Oslo.");
}

#[tokio::test]
async fn client_tool_is_executed_by_the_page() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let reply = cx.reason("writer").client_tools().input("go").await?;
        Ok(Next::go().with_result(&result_of(&reply))?)
    }
    let locate = ClientTool {
        name: "locate".into(),
        description: Some("Where the person is".into()),
        parameters: Some(json!({ "type": "object" })),
    };
    let model = scripted([
        Rule::when(When::after_tool("locate")).text("You are in {tool.locate}."),
        Rule::always().tools([Call::new("locate", json!({})).id("c1")]),
    ]);
    let world = World::with(one(node), |agent| agent.model("writer", model.clone()));
    let start = || Start::new("").client_tools(vec![locate.clone()]).owner("ada");
    let ran = world.start(start()).await;
    assert_eq!(ran.outcome.state.run().pending_tool_calls, ["c1"]);
    let call = headwater_protocol::ToolCallId::from("c1");
    let give = |owner: &str, output| world.agent.tool_output(ran.id(), &call, Some(owner.to_owned()), output);
    assert_eq!(give("bob", Ok(json!("Oslo"))).await.unwrap_err().code(), "run.foreign");
    let done = TestRun::of(&world.agent, give("ada", Ok(json!("Oslo"))).await.unwrap()).await;
    assert_eq!(done.text(), "You are in Oslo.");
    assert_eq!(give("ada", Ok(json!("Rome"))).await.unwrap_err().code(), "request.answered");
    assert_eq!(model.calls()[0].tools[0].description.as_deref(), Some("Where the person is"));

    let waits = world.start(start()).await;
    let failed = world.agent.tool_output(waits.id(), &call, Some("ada".into()), Err("no GPS".into()));
    let failed = TestRun::of(&world.agent, failed.await.unwrap()).await;
    assert_eq!(failed.result()["results"][0]["error"], "no GPS");
}

#[tokio::test]
async fn tool_progress_is_shown_and_the_last_output_counts() {
    let slow = |_: City, context: ToolContext| async move {
        context.progress(ToolOutput::text("10%"));
        context.progress(ToolOutput::text("90%"));
        Ok::<_, ToolError>(ToolOutput::text("100%").with_structured(json!({ "done": true })))
    };
    let model = caller([call("Oslo")]);
    let world =
        World::with(one(node), |agent| agent.model("writer", model).tool(FunctionTool::new("weather", slow)));
    let ran = world.run("").await;
    let outputs: Vec<_> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::ToolOutput(headwater_protocol::ToolOutput { output, preliminary, .. }) => {
                Some((output.clone(), *preliminary))
            }
            _ => None,
        })
        .collect();
    assert_eq!(outputs, [(json!("10%"), true), (json!("90%"), true), (json!("100%"), false)]);
}

#[tokio::test]
async fn panic_of_a_tool_is_an_error_to_the_model() {
    let broken = |_: City| async {
        assert!(std::hint::black_box(false), "a bug");
        Ok::<_, ToolError>("never")
    };
    let model = caller([call("Oslo")]);
    let world = World::with(one(node), |agent| {
        agent.model("writer", model).tool(FunctionTool::new("weather", broken))
    });
    let ran = world.run("").await;
    assert!(ran.result()["results"][0]["error"].as_str().unwrap().contains("a bug"));
}

#[tokio::test]
async fn fields_stream_although_there_are_tools() {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Report {
        title: String,
        text: String,
    }
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let ask = cx.reason("writer").agent_tools(["weather"]).input("go").output::<Report>();
        let reply = ask.structured(StructuredOutput::new("report").set("title").text("text")).await?;
        Ok(Next::go().with_result(&reply.output)?)
    }
    let made = Calls::default();
    let report = json!({ "title": "Weather", "text": "It is sunny in Oslo, they say." });
    let model = scripted([
        Rule::when(When::pass(0)).tool("weather", json!({ "city": "Oslo" })),
        Rule::always().json(report.clone()).chunk(4),
    ]);
    let world = World::with(one(node), |agent| agent.model("writer", model.clone()).tool(weather(&made)));
    let ran = world.run("").await;
    assert_eq!(*ran.result(), report);
    assert!(ran.count("structured") > 3, "{}", ran.count("structured"));
    assert_eq!(ran.count_blocks(BlockKind::Text, EventKind::BlockDelta), 0);
    let formats = model.calls().iter().filter(|call| call.response_format.is_some()).count();
    assert_eq!(formats, 2, "the schema is sent in every pass");
}

#[tokio::test]
async fn object_without_a_remaining_step_is_an_error() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let ask =
            cx.reason("writer").agent_tools(["weather"]).tool_options(ToolOptions::default().max_steps(2));
        ask.input("go").output::<Vec<String>>().output_retries(3).await?;
        Ok(Next::go())
    }
    let made = Calls::default();
    let model = scripted([Rule::always().tool("weather", json!({ "city": "Oslo" }))]);
    let world = World::with(one(node), |agent| agent.model("writer", model.clone()).tool(weather(&made)));
    let ran = world.run("").await;
    assert_eq!((ran.code(), model.asked()), ("reason.max-steps", 2));
}

#[tokio::test]
async fn tool_calls_are_not_repeated_on_replay() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let reply = cx.reason("writer").agent_tools(["weather"]).input("go").await?;
        cx.interrupt(Text::new("Good?")).await?;
        Ok(Next::go().with_result(&result_of(&reply))?)
    }
    let made = Calls::default();
    let model = caller([call("Oslo")]);
    let world = World::with(one(node), |agent| agent.model("writer", model.clone()).tool(weather(&made)));
    let before = world.run("").await;
    let ran = before.answer("yes").await;
    assert_eq!((cities(&made).len(), model.asked()), (1, 2));
    assert_eq!(ran.count("tool-output"), 1);
    assert_eq!(ran.result()["results"][0]["output"], "sunny in Oslo");
}

#[tokio::test]
async fn tools_are_dropped_when_the_call_ends() {
    #[derive(Debug)]
    struct CountedTool(FunctionTool<City>, Arc<AtomicU32>);
    impl headwater_tools::Tool for CountedTool {
        fn spec(&self) -> &headwater_protocol::ToolSpec {
            self.0.spec()
        }
        fn call(&self, input: Value, context: ToolContext) -> headwater_tools::ToolFuture<'_> {
            self.0.call(input, context)
        }
        fn close(&self) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            self.1.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(()))
        }
    }
    let (made, closed) = (Calls::default(), Arc::new(AtomicU32::new(0)));
    let counted = closed.clone();
    let node = move |cx: Cx, input: String| {
        let tool = CountedTool(weather(&made), counted.clone());
        async move {
            let ask = cx.reason("writer").tool(tool).tool_options(options(&input)).input("go");
            ask.await?;
            Ok(Next::go())
        }
    };
    let world = World::with(one(node), |agent| agent.model("writer", caller([call("Oslo")])));
    world.run("").await;
    assert_eq!(closed.load(Ordering::SeqCst), 1);
    let ran = world.run("one step or fail").await;
    assert_eq!((ran.code(), closed.load(Ordering::SeqCst)), ("reason.max-steps", 2));
}

#[tokio::test]
async fn two_tools_of_one_name_and_unknown_tools_of_the_agent_are_refused() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let ask = cx.reason("writer").input("go");
        match &*input {
            "twice" => ask.agent_tools(["weather"]).agent_tools(["weather"]).await?,
            _ => ask.agent_tools(["wether"]).await?,
        };
        Ok(Next::go())
    }
    let made = Calls::default();
    let model = caller([call("Oslo")]);
    let world = World::with(one(node), |agent| agent.model("writer", model.clone()).tool(weather(&made)));
    for (input, says) in
        [("twice", "two tools are named \"weather\""), ("", "the agent has no tool `wether`")]
    {
        let ran = world.run(input).await;
        assert_eq!(ran.code(), "hook.invalid");
        assert!(ran.error().contains(says), "{}", ran.error());
    }
    assert_eq!(model.asked(), 0);
}

#[tokio::test]
async fn tool_choice_of_the_page_is_the_default() {
    let rules = [
        Rule::when(When::after_tool("weather")).text("Done."),
        Rule::always().tool("weather", json!({ "city": "Oslo" })),
    ];
    let model = scripted(rules);
    let asked = model.clone();
    let node = async |cx: Cx, (): ()| {
        cx.reason("m").input("x").tool(weather(&Calls::default())).await?;
        Ok(Next::go())
    };
    let world = World::with(one(node), |agent| agent.model("m", model));
    let choices = |from: usize| -> Vec<Option<ToolChoice>> {
        asked.calls().iter().skip(from).map(|request| request.tool_choice.clone()).collect()
    };
    let named = json!({ "type": "tool", "toolName": "weather" });
    for (choice, wanted) in [
        (json!("required"), vec![Some(ToolChoice::Required), None]),
        (named, vec![Some(ToolChoice::Tool("weather".to_owned())), None]),
        (json!({ "type": "auto" }), vec![Some(ToolChoice::Auto), Some(ToolChoice::Auto)]),
        (json!({ "type": "function", "function": { "name": "another" } }), vec![None, None]),
    ] {
        let before = asked.calls().len();
        let ran = world.start(Start::new("x").tool_choice(choice.clone())).await;
        assert_eq!(ran.status(), RunStatus::Finished, "{choice}");
        assert_eq!(choices(before), wanted, "{choice}");
    }
    for garbage in [json!("somehow"), json!(7), json!({ "type": "tool" }), json!({ "tool": "weather" })] {
        let error = world.agent.start(Start::new("x").tool_choice(garbage.clone())).await.unwrap_err();
        assert_eq!(error.code(), "tool-choice.invalid", "{garbage}");
    }
}
