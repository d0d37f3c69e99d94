//! A session as a document: export, import, and the errors of broken documents.

use std::sync::Arc;

use headwater_runtime::{Agent, Session, SessionOptions, Start, Turn};
use headwater_store::Memory;
use serde_json::{Value, json};

use super::{agent, agent_on, answer, send, texts};

/// A session with an answered question, a variant, and an open question.
async fn rich(agent: &Agent) -> Session {
    let session = agent.new_session(Some("ann")).await.unwrap();
    let secret = Start::new("hello").runtime_context(json!({ "password": "hunter2" }));
    session.send(Turn::from(secret).key("key-of-a-request")).await.unwrap();
    session.settled().await.unwrap();
    send(&session, "report").await;
    answer(agent, &session, "a").await;
    let written = answer(agent, &session, "s").await;
    session.regenerate(&written).await.unwrap();
    session.settled().await.unwrap();
    let last = send(&session, "bye").await;
    session.edit(&last, "farewell").await.unwrap();
    session.settled().await.unwrap();
    session
}

/// The parts of a session that can be compared between stores.
async fn facts(session: &Session) -> Value {
    let state = session.state(None).await.unwrap();
    let mut turns = Vec::new();
    for checkpoint in session.checkpoints(None, 100).await.unwrap() {
        let at = session.state(Some(&checkpoint.id)).await.unwrap();
        turns.push(json!({
            "turn": checkpoint.turn,
            "label": checkpoint.label,
            "at": checkpoint.created_at,
            "status": checkpoint.status,
            "workflow": checkpoint.workflow,
            "messages": at.messages,
            "structured": at.structured.get("canvas").and_then(|canvas| canvas.data().cloned()),
            "state": at.workflow_state,
            "variants": session.variants(&checkpoint.id).await.unwrap().len(),
        }));
    }
    json!({ "turns": turns, "messages": state.messages, "label": session.info().await.unwrap().label })
}

#[tokio::test]
async fn session_is_identical_after_export_and_import() {
    let here = agent();
    let session = rich(&here).await;
    let document = serde_json::to_string(&session.export().await.unwrap()).unwrap();
    for secret in ["hunter2", "key-of-a-request", "\"token\"", "\"owner\"", "signature"] {
        assert!(!document.contains(secret), "{secret} is in {document}");
    }
    let there = agent_on(Arc::new(Memory::new()), SessionOptions::default());
    let document: Value = serde_json::from_str(&document).unwrap();
    let moved = there.import_session(document.clone(), Some("bob"), Some("mine")).await.unwrap();
    assert_eq!(facts(&moved).await, facts(&session).await);
    let taken = there.import_session(document, Some("bob"), Some("mine")).await.unwrap_err();
    assert_eq!(taken.code(), "session.exists");

    let chain = moved.checkpoints(None, 100).await.unwrap();
    let (bye, written, asked, hello) = (&chain[0], &chain[1], &chain[3], &chain[4]);
    let variants = moved.variants(&bye.id).await.unwrap();
    let other = variants.iter().find(|variant| !variant.selected).unwrap();
    moved.select(&other.checkpoint.id).await.unwrap();
    assert_eq!(texts(&moved).await[4], "bye");
    moved.regenerate(&other.checkpoint.id).await.unwrap();
    moved.settled().await.unwrap();
    let fork = moved.fork(&written.id, None).await.unwrap();
    send(&fork, "more").await;
    assert_eq!(texts(&fork).await.last().unwrap(), "4: more");
    moved.roll_back(&asked.id).await.unwrap();
    moved.settled().await.unwrap();
    assert_eq!(moved.info().await.unwrap().waiting, None, "who asked is not here");
    send(&moved, "on").await;
    moved.roll_back(&hello.id).await.unwrap();
    assert_eq!(texts(&moved).await, ["hello", "0: hello"]);
}

#[tokio::test]
async fn document_grants_no_access_to_the_runs_it_names() {
    let agent = agent();
    let session = agent.new_session(Some("ann")).await.unwrap();
    let asked = send(&session, "report").await;
    let run = session.info().await.unwrap().waiting.unwrap();
    let document = session.export().await.unwrap();
    let stolen = agent.import_session(document, Some("eve"), None).await.unwrap();
    let at = stolen.checkpoints(None, 1).await.unwrap().remove(0);
    assert_ne!(at.run, run);
    assert_eq!(stolen.info().await.unwrap().last_run, None);
    agent.delete_session(stolen.id().clone(), Some("eve")).await.unwrap();
    assert_eq!(session.info().await.unwrap().checkpoint, Some(asked));
    answer(&agent, &session, "a").await;
}

#[tokio::test]
async fn document_errors_name_the_position() {
    let agent = agent();
    let session = rich(&agent).await;
    let good = Value::from(session.export().await.unwrap());
    let broken = |change: fn(&mut Value)| {
        let mut document = good.clone();
        change(&mut document);
        document
    };
    let cases = [
        (json!("no"), "the document"),
        (broken(|document| document["format"] = json!("other/2")), "format"),
        (broken(|document| document["turns"] = json!({})), "turns"),
        (broken(|document| document["turns"][1]["status"] = json!("odd")), "turns[1]"),
        (broken(|document| document["turns"][1]["messages"][0]["message"]["role"] = json!(1)), "turns[1]"),
        (broken(|document| document["turns"][2]["parent"] = json!("cp_no")), "turns[2].parent"),
        (broken(|document| document["turns"][2]["turnIndex"] = json!(0)), "turns[2].turnIndex"),
        (broken(|document| document["turns"][2]["turnIndex"] = json!(9)), "turns[2].turnIndex"),
        (broken(|document| document["turns"][0]["turnIndex"] = json!(7)), "turns[0].turnIndex"),
        (broken(|document| document["variants"][0]["tip"] = json!("cp_no")), "variants[0]"),
        (broken(|document| document["checkpoint"] = json!("cp_no")), "checkpoint"),
    ];
    for (document, place) in cases {
        let error = agent.import_session(document, None, None).await.unwrap_err();
        assert_eq!(error.code(), "document.invalid");
        assert!(error.message().contains(&format!("imported: {place}: ")), "{place}: {error}");
    }
    let fresh = agent.new_session(None).await.unwrap();
    let empty = agent.import_session(fresh.export().await.unwrap(), None, None).await.unwrap();
    send(&empty, "hi").await;
    assert_eq!(texts(&empty).await, ["hi", "0: hi"]);
}
