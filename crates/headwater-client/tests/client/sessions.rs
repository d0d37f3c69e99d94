//! Sessions: messages, undo, fork, edit, regenerate, the queue.

use headwater_client::{ConnectionStatus, SessionFilter, SessionHandle, Update};
use headwater_protocol::{Message, Role};

use crate::harness::TestServer;

async fn send_text(session: &SessionHandle, text: &str) {
    session.send(text).await.unwrap().follow().finish().await.unwrap();
}

fn texts(messages: &[Message]) -> Vec<String> {
    messages.iter().filter(|message| message.role == Role::User).map(Message::plain_text).collect()
}

#[tokio::test]
async fn conversation_is_undone_forked_edited_and_regenerated() {
    let server = TestServer::start().await;
    let client = server.client();
    let session = client.session("s 1/ä");
    for text in ["one", "two", "three"] {
        send_text(&session, text).await;
    }
    session.undo().await.unwrap();
    assert_eq!(texts(&session.messages().await.unwrap()), ["one", "two"]);
    assert_eq!(session.show().await.unwrap().turns, 2);

    let forked = client.session(session.fork("latest").await.unwrap().id);
    send_text(&forked, "four").await;
    assert_eq!(texts(&forked.messages().await.unwrap()), ["one", "two", "four"]);

    let run = session.edit("latest", "zwei").await.unwrap();
    run.follow().finish().await.unwrap();
    assert_eq!(texts(&session.messages().await.unwrap()), ["one", "zwei"]);
    session.regenerate("latest").await.unwrap().follow().finish().await.unwrap();
    let variants = session.variants("latest").await.unwrap();
    assert_eq!(variants.len(), 3);
    session.select(&variants[0].checkpoint).await.unwrap();
    assert_eq!(texts(&session.messages().await.unwrap()), ["one", "two"]);

    let checkpoints = session.checkpoints(None).await.unwrap().checkpoints;
    assert_eq!(checkpoints.len(), 2);
    let first = &checkpoints[1];
    assert_eq!(texts(&session.checkpoint(&first.id).await.unwrap().messages), ["one"]);
    session.rollback(&first.id).await.unwrap();
    assert_eq!(texts(&session.messages().await.unwrap()), ["one"]);
}

#[tokio::test]
async fn sessions_are_listed_renamed_archived_exported_and_deleted() {
    let server = TestServer::start().await;
    let client = server.client();
    let session = client.session(client.create_session(Some("demo")).await.unwrap().id);
    send_text(&session, "one").await;
    assert_eq!(session.rename("Greetings").await.unwrap().label.as_deref(), Some("Greetings"));
    assert_eq!(client.sessions(&SessionFilter::default()).await.unwrap().sessions.len(), 1);
    assert!(session.archive(true).await.unwrap().archived);
    assert_eq!(client.sessions(&SessionFilter::default()).await.unwrap().sessions.len(), 0);
    let all = SessionFilter { archived: true, ..SessionFilter::default() };
    assert_eq!(client.sessions(&all).await.unwrap().sessions.len(), 1);
    let document = session.export().await.unwrap();
    session.delete().await.unwrap();
    assert_eq!(session.show().await.unwrap_err().code(), "session.unknown");
    let copy = client.session(client.import_session(&document).await.unwrap().id);
    assert_eq!(texts(&copy.messages().await.unwrap()), ["one"]);
}

#[tokio::test]
async fn queued_messages_are_edited_removed_and_followed_when_they_begin() {
    let server = TestServer::start().await;
    let session = server.client().session("s1");
    let active = session.send("slow").await.unwrap();
    let second = session.send("two").await.unwrap();
    let third = session.send("three").await.unwrap();
    assert!(!active.is_queued() && second.is_queued() && third.is_queued());
    let queue = session.queue().await.unwrap();
    assert_eq!(queue.iter().map(|queued| queued.text.as_str()).collect::<Vec<_>>(), ["two", "three"]);
    session.edit_queued(second.id().as_str(), "zwei").await.unwrap();
    session.remove_queued(third.id().as_str()).await.unwrap();
    let gone = third.follow().finish().await.unwrap_err();
    assert_eq!(gone.code(), "run.unknown", "{gone}");

    let mut stream = second.follow();
    let mut waited = false;
    while let Some(update) = stream.next().await.unwrap() {
        if matches!(update, Update::Connection(ConnectionStatus::Queued)) && !waited {
            waited = true;
            assert_eq!(session.stop().await.unwrap().as_deref(), Some(active.id().as_str()));
        }
    }
    assert!(waited && stream.text().contains("zwei"), "{}", stream.text());
    assert!(session.active_run().await.unwrap().is_none());
}

#[tokio::test]
async fn queued_message_is_sent_now() {
    let server = TestServer::start().await;
    let session = server.client().session("s1");
    let active = session.send("slow").await.unwrap();
    let queued = session.send("two").await.unwrap();
    let run = session.send_queued(queued.id().as_str()).await.unwrap();
    assert_eq!(run.id(), queued.id());
    let state = run.follow().finish().await.unwrap();
    assert!(state.messages()[0].plain_text().contains("two"), "{:?}", state.messages());
    assert!(active.show().await.unwrap().run.ended_at.is_some());
}
