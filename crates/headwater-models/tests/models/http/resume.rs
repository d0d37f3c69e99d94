//! Answers that the provider keeps: a stream that was cut continues after the last event.

use headwater_models::{Model, ModelErrorKind, ModelEvent, ModelRequest, http::Provider};
use serde_json::{Value, json};

use super::{
    ask,
    server::{Reply, Server},
    transport,
};
use crate::recorded::EventResults;

/// The events of a response that says "Hello there".
fn events() -> Vec<Value> {
    let item = json!({ "type": "message", "id": "msg_1", "content": [] });
    let done = json!({ "type": "message", "id": "msg_1", "content": [{ "type": "output_text", "text": "Hello there" }] });
    let mut events = vec![
        json!({ "type": "response.created", "response": { "id": "resp_1", "model": "m-1" } }),
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item }),
        json!({ "type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1", "delta": "Hel" }),
        json!({ "type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1", "delta": "lo there" }),
        json!({ "type": "response.output_item.done", "output_index": 0, "item": done }),
        json!({ "type": "response.completed", "response": { "id": "resp_1", "status": "completed", "output": [],
            "usage": { "input_tokens": 3, "output_tokens": 2 } } }),
    ];
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    events
}

fn stream(events: &[Value]) -> Reply {
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Reply::ok("text/event-stream", body.as_bytes())
}

fn in_background() -> ModelRequest {
    let mut request = ModelRequest::new("Hi");
    request.provider_options.insert("openai".to_owned(), json!({ "background": true }));
    request
}

async fn answer(server: &Server, request: ModelRequest) -> EventResults {
    let provider = Provider::new("openai").unwrap().base_url(server.url()).key("k");
    ask(&provider.model("m", &transport()), request).await
}

fn text(results: &EventResults) -> String {
    let deltas = results.iter().filter_map(|result| match result {
        Ok(ModelEvent::TextDelta { delta, .. }) => Some(delta.as_str()),
        _ => None,
    });
    deltas.collect()
}

fn is_complete(results: &EventResults) -> bool {
    matches!(results.last(), Some(Ok(ModelEvent::Finished { .. })))
}

#[tokio::test]
async fn cut_background_answer_continues_after_its_last_event() {
    let events = events();
    for cut in 1..events.len() {
        // The last event arrives in part, the connection fails once, and then the rest comes.
        let half = format!("data: {}", &events[cut].to_string()[..20]);
        let begin: String = events[..cut].iter().map(|event| format!("data: {event}\n\n")).collect();
        let begin = Reply::ok("text/event-stream", (begin + &half).as_bytes()).promise(100_000);
        let server = Server::start(vec![begin, Reply::hang_up(), stream(&events[cut..])]).await;
        let results = answer(&server, in_background()).await;
        assert_eq!(text(&results), "Hello there", "cut before event {cut}: {results:?}");
        assert!(is_complete(&results), "{results:?}");
        let kept: Vec<_> = results
            .iter()
            .filter_map(|result| match result {
                Ok(ModelEvent::Resumable { answer }) => Some(answer.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(kept, ["resp_1"]);
        let requests = server.requests();
        assert!(requests[0].contains("\"background\":true") && requests[0].contains("\"store\":true"));
        let resumed = format!("GET /responses/resp_1?stream=true&starting_after={} ", cut - 1);
        assert!(requests[2].starts_with(&resumed), "{}", requests[2]);
        assert!(requests[2].contains("authorization: Bearer k"), "{}", requests[2]);
    }
}

#[tokio::test]
async fn events_that_a_server_repeats_are_skipped() {
    let events = events();
    let begin = stream(&events[..3]).promise(100_000);
    let server = Server::start(vec![begin, stream(&events)]).await;
    let results = answer(&server, in_background()).await;
    assert_eq!(text(&results), "Hello there", "{results:?}");
    assert!(is_complete(&results), "{results:?}");
}

#[tokio::test]
async fn answer_that_is_gone_is_a_cut_that_may_be_asked_again() {
    let begin = stream(&events()[..3]).promise(100_000);
    let gone = Reply::status(404, r#"{"error":{"message":"no such response"}}"#);
    let server = Server::start(vec![begin, gone]).await;
    let results = answer(&server, in_background()).await;
    let error = results.last().unwrap().as_ref().unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ModelErrorKind::Cut, true), "{error}");
}

#[tokio::test]
async fn only_a_background_answer_is_continued() {
    let begin = stream(&events()[..3]).promise(100_000);
    let server = Server::start(vec![begin]).await;
    let results = answer(&server, ModelRequest::new("Hi")).await;
    assert_eq!(results.last().unwrap().as_ref().unwrap_err().kind(), ModelErrorKind::Cut);
    assert!(server.requests()[0].contains("\"store\":false"), "{}", server.requests()[0]);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn another_process_reads_a_kept_answer_from_its_beginning_or_cancels_it() {
    let server = Server::start(vec![stream(&events()), Reply::ok("application/json", b"{}")]).await;
    let provider = Provider::new("openai").unwrap().base_url(server.url()).key("k");
    let model = provider.model("m", &transport());
    let mut stream = model.resume("resp_1").unwrap();
    let mut results = Vec::new();
    while let Some(item) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        results.push(item);
    }
    assert_eq!(text(&results), "Hello there", "{results:?}");
    model.cancel("resp_1").await;
    let requests = server.requests();
    assert!(requests[0].starts_with("GET /responses/resp_1?stream=true "), "{}", requests[0]);
    assert!(requests[1].starts_with("POST /responses/resp_1/cancel "), "{}", requests[1]);
    // An id leads to no other path.
    assert!(model.resume("../files/1").is_none());
    let anthropic = Provider::new("anthropic").unwrap().base_url(server.url()).key("k");
    assert!(anthropic.model("m", &transport()).resume("msg_1").is_none());
}
