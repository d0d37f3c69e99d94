//! `headwater sessions`.

use serde_json::json;

use super::{ANN, Desk, values};
use crate::run::headwater;

#[test]
fn session_is_listed_shown_renamed_archived_and_deleted() {
    let desk = Desk::start();
    desk.done(ANN, "says", "hello", Some("chat"));
    let list = |args: &[&str]| {
        let page = desk.json(ANN, &[&["sessions", "list"], args].concat());
        values(&page["sessions"], "id").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(list(&[]), ["chat"]);
    let shown = desk.text(ANN, &["sessions", "show", "chat"]);
    assert!(shown.contains("session  chat\n") && shown.contains("turns    1\n"), "{shown}");
    let messages = desk.text(ANN, &["sessions", "messages", "chat"]);
    assert!(messages.contains("  hello\n") && messages.contains("  You said hello.\n"), "{messages}");
    let messages = desk.json(ANN, &["sessions", "messages", "chat"]);
    assert_eq!(values(&messages["messages"], "role"), ["user", "assistant"]);

    assert_eq!(desk.json(ANN, &["sessions", "rename", "chat", "About bread"])["label"], "About bread");
    let table = desk.text(ANN, &["sessions", "list"]);
    assert!(table.contains("SESSION") && table.contains("About bread"), "{table}");
    assert_eq!(desk.json(ANN, &["sessions", "archive", "chat"])["archived"], true);
    assert_eq!(list(&[]), Vec::<String>::new());
    assert_eq!(list(&["--archived"]), ["chat"]);
    assert_eq!(desk.json(ANN, &["sessions", "archive", "chat", "--undo"])["archived"], false);
    assert_eq!(desk.text(ANN, &["sessions", "delete", "chat"]), "chat was deleted\n");
    assert_eq!(desk.ran(ANN, &["sessions", "show", "chat"]).code, Some(5));
}

#[test]
fn session_is_exported_and_imported() {
    let desk = Desk::start();
    desk.done(ANN, "says", "hello", Some("chat"));
    let file = desk.folder.path().join("chat.json");
    let file = file.to_str().unwrap();
    assert_eq!(desk.text(ANN, &["sessions", "export", "chat", "--output", file]), "");
    let copy = desk.json(ANN, &["sessions", "import", file]);
    let copy = copy["id"].as_str().unwrap();
    assert_ne!(copy, "chat");
    assert!(desk.text(ANN, &["sessions", "messages", copy]).contains("You said hello."));

    let broken = headwater(&["sessions", "import", "--server", &desk.url(), "--key", ANN], "{\"a\"");
    assert_eq!((broken.code, &*broken.stdout), (Some(2), ""), "{broken:?}");
    assert!(broken.stderr.contains("standard input is not the JSON document of an export"), "{broken:?}");
    let other = headwater(&["sessions", "import", "--server", &desk.url(), "--key", ANN], "{}");
    assert_eq!((other.code, &*other.stdout), (Some(2), ""), "{other:?}");
    assert!(other.stderr.contains("(document.invalid)"), "{other:?}");
}

#[test]
fn queued_messages_are_listed_changed_and_sent() {
    let desk = Desk::start();
    let active = desk.begin(ANN, "slow", "first", Some("chat"));
    let (one, two) =
        (desk.begin(ANN, "slow", "one", Some("chat")), desk.begin(ANN, "slow", "two", Some("chat")));
    let queue = || {
        let queue = desk.json(ANN, &["sessions", "queue", "list", "chat"]);
        let texts = values(&queue["queue"], "text").into_iter().map(str::to_owned);
        texts.collect::<Vec<_>>()
    };
    assert_eq!(queue(), ["one", "two"]);
    let edited = desk.json(ANN, &["sessions", "queue", "edit", "chat", &one, "uno"]);
    assert_eq!(edited["text"], "uno");
    let table = desk.text(ANN, &["sessions", "queue", "list", "chat"]);
    assert!(table.contains(&one) && table.contains("uno"), "{table}");
    assert_eq!(desk.json(ANN, &["sessions", "queue", "remove", "chat", &one]), json!({ "run": one }));
    assert_eq!(queue(), ["two"]);
    assert_eq!(desk.json(ANN, &["sessions", "queue", "send", "chat", &two]), json!({ "run": two }));
    assert_eq!(
        desk.ran(ANN, &["runs", "tail", &active]).code,
        Some(1),
        "it was stopped for the queued message"
    );
    let begun = desk.ran(ANN, &["sessions", "queue", "remove", "chat", &active]);
    assert_eq!(begun.code, Some(6), "{begun:?}");
    assert!(begun.stderr.contains("(queue.begun)"), "{begun:?}");
}
