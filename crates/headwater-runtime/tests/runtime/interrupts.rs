//! Questions to people: their kinds, valid answers, expiry and declining.

use std::time::Duration;

use headwater_protocol::{Event, InterruptAnswered, InterruptKind, RunStatus};
use headwater_runtime::{Answer, Choice, Cx, Form, MultiChoice, Next, NodeResult, START, Text, Workflow};
use headwater_tools::Schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harness::{TestRun, World, one, token};

async fn refused(ran: &TestRun, answer: Value, code: &str, says: &str) {
    let question = ran.question();
    let answered = Answer::given(question.request.clone(), answer.clone()).token(token(question));
    let error = ran.send(answered).await.unwrap_err();
    assert_eq!(error.code(), code, "{answer}: {error}");
    assert!(error.to_string().contains(says), "{error} does not say {says:?}");
    let now = TestRun::of(ran.agent(), ran.agent().run(ran.id().clone())).await;
    assert_eq!(now.status(), RunStatus::Waiting, "the question stays open after {answer}");
}

#[tokio::test]
async fn text_question_is_answered() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let name = cx.interrupt(Text::new("Who are you?")).id("who").schema("who", "1").await?;
        Ok(Next::message(format!("Hello {name}!")))
    }
    let ran = World::of(one(node)).run("").await;
    let question = ran.question();
    assert_eq!(question.kind, InterruptKind::Text);
    assert_eq!(question.question.as_deref(), Some("Who are you?"));
    assert_eq!(question.id.as_deref(), Some("who"));
    assert_eq!(question.workflow.as_deref(), Some("one"));
    assert_eq!((question.schema_id.as_deref(), question.schema_version.as_deref()), (Some("who"), Some("1")));
    refused(&ran, json!(1), "answer.invalid", "must be a text, not a number").await;
    refused(&ran, json!(["a", "b"]), "answer.invalid", "must be a text, not an array").await;
    assert_eq!(ran.answer("Ada").await.text(), "Hello Ada!");
}

#[tokio::test]
async fn choice_accepts_only_its_options() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let question = Choice::new("Which?").option("a", "Alpha").option_with("b", "Beta", "The second");
        Ok(Next::message(cx.interrupt(question).await?))
    }
    let world = World::of(one(node));
    let ran = world.run("").await;
    let question = ran.question();
    assert_eq!(question.kind, InterruptKind::Choice);
    let offered: Vec<_> = question.options.iter().map(|option| (&*option.id, &*option.label)).collect();
    assert_eq!(offered, [("a", "Alpha"), ("b", "Beta")]);
    refused(&ran, json!("c"), "answer.invalid", "\"c\" is not among the options: `a`, `b`").await;
    refused(&ran, json!("Alpha"), "answer.invalid", "not among the options").await;
    refused(&ran, json!(["a", "b"]), "answer.invalid", "not among the options").await;
    refused(&ran, Value::Null, "answer.invalid", "not among the options").await;
    assert_eq!(ran.answer("b").await.text(), "b");
    let as_object = world.run("").await.answer(json!({ "id": "a", "label": "Alpha" })).await;
    assert_eq!(as_object.text(), "a");
}

#[tokio::test]
async fn multiple_choice_accepts_several_options() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let question =
            MultiChoice::new("Which?").option("a", "Alpha").option("b", "Beta").option("c", "Gamma");
        Ok(Next::go().with_result(&cx.interrupt(question).await?)?)
    }
    let world = World::of(one(node));
    let ran = world.run("").await;
    assert_eq!(ran.question().kind, InterruptKind::MultiChoice);
    assert!(ran.question().multiple);
    refused(&ran, json!(["a", "x"]), "answer.invalid", "\"x\" is not among the options").await;
    assert_eq!(*ran.answer(json!(["c", "a"])).await.result(), json!(["c", "a"]));
    assert_eq!(*world.run("").await.answer("b").await.result(), json!(["b"]), "one alone is a list of one");
    assert_eq!(*world.run("").await.answer(json!([])).await.result(), json!([]));
}

#[tokio::test]
async fn form_sends_a_schema_to_the_page_and_a_type_to_the_node() {
    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    struct Address {
        street: String,
        number: u32,
    }
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let address = cx.interrupt(Form::<Address>::new("Where do you live?")).await?;
        Ok(Next::message(format!("{} {}", address.street, address.number)))
    }
    let ran = World::of(one(node)).run("").await;
    let schema = ran.question().response_schema.as_ref().unwrap();
    assert_eq!(schema["properties"]["street"]["type"], "string");
    refused(&ran, json!({ "street": "Storgata" }), "answer.invalid", "number: missing").await;
    assert_eq!(ran.answer(json!({ "street": "Storgata", "number": 1 })).await.text(), "Storgata 1");
}

#[tokio::test]
async fn question_and_answer_are_checked_by_their_schemas() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let short = Schema::new(json!({ "properties": { "question": { "maxLength": 10 } } }))?;
        let question = if input == "long" { "a question that is too long" } else { "short?" };
        let Value::Object(meta) = json!({ "hint": "a year" }) else { unreachable!() };
        let answer = cx
            .interrupt(Text::new(question))
            .request_schema(short)
            .response_schema(Schema::new(json!({ "type": "string", "pattern": "^[0-9]{4}$" }))?)
            .meta(meta)
            .await?;
        Ok(Next::message(answer))
    }
    let world = World::of(one(node));
    let ran = world.run("long").await;
    assert_eq!(ran.code(), "hook.invalid");
    assert!(ran.error().contains("the question does not fit its schema: question"), "{}", ran.error());
    let ran = world.run("").await;
    assert_eq!(ran.question().meta.as_ref().unwrap()["hint"], "a year");
    refused(&ran, json!("last year"), "answer.invalid", "the answer does not fit").await;
    assert_eq!(ran.answer("1999").await.text(), "1999");
}

#[tokio::test]
async fn two_questions_of_one_node_get_separate_answers() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let first = cx.interrupt(Text::new("First?")).await?;
        let second = cx.interrupt(Text::new("Second?")).await?;
        Ok(Next::message(format!("{first}, {second}")))
    }
    let ran = World::of(one(node)).run("").await;
    assert_eq!(ran.question().question.as_deref(), Some("First?"));
    let ran = ran.answer("one").await;
    assert_eq!(ran.question().question.as_deref(), Some("Second?"));
    assert_eq!(ran.answer("two").await.text(), "one, two");
}

#[tokio::test]
async fn concurrent_questions_are_answered_in_any_order() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let (first, second) = tokio::join!(
            cx.interrupt(Text::new("First?")).id("first").into_future(),
            cx.interrupt(Text::new("Second?")).id("second").into_future(),
        );
        Ok(Next::message(format!("{}, {}", first?, second?)))
    }
    let ran = World::of(one(node)).run("").await;
    assert_eq!(ran.questions().len(), 2);
    let ran = ran.reply(ran.asked("Second?"), "two").await;
    assert_eq!(ran.status(), RunStatus::Waiting);
    assert_eq!(ran.question().question.as_deref(), Some("First?"));
    assert_eq!(ran.answer("one").await.text(), "one, two");
}

#[tokio::test]
async fn concurrent_questions_without_ids_are_refused() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let (first, _) = tokio::join!(
            cx.interrupt(Text::new("First?")).into_future(),
            cx.interrupt(Text::new("Second?")).into_future(),
        );
        Ok(Next::message(first?))
    }
    let ran = World::of(one(node)).run("").await;
    assert_eq!(ran.code(), "hook.invalid");
    assert!(
        ran.error().contains("two `interrupt` hooks without an id") && ran.error().contains("give them ids")
    );
    assert_eq!(ran.count("interrupt-requested"), 0);
}

#[tokio::test]
async fn parallel_branches_get_their_own_answers() {
    let branch = |name: &'static str| {
        move |cx: Cx, _: ()| async move {
            let answer = cx.interrupt(Text::new(format!("{name}?"))).id("same").await?;
            Ok(Next::data(&json!({ name: answer }))?)
        }
    };
    let show = |cx: Cx, _: ()| async move { Ok(Next::go().with_result(cx.data())?) };
    let workflow = Workflow::new("w")
        .node("a", branch("a"))
        .node("b", branch("b"))
        .node("join", show)
        .edge(START, "a")
        .edge(START, "b")
        .edge("a", "join")
        .edge("b", "join")
        .build()
        .unwrap();
    let ran = World::of(workflow).run("").await;
    assert_eq!(ran.questions().len(), 2);
    let ran = ran.reply(ran.asked("b?"), "for b").await;
    let ran = ran.reply(ran.asked("a?"), "for a").await;
    assert_eq!((&ran.result()["a"], &ran.result()["b"]), (&json!("for a"), &json!("for b")));
}

#[tokio::test]
async fn unanswered_question_expires() {
    async fn node(cx: Cx, input: String) -> NodeResult {
        let asked = cx.interrupt(Text::new("Who?")).expires(Duration::from_secs(60)).await;
        Ok(Next::message(match asked {
            Err(error) if input == "caught" => error.code().to_owned(),
            asked => asked?,
        }))
    }
    let world = World::of(one(node));
    let ran = world.run("").await;
    assert!(ran.question().expires_at.is_some());
    let ran = world.later(&ran, Duration::from_secs(59)).await;
    assert_eq!(ran.status(), RunStatus::Waiting);
    let late = Answer::given(ran.question().request.clone(), "Ada").token(token(ran.question()));
    let ran = world.later(&ran, Duration::from_secs(2)).await;
    assert_eq!(ran.code(), "interrupt.expired");
    assert_eq!(ran.count("interrupt-expired"), 1);
    assert_eq!(ran.send(late).await.unwrap_err().code(), "interrupt.expired");

    let ran = world.run("caught").await;
    assert_eq!(world.later(&ran, Duration::from_secs(61)).await.text(), "interrupt.expired");
}

#[tokio::test]
async fn answer_after_expiry_is_refused_without_recovery() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.interrupt(Text::new("Who?")).expires(Duration::from_secs(60)).await?;
        Ok(Next::go())
    }
    let world = World::of(one(node));
    let ran = world.run("").await;
    world.clock.advance(Duration::from_secs(61));
    refused(&ran, json!("Ada"), "interrupt.expired", "has expired").await;
    assert!(world.agent.questions(None, 10).await.unwrap().is_empty(), "and it is not listed");
}

#[tokio::test]
async fn run_that_waited_too_long_ends_with_a_terminal_event() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let _ = cx.interrupt(Text::new("Who?")).await;
        Ok(Next::message("never"))
    }
    let world = World::of(one(node));
    let ran = world.run("").await;
    let ran = world.later(&ran, Duration::from_secs(7 * 24 * 3600 - 1)).await;
    assert_eq!(ran.status(), RunStatus::Waiting);
    let ran = world.later(&ran, Duration::from_secs(2)).await;
    assert_eq!(ran.code(), "run.expired");
    assert_eq!(ran.emitted().last(), Some(&"run-failed"));
}

#[tokio::test]
async fn declining_cancels_the_run() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        // The node cannot catch what ends the run.
        let _ = cx.interrupt(Text::new("Who?")).await;
        Ok(Next::message("never"))
    }
    let world = World::of(one(node));
    let ran = world.run("").await;
    let decline = Answer::declined(ran.question().request.clone()).token(token(ran.question()));
    let ran = ran.send(decline).await.unwrap();
    assert_eq!(ran.status(), RunStatus::Cancelled);
    assert_eq!(ran.text(), "");
    assert_eq!(world.agent.runs(None, 10).await.unwrap().len(), 1, "no other run was started");
    assert!(matches!(
        ran.events.iter().find(|event| event.kind().name() == "interrupt-answered"),
        Some(Event::InterruptAnswered(InterruptAnswered { answer: None, .. }))
    ));
}

#[tokio::test]
async fn declining_is_an_answer_if_the_node_allows_it() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        let asked = cx.interrupt(Choice::new("Which?").option("a", "A")).declinable().await?;
        Ok(Next::message(match asked {
            Some(answer) => answer,
            None => "as you like".to_owned(),
        }))
    }
    let world = World::of(one(node));
    let ran = world.run("").await;
    let decline = Answer::declined(ran.question().request.clone()).token(token(ran.question()));
    assert_eq!(ran.send(decline).await.unwrap().text(), "as you like");
    assert_eq!(world.run("").await.answer("a").await.text(), "a");
}

#[tokio::test]
async fn question_cannot_be_caught_by_node_code() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        // Waiting is not an error, so there is nothing to catch.
        let answer = cx.interrupt(Text::new("Who?")).await.unwrap_or_else(|_| "default".to_owned());
        Ok(Next::message(answer))
    }
    let ran = World::of(one(node)).run("").await;
    assert_eq!(ran.status(), RunStatus::Waiting);
    assert_eq!(ran.answer("Ada").await.text(), "Ada");
}

#[tokio::test]
async fn work_beside_a_question_finishes_before_the_node_is_parked() {
    let done = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = done.clone();
    let node = move |cx: Cx, _: ()| {
        let done = counted.clone();
        async move {
            let work = || async {
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                Ok(done.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1)
            };
            let (answer, work) =
                tokio::join!(cx.interrupt(Text::new("Who?")).into_future(), cx.step("work", work));
            Ok(Next::message(format!("{} {}", answer?, work?)))
        }
    };
    let ran = World::of(one(node)).run("").await;
    assert_eq!(ran.status(), RunStatus::Waiting);
    assert_eq!(done.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert_eq!(ran.answer("Ada").await.text(), "Ada 1");
    assert_eq!(done.load(std::sync::atomic::Ordering::SeqCst), 1, "and it is not done again");
}

#[tokio::test]
async fn open_questions_are_listed_until_they_are_answered() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.interrupt(Text::new("First?")).await?;
        cx.interrupt(Text::new("Second?")).await?;
        Ok(Next::go())
    }
    let world = World::of(one(node));
    let listed = || async {
        let open = world.agent.questions(None, 10).await.unwrap();
        let words = open.iter().map(|open| open.interrupt().unwrap().question.clone().unwrap());
        words.collect::<Vec<_>>()
    };
    let ran = world.run("").await;
    assert_eq!(listed().await, ["First?"]);
    let ran = ran.answer("1").await;
    assert_eq!(listed().await, ["Second?"], "the first is not listed any more");
    ran.answer("2").await;
    assert!(listed().await.is_empty());
}

#[tokio::test]
async fn page_of_questions_is_full_although_others_were_answered() {
    async fn node(cx: Cx, _: ()) -> NodeResult {
        cx.interrupt(Text::new("Who?")).await?;
        cx.interrupt(Text::new("And who else?")).await?;
        Ok(Next::go())
    }
    let world = World::of(one(node));
    for _ in 0..150 {
        world.run("").await.answer("Ada").await;
    }
    let first = world.agent.questions(None, 100).await.unwrap();
    let rest = world.agent.questions(Some(&first.last().unwrap().request), 100).await.unwrap();
    assert_eq!((first.len(), rest.len()), (100, 50));
}

#[tokio::test]
async fn last_wait_is_the_newest_of_several() {
    async fn twice(cx: Cx, _: ()) -> NodeResult {
        cx.interrupt(Text::new("First?")).id("first").await?;
        cx.interrupt(Text::new("Second?")).id("second").await?;
        Ok(Next::go())
    }
    let world = World::of(one(twice));
    let ran = world.run("").await;
    let first = ran.run.last_wait().await.unwrap().unwrap();
    let ran = ran.answer("a").await;
    let second = ran.run.last_wait().await.unwrap().unwrap();
    assert!(second > first, "{second} after {first}");
    let ran = ran.answer("b").await;
    assert_eq!(ran.run.last_wait().await.unwrap(), Some(second), "the end is not a wait");
}
