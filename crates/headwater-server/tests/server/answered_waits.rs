//! Waits that were answered, or nearly: while the run has said nothing since, and when the answer was refused.

use std::{sync::Arc, time::Duration};

use headwater_models::scripted::{Rule, Script, ScriptedModel, When};
use headwater_protocol::{Event, ToolSpec};
use headwater_runtime::{Agent, Cx, END, JournalEntry, Next, NodeResult, START, Workflow};
use headwater_server::{Agents, Options, Server};
use headwater_store::Memory;
use headwater_tools::ClientTool;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    harness::{TestResponse, World},
    talk::{ai_sdk_again, says},
};

/// An agent whose node waits at a gate before it does anything.
fn agent(gate: watch::Receiver<bool>) -> Agent {
    let node = move |cx: Cx, input: String| {
        let mut gate = gate.clone();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            cx.reason(cx.model("model")?).input(input).agent_tools(["locate"]).await?;
            NodeResult::Ok(Next::go())
        }
    };
    let script = Script::new("script")
        .rule(Rule::when(When::after_tool("locate")).text("So you are in {tool.locate}."))
        .rule(Rule::always().tool("locate", json!({})));
    let workflow = Workflow::new("reply").node("reply", node).edge(START, "reply").edge("reply", END);
    Agent::builder()
        .workflow(workflow.build().unwrap())
        .model("model", ScriptedModel::new(script))
        .tool(ClientTool::new(ToolSpec::new("locate", json!({ "type": "object" }))))
        .store(Arc::new(Memory::new()))
        .build()
        .unwrap()
}

#[tokio::test]
async fn answered_wait_is_not_shown_though_no_event_followed() {
    let (open, gate) = watch::channel(true);
    let agent = agent(gate);
    let server = Server::new(Agents::new().add("demo", agent.clone()), Options::default());
    let world = Arc::new(World::of(agent.clone(), server).await);
    let first = world.post("/v1/ai-sdk/chat", &says("ai-sdk", "c", "u1", "where am I")).await;
    let run = agent.run(first.header("x-run-id"));
    let call = first.chunk("tool-input-available");
    let part = json!({ "type": "tool-locate", "toolCallId": call["toolCallId"], "state": "output-available",
        "input": {}, "output": "Oslo" });

    open.send_replace(false);
    let (asks, again) = (world.clone(), ai_sdk_again("c", "where am I", &first, part));
    let answering = tokio::spawn(async move { asks.post("/v1/ai-sdk/chat", &again).await });
    loop {
        let entries = run.entries().await.unwrap();
        let answered = entries
            .iter()
            .any(|entry| matches!(entry, JournalEntry::Effect(effect) if !effect["answered"].is_null()));
        if answered && !agent.has_mail(run.id()).await.unwrap() {
            break;
        }
        tokio::task::yield_now().await;
    }
    let (comes, path) =
        (world.clone(), format!("/v1/runs/{}/events?dialect=ai-sdk&until=wait", first.header("x-run-id")));
    let from_the_start = tokio::spawn(async move { comes.get(&path).await });
    let comes = world.clone();
    let coming_back = tokio::spawn(async move { comes.get("/v1/ai-sdk/chat/c/stream").await });
    // All tasks of this thread have turns while these are answered.
    for _ in 0..50 {
        assert_eq!(world.get("/healthz").await.status, 200);
    }
    assert!(!answering.is_finished(), "the wait was sent: {:?}", answering.await);
    assert!(!from_the_start.is_finished(), "the wait was sent: {:?}", from_the_start.await);
    assert!(!coming_back.is_finished(), "the wait was sent: {:?}", coming_back.await);

    open.send_replace(true);
    let answered = answering.await.unwrap();
    assert_eq!(answered.text("ai-sdk"), "So you are in Oslo.", "{}", answered.body);
    for reading in [from_the_start, coming_back] {
        let read = reading.await.unwrap();
        assert!(read.text("ai-sdk").ends_with("So you are in Oslo."), "{}", read.body);
    }
}

#[tokio::test]
async fn whole_answer_does_not_end_at_a_wait_that_was_answered() {
    let (open, gate) = watch::channel(true);
    let agent = agent(gate);
    let server = Server::new(Agents::new().add("demo", agent.clone()), Options::default());
    let world = Arc::new(World::of(agent.clone(), server).await);
    let mut body = says("kortyx", "c", "u1", "where am I");
    body["stream"] = json!(false);
    let key = [("idempotency-key", "k1")];
    let first = world.post_with("/v1/kortyx/chat", &body, &key).await;
    assert!(!first.body.contains("So you are"), "{}", first.body);
    let run = agent.run(world.get("/v1/runs").await.json()["runs"][0]["id"].as_str().unwrap());

    open.send_replace(false);
    let answer = world.post(&format!("/v1/runs/{}/answer", run.id()), &json!({ "output": "Oslo" })).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    let (asks, again) = (world.clone(), body.clone());
    let asking = tokio::spawn(async move { asks.post_with("/v1/kortyx/chat", &again, &key).await });
    while agent.has_mail(run.id()).await.unwrap() {
        tokio::task::yield_now().await;
    }
    let (comes, again) = (world.clone(), body);
    let coming = tokio::spawn(async move { comes.post_with("/v1/kortyx/chat", &again, &key).await });
    for _ in 0..50 {
        assert_eq!(world.get("/healthz").await.status, 200);
    }
    assert!(!asking.is_finished(), "the wait was sent: {:?}", asking.await);
    assert!(!coming.is_finished(), "the wait was sent: {:?}", coming.await);

    open.send_replace(true);
    for asked in [asking, coming] {
        let said = asked.await.unwrap();
        assert!(said.body.contains("So you are in Oslo."), "{}", said.body);
    }
}

#[tokio::test]
async fn whole_answer_is_not_waited_for_by_a_server_that_leaves() {
    let (open, gate) = watch::channel(false);
    let agent = agent(gate);
    let server = Server::new(Agents::new().add("demo", agent.clone()), Options::default());
    let world = Arc::new(World::of(agent.clone(), server).await);
    let mut body = says("kortyx", "c", "u1", "where am I");
    body["stream"] = json!(false);
    let asks = world.clone();
    let asking = tokio::spawn(async move { asks.post("/v1/kortyx/chat", &body).await });
    while agent.driving() == 0 {
        tokio::task::yield_now().await;
    }
    world.server.let_go();
    let said = asking.await.unwrap();
    assert_eq!((said.status, said.json()["code"].clone()), (503, json!("server.stopping")), "{}", said.body);
    assert_eq!(said.header("retry-after"), "1");
    open.send_replace(true);
}

#[tokio::test]
async fn answer_that_was_refused_leaves_nothing_behind() {
    for (apart, refused) in [
        ("mui", json!({ "id": "REQUEST", "approved": true, "signature": "AAAA" })),
        ("tanstack", json!({ "approvalId": "REQUEST", "approved": true, "signature": "AAAA" })),
    ] {
        let said = assert_sent_once(apart, &refused).await;
        assert_eq!(
            (said.status, said.json()["code"].clone()),
            (403, json!("token.invalid")),
            "{}",
            said.body
        );
    }
}

#[tokio::test]
async fn separate_answer_is_streamed_once_though_another_page_follows() {
    for (apart, given) in [
        ("mui", json!({ "id": "REQUEST", "approved": true })),
        ("tanstack", json!({ "approvalId": "REQUEST", "approved": true })),
    ] {
        let said = assert_sent_once(apart, &given).await;
        assert_eq!(said.status, 202, "{}", said.body);
    }
}

/// The answer to something that is sent to a dialect's answer endpoint, after which the AI SDK's page decides about the
/// same call and then gives the output of its own tool: it gets the result of each once.
async fn assert_sent_once(apart: &str, sent: &Value) -> TestResponse {
    let world = World::new().await;
    let first = world.post("/v1/ai-sdk/chat", &says("ai-sdk", "c", "u1", "mix it")).await;
    let run = format!("/v1/runs/{}", first.header("x-run-id"));
    let waits = world.get(&run).await.json()["waitsFor"].clone();
    let of = |kind: &str| waits.as_array().unwrap().iter().find(|open| open["kind"] == kind).unwrap().clone();
    let (approval, locate) = (of("approval"), of("client-tool"));
    let sent = sent.to_string().replace("REQUEST", approval["request"].as_str().unwrap());
    let said = world.post(&format!("/v1/{apart}/chat/answer"), &sent.parse().unwrap()).await;

    let decided = json!({ "type": "tool-delete", "toolCallId": approval["tool"]["call"],
        "state": "approval-responded", "input": {},
        "approval": { "id": approval["request"], "approved": true } });
    let second = world.post("/v1/ai-sdk/chat", &ai_sdk_again("c", "mix it", &first, decided)).await;
    assert!(second.body.contains("deleted Rome"), "{apart}: {}", second.body);
    let given = json!({ "type": "tool-locate", "toolCallId": locate["tool"]["call"],
        "state": "output-available", "input": {}, "output": "Oslo" });
    let third = world.post("/v1/ai-sdk/chat", &ai_sdk_again("c", "mix it", &first, given)).await;
    assert!(third.body.contains("It is sunny."), "{apart}: {}", third.body);
    assert!(!third.body.contains("deleted Rome"), "{apart}: it was sent before: {}", third.body);
    said
}

/// An agent whose model calls a tool of the page, and continues to speak for a while before the run waits for its output.
fn talkative_agent() -> Agent {
    let node = async |cx: Cx, input: String| {
        cx.reason(cx.model("model")?).input(input).agent_tools(["locate"]).await?;
        NodeResult::Ok(Next::go())
    };
    let script = Script::new("script")
        .rule(Rule::when(When::after_tool("locate")).text("So you are in {tool.locate}."))
        .rule(Rule::always().tool("locate", json!({})).delay(Duration::from_millis(200)).text("Let me see."));
    let workflow = Workflow::new("reply").node("reply", node).edge(START, "reply").edge("reply", END);
    Agent::builder()
        .workflow(workflow.build().unwrap())
        .model("model", ScriptedModel::new(script))
        .tool(ClientTool::new(ToolSpec::new("locate", json!({ "type": "object" }))))
        .store(Arc::new(Memory::new()))
        .build()
        .unwrap()
}

#[tokio::test]
async fn output_that_comes_before_the_run_waits_for_it_is_taken_when_it_does() {
    let agent = talkative_agent();
    let server = Server::new(Agents::new().add("demo", agent.clone()), Options::default());
    let world = Arc::new(World::of(agent.clone(), server).await);
    let asks = world.clone();
    let asking =
        tokio::spawn(async move { asks.post("/v1/mui/chat", &says("mui", "c", "u1", "where am I")).await });
    let call = loop {
        let [run] = &*agent.local_runs() else {
            tokio::task::yield_now().await;
            continue;
        };
        let entries = agent.run(run.run.clone()).entries().await.unwrap();
        let called = entries.iter().find_map(|entry| match entry {
            JournalEntry::Event(record) => match &record.event {
                Event::ToolInputAvailable(call) => Some(call.tool.call.clone()),
                _ => None,
            },
            _ => None,
        });
        match called {
            Some(call) => break call,
            None => tokio::task::yield_now().await,
        }
    };
    let output = |call: &str| json!({ "conversationId": "c", "toolCallId": call, "output": "Oslo" });
    let given = world.post("/v1/mui/chat", &output(call.as_str())).await;
    assert_eq!(given.status, 202, "{}", given.body);
    let unknown = world.post("/v1/mui/chat", &output("another-call")).await;
    assert_eq!((unknown.status, &unknown.json()["code"]), (409, &json!("request.not-open")));
    let asked = asking.await.unwrap();
    assert!(asked.text("mui").ends_with("So you are in Oslo."), "{}", asked.body);
}

#[tokio::test(start_paused = true)]
async fn tanstack_page_that_continues_without_a_decision_gets_instructions() {
    let world = World::new().await;
    let asked = world.post("/v1/tanstack/chat", &says("tanstack", "c", "u1", "delete it")).await;
    let call = asked.body.lines().find_map(|line| {
        let chunk: Value = serde_json::from_str(line.strip_prefix("data: ")?).ok()?;
        (chunk["type"] == "approval-requested").then(|| chunk["toolCallId"].clone())
    });
    let function = json!({ "name": "delete", "arguments": "{\"city\":\"Rome\"}" });
    let calls = json!([{ "id": call, "type": "function", "function": function }]);
    let mut body = says("tanstack", "c", "u1", "delete it");
    let spoken = json!({ "role": "assistant", "content": null, "toolCalls": calls });
    body["messages"].as_array_mut().unwrap().push(spoken);
    let told = world.post("/v1/tanstack/chat", &body).await;
    assert_eq!(told.status, 200);
    assert!(told.body.contains("\"type\":\"error\"") && told.body.contains("approvalId"), "{}", told.body);
}
