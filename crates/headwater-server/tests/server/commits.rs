//! How many commits of the embedded store a short chat takes.

use std::{sync::Arc, time::Duration};

use headwater_server::Options;
use headwater_store::embedded::{self, Embedded};
use headwater_testkit::disk::Disk;
use serde_json::{Value, json};

use crate::harness::World;

const CHATS: u64 = 20;

fn hello(dialect: &str, chat: &str) -> Value {
    let parts = json!([{ "id": "u1", "role": "user", "parts": [{ "type": "text", "text": "hello" }] }]);
    match dialect {
        "ai-sdk" => json!({ "id": chat, "trigger": "submit-message", "messages": parts }),
        "mui" => json!({ "conversationId": chat, "message": parts[0] }),
        _ => {
            json!({ "threadId": chat, "runId": format!("client-{chat}"), "state": {}, "tools": [], "context": [],
            "messages": [{ "id": "u1", "role": "user", "content": "hello" }], "forwardedProps": {} })
        }
    }
}

/// The syncs of each of some chats, one after the other.
async fn syncs(dialect: &str) -> f64 {
    let disk = Disk::new(1);
    let mut options = embedded::Options::default();
    // However slow the machine is, what one poll of a task writes is one commit.
    options.gather_window = Duration::from_secs(60);
    let store = Embedded::open_with(Arc::new(disk.clone()), options).unwrap();
    let world = World::on(Arc::new(store), Options::default()).await;
    let path = format!("/v1/{dialect}/chat");
    world.post(&path, &hello(dialect, "first")).await;
    world.idle().await;
    let before = disk.syncs();
    for chat in 0..CHATS {
        let said = world.post(&path, &hello(dialect, &format!("chat-{chat}"))).await;
        assert_eq!(said.status, 200, "{}", said.body);
        world.idle().await;
    }
    (disk.syncs() - before) as f64 / CHATS as f64
}

#[tokio::test]
async fn short_chat_takes_few_commits() {
    for dialect in ["ai-sdk", "mui", "ag-ui"] {
        let syncs = syncs(dialect).await;
        println!("{dialect}: {syncs} syncs for each chat");
        // The head with the journal, the beginning, and the end with all that it leaves. Now and then the server notes that it
        // is there.
        assert!(syncs <= 3.2, "{dialect}: {syncs} syncs for each chat");
    }
}
