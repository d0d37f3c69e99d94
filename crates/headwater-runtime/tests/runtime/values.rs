//! Values that are too large or nested too deeply: each is an error at its source, and none is stored.

use headwater_models::scripted::{Rule, When};
use headwater_protocol::{Event, RunStatus, ToolInputError, ToolOutputError};
use headwater_runtime::{Answer, Cx, Error, Form, Next, NodeError, NodeResult, Start};
use headwater_tools::{FunctionTool, ToolContext, ToolError, ToolOutput};
use serde_json::{Map, Value, json};

use crate::harness::{World, one, scripted, token};

fn nested(depth: usize) -> Value {
    (0..depth)
        .fold(json!(0), |value, level| if level % 2 == 0 { json!([value]) } else { json!({ "a": value }) })
}

fn code<T>(result: Result<T, Error>) -> String {
    result.err().map(|error| error.code().to_owned()).unwrap_or_default()
}

async fn node(cx: Cx, input: String) -> NodeResult {
    let depth: usize = input.parse().map_err(|_| NodeError::new("no depth"))?;
    let value = nested(depth);
    let codes = json!({
        "structured set": code(cx.structured("t").stream("s1").set("a.b", &value)),
        "structured append": code(cx.structured("t").stream("s2").append("a", [&value])),
        "structured final": code(cx.structured("t").stream("s3").finish(&value)),
        "structured path": code(cx.structured("t").stream("s4").set(&vec!["a"; depth].join("."), 0)),
        "node state": code(cx.node_state("n", value.clone())),
        "workflow state": code(cx.workflow_state("w", value.clone())),
        "emit": code(cx.emit().data("d", None, value.clone())),
        "step": code(cx.step("s", || async { Ok(nested(depth)) }).await),
    });
    Ok(Next::go().with_result(&codes)?)
}

#[tokio::test]
async fn value_of_node_code_is_refused_where_it_is_given_and_the_run_reads_back() {
    let world = World::of(one(node));
    for depth in [1, 32, 60, 61, 62, 63, 64, 65, 66, 70, 80, 100, 126, 200] {
        let ran = world.run(&depth.to_string()).await;
        assert_eq!(ran.status(), RunStatus::Finished, "{depth}: {}", ran.error());
        for (hook, code) in ran.result().as_object().unwrap() {
            let refused = code == "value.too-deep";
            assert!(refused || code == "", "{depth} {hook}: {code}");
            assert!(refused || depth <= 72, "{depth} {hook} was taken");
            assert!(!refused || depth > 60, "{depth} {hook} was refused");
        }
        assert!(!ran.agent().run(ran.id().clone()).entries().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn data_and_result_of_a_node_are_refused_when_too_deep() {
    for what in ["data", "result", "structured"] {
        let world = World::of(one(move |_: Cx, input: String| async move {
            let value = nested(input.parse().unwrap());
            Ok(match what {
                "data" => Next::data(&json!({ "a": value }))?,
                "result" => Next::go().with_result(&value)?,
                _ => Next::go().with_structured("t", value),
            })
        }));
        for (depth, status) in [(63, RunStatus::Finished), (65, RunStatus::Failed), (127, RunStatus::Failed)]
        {
            let ran = world.run(&depth.to_string()).await;
            assert_eq!(ran.status(), status, "{what} {depth}");
            assert!(
                status == RunStatus::Finished || ran.code() == "value.too-deep",
                "{what}: {}",
                ran.code()
            );
        }
    }
}

async fn with_tool(cx: Cx, input: String) -> NodeResult {
    let reply = cx.reason(cx.model("model")?).id("r").input(input).agent_tools(["deep"]).await?;
    Ok(Next::message(reply.text))
}

#[tokio::test]
async fn tool_output_over_a_limit_is_an_error_for_the_model() {
    let deep = FunctionTool::new("deep", |input: Map<String, Value>, _: ToolContext| async move {
        let depth = usize::try_from(input["depth"].as_u64().unwrap()).unwrap();
        Ok::<_, ToolError>(ToolOutput::json(nested(depth)))
    });
    let model = || {
        scripted([
            Rule::when(When::after_tool("deep")).text("so {tool.deep}"),
            Rule::when(When::input_contains("shallow")).tool("deep", json!({ "depth": 64 })),
            Rule::when(When::input_contains("input")).tool("deep", nested(90)),
            Rule::always().tool("deep", json!({ "depth": 65 })),
        ])
    };
    let world = World::with(one(with_tool), |agent| agent.model("model", model()).tool(deep));
    for (input, expected) in [
        ("shallow", None),
        ("deep", Some("nested deeper than 64 levels")),
        ("input", Some("nested deeper than 64 levels")),
    ] {
        let ran = world.run(input).await;
        assert_eq!(ran.status(), RunStatus::Finished, "{input}: {}", ran.error());
        let events = ran.agent().run(ran.id().clone()).recorded().await.unwrap();
        let error = events.iter().find_map(|event| match event {
            Event::ToolOutputError(ToolOutputError { error, .. })
            | Event::ToolInputError(ToolInputError { error, .. }) => Some(error.as_str()),
            _ => None,
        });
        assert_eq!(error.is_some(), expected.is_some(), "{input}: {error:?}");
        assert!(error.unwrap_or_default().contains(expected.unwrap_or_default()), "{input}: {error:?}");
    }
}

#[tokio::test]
async fn data_of_a_run_counts_toward_the_state_limit() {
    let world = World::of(one(|_: Cx, _: ()| async { Ok(Next::go()) }));
    let large = json!({ "a": "x".repeat(300 << 10) });
    let error = world.agent.start(Start::new("x").data(&large)).await.unwrap_err();
    assert_eq!(error.code(), "state.too-large");
    let error = world.agent.start(Start::new("x").data(json!([1]))).await.unwrap_err();
    assert_eq!(error.code(), "input.invalid");
    for start in [
        Start::new("x").data(json!({ "a": nested(100) })),
        Start::new("x").client_context(json!({ "a": nested(100) })),
        Start::new("x").runtime_context(nested(100)),
    ] {
        assert_eq!(world.agent.start(start).await.unwrap_err().code(), "value.too-deep");
    }
    assert!(world.agent.runs(None, 10).await.unwrap().is_empty(), "nothing was begun");
}

#[tokio::test]
async fn answer_that_is_too_deep_leaves_the_question_open() {
    let world = World::of(one(|cx: Cx, _: ()| async move {
        let answer = cx.interrupt(Form::<Value>::new("Anything?")).id("q").await?;
        Ok(Next::go().with_result(&answer)?)
    }));
    let ran = world.run("x").await;
    let question = ran.question().clone();
    let given = |depth| Answer::given(question.request.clone(), nested(depth)).token(token(&question));
    assert_eq!(ran.send(given(65)).await.unwrap_err().code(), "value.too-deep");
    let ran = ran.send(given(64)).await.unwrap();
    assert_eq!(ran.status(), RunStatus::Finished, "{}", ran.error());
}
