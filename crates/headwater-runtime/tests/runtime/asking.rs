//! Models that ask people: the decision to ask, the question, and the reply after the answer.

use std::{
    sync::Arc,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use headwater_models::scripted::{Rule, ScriptedModel, When};
use headwater_protocol::{BlockKind, EventKind, InterruptKind, RunStatus, Usage};
use headwater_runtime::{Answer, Ask, Cx, END, Next, NodeResult, START, StructuredOutput, Workflow};
use headwater_tools::{FunctionTool, Schema, ToolError, schemars::JsonSchema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harness::{World, one, scripted, token};

#[derive(Serialize, Deserialize, JsonSchema)]
struct Draft {
    subject: String,
    body: String,
}

fn question() -> Value {
    json!({ "kind": "text", "question": "For whom?" })
}

fn usage() -> Usage {
    Usage { input_tokens: Some(1), output_tokens: Some(2), total_tokens: Some(3), ..Usage::default() }
}

fn world(node: impl headwater_runtime::NodeFunction<String>, model: &ScriptedModel) -> World {
    World::with(one(node), |agent| agent.model("writer", model.clone()))
}

async fn optional(cx: Cx, input: String) -> NodeResult {
    let ask = Ask::optional()
        .request(Schema::new(
            json!({ "properties": { "kind": { "const": "text" } }, "required": ["question"] }),
        )?)
        .response(Schema::new(json!({ "type": "string", "minLength": 2 }))?)
        .schema("review", "1");
    let reply = cx.reason("writer").id("review").input(input).interrupt(ask).await?;
    Ok(Next::message(reply.text).with_result(&json!({
        "answer": reply.interrupt_response,
        "usage": reply.usage.total_tokens,
        "passes": reply.passes,
        "warnings": reply.warnings.len(),
        "metadata": reply.provider_metadata,
    }))?)
}

#[tokio::test]
async fn optional_question_can_be_skipped() {
    let model = scripted([Rule::always().json(json!({ "decision": "continue", "draftText": "No need." }))]);
    let ran = world(optional, &model).run("go").await;
    assert_eq!((&*ran.text(), model.asked()), ("No need.", 1));
    assert_eq!(ran.result()["answer"], Value::Null);
    assert_eq!(
        ran.count_blocks(BlockKind::Text, EventKind::BlockDelta),
        0,
        "the model's JSON is not shown as text"
    );
}

#[tokio::test]
async fn model_question_is_answered_and_usage_is_summed() {
    let model = scripted([
        Rule::when(When::input_contains("The person answered"))
            .text("For Ada, then.")
            .usage(usage())
            .warning("a", "w")
            .metadata(json!({ "p": { "second": 2 } })),
        Rule::always()
            .json(json!({ "decision": "interrupt", "draftText": "For Ann.", "interruptRequest": question() }))
            .usage(usage())
            .warning("a", "w")
            .metadata(json!({ "p": { "first": 1 } })),
    ]);
    let ran = world(optional, &model).run("go").await;
    let asked = ran.question();
    assert_eq!((asked.kind, asked.question.as_deref()), (InterruptKind::Text, Some("For whom?")));
    assert_eq!((asked.schema_id.as_deref(), asked.schema_version.as_deref()), (Some("review"), Some("1")));
    assert_eq!((asked.id.as_deref(), asked.workflow.as_deref()), (Some("review"), Some("one")));
    let short = Answer::given(asked.request.clone(), "x").token(token(asked));
    assert_eq!(ran.send(short).await.unwrap_err().code(), "answer.invalid");
    let ran = ran.answer("Ada").await;
    assert_eq!((&*ran.text(), model.asked()), ("For Ada, then.", 2), "the first pass is not made again");
    let result = ran.result();
    assert_eq!(
        (&result["answer"], &result["usage"], &result["passes"]),
        (&json!("Ada"), &json!(6), &json!(2))
    );
    assert_eq!(
        (&result["warnings"], &result["metadata"]["p"]),
        (&json!(1), &json!({ "first": 1, "second": 2 }))
    );
    let told = serde_json::to_string(&model.calls()[1].messages).unwrap();
    assert!(told.contains("Ada") && told.contains("For Ann.") && told.contains("For whom?"), "{told}");
}

#[tokio::test]
async fn required_question_uses_the_form_of_the_model() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let reply = cx.reason("writer").input(input).interrupt(Ask::required()).await?;
        Ok(Next::message(reply.text).with_result(&reply.interrupt_response)?)
    }
    let request = json!({ "kind": "multi-choice", "question": "Which?", "options": [
        { "id": "a", "label": "A" }, { "id": "b", "label": "B" }
    ] });
    let model = scripted([
        Rule::when(When::input_contains("The person answered")).text("Fine."),
        // Without a `question` field, the whole object is the question.
        Rule::when(When::input_contains("Answer with")).json(request),
    ]);
    let ran = world(node, &model).run("go").await;
    assert_eq!(ran.question().kind, InterruptKind::MultiChoice);
    let wrong = Answer::given(ran.question().request.clone(), json!(["a", "x"])).token(token(ran.question()));
    assert_eq!(ran.send(wrong).await.unwrap_err().code(), "answer.invalid");
    assert_eq!(*ran.answer(json!(["b"])).await.result(), json!(["b"]));
}

#[tokio::test]
async fn invalid_decision_fails_or_is_retried() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let ask = cx.reason("writer").input(&*input).interrupt(Ask::optional());
        ask.output_retries(if input == "again" { 1 } else { 0 }).await?;
        Ok(Next::go())
    }
    let cases = [
        (json!([1]), "must be a JSON object"),
        (json!({ "decision": "perhaps" }), "`decision` must be"),
        (json!({ "decision": "continue" }), "`draftText` is missing"),
        (json!({ "decision": "interrupt" }), "`interruptRequest` is missing"),
        (
            json!({ "decision": "continue", "draftText": "x", "interruptRequest": question() }),
            "it says `continue` and asks a question",
        ),
        (
            json!({ "decision": "interrupt", "interruptRequest": { "kind": "choice", "question": "?" } }),
            "a choice without options",
        ),
    ];
    for (says, error) in cases {
        let model = scripted([
            Rule::when(When::input_contains("corrected"))
                .json(json!({ "decision": "continue", "draftText": "ok" })),
            Rule::always().json(says.clone()),
        ]);
        let world = world(node, &model);
        let ran = world.run("").await;
        assert_eq!(ran.code(), "output.invalid", "{says}");
        assert!(ran.error().contains(error), "{}", ran.error());
        assert_eq!(world.run("again").await.status(), RunStatus::Finished, "{says}");
    }
}

#[tokio::test]
async fn object_streams_after_the_question_and_is_validated_without_one() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let ask = cx.reason("writer").input(input).interrupt(Ask::optional()).output::<Draft>();
        let reply = ask.structured(StructuredOutput::new("email").set("subject").text("body")).await?;
        Ok(Next::go().with_result(&reply.output)?)
    }
    let draft = json!({ "subject": "Hi", "body": "Dear Ada, welcome." });
    let model = scripted([
        Rule::when(When::input_contains("The person answered")).json(draft.clone()).chunk(4),
        Rule::when(When::input_contains("corrected")).json(json!({})),
        Rule::when(When::turn(2).and(When::system_contains("wrong")))
            .json(json!({ "decision": "continue", "output": { "subject": 1 } })),
        Rule::always().json(json!({ "decision": "interrupt", "interruptRequest": question() })),
    ]);
    let ran = world(node, &model).run("go").await.answer("Ada").await;
    assert_eq!(*ran.result(), draft);
    assert!(ran.count("structured") > 3, "{}", ran.count("structured"));
    assert_eq!(ran.count_blocks(BlockKind::Text, EventKind::BlockDelta), 0);

    async fn wrong(cx: Cx, input: String) -> NodeResult {
        cx.reason("writer").system("wrong").input(input).interrupt(Ask::optional()).output::<Draft>().await?;
        Ok(Next::go())
    }
    let ran = world(wrong, &model).run("go").await;
    assert_eq!(ran.code(), "output.invalid");
    assert!(ran.error().contains("subject: expected a string"), "{}", ran.error());
}

#[derive(Deserialize, JsonSchema)]
struct Account {
    id: u32,
}

#[tokio::test]
async fn tools_run_before_the_question_their_results_decide_it_and_they_may_run_after_it() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let ask = cx.reason("writer").agent_tools(["account"]).input(input);
        let reply = ask.interrupt(Ask::optional()).await?;
        Ok(Next::message(reply.text).with_result(&reply.tool_results.len())?)
    }
    let called = Arc::new(AtomicU32::new(0));
    let account = {
        let called = called.clone();
        move |input: Account| {
            called.fetch_add(1, Ordering::SeqCst);
            std::future::ready(Ok::<_, ToolError>(format!("account {} owes 100", input.id)))
        }
    };
    let model = scripted([
        Rule::when(When::input_contains("The person answered").and(When::pass(0)))
            .tool("account", json!({ "id": 2 })),
        Rule::when(When::input_contains("The person answered")).text("Reviewed."),
        Rule::when(When::tool_gave("account", "owes"))
            .json(json!({ "decision": "interrupt", "interruptRequest": question() })),
        Rule::always().tool("account", json!({ "id": 1 })),
    ]);
    let world = World::with(one(node), |agent| {
        agent
            .model("writer", model.clone())
            .tool(FunctionTool::new("account", account).approval_if(|account| account.id == 2))
    });
    let ran = world.run("go").await;
    assert_eq!((called.load(Ordering::SeqCst), model.asked()), (1, 2));
    let ran = ran.answer("yes").await;
    assert_eq!(ran.status(), RunStatus::Waiting, "the second call needs an approval, with an id of its own");
    let approval = ran.approval().await;
    let approve = Answer::approved(approval.request.clone()).token(approval.token().unwrap());
    let ran = ran.send(approve).await.unwrap();
    assert_eq!((&*ran.text(), ran.result()), ("Reviewed.", &json!(2)));
    assert_eq!((called.load(Ordering::SeqCst), model.asked()), (2, 4), "nothing is done twice");
    let last = serde_json::to_string(&model.calls()[3].messages).unwrap();
    assert!(last.contains("account 1 owes") && last.contains("account 2 owes"), "{last}");
}

#[tokio::test]
async fn looping_node_asks_a_new_question_each_time() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let round = cx.node_state("round", 0)?;
        round.update(|round| round + 1)?;
        let ask = cx.reason("writer").id("same").input(format!("round {}", round.get()?));
        let reply = ask.interrupt(Ask::required()).await?;
        Ok(Next::condition(if round.get()? < 2 { "again" } else { "done" }).with_message(reply.text))
    }
    let model = scripted([
        Rule::when(When::input_contains("The person answered")).text("ok "),
        Rule::always().json(json!({ "interruptRequest": question() })),
    ]);
    let workflow = Workflow::new("w")
        .node("node", node)
        .edge(START, "node")
        .edge_when("node", "again", "node")
        .edge_when("node", "done", END)
        .build()
        .unwrap();
    let world = World::with(workflow, |agent| agent.model("writer", model.clone()));
    let first = world.run("").await;
    let second = first.answer("one").await;
    assert_ne!(first.question().request, second.question().request);
    assert_eq!(model.asked(), 3, "the second visit has a first pass of its own");
    assert_eq!(second.answer("two").await.text(), "ok ok ");
}

#[tokio::test]
async fn model_question_may_be_declined_or_expire() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let ask = Ask::required().expires(Duration::from_secs(60));
        let ask = if input == "declinable" { ask.declinable() } else { ask };
        let reply = cx.reason("writer").input(input).interrupt(ask).await?;
        Ok(Next::message(reply.text))
    }
    let model = scripted([
        Rule::when(When::input_contains("did not want to answer")).text("As you like."),
        Rule::always().json(json!({ "interruptRequest": question() })),
    ]);
    let world = world(node, &model);
    let ran = world.run("declinable").await;
    let decline = |ran: &crate::harness::TestRun| {
        Answer::declined(ran.question().request.clone()).token(token(ran.question()))
    };
    assert_eq!(ran.send(decline(&ran)).await.unwrap().text(), "As you like.");
    let ran = world.run("").await;
    assert_eq!(ran.send(decline(&ran)).await.unwrap().status(), RunStatus::Cancelled);
    let ran = world.run("").await;
    assert_eq!(world.later(&ran, Duration::from_secs(61)).await.code(), "interrupt.expired");
}
