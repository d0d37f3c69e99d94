//! Questions, approvals and client tools in a session: several at once, answered in parts, repeated, returned
//! to.

use std::sync::{Arc, Mutex};

use headwater_models::scripted::{Call, Rule, When};
use headwater_protocol::{ClientTool, ToolCallId};
use headwater_runtime::{
    Agent, Answer, AnswerValue, Choice, Cx, END, ErrorKind, Next, NodeResult, OpenQuestion, START, Session,
    Start, ToolOptions, Turn, TurnInput, Workflow,
};
use headwater_tools::{FunctionTool, ToolContext, ToolError, schemars::JsonSchema};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{send, texts};
use crate::harness::{World, one, scripted};

async fn ask(cx: &Cx, name: &str) -> Result<String, headwater_runtime::Error> {
    cx.interrupt(Choice::new(name).option("y", "Yes").option("n", "No")).id(name).await
}

async fn open(agent: &Agent, session: &Session) -> Vec<OpenQuestion> {
    let run = session.info().await.unwrap().waiting.unwrap();
    let mut open = agent.questions(None, 100).await.unwrap();
    open.retain(|question| question.run == run);
    open
}

/// Answers the open question with this text.
async fn reply(agent: &Agent, session: &Session, asked: &str, with: &str) {
    let open = open(agent, session).await;
    let words = |question: &&OpenQuestion| question.interrupt().unwrap().question.as_deref() == Some(asked);
    let question = open.iter().find(words).unwrap();
    agent.answer(Answer::given(question.request.clone(), with).by(None)).await.unwrap();
    session.settled().await.unwrap();
}

async fn stands(session: &Session) -> headwater_protocol::CheckpointId {
    session.info().await.unwrap().checkpoint.unwrap()
}

/// Two questions of one node at the same time.
fn two_at_once() -> World {
    async fn node(cx: Cx, _: String) -> NodeResult {
        let (left, right) = tokio::join!(ask(&cx, "left"), ask(&cx, "right"));
        Ok(Next::message(format!("{} {}", left?, right?)))
    }
    World::of(one(node))
}

/// Two branches that each ask, and meet again.
fn two_branches() -> World {
    async fn left(cx: Cx, _: ()) -> NodeResult {
        let said = ask(&cx, "left").await?;
        Ok(Next::data(&json!({ "left": said }))?)
    }
    async fn right(cx: Cx, _: ()) -> NodeResult {
        let said = ask(&cx, "right").await?;
        Ok(Next::data(&json!({ "right": said }))?)
    }
    async fn meet(_: Cx, data: Value) -> NodeResult {
        Ok(Next::message(format!("{} {}", data["left"].as_str().unwrap(), data["right"].as_str().unwrap())))
    }
    let workflow = Workflow::new("w")
        .node("left", left)
        .node("right", right)
        .node("meet", meet)
        .edge(START, "left")
        .edge(START, "right")
        .edge("left", "meet")
        .edge("right", "meet")
        .edge("meet", END)
        .build()
        .unwrap();
    World::of(workflow)
}

#[tokio::test]
async fn two_questions_are_answered_repeated_and_returned_to() {
    for world in [two_at_once(), two_branches()] {
        let agent = &world.agent;
        let session = agent.new_session(None).await.unwrap();
        let asked = send(&session, "go").await;
        assert_eq!(session.checkpoint(&asked).await.unwrap().questions.len(), 2);
        reply(agent, &session, "right", "n").await;
        let half = stands(&session).await;
        assert_eq!(session.checkpoint(&half).await.unwrap().questions.len(), 1);
        reply(agent, &session, "left", "y").await;
        let whole = stands(&session).await;
        assert_eq!(texts(&session).await, ["go", "y n"]);
        assert_eq!(session.info().await.unwrap().turns, 3);

        session.answer_again(&whole, AnswerValue::Given(json!("n"))).await.unwrap();
        session.settled().await.unwrap();
        assert_eq!(texts(&session).await, ["go", "n n"], "the other answer is still there");
        let fork = session.fork(&half, None).await.unwrap();
        fork.settled().await.unwrap();
        reply(agent, &fork, "left", "y").await;
        assert_eq!(texts(&fork).await, ["go", "y n"]);

        session.roll_back(&asked).await.unwrap();
        session.settled().await.unwrap();
        assert_eq!(open(agent, &session).await.len(), 2, "both are asked again");
        reply(agent, &session, "left", "n").await;
        reply(agent, &session, "right", "y").await;
        assert_eq!(texts(&session).await, ["go", "n y"]);
    }
}

#[tokio::test]
async fn message_retracts_the_questions_of_all_branches() {
    let world = two_branches();
    let session = world.agent.new_session(None).await.unwrap();
    send(&session, "go").await;
    let before = open(&world.agent, &session).await;
    send(&session, "go").await;
    for question in before {
        let late = Answer::given(question.request, "y").by(None);
        assert_eq!(world.agent.answer(late).await.unwrap_err().kind(), ErrorKind::Retracted);
    }
    assert_eq!(open(&world.agent, &session).await.len(), 2);
}

#[derive(Deserialize, JsonSchema)]
struct Payment {
    amount: u32,
}

type Payments = Arc<Mutex<Vec<u32>>>;

/// An agent that pays with approval, and counts the payments.
fn paying(made: &Payments) -> World {
    async fn node(cx: Cx, _: String) -> NodeResult {
        let reply = cx
            .reason("writer")
            .agent_tools(["pay"])
            .tool_options(ToolOptions::default().approval(true))
            .input("go")
            .await?;
        Ok(Next::message(format!("done: {}", reply.tool_results.len())))
    }
    let model = scripted([
        Rule::when(When::after_tool("pay")).text("Paid."),
        Rule::always().tools([Call::new("pay", json!({ "amount": 7 })).id("c1")]),
    ]);
    let made = made.clone();
    let pay = FunctionTool::new("pay", move |payment: Payment, _: ToolContext| {
        let made = made.clone();
        async move {
            made.lock().unwrap().push(payment.amount);
            Ok::<_, ToolError>("paid".to_owned())
        }
    });
    World::with(one(node), |agent| agent.model("writer", model).tool(pay.editable()))
}

#[tokio::test]
async fn approval_is_repeated_and_asked_again_after_roll_back() {
    let made = Payments::default();
    let world = paying(&made);
    let agent = &world.agent;
    let session = agent.new_session(None).await.unwrap();
    let asked = send(&session, "pay").await;
    let first = open(agent, &session).await.remove(0);
    assert_eq!(first.approval().unwrap().1, &json!({ "amount": 7 }));
    let token = first.token().unwrap().to_owned();
    agent.answer(Answer::approved(first.request.clone()).token(&*token)).await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(*made.lock().unwrap(), [7]);
    let paid = stands(&session).await;
    match session.input(&paid).await.unwrap() {
        TurnInput::Answers(answers) => {
            assert!(matches!(answers[..], [AnswerValue::Approval { approved: true, .. }]));
        }
        other => panic!("{other:?}"),
    }

    session.regenerate(&paid).await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(*made.lock().unwrap(), [7, 7], "the approval is repeated");

    let fork = session.fork(&asked, None).await.unwrap();
    fork.settled().await.unwrap();
    let forked = open(agent, &fork).await.remove(0);
    assert_ne!(forked.token().unwrap(), token);
    let stale = Answer::approved(forked.request.clone()).token(token);
    assert_eq!(agent.answer(stale).await.unwrap_err().code(), "token.invalid");
    agent.answer(Answer::denied(forked.request, Some("no")).by(None)).await.unwrap();
    fork.settled().await.unwrap();
    assert_eq!(made.lock().unwrap().len(), 2, "the fork was denied");

    session.roll_back(&asked).await.unwrap();
    session.settled().await.unwrap();
    let again = open(agent, &session).await.remove(0);
    assert_ne!(again.request, first.request);
    assert_eq!(made.lock().unwrap().len(), 2, "going back pays nothing");
    let edited = AnswerValue::Approval { approved: true, reason: None, input: Some(json!({ "amount": 3 })) };
    agent.answer(Answer::new(again.request, edited).by(None)).await.unwrap();
    session.settled().await.unwrap();
    let changed = open(agent, &session).await.remove(0);
    assert_eq!(changed.approval().unwrap().1, &json!({ "amount": 3 }), "the rule is asked again");
    agent.answer(Answer::approved(changed.request).by(None)).await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(*made.lock().unwrap(), [7, 7, 3]);
}

#[tokio::test]
async fn output_of_a_client_tool_is_repeated_and_asked_again_after_roll_back() {
    async fn node(cx: Cx, _: String) -> NodeResult {
        let reply = cx.reason("writer").client_tools().input("go").await?;
        Ok(Next::go().with_result(&json!(reply.tool_results.len()))?)
    }
    let model = scripted([
        Rule::when(When::after_tool("locate")).text("You are in {tool.locate}."),
        Rule::always().tools([Call::new("locate", json!({})).id("c1")]),
    ]);
    let locate = ClientTool {
        name: "locate".into(),
        description: None,
        parameters: Some(json!({ "type": "object" })),
    };
    let world = World::with(one(node), |agent| agent.model("writer", model));
    let agent = &world.agent;
    let session = agent.new_session(None).await.unwrap();
    let asked =
        session.send(Turn::from(Start::new("go").client_tools(vec![locate]))).await.unwrap().checkpoint;
    session.settled().await.unwrap();
    let call = ToolCallId::from("c1");
    let give = async |session: &Session, place: &str| {
        let run = session.info().await.unwrap().waiting.unwrap();
        agent.tool_output(&run, &call, None, Ok(json!(place))).await.unwrap();
        session.settled().await.unwrap();
        texts(session).await.pop().unwrap()
    };
    assert_eq!(give(&session, "Oslo").await, "You are in Oslo.");
    let done = stands(&session).await;
    session.regenerate(&done).await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await.pop().unwrap(), "You are in Oslo.");
    let fork = session.fork(&asked, None).await.unwrap();
    fork.settled().await.unwrap();
    session.roll_back(&asked).await.unwrap();
    session.settled().await.unwrap();
    assert_eq!(give(&session, "Rome").await, "You are in Rome.");
    assert_eq!(give(&fork, "Bergen").await, "You are in Bergen.");
}
