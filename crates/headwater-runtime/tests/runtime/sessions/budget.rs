//! The history that a run gets: the newest messages, instructions, and summaries that are made once.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use headwater_protocol::{Message, Role};
use headwater_runtime::{
    Agent, Cx, Error, ErrorKind, Next, NodeResult, Session, SessionOptions, SummaryRequest,
};
use headwater_store::{Memory, MemoryOptions, Store};

use super::{send, texts};
use crate::harness::one;

/// Replies with the texts of the previous messages.
async fn recall(cx: Cx, _input: String) -> NodeResult {
    let known: Vec<_> = cx.messages().iter().map(Message::plain_text).collect();
    Ok(Next::message(format!("<{}>", known.join("|"))))
}

/// Replies with the number of messages only, so that texts stay short.
async fn count(cx: Cx, _input: String) -> NodeResult {
    let known: Vec<_> = cx.messages().iter().map(Message::plain_text).collect();
    let known: Vec<_> = known.iter().map(|text| text.split(' ').next().unwrap_or_default()).collect();
    Ok(Next::message(format!("r {}", known.join(","))))
}

type SummaryCalls = Arc<Mutex<Vec<(Vec<String>, Option<String>)>>>;

/// Summarises by the first words of the dropped messages, and counts the calls.
fn summing(asked: &SummaryCalls, most: usize) -> SessionOptions {
    let asked = asked.clone();
    SessionOptions::default().last_messages(most).summarise(move |request: SummaryRequest| {
        let asked = asked.clone();
        async move {
            let gone: Vec<_> = request
                .dropped
                .iter()
                .map(|message| message.plain_text().split(' ').next().unwrap_or_default().to_owned())
                .collect();
            let text = format!("{}+{}", request.previous.clone().unwrap_or_default(), gone.join("+"));
            asked.lock().unwrap().push((gone, request.previous));
            Ok(text)
        }
    })
}

fn agent(store: &Arc<dyn Store>, options: SessionOptions) -> Agent {
    Agent::builder().workflow(one(count)).store(store.clone()).sessions(options).build().unwrap()
}

async fn last(session: &Session) -> String {
    texts(session).await.pop().unwrap()
}

#[tokio::test]
async fn oldest_messages_are_dropped_first_and_instructions_stay() {
    let agent = Agent::builder()
        .workflow(one(recall))
        .store(Arc::new(Memory::new()))
        .sessions(SessionOptions::default().last_messages(2))
        .build()
        .unwrap();
    let before = vec![
        Message::text("s", Role::System, "be kind"),
        Message::text("u", Role::User, "one"),
        Message::text("a", Role::Assistant, "two"),
        Message::text("v", Role::User, "three"),
    ];
    let session = agent.seed_session(None, None, before).await.unwrap();
    send(&session, "x").await;
    assert_eq!(last(&session).await, "<be kind|two|three>");
    send(&session, "y").await;
    send(&session, "z").await;
    assert!(last(&session).await.starts_with("<be kind|y|<"), "{}", last(&session).await);
}

#[tokio::test]
async fn token_budget_keeps_the_newest_messages() {
    let options = SessionOptions::default().last_tokens(70);
    let session =
        agent(&(Arc::new(Memory::new()) as Arc<dyn Store>), options).new_session(None).await.unwrap();
    for text in ["a", "b", "c", "d"] {
        send(&session, text).await;
    }
    let known = last(&session).await;
    assert!(known.ends_with("c,r") && !known.contains('a'), "{known}");
}

#[tokio::test]
async fn dropped_messages_are_summarised_once_across_restart_rollback_and_fork() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let asked = SummaryCalls::default();
    let first = agent(&store, summing(&asked, 4));
    let session = first.new_session(Some("ann")).await.unwrap();
    for text in ["a", "b"] {
        send(&session, text).await;
    }
    assert!(asked.lock().unwrap().is_empty(), "it all fits");
    let third = send(&session, "c").await;
    assert_eq!(last(&session).await, "r a,r,b,r");
    let fourth = send(&session, "d").await;
    assert_eq!(last(&session).await, "r +a+r+b+r,c,r");
    assert_eq!(*asked.lock().unwrap(), [(["a", "r", "b", "r"].map(String::from).to_vec(), None)]);

    let second = agent(&store, summing(&asked, 4));
    let session = second.session(session.id().clone(), Some("ann"));
    session.regenerate(&fourth).await.unwrap();
    session.settled().await.unwrap();
    session.roll_back(&third).await.unwrap();
    send(&session, "e").await;
    assert_eq!(last(&session).await, "r +a+r+b+r,c,r");
    let fork = session.fork(&third, None).await.unwrap();
    send(&fork, "f").await;
    assert_eq!(last(&fork).await, "r +a+r+b+r,c,r");
    assert_eq!(asked.lock().unwrap().len(), 1, "once for each range");

    send(&session, "g").await;
    assert_eq!(last(&session).await, "r +a+r+b+r,c,r,e,r");
    send(&session, "h").await;
    assert_eq!(last(&session).await, "r +a+r+b+r+c+r+e+r,g,r");
    let all = asked.lock().unwrap().clone();
    assert_eq!(all.len(), 2);
    assert_eq!(all[1].1.as_deref(), Some("+a+r+b+r"), "the one before goes into the next");
}

#[tokio::test]
async fn failed_summary_stops_no_turn_and_is_retried() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = broken.clone();
    let options = SessionOptions::default().last_messages(2).summarise(move |_: SummaryRequest| {
        let fails = is_broken.load(Ordering::Relaxed);
        async move {
            if fails { Err(Error::new(ErrorKind::Model, "the model is down")) } else { Ok("sum".to_owned()) }
        }
    });
    let session = agent(&store, options).new_session(None).await.unwrap();
    for text in ["a", "b", "c"] {
        send(&session, text).await;
    }
    assert_eq!(last(&session).await, "r b,r");
    broken.store(false, Ordering::Relaxed);
    send(&session, "d").await;
    assert_eq!(last(&session).await, "r sum,r");
}

#[tokio::test]
async fn oversized_input_is_refused_and_leaves_the_session_usable() {
    let options = MemoryOptions { max_value_bytes: 20_000, ..MemoryOptions::default() };
    let store: Arc<dyn Store> = Arc::new(Memory::with(options));
    let session = agent(&store, SessionOptions::default()).new_session(None).await.unwrap();
    send(&session, "a").await;
    let refused = session.send("x".repeat(30_000)).await.unwrap_err();
    assert_eq!((refused.kind(), refused.code()), (ErrorKind::Limit, "session.too-large"));
    send(&session, "b").await;
    assert_eq!(session.info().await.unwrap().turns, 2);
}

#[tokio::test]
async fn checkpoint_larger_than_a_value_is_stored_in_pieces() {
    async fn long(_cx: Cx, input: String) -> NodeResult {
        Ok(Next::message(input.repeat(50_000)))
    }
    let options = MemoryOptions { max_value_bytes: 20_000, ..MemoryOptions::default() };
    let store: Arc<dyn Store> = Arc::new(Memory::with(options));
    let agent = Agent::builder().workflow(one(long)).store(store.clone()).build().unwrap();
    let session = agent.new_session(None).await.unwrap();
    let one = send(&session, "ab").await;
    send(&session, "cd").await;
    assert_eq!(texts(&session).await[1], "ab".repeat(50_000));
    let fork = session.fork(&one, None).await.unwrap();
    assert_eq!(texts(&fork).await.len(), 2);
    agent.delete_session(session.id().clone(), None).await.unwrap();
    agent.delete_session(fork.id().clone(), None).await.unwrap();
    let left = store.list("checkpoint", None, 100).await.unwrap();
    assert!(left.is_empty(), "{:?}", left.iter().map(|(key, _)| key).collect::<Vec<_>>());
}
