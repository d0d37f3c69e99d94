//! The examples run as documented, and all code in the documents comes from them.

use headwater_models::scripted::{Rule, Script, ScriptedModel};
use headwater_protocol::{BlockKind, Event, EventKind, RunStatus};
use headwater_runtime::{AgentBuilder, Answer, END, NodeFunction, Result, START, Start, Workflow};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    answers, flows,
    harness::{TestRun, World},
    objects, people, state,
};

/// A workflow of one node, as in the example.
pub(crate) fn single<T: DeserializeOwned + 'static>(
    id: &str,
    node: impl NodeFunction<T>,
) -> Result<Workflow> {
    Workflow::new(id).node(id, node).edge(START, id).edge(id, END).build()
}

fn world() -> (World, ScriptedModel) {
    let script = include_str!("../../examples/hooks/script.yaml");
    let writer = ScriptedModel::new(Script::from_yaml(script).unwrap());
    let world = World::build(|agent| {
        let groups = [answers::workflows(), objects::workflows(), people::workflows(), state::workflows()];
        let all = groups.into_iter().flat_map(|group| group.unwrap());
        all.fold(agent, AgentBuilder::workflow)
            .model("writer", writer.clone())
            .model("second", writer.clone())
    });
    (world, writer)
}

async fn run(name: &str) -> (TestRun, ScriptedModel) {
    let (world, writer) = world();
    (world.start(Start::new("Hi").workflow(name)).await, writer)
}

fn structured(ran: &TestRun) -> Vec<(&'static str, String)> {
    let mut updates: Vec<_> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Structured(update) => {
                Some((update.op.kind(), update.op.path().unwrap_or_default().to_owned()))
            }
            _ => None,
        })
        .collect();
    updates.dedup();
    updates
}

#[tokio::test]
async fn answer_is_shown_live_at_the_end_or_not_at_all() {
    let (ran, _) = run("live").await;
    assert_eq!((&*ran.text(), ran.count("message")), ("You said: Hi", 0));
    assert!(ran.count_blocks(BlockKind::Text, EventKind::BlockDelta) > 1);
    let (ran, _) = run("final-only").await;
    assert_eq!(
        (&*ran.text(), ran.count("message"), ran.count_blocks(BlockKind::Text, EventKind::BlockDelta)),
        ("You said: Hi", 1, 0)
    );
    let (ran, writer) = run("internal").await;
    assert_eq!((ran.emitted(), writer.asked()), (vec!["run-finished"], 1));
    let (ran, _) = run("note").await;
    assert_eq!(ran.text(), "You said: Hi(12 characters)");
    assert!(ran.warnings().is_empty());
}

#[tokio::test]
async fn model_call_returns_more_than_text_and_takes_every_option() {
    let (ran, _) = run("returns").await;
    let given = ran.result();
    assert_eq!((&given["finishReason"], &given["usage"]["totalTokens"]), (&json!("stop"), &json!(7)));
    assert_eq!(given["usageOfTheRun"], given["usage"]);
    assert_eq!(given["interruptResponse"], Value::Null);

    let (ran, writer) = run("options").await;
    assert_eq!(ran.status(), RunStatus::Finished);
    let asked = serde_json::to_value(&*writer.calls()[0]).unwrap();
    assert_eq!((&asked["temperature"], &asked["maxOutputTokens"]), (&json!(0.2), &json!(600)));
    assert_eq!(asked["reasoning"], json!({ "effort": "medium", "maxTokens": 256 }));
    assert_eq!(
        (&asked["stopSequences"], &asked["responseFormat"]["type"]),
        (&json!(["</final>"]), &json!("json"))
    );
}

#[tokio::test]
async fn email_streams_by_field_at_once_or_from_node_code() {
    let (ran, _) = run("email-draft").await;
    let fields = [("set", "subject"), ("text-delta", "body"), ("append", "bullets"), ("final", "")];
    assert_eq!(structured(&ran), fields.map(|(kind, path)| (kind, path.to_owned())));
    assert_eq!(ran.count_blocks(BlockKind::Text, EventKind::BlockDelta), 0);
    let email = ran.outcome.structured().iter().next().unwrap();
    assert_eq!((email.data_type(), email.schema_id()), ("email.compose", Some("email-compose")));
    assert_eq!(email.data().unwrap()["bullets"], json!(["Faster setup", "Live streaming UI"]));

    let (ran, _) = run("email-at-once").await;
    assert_eq!(structured(&ran), [("final", String::new())]);

    let (ran, _) = run("composer").await;
    let fields =
        [("set", "subject"), ("text-delta", "draft.body"), ("append", "draft.bullets"), ("final", "")];
    assert_eq!(structured(&ran), fields.map(|(kind, path)| (kind, path.to_owned())));
    let email = ran.outcome.structured().get("email-compose").unwrap();
    assert_eq!(email.data().unwrap()["draft"]["body"], "Hi team,\n\nBeta access is open.\n");
}

#[tokio::test]
async fn content_shown_before_a_resume_is_shown_once() {
    let (ran, writer) = run("resume-safe").await;
    let ran = ran.answer("yes").await;
    assert_eq!((ran.status(), writer.asked()), (RunStatus::Finished, 1));
    assert_eq!((ran.count("structured"), &*ran.text()), (1, "You said: Hi"));
}

#[tokio::test]
async fn people_pick_one_some_or_none() {
    let (ran, _) = run("pick-one").await;
    assert_eq!(ran.question().id.as_deref(), Some("pick-one"));
    assert_eq!(ran.answer("b").await.result(), "b");
    let (ran, _) = run("pick-some").await;
    assert_eq!(*ran.answer(json!(["a", "b"])).await.result(), json!(["a", "b"]));
    let (ran, _) = run("pick-some").await;
    let declined = Answer::declined(ran.question().request.clone());
    let ran = ran.send(declined.token(crate::harness::token(ran.question()))).await.unwrap();
    assert_eq!(ran.text(), "As you like.");
}

#[tokio::test]
async fn tools_and_questions_come_in_any_order() {
    for (name, passes) in [("tools-then-question", 4), ("tools-and-question", 3)] {
        let (ran, writer) = run(name).await;
        assert_eq!(ran.question().question.as_deref(), Some("Is the account fine?"), "{name}");
        assert_eq!(ran.count("tool-output"), 1, "{name}");
        let ran = ran.answer("it is").await;
        assert_eq!((ran.result(), writer.asked()), (&json!("it is"), passes), "{name}");
        assert!(ran.text().ends_with("Reviewed by a person."), "{name}: {}", ran.text());
    }
    let (ran, _) = run("question-then-tools").await;
    let ran = ran.answer("7").await;
    assert_eq!(ran.text(), "In short: account 7 with an open bill.");

    let (ran, _) = run("approved-tools").await;
    let approval = ran.approval().await;
    assert_eq!(approval.approval().unwrap().1, &json!({ "id": "42" }));
    let approved = Answer::approved(approval.request.clone()).token(approval.token().unwrap());
    let ran = ran.send(approved).await.unwrap();
    assert_eq!(ran.text(), "The account is account 42 with an open bill.");
}

#[tokio::test]
async fn run_has_state_context_and_recorded_effects() {
    let (ran, _) = run("remember").await;
    assert_eq!(ran.text(), "thing 0, thing 1, thing 2");
    let (world, _) = world();
    let Value::Object(client) = json!({ "locale": "no" }) else { unreachable!() };
    let start = Start::new("").workflow("context").runtime_context(json!({ "userId": "Ada" }));
    let ran = world.start(start.client_context(client)).await;
    assert_eq!(ran.text(), "Hei Ada!");
    let (ran, _) = run("pay").await;
    assert_eq!(ran.emitted(), ["status", "data", "message", "run-finished"]);
    let (ran, _) = run("guard").await;
    let ran = ran.answer("42").await;
    assert_eq!((&*ran.text(), ran.count("structured")), ("42", 1));
}

#[tokio::test]
async fn workflows_loop_fork_recover_and_hand_over() {
    let draft = json!({ "subject": "Beta", "body": "Open.", "bullets": [] });
    let writer = ScriptedModel::new(Script::new("email").rule(Rule::always().json(draft)));
    let world = World::build(|agent| {
        flows::workflows()
            .unwrap()
            .into_iter()
            .fold(agent, AgentBuilder::workflow)
            .model("writer", writer.clone())
    });
    let start = |name: &str| world.start(Start::new("Oslo").workflow(name));
    assert_eq!(start("morning").await.text(), "It is sunny in Oslo, and nothing new in Oslo.");
    let ran = start("careful").await;
    assert_eq!((&*ran.text(), ran.warnings().len()), ("Sorry: the line is dead (node.failed).", 2));
    let ran = start("front-desk").await;
    assert_eq!(ran.text(), "It is sunny in Oslo, and nothing new in Oslo.");
    assert_eq!(ran.count("transition"), 1);
    let ran = start("email").await.answer("revise").await.answer("send").await;
    assert_eq!((ran.status(), writer.asked()), (RunStatus::Finished, 2));
}

#[tokio::test]
async fn shared_state_starts_with_the_state_of_the_page() {
    let (world, _) = world();
    let page = json!({ "state": { "days": 2, "city": "Rome" } });
    let ran = world.start(Start::new("Oslo").workflow("plan").client_context(page)).await;
    assert_eq!(ran.outcome.state.shared_state(), Some(&json!({ "city": "Oslo", "days": 3 })));
}

#[test]
fn all_code_in_the_documents_comes_from_an_example() {
    let examples = [
        include_str!("../../examples/hooks/answers.rs"),
        include_str!("../../examples/hooks/objects.rs"),
        include_str!("../../examples/hooks/people.rs"),
        include_str!("../../examples/hooks/state.rs"),
        include_str!("../../examples/workflows/flows.rs"),
        include_str!("../../examples/workflows/main.rs"),
    ];
    let documents = [
        ("hooks", include_str!("../../../../docs/hooks.md")),
        ("workflows", include_str!("../../../../docs/workflows.md")),
    ];
    let mut seen = 0;
    for (document, text) in documents {
        for block in text.split("```rust\n").skip(1) {
            let block = block.split("```").next().unwrap();
            assert!(
                examples.iter().any(|example| example.contains(block)),
                "docs/{document}.md has\n{block}"
            );
            seen += 1;
        }
    }
    assert!(seen > 12, "{seen}");
}
