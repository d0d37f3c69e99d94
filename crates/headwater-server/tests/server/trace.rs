//! The steps of a run: nodes and calls of which readers are shown nothing are listed too, without their content.

use headwater_models::scripted::{Rule, Script, ScriptedModel, When};
use headwater_runtime::{Agent, Cx, END, Next, NodeResult, START, Workflow};
use headwater_store::Memory;
use serde_json::{Value, json};

use crate::harness::World;

/// What the hidden model says.
const HIDDEN: &str = "samarkand";

async fn understand(cx: Cx, input: String) -> NodeResult {
    let model = cx.model("model")?;
    cx.reason(model).input(format!("classify {input}")).emit(false).await?;
    Ok(Next::go())
}

async fn answer(cx: Cx, input: String) -> NodeResult {
    let model = cx.model("model")?;
    cx.reason(model).input(input).await?;
    Ok(Next::go())
}

/// A run whose first node shows nothing, and the path of its steps.
async fn finished() -> (World, String) {
    let script = Script::new("script")
        .rule(Rule::when(When::input_contains("classify")).text(HIDDEN))
        .rule(Rule::always().text("Hello."));
    let workflow = Workflow::new("reply")
        .node("understand", understand)
        .node("answer", answer)
        .edge(START, "understand")
        .edge("understand", "answer")
        .edge("answer", END);
    let agent = Agent::builder()
        .name("demo")
        .workflow(workflow.build().unwrap())
        .model("model", ScriptedModel::new(script))
        .store(std::sync::Arc::new(Memory::new()))
        .build()
        .unwrap();
    let world = World::of_agent(agent).await;
    let begun = world.post("/v1/runs", &json!({ "input": "hello" })).await.json();
    let run = begun["run"].as_str().unwrap().to_owned();
    let events = world.get(&format!("/v1/runs/{run}/events?until=end")).await.body;
    assert!(!events.contains("understand"), "no event is of the hidden node: {events}");
    (world, format!("/v1/runs/{run}/trace"))
}

/// The type of a step and its node.
fn names(steps: &[Value]) -> Vec<(&str, &str)> {
    steps.iter().map(|step| (step["type"].as_str().unwrap(), step["node"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn hidden_node_and_its_model_call_are_steps_without_content() {
    let (world, path) = finished().await;
    let said = world.get(&path).await;
    assert!(!said.body.contains(HIDDEN), "{}", said.body);
    let trace = said.json();
    let steps = trace["steps"].as_array().unwrap();
    let expected = [
        ("node-entered", "understand"),
        ("model-call", "understand"),
        ("node-left", "understand"),
        ("node-entered", "answer"),
        ("model-call", "answer"),
        ("node-left", "answer"),
    ];
    assert_eq!(names(steps), expected, "{}", said.body);
    assert_eq!(trace["hasMore"], false);
    let calls = [&steps[1]["call"], &steps[4]["call"]];
    assert_eq!(calls.map(|call| call["isShown"].clone()), [json!(false), json!(true)]);
    for call in calls {
        assert_eq!(call["attempts"], 1, "{call}");
        assert!(call["startedAt"].is_string() && call["model"].is_string(), "{call}");
        assert!(call["usage"]["outputTokens"].as_u64().unwrap() > 0, "{call}");
    }
}

#[tokio::test]
async fn pages_of_steps_add_up_to_all_of_them() {
    let (world, path) = finished().await;
    let whole = world.get(&path).await.json();
    let (mut steps, mut after) = (Vec::new(), 0);
    loop {
        let page = world.get(&format!("{path}?limit=2&after={after}")).await.json();
        let found = page["steps"].as_array().unwrap();
        assert!(found.len() <= 2, "{page}");
        steps.extend(found.iter().cloned());
        assert!(page["last"].as_u64().unwrap() >= after, "{page}");
        after = page["last"].as_u64().unwrap();
        if page["hasMore"] == false {
            break;
        }
    }
    assert_eq!(Value::from(steps), whole["steps"]);
    assert_eq!(after, whole["last"].as_u64().unwrap());
    let rest = world.get(&format!("{path}?after={after}")).await.json();
    assert_eq!(rest["steps"], json!([]), "nothing came after the last step: {rest}");
}
