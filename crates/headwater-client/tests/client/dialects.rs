//! Conversations in a dialect: with a Headwater server that serves it, and with servers that misbehave.

use headwater_client::{Client, DialectChat, PendingRequest};
use serde_json::json;

use crate::harness::{TestServer, quick};

fn chat(server: &TestServer, dialect: &str) -> DialectChat {
    let url = format!("http://{}/v1/{dialect}/chat", server.address);
    Client::new(url).options(quick()).dialect(dialect).unwrap()
}

async fn read(chat: &mut DialectChat) {
    while chat.next().await.unwrap().is_some() {}
}

#[tokio::test]
async fn text_and_server_tools_are_read_in_each_dialect() {
    let server = TestServer::start().await;
    for dialect in ["ai-sdk", "ag-ui", "kortyx", "agents"] {
        let mut chat = chat(&server, dialect);
        chat.send("hello");
        read(&mut chat).await;
        assert!(chat.text().ends_with("You said: hello, in turn 1."), "{dialect}: {}", chat.text());
        chat.send("again");
        read(&mut chat).await;
        assert!(chat.text().ends_with("You said: again, in turn 2."), "{dialect}: {}", chat.text());
        chat.send("weather");
        read(&mut chat).await;
        assert!(chat.text().ends_with("It is sunny."), "{dialect}: {}", chat.text());
        assert!(chat.problems().is_empty() && chat.pending().is_empty(), "{dialect}: {:?}", chat.problems());
    }
}

#[tokio::test]
async fn approval_is_granted_and_denied_in_a_dialect() {
    let server = TestServer::start().await;
    for dialect in ["ai-sdk", "ag-ui"] {
        for (approved, text) in [(true, "It is gone."), (false, "It stays.")] {
            let mut chat = chat(&server, dialect);
            chat.send("delete");
            read(&mut chat).await;
            let pending = chat.pending();
            let [PendingRequest::Approval { request, name, .. }] = pending.as_slice() else {
                panic!("{dialect}: {pending:?}");
            };
            assert_eq!(name, "delete");
            assert_eq!(chat.approve("another", true, None).unwrap_err().code(), "request.unknown");
            chat.approve(request, approved, Some("because")).unwrap();
            read(&mut chat).await;
            assert!(chat.text().ends_with(text), "{dialect}: {}", chat.text());
        }
    }
}

#[tokio::test]
async fn question_is_answered_in_ag_ui() {
    let server = TestServer::start().await;
    let mut chat = chat(&server, "ag-ui");
    chat.send("choose");
    read(&mut chat).await;
    let pending = chat.pending();
    let [PendingRequest::Question(question)] = pending.as_slice() else { panic!("{pending:?}") };
    chat.answer(question.request.as_str(), Some(json!("b"))).unwrap();
    read(&mut chat).await;
    assert!(chat.text().ends_with("You chose b."), "{}", chat.text());
}

#[tokio::test]
async fn unknown_dialect_and_wrong_url_are_named() {
    let client = Client::new("http://127.0.0.1:1");
    assert_eq!(client.dialect("morse").unwrap_err().code(), "dialect.unknown");
    let server = TestServer::start().await;
    let mut lost = Client::new(format!("http://{}/nowhere", server.address)).dialect("ai-sdk").unwrap();
    lost.send("hello");
    assert_eq!(lost.next().await.unwrap_err().status(), Some(404));
    // A stream of another dialect is not one of this.
    let url = format!("http://{}/v1/kortyx/chat", server.address);
    let mut other = Client::new(url).dialect("mui").unwrap();
    other.send("hello");
    assert_eq!(other.next().await.unwrap_err().code(), "request.invalid");
}
