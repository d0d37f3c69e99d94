//! Unreadable sessions: lists skip and name them, other sessions work, and they can be deleted.

use headwater_runtime::Session;
use headwater_store::{Expect, Store};

use super::{send, texts};
use crate::harness::World;

/// Unreadable values.
fn garbage() -> [String; 4] {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    [
        "no JSON".to_owned(),
        "[]".to_owned(),
        format!(r#"{{"agent":"agent","tree":"cp_x","created":1,"active":{{"run":"run_x","deep":{deep}}}}}"#),
        r#"{"agent":"agent","id":"a","id":"b"}"#.to_owned(),
    ]
}

/// Overwrites all values of a kind.
async fn spoil(store: &dyn Store, prefix: &str, with: &str) {
    for (key, _) in store.list(prefix, None, 100).await.unwrap() {
        store.put(&key, with.to_owned().into(), Expect::Any, None).await.unwrap();
    }
}

async fn listed(world: &World) -> (Vec<String>, Vec<String>) {
    let page = world.agent.sessions(Some("ann"), None, 10).await.unwrap();
    let mut ids: Vec<_> = page.sessions.iter().map(|session| session.id.to_string()).collect();
    ids.sort();
    (ids, page.unreadable.iter().map(ToString::to_string).collect())
}

async fn delete(world: &World, session: &Session) {
    world.agent.delete_session(session.id().clone(), Some("ann")).await.unwrap();
    world.idle().await;
    world.agent.recover().await.unwrap();
    assert_eq!(session.info().await.unwrap_err().code(), "session.unknown");
}

#[tokio::test]
async fn session_with_an_unreadable_head_is_named_in_lists_and_can_be_deleted() {
    for with in garbage() {
        let world = World::of(super::workflow());
        let bad = world.agent.open_session("bad", Some("ann")).await.unwrap();
        send(&bad, "one").await;
        spoil(&*world.store, "session/", &with).await;
        let good = world.agent.open_session("good", Some("ann")).await.unwrap();
        send(&good, "two").await;

        assert_eq!(listed(&world).await, (vec!["good".to_owned()], vec!["bad".to_owned()]), "{with}");
        assert_eq!(bad.info().await.unwrap_err().code(), "session.unreadable", "{with}");
        assert_eq!(bad.send("x").await.unwrap_err().code(), "session.unreadable", "{with}");
        world.agent.recover().await.unwrap();
        delete(&world, &bad).await;
        assert_eq!(listed(&world).await, (vec!["good".to_owned()], vec![]), "{with}");
        assert_eq!(texts(&good).await, ["two", "0: two"]);
        let again = world.agent.open_session("bad", Some("ann")).await.unwrap();
        send(&again, "three").await;
        assert_eq!(texts(&again).await, ["three", "0: three"]);
    }
}

#[tokio::test]
async fn session_with_an_unreadable_checkpoint_leaves_nothing_when_it_is_deleted() {
    for with in garbage() {
        let world = World::of(super::workflow());
        let bad = world.agent.open_session("bad", Some("ann")).await.unwrap();
        send(&bad, "one").await;
        send(&bad, "report").await;
        spoil(&*world.store, "checkpoint/", &with).await;

        assert_eq!(listed(&world).await, (vec![], vec!["bad".to_owned()]), "{with}");
        assert_eq!(bad.info().await.unwrap_err().code(), "session.unreadable", "{with}");
        delete(&world, &bad).await;
        for prefix in ["session", "checkpoint", "branch"] {
            let left = world.store.list(prefix, None, 10).await.unwrap();
            assert!(left.is_empty(), "{with}: {:?}", left.iter().map(|(key, _)| key).collect::<Vec<_>>());
        }
    }
}

#[tokio::test]
async fn recovery_skips_an_unreadable_session() {
    let world = World::of(super::workflow());
    let bad = world.agent.open_session("a-bad", Some("ann")).await.unwrap();
    send(&bad, "one").await;
    for (key, _) in world.store.list("session/", None, 10).await.unwrap() {
        let noted = key.replacen("session/", "session-queue/", 1);
        let name = world.agent.name().to_owned();
        world.store.put(&noted, name.into(), Expect::Any, None).await.unwrap();
    }
    spoil(&*world.store, "session/", "no JSON").await;
    let good = world.agent.open_session("good", Some("ann")).await.unwrap();
    send(&good, "two").await;
    world.agent.delete_session("good", Some("ann")).await.unwrap();
    world.agent.recover().await.unwrap();
    assert_eq!(listed(&world).await, (vec![], vec!["a-bad".to_owned()]));
}
