//! A page that shows other messages than the session: the session moves to the position of the page.

use std::sync::Arc;

use headwater_protocol::{Message, Role};
use headwater_runtime::{Session, SessionOptions, Turn, WhenBusy};
use headwater_store::Memory;

use super::{agent, serving::held, texts};

/// The messages that a page shows.
fn shown(lines: &[(Role, &str)]) -> Vec<Message> {
    let message =
        |(at, (role, text)): (usize, &(Role, &str))| Message::text(format!("page-{at}"), *role, *text);
    lines.iter().enumerate().map(message).collect()
}

async fn send_text(session: &Session, text: &str, after: &[(Role, &str)]) {
    session.send(Turn::new(text).after(shown(after))).await.unwrap();
    session.settled().await.unwrap();
}

const USER: Role = Role::User;
const ANSWER: Role = Role::Assistant;

/// A session of two turns.
async fn two_turns() -> Session {
    let session = agent().new_session(None).await.unwrap();
    send_text(&session, "one", &[]).await;
    send_text(&session, "two", &[(USER, "one"), (ANSWER, "0: one")]).await;
    assert_eq!(texts(&session).await, ["one", "0: one", "two", "2: two"]);
    session
}

#[tokio::test]
async fn page_with_the_messages_of_the_session_continues() {
    let session = two_turns().await;
    // The page's answers have other ids and texts: only the person's messages are compared.
    send_text(&session, "three", &[(USER, "one"), (ANSWER, "shortened"), (USER, "two")]).await;
    assert_eq!(texts(&session).await, ["one", "0: one", "two", "2: two", "three", "4: three"]);
}

#[tokio::test]
async fn cleared_page_starts_over() {
    let session = two_turns().await;
    send_text(&session, "new", &[]).await;
    assert_eq!(texts(&session).await, ["new", "0: new"]);
    assert_eq!(session.info().await.unwrap().label.as_deref(), Some("new"));
    let first = session.checkpoints(None, 10).await.unwrap().pop().unwrap();
    assert_eq!(
        session.variants(&first.id).await.unwrap().len(),
        2,
        "the cleared turns can be selected again"
    );
}

#[tokio::test]
async fn page_that_goes_back_creates_a_branch() {
    let session = two_turns().await;
    send_text(&session, "zwei", &[(USER, "one"), (ANSWER, "0: one")]).await;
    assert_eq!(texts(&session).await, ["one", "0: one", "zwei", "2: zwei"]);
    let newest = session.info().await.unwrap().checkpoint.unwrap();
    let variants = session.variants(&newest).await.unwrap();
    assert_eq!(variants.iter().map(|variant| variant.selected).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn turn_omitted_by_the_page_is_not_in_the_history() {
    let session = two_turns().await;
    send_text(&session, "three", &[(USER, "two"), (ANSWER, "2: two")]).await;
    assert_eq!(texts(&session).await, ["two", "2: two", "three", "2: three"]);
    send_text(&session, "four", &[(USER, "two"), (ANSWER, "2: two"), (USER, "three"), (ANSWER, "2: three")])
        .await;
    assert_eq!(texts(&session).await.len(), 6, "it stands where its page does");
}

#[tokio::test]
async fn additional_messages_of_the_page_are_imported() {
    let session = two_turns().await;
    let page =
        [(USER, "one"), (ANSWER, "0: one"), (USER, "two"), (ANSWER, "2: two"), (USER, "never arrived")];
    send_text(&session, "three", &page).await;
    let expected = ["one", "0: one", "two", "2: two", "never arrived", "three", "5: three"];
    assert_eq!(texts(&session).await, expected);
}

#[tokio::test]
async fn page_with_an_older_variant_continues_from_it() {
    let session = two_turns().await;
    let newest = session.info().await.unwrap().checkpoint.unwrap();
    let before = session.history(None, None, 10).await.unwrap().messages;
    session.regenerate(&newest).await.unwrap();
    session.settled().await.unwrap();
    session.send(Turn::new("three").after(before)).await.unwrap();
    session.settled().await.unwrap();
    let parent = session.checkpoints(None, 10).await.unwrap().remove(1);
    assert_eq!(parent.id, newest);
}

#[tokio::test]
async fn page_that_goes_back_while_it_is_answered_stops_the_answer() {
    let options = SessionOptions::default().when_busy(WhenBusy::Stop);
    let (agent, go, began) = held(Arc::new(Memory::new()), options);
    let session = agent.new_session(None).await.unwrap();
    session.send(Turn::new("one").after(Vec::new())).await.unwrap();
    began.notified().await;
    session.send(Turn::new("two").after(shown(&[(USER, "one")]))).await.unwrap();
    began.notified().await;
    session.send(Turn::new("instead").after(Vec::new())).await.unwrap();
    began.notified().await;
    go.notify_one();
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["instead", "noted instead"]);
}

#[tokio::test]
async fn page_without_the_active_turn_is_queued() {
    let (agent, go, began) = held(Arc::new(Memory::new()), SessionOptions::default());
    let session = agent.new_session(None).await.unwrap();
    session.send(Turn::new("one").after(Vec::new())).await.unwrap();
    began.notified().await;
    assert!(session.send(Turn::new("from another tab").after(Vec::new())).await.unwrap().queued);
    go.notify_one();
    began.notified().await;
    go.notify_one();
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["one", "noted one", "from another tab", "noted from another tab"]);
}

#[tokio::test]
async fn turn_decides_what_happens_when_the_session_is_busy() {
    let (agent, go, began) = held(Arc::new(Memory::new()), SessionOptions::default());
    let session = agent.new_session(None).await.unwrap();
    let first = session.send("one").await.unwrap();
    began.notified().await;
    session.send(Turn::new("two").when_busy(WhenBusy::Stop)).await.unwrap();
    began.notified().await;
    assert!(agent.run(first.run).summary().await.unwrap().ended.is_some());
    go.notify_one();
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["one", "", "two", "noted two"]);
}
