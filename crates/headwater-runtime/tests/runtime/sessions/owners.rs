//! Session ids belong to their owner: ids of two owners never collide, whatever characters they contain.

use headwater_protocol::{Message, Part, Role};
use headwater_runtime::{Owners, RunFilter, Turn};
use serde_json::json;

use super::{agent, send, texts};
use crate::harness::World;

#[tokio::test]
async fn session_name_of_one_owner_is_free_for_another() {
    let agent = agent();
    let ann = agent.open_session("chat-1", Some("ann")).await.unwrap();
    let one = send(&ann, "my secret").await;
    let bob = agent.open_session("chat-1", Some("bob")).await.unwrap();
    assert_eq!(texts(&bob).await, Vec::<String>::new());
    send(&bob, "hello").await;
    assert_eq!(texts(&bob).await, ["hello", "0: hello"]);
    assert_eq!(texts(&ann).await, ["my secret", "0: my secret"]);
    ann.fork(&one, Some("chat-2")).await.unwrap();
    bob.fork(&bob.info().await.unwrap().checkpoint.unwrap(), Some("chat-2")).await.unwrap();
    let document = bob.export().await.unwrap();
    agent.import_session(document, Some("ann"), Some("chat-3")).await.unwrap();
    assert_eq!(ann.fork(&one, Some("chat-2")).await.unwrap_err().code(), "session.exists", "their own is");
    agent.delete_session("chat-1", Some("bob")).await.unwrap();
    assert_eq!(texts(&ann).await, ["my secret", "0: my secret"]);
    for (owner, count) in [("ann", 3), ("bob", 1)] {
        let page = agent.sessions(Some(owner), None, 10).await.unwrap();
        assert_eq!(page.sessions.len(), count, "{owner}");
        assert!(page.sessions.iter().all(|session| session.owner.as_deref() == Some(owner)));
    }
}

#[tokio::test]
async fn deleting_a_session_spares_one_whose_name_it_begins() {
    let world = World::of(super::workflow());
    let agent = &world.agent;
    for (theirs, prefix) in [("acme/support-1", "acme"), ("plain", "plain/-"), ("a/b/", "a/b")] {
        let ann = agent.open_session(theirs, Some("ann")).await.unwrap();
        let first = send(&ann, "one").await;
        ann.edit(&first, "uno").await.unwrap();
        ann.settled().await.unwrap();
        for owner in ["bob", "ann"] {
            let other = agent.open_session(prefix, Some(owner)).await.unwrap();
            let turn = send(&other, "x").await;
            other.edit(&turn, "y").await.unwrap();
            other.settled().await.unwrap();
            agent.delete_session(prefix, Some(owner)).await.unwrap();
        }
        world.idle().await;
        agent.recover().await.unwrap();
        assert_eq!(ann.variants(&first).await.unwrap().len(), 2, "{theirs}");
        ann.select(&first).await.unwrap();
        assert_eq!(texts(&ann).await, ["one", "0: one"]);
    }
}

#[tokio::test]
async fn invalid_session_name_is_refused() {
    let agent = agent();
    let long = "x".repeat(257);
    let session = agent.new_session(None).await.unwrap();
    let turn = send(&session, "one").await;
    for name in ["", "a\nb", "\u{0}", "\u{1b}[31m", long.as_str()] {
        assert_eq!(agent.open_session(name, None).await.unwrap_err().code(), "session.invalid", "{name:?}");
        assert_eq!(session.fork(&turn, Some(name)).await.unwrap_err().code(), "session.invalid");
        let seed = vec![Message::text("u1", Role::User, "hi")];
        assert_eq!(agent.seed_session(Some(name), None, seed).await.unwrap_err().code(), "session.invalid");
        let document = session.export().await.unwrap();
        let imported = agent.import_session(document, None, Some(name)).await;
        assert_eq!(imported.unwrap_err().code(), "session.invalid");
        assert_eq!(agent.session(name, None).info().await.unwrap_err().code(), "session.unknown");
    }
    agent.open_session("é".repeat(128), None).await.unwrap();
}

#[tokio::test]
async fn list_cursor_is_valid_for_its_owner_only() {
    let world = World::of(super::workflow());
    let agent = &world.agent;
    for number in 0..5 {
        for owner in ["ann", "bob"] {
            send(&agent.open_session(format!("s/{number}"), Some(owner)).await.unwrap(), "hi").await;
        }
        world.clock.advance(std::time::Duration::from_secs(1));
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = agent.sessions(Some("ann"), after.as_deref(), 2).await.unwrap();
        seen.extend(page.sessions.into_iter().map(|session| session.id.to_string()));
        after = page.next;
        let Some(next) = &after else { break };
        assert_eq!(agent.sessions(Some("bob"), Some(next), 2).await.unwrap_err().code(), "page.invalid");
    }
    assert_eq!(seen, ["s/4", "s/3", "s/2", "s/1", "s/0"]);
    let page = agent.runs_of(Owners::One(Some("ann")), &RunFilter::default(), None, 3).await.unwrap();
    assert_eq!(page.next, page.runs.last().map(|run| (run.created, run.run.clone())));
    let runs = page.runs;
    assert_eq!(runs.len(), 3);
    assert!(runs.is_sorted_by_key(|run| std::cmp::Reverse(run.created)));
    let rest = agent
        .runs_of(Owners::One(Some("ann")), &RunFilter::default(), page.next.as_ref(), 10)
        .await
        .unwrap()
        .runs;
    assert_eq!(rest.len(), 2);
    assert!(runs.iter().chain(&rest).all(|run| run.owner.as_deref() == Some("ann")));
}

#[tokio::test]
async fn message_with_a_part_of_unknown_type_is_kept_and_read_back() {
    let agent = agent();
    let session = agent.open_session("g", None).await.unwrap();
    let mut message = Message::text("u", Role::User, "hi");
    let widget = json!({ "type": "my-widget", "role": "x", "value": { "type": 1 } });
    message.parts.push(Part::Other { value: widget.clone() });
    session.send(Turn::new("hi").message(message)).await.unwrap();
    session.settled().await.unwrap();
    let history = session.history(None, None, 10).await.unwrap();
    assert_eq!(history.messages[0].parts[1], Part::Other { value: widget });
    send(&session, "more").await;
    assert_eq!(agent.sessions(None, None, 10).await.unwrap().sessions.len(), 1);
    let document = session.export().await.unwrap();
    let copy = agent.import_session(document, None, None).await.unwrap();
    assert_eq!(
        copy.history(None, None, 10).await.unwrap().messages,
        session.history(None, None, 10).await.unwrap().messages
    );
}
