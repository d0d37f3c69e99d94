//! The email workflow: a draft that streams field by field, and a person who answers `revise`, then `send`.

use std::sync::Arc;

use headwater_models::scripted::{Rule, Script, ScriptedModel, When};
use headwater_protocol::{Event, EventKind, RunStatus};
use headwater_runtime::{
    Agent, Answer, Choice, Cx, END, Next, NodeResult, RunOutcome, START, Start, StructuredOutput, Workflow,
};
use headwater_store::{Memory, Store};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct EmailDraft {
    subject: String,
    body: String,
    bullets: Vec<String>,
}

async fn compose(cx: Cx, brief: String) -> NodeResult {
    let draft = cx
        .reason(cx.model("writer")?)
        .id("compose-email")
        .input(format!("Write a short launch email: {brief}"))
        .output::<EmailDraft>()
        .structured(StructuredOutput::new("email.compose").set("subject").text("body").append("bullets"))
        .await?;
    Ok(Next::data(&draft.output)?)
}

async fn approve(cx: Cx, _draft: EmailDraft) -> NodeResult {
    let question = Choice::new("Send this draft?").option("send", "Send").option("revise", "Revise");
    let answer = cx.interrupt(question).id("approve").await?;
    Ok(Next::condition(answer))
}

fn workflow() -> Workflow {
    Workflow::new("email")
        .node("compose", compose)
        .node("approve", approve)
        .edge(START, "compose")
        .edge("compose", "approve")
        .edge_when("approve", "revise", "compose")
        .edge_when("approve", "send", END)
        .build()
        .unwrap()
}

fn writer() -> ScriptedModel {
    let draft = json!({
        "subject": "Beta access is open",
        "body": "Hi team,\n\nbeta access is open.",
        "bullets": ["Faster setup", "Live streaming UI"],
    });
    ScriptedModel::new(Script::new("email").rule(Rule::when(When::schema(true)).json(draft).chunk(7)))
}

fn agent(store: Arc<dyn Store>, writer: ScriptedModel) -> Agent {
    Agent::builder().workflow(workflow()).model("writer", writer).store(store).build().unwrap()
}

fn asked(outcome: &RunOutcome) -> (String, String) {
    let question = outcome.state.interrupts().last().unwrap();
    (question.request.to_string(), question.token.clone().unwrap())
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    let mut kinds: Vec<_> = events.iter().map(|event| event.kind().name()).collect();
    kinds.dedup();
    kinds
}

#[tokio::test]
async fn draft_streams_by_field_and_is_revised_then_sent() {
    let writer = writer();
    let agent = agent(Arc::new(Memory::new()), writer.clone());
    let run = agent.start(Start::new("the beta")).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Waiting);

    let (request, token) = asked(&outcome);
    let run = agent.answer(Answer::given(&*request, "revise").token(&*token)).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Waiting);
    let (second, token) = asked(&outcome);
    assert_ne!(request, second, "a second visit asks a question of its own");

    let run = agent.answer(Answer::given(&*second, "send").token(&*token)).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Finished);
    assert_eq!(writer.asked(), 2, "each visit of the node asks the model once");

    let events = run.recorded().await.unwrap();
    let streamed: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Structured(update) => Some((update.op.kind(), update.op.path().unwrap_or_default())),
            _ => None,
        })
        .collect();
    assert_eq!(streamed.first(), Some(&("set", "subject")));
    assert!(streamed.iter().filter(|(kind, _)| *kind == "text-delta").count() > 3, "{streamed:?}");
    assert!(streamed.contains(&("append", "bullets")) && streamed.contains(&("final", "")));
    assert!(
        !events.iter().any(|event| event.kind() == EventKind::BlockDelta),
        "the model's JSON is not shown as text"
    );
    assert_eq!(
        kinds(&events).last_chunk(),
        Some(&["interrupt-answered", "message-finished", "run-finished"])
    );
}

#[tokio::test]
async fn draft_survives_a_restart_after_every_step() {
    let clock = Arc::new(headwater_store::ManualClock::at(1_000_000));
    let store: Arc<dyn Store> =
        Arc::new(Memory::with(headwater_store::MemoryOptions { clock: clock.clone(), ..Default::default() }));
    let writer = writer();
    let first = agent(store.clone(), writer.clone());
    let run = first.start(Start::new("the beta")).await.unwrap().id().clone();
    let mut asked_for = Vec::new();
    for answer in ["revise", "send"] {
        let before = agent(store.clone(), writer.clone());
        let outcome = before.run(run.clone()).outcome().await.unwrap();
        let (request, token) = asked(&outcome);
        asked_for.push(request.clone());
        let next = agent(store.clone(), writer.clone());
        let going = next.answer(Answer::given(&*request, answer).token(&*token)).await.unwrap();
        let _ = going.outcome().await.unwrap();
    }
    let outcome = first.run(run).outcome().await.unwrap();
    assert_eq!(outcome.status(), RunStatus::Finished);
    assert_eq!(writer.asked(), 2);
    assert_ne!(asked_for[0], asked_for[1]);
}
