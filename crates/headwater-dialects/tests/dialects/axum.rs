//! Chat routes of an axum application: what their clients get.

use std::{convert::Infallible, path::PathBuf};

use axum::{
    body::{Body, to_bytes},
    extract::{FromRequest as _, Request},
    http::StatusCode,
    response::Response,
};
use futures_util::stream;
use headwater_dialects::{
    DecodeOutput, Decoder, Dialect, Reader, ag_ui::AgUi, agents::AgentsDialect, ai_sdk::AiSdk, axum::Chat,
    kortyx::Kortyx, lint, mui::Mui, responses::Responses, tanstack::TanStack,
};
use headwater_protocol::{
    ErrorInfo, Event, Framing, RunState, RunStatus, StructuredOp, StructuredUpdate, ToolCall,
    ToolInputAvailable, ToolOutput,
};
use serde_json::{Value, json};

use crate::cases::write_case;

const AI_SDK: &str =
    r#"{"id":"s1","messages":[{"id":"u1","role":"user","parts":[{"type":"text","text":"hello"}]}]}"#;

fn request(path: &str, body: &str) -> Request {
    let request = Request::post(path).header("content-type", "application/json");
    request.body(Body::from(body.to_owned())).unwrap()
}

async fn parse<D: Dialect + Default + 'static>(path: &str, body: &str) -> Result<Chat<D>, Response> {
    Chat::from_request(request(path, body), &()).await
}

async fn body(response: Response) -> Vec<u8> {
    to_bytes(response.into_body(), usize::MAX).await.unwrap().to_vec()
}

/// What a client holds after a stream.
fn read(reader: &dyn Reader, stream: &[u8]) -> RunState {
    let mut decoder = Decoder::new(reader, Framing::Sse);
    let mut decoded = DecodeOutput::default();
    decoder.feed(stream, &mut decoded);
    decoder.finish(&mut decoded);
    let mut state = RunState::with_rules(reader.rules());
    decoded.records.iter().for_each(|record| state.apply(record).unwrap());
    state
}

async fn check<D: Dialect + Reader + Default + 'static>(path: &str, request: &str) {
    let dialect = D::default();
    let name = Dialect::name(&dialect);
    let chat = parse::<D>(path, request).await.unwrap();
    assert_eq!(chat.prompt(), "hello", "{name}");
    let tokens = ["Hello", " world", "."].map(Ok::<_, Infallible>);
    let response = chat.reply_with_text(stream::iter(tokens));
    assert_eq!(response.headers()["content-type"], "text/event-stream", "{name}");
    for (header, value) in dialect.headers() {
        assert_eq!(response.headers()[*header], *value, "{name}");
    }
    let sent = body(response).await;
    let text = String::from_utf8_lossy(&sent);
    assert_eq!(lint(&dialect, Framing::Sse, &sent), [], "{name}\n{text}");
    let state = read(&dialect, &sent);
    assert_eq!(state.messages().last().unwrap().plain_text(), "Hello world.", "{name}\n{text}");
    assert_eq!(state.run().status, RunStatus::Finished, "{name}\n{text}");

    // The vendors' own clients read it too, where a test run asks them.
    if let Some(root) = std::env::var_os("HEADWATER_GENERATED_CASES").map(PathBuf::from)
        && matches!(name, "ai-sdk" | "tanstack" | "mui" | "ag-ui")
    {
        let expected = json!({
            "text": ["Hello world."], "reasoning": [], "tools": [], "sources": [], "files": [], "data": [],
        });
        write_case(&root.join(name), "axum", &sent, &expected, true).unwrap();
    }
}

#[tokio::test]
async fn tokens_become_a_stream_that_each_client_reads() {
    let parts = r#"{"id":"u1","role":"user","parts":[{"type":"text","text":"hello"}]}"#;
    check::<AiSdk>("/api/chat", AI_SDK).await;
    check::<Kortyx>("/chat", r#"{"sessionId":"k1","messages":[{"role":"user","content":"hello"}]}"#).await;
    check::<TanStack>("/chat", r#"{"messages":[{"role":"user","content":"hello"}]}"#).await;
    check::<Mui>("/chat", &format!(r#"{{"conversationId":"m1","message":{parts}}}"#)).await;
    check::<AgentsDialect>("/chat", &format!(r#"{{"sessionId":"a1","messages":[{parts}]}}"#)).await;
    let ag_ui = r#"{"threadId":"t1","runId":"r1","messages":[{"id":"u1","role":"user","content":"hello"}],"tools":[],"context":[]}"#;
    check::<AgUi>("/chat", ag_ui).await;
    check::<Responses>("/v1/responses", r#"{"model":"chat","input":"hello","stream":true}"#).await;
}

#[tokio::test]
async fn error_of_the_tokens_ends_the_answer_and_keeps_its_text() {
    let chat = parse::<AiSdk>("/api/chat", AI_SDK).await.unwrap();
    let tokens = [Ok("Hel"), Err("the model is overloaded"), Ok("never sent")];
    let sent = body(chat.reply_with_text(stream::iter(tokens))).await;
    assert_eq!(lint(&AiSdk, Framing::Sse, &sent), []);
    let state = read(&AiSdk, &sent);
    assert_eq!(state.run().status, RunStatus::Failed);
    assert_eq!(state.messages().last().unwrap().plain_text(), "Hel");
    let text = String::from_utf8(sent).unwrap();
    assert!(text.contains("the model is overloaded") && !text.contains("never sent"), "{text}");
}

#[tokio::test]
async fn events_show_tools_and_objects_and_have_an_end_of_their_own() {
    let call = || ToolCall::new("call_1", "weather");
    let object =
        StructuredUpdate::new("draft", "email", StructuredOp::Final { data: Some(json!({ "to": "Ada" })) });
    let events = vec![
        Event::ToolInputAvailable(ToolInputAvailable::new(call(), Some(json!({ "city": "Oslo" })))),
        Event::ToolOutput(ToolOutput::new("call_1", json!("rain"))),
        Event::Structured(object),
        Event::RunFailed(ErrorInfo { message: "out of credit".into(), ..ErrorInfo::default() }),
    ];
    let chat = parse::<AiSdk>("/api/chat", AI_SDK).await.unwrap();
    let sent = String::from_utf8(body(chat.reply(stream::iter(events))).await).unwrap();
    for expected in ["\"output\":\"rain\"", "\"type\":\"data-email\"", "\"errorText\":\"out of credit\""] {
        assert!(sent.contains(expected), "{expected} in {sent}");
    }
    assert_eq!(sent.matches("out of credit").count(), 1);
}

#[tokio::test]
async fn ready_events_are_sent_in_one_piece() {
    use futures_util::StreamExt as _;

    let chat = parse::<AiSdk>("/api/chat", AI_SDK).await.unwrap();
    let tokens = stream::iter((0..100).map(|number| Ok::<_, Infallible>(format!("{number} "))));
    let response = chat.reply_with_text(tokens);
    assert_eq!(response.into_body().into_data_stream().count().await, 1);
}

#[tokio::test]
async fn request_without_a_chat_is_refused_with_a_reason() {
    let cases = [
        ("not json", StatusCode::BAD_REQUEST),
        ("{}", StatusCode::BAD_REQUEST),
        (&*"[".repeat(1_000), StatusCode::PAYLOAD_TOO_LARGE),
    ];
    for (sent, status) in cases {
        let refused = parse::<AiSdk>("/api/chat", sent).await.unwrap_err();
        assert_eq!(refused.status(), status, "{sent}");
        let answer: Value = serde_json::from_slice(&body(refused).await).unwrap();
        assert!(answer["error"].as_str().is_some_and(|error| !error.is_empty()), "{answer}");
    }
    let resume = Request::get("/api/chat/s1/stream").body(Body::empty()).unwrap();
    let refused = Chat::<AiSdk>::from_request(resume, &()).await.unwrap_err();
    assert_eq!(refused.status(), StatusCode::NOT_FOUND);
}
