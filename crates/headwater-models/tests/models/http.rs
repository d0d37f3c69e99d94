//! Whole answers over a real loopback connection: splits, truncation, errors, timeouts and dropped streams.

mod cassettes;
mod resume;
mod server;

use std::time::Duration;

use headwater_models::{
    Model, ModelErrorKind, ModelEvent, ModelRequest, Models,
    http::{Provider, Retries, Timeouts, Transport},
};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::recorded::{EventResults, Recording, recordings};
use server::{Reply, Server};

/// A transport with short retry delays.
fn transport() -> Transport {
    transport_with(|_| {})
}

fn transport_with(change: impl Fn(&mut Timeouts)) -> Transport {
    let mut timeouts = Timeouts::default();
    change(&mut timeouts);
    let mut retries = Retries::default();
    retries.first_wait = Duration::from_millis(1);
    Transport::with(timeouts, retries).unwrap()
}

async fn ask(model: &impl Model, request: ModelRequest) -> EventResults {
    let mut stream = model.ask(request);
    let mut said = Vec::new();
    while let Some(item) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        said.push(item);
    }
    said
}

fn provider_of(recording: &Recording) -> &'static str {
    match recording.api.as_str() {
        "openai-responses" => "openai",
        "openai-chat" => "openai-chat",
        "anthropic-messages" => "anthropic",
        "gemini-generate" => "google",
        "deepseek-chat" => "deepseek",
        "groq-chat" => "groq",
        "mistral-chat" => "mistral",
        _ => "openai-compatible",
    }
}

const COMPLETION: &str = "data: {\"id\":\"1\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n\
     data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[tokio::test]
async fn recorded_answers_survive_http_unchanged() {
    let transport = transport();
    let (mut count, mut seed) = (0, 7_u32);
    for recording in recordings(|_| true) {
        if recording.expected.is_none() {
            continue;
        }
        // Splits that differ per recording but not per run.
        let mut sizes = Vec::new();
        for _ in 0..16 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            sizes.push((seed >> 20) as usize % 1500 + 1);
        }
        let kind = if recording.is_stream { "text/event-stream" } else { "application/json" };
        let reply = Reply::ok(kind, &recording.bytes).split(sizes);
        let server = Server::start(vec![reply]).await;
        let provider = Provider::new(provider_of(&recording)).unwrap().base_url(server.url()).key("k");
        let mut request = ModelRequest::new("Hi");
        request.whole = !recording.is_stream;
        let said = ask(&provider.model("m", &transport), request).await;
        assert!(said == recording.decode(usize::MAX), "{}", recording.name);
        count += 1;
    }
    println!("recorded answers: {count} over HTTP");
}

#[tokio::test]
async fn key_and_version_are_sent_and_never_shown() {
    for (name, header) in [
        ("openai", "authorization: Bearer s3cret"),
        ("anthropic", "x-api-key: s3cret"),
        ("anthropic", "anthropic-version: 2023-06-01"),
        ("google", "x-goog-api-key: s3cret"),
    ] {
        let server = Server::start(vec![Reply::status(401, "{\"error\":{\"message\":\"no\"}}")]).await;
        let provider = Provider::new(name).unwrap().base_url(server.url()).key("s3cret");
        let model = provider.model("m", &transport());
        assert!(!format!("{provider:?} {model:?}").contains("s3cret"));
        let said = ask(&model, ModelRequest::new("Hi")).await;
        let error = said.last().unwrap().as_ref().unwrap_err();
        assert_eq!((error.kind(), error.http_status()), (ModelErrorKind::Auth, Some(401)));
        assert!(!format!("{error:?}").contains("s3cret"));
        let requests = server.requests();
        assert!(requests[0].contains(header), "{header} in {}", requests[0]);
    }
}

#[tokio::test]
async fn only_retryable_errors_are_retried() {
    let busy = || Reply::status(503, "{\"error\":{\"message\":\"busy\"}}").header("retry-after-ms", "1");
    let fine = || Reply::ok("text/event-stream", COMPLETION.as_bytes());
    let cases = [
        (vec![busy(), busy(), fine()], 3, None),
        (vec![busy(), busy(), busy(), fine()], 3, Some(ModelErrorKind::Overloaded)),
        (
            vec![Reply::status(400, "{\"error\":{\"message\":\"bad\"}}"), fine()],
            1,
            Some(ModelErrorKind::InvalidRequest),
        ),
        // A connection that ends before the answer begins is retried.
        (vec![Reply::hang_up(), fine()], 2, None),
        // An answer without a single byte is retried.
        (vec![Reply::ok("text/event-stream", b""), fine()], 2, None),
        // A delay of an hour is left to the caller.
        (vec![busy().header("retry-after-ms", "3600000"), fine()], 1, Some(ModelErrorKind::Overloaded)),
        // After the first byte there is no retry.
        (
            vec![Reply::ok("text/event-stream", b"data: {\"choices\":[]}\n\n"), fine()],
            1,
            Some(ModelErrorKind::Cut),
        ),
    ];
    for (index, (replies, requests, kind)) in cases.into_iter().enumerate() {
        let server = Server::start(replies).await;
        let provider = Provider::new("openai-compatible").unwrap().base_url(server.url());
        let said = ask(&provider.model("m", &transport()), ModelRequest::new("Hi")).await;
        let error = said.last().unwrap().as_ref().err().map(headwater_models::ModelError::kind);
        assert_eq!((error, server.requests().len()), (kind, requests), "case {index}");
    }
}

#[tokio::test]
async fn connection_broken_during_the_answer_is_a_cut() {
    let (half, _) = COMPLETION.split_at(COMPLETION.len() / 3);
    let reply = Reply::ok("text/event-stream", half.as_bytes()).promise(COMPLETION.len());
    let server = Server::start(vec![reply]).await;
    let provider = Provider::new("openai-compatible").unwrap().base_url(server.url());
    let said = ask(&provider.model("m", &transport()), ModelRequest::new("Hi")).await;
    assert_eq!(said.last().unwrap().as_ref().unwrap_err().kind(), ModelErrorKind::Cut);
}

#[tokio::test]
async fn html_page_with_success_status_is_an_error() {
    let page = b"<!doctype html><title>Sign in</title>";
    let server = Server::start(vec![Reply::ok("text/html", page)]).await;
    let provider = Provider::new("anthropic").unwrap().base_url(server.url()).key("k");
    let said = ask(&provider.model("m", &transport()), ModelRequest::new("Hi")).await;
    let error = said.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Malformed);
    assert_eq!(error.provider_body().unwrap().as_bytes(), page);
}

#[tokio::test]
async fn silent_provider_is_reported_after_one_request() {
    let short = Duration::from_millis(40);
    let headers = |timeouts: &mut Timeouts| timeouts.headers = short;
    let silence = |timeouts: &mut Timeouts| timeouts.silence = short;
    let (first, _) = COMPLETION.split_at(COMPLETION.find("\n\n").unwrap() + 2);
    let cases = [
        (Reply::silence(), transport_with(headers), 0),
        (Reply::ok("text/event-stream", b"").then_stall(), transport_with(silence), 0),
        (Reply::ok("text/event-stream", first.as_bytes()).then_stall(), transport_with(silence), 3),
    ];
    for (reply, transport, events) in cases {
        let server = Server::start(vec![reply, Reply::silence()]).await;
        let provider = Provider::new("openai-compatible").unwrap().base_url(server.url());
        let said = ask(&provider.model("m", &transport), ModelRequest::new("Hi")).await;
        assert_eq!(said.last().unwrap().as_ref().unwrap_err().kind(), ModelErrorKind::Timeout);
        assert_eq!(said.len() - 1, events, "{said:?}");
        assert_eq!(server.requests().len(), 1, "a silent provider is not retried");
    }
}

#[tokio::test]
async fn pings_do_not_extend_the_progress_timeout() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            socket.read_buf(&mut request).await.unwrap();
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        // Ends when the client closes the connection.
        while socket.write_all(b": ping\n\ndata: {\"type\":\"ping\"}\n\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    let transport = transport_with(|timeouts| timeouts.progress = Duration::from_millis(60));
    let provider = Provider::new("anthropic").unwrap().base_url(address).key("k");
    let said = ask(&provider.model("m", &transport), ModelRequest::new("Hi")).await;
    let error = said.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Timeout, "{error}");
    assert!(error.message().contains("alive"), "{error}");
    server.await.unwrap();
}

#[tokio::test]
async fn stream_not_polled_for_long_still_yields_buffered_bytes() {
    let server = Server::start(vec![Reply::ok("text/event-stream", COMPLETION.as_bytes())]).await;
    let provider = Provider::new("openai-compatible").unwrap().base_url(server.url());
    let short = Duration::from_millis(20);
    let transport = transport_with(|timeouts| (timeouts.silence, timeouts.progress) = (short, short));
    let model = provider.model("m", &transport);
    let mut stream = model.ask(ModelRequest::new("Hi"));
    let mut said = Vec::new();
    while let Some(item) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        said.push(item.unwrap());
        // Simulates a suspended process: nothing runs on this thread, and all timers have fired afterwards.
        std::thread::sleep(3 * short);
    }
    assert!(matches!(said.last(), Some(ModelEvent::Finished { .. })), "{said:?}");
}

#[tokio::test]
async fn key_echoed_by_a_provider_is_removed_from_errors() {
    let key = "k3y/with+odd=characters0123456789";
    let echo = format!(
        r#"{{"error":{{"message":"Incorrect API key provided: Bearer {key}. Or https://api/x?key={key}","type":"invalid_request_error"}},"request_id":"{key}"}}"#
    );
    let page = format!("<html>{}", "x".repeat(2040 - 6) + key);
    let stream = format!("data: {{\"error\":{{\"message\":\"no quota for {key}\"}}}}\n\n");
    let replies = [
        Reply::status(401, &echo),
        Reply::status(400, &page),
        Reply::ok("text/html", page.as_bytes()),
        Reply::ok("text/event-stream", stream.as_bytes()),
    ];
    for reply in replies {
        let server = Server::start(vec![reply]).await;
        let provider = Provider::new("openai-compatible").unwrap().base_url(server.url()).key(key);
        let said = ask(&provider.model("m", &transport()), ModelRequest::new("Hi")).await;
        let error = said.last().unwrap().as_ref().unwrap_err();
        let shown = format!("{error} {error:?} {:?} {:?}", error.provider_body(), error.request_id());
        assert!(!shown.contains("k3y/with"), "{shown}");
        assert!(server.requests()[0].contains(key), "the key was not sent");
    }
}

#[tokio::test]
async fn unreachable_provider_is_an_error_after_three_attempts() {
    let provider = Provider::new("ollama").unwrap().base_url("http://127.0.0.1:9");
    let said = ask(&provider.model("m", &transport()), ModelRequest::new("Hi")).await;
    let error = said.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Unreachable);
    assert!(error.to_string().starts_with("ollama: cannot reach the provider"), "{error}");
}

#[tokio::test]
async fn server_without_tls_is_an_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            // The client may have closed the connection already.
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let provider = Provider::new("openai-compatible").unwrap().base_url(address);
    let said = ask(&provider.model("m", &transport()), ModelRequest::new("Hi")).await;
    assert_eq!(said.last().unwrap().as_ref().unwrap_err().kind(), ModelErrorKind::Unreachable, "{said:?}");
    server.abort();
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let (first, _) = COMPLETION.split_at(COMPLETION.find("\n\n").unwrap() + 2);
    let server = Server::start(vec![Reply::ok("text/event-stream", first.as_bytes()).then_stall()]).await;
    let provider = Provider::new("openai-compatible").unwrap().base_url(server.url());
    let mut stream = provider.model("m", &transport()).ask(ModelRequest::new("Hi"));
    assert_eq!(server.requests().len(), 0, "nothing is sent before the stream is polled");
    loop {
        let item = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await;
        if let Some(Ok(ModelEvent::TextDelta { .. })) = item {
            break;
        }
    }
    drop(stream);
    // Returns when the server sees the end of the connection; otherwise the test hangs.
    server.closed().await;
}

#[tokio::test]
async fn answer_ends_at_its_end_marker_although_the_connection_stays_open() {
    let server =
        Server::start(vec![Reply::ok("text/event-stream", COMPLETION.as_bytes()).then_stall()]).await;
    let provider = Provider::new("openai-compatible").unwrap().called("xai").base_url(server.url());
    let model = provider.model("grok", &transport());
    assert_eq!(model.name(), "xai:grok");
    let said = ask(&model, ModelRequest::new("Hi")).await;
    assert!(matches!(said.last(), Some(Ok(ModelEvent::Finished { .. }))), "{said:?}");
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let elsewhere = Server::start(vec![Reply::ok("text/event-stream", COMPLETION.as_bytes())]).await;
    let server = Server::start(vec![Reply::status(307, "").header("location", &elsewhere.url())]).await;
    let provider = Provider::new("openai-compatible").unwrap().base_url(server.url()).key("k");
    let said = ask(&provider.model("m", &transport()), ModelRequest::new("Hi")).await;
    let error = said.last().unwrap().as_ref().unwrap_err();
    assert_eq!((error.kind(), error.http_status()), (ModelErrorKind::InvalidRequest, Some(307)));
    assert_eq!((server.requests().len(), elsewhere.requests().len()), (1, 0));
}

#[tokio::test]
async fn warnings_come_first() {
    let server = Server::start(vec![Reply::ok("text/event-stream", COMPLETION.as_bytes())]).await;
    let provider = Provider::new("openai-chat").unwrap().base_url(server.url()).key("k");
    let mut request = ModelRequest::new("Hi");
    request.temperature = Some(0.5);
    let said = ask(&provider.model("o3-mini", &transport()), request).await;
    assert!(
        matches!(&said[0], Ok(ModelEvent::Warning(warning)) if warning.feature == "temperature"),
        "{said:?}"
    );
    assert!(!server.requests()[0].contains("temperature"));
}

#[test]
fn provider_reads_key_and_address_from_the_environment() {
    let with = |pairs: &'static [(&str, &str)]| {
        move |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
    };
    let error = |name, pairs| Provider::from_variables(name, with(pairs)).unwrap_err().to_string();
    assert_eq!(error("anthropic", &[]), "anthropic: no API key: set ANTHROPIC_API_KEY");
    assert_eq!(
        error("anthropic", &[("ANTHROPIC_API_KEY", " ")]),
        "anthropic: no API key: set ANTHROPIC_API_KEY"
    );
    assert_eq!(
        error("google", &[]),
        "google: no API key: set GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY or GOOGLE_API_KEY"
    );
    assert_eq!(
        error("openai-compatible", &[]),
        "openai-compatible: no address: set OPENAI_COMPATIBLE_BASE_URL"
    );
    assert!(error("antropic", &[]).contains("did you mean `anthropic`?"));
    Provider::from_variables("google", with(&[("GEMINI_API_KEY", "k")])).unwrap();
    Provider::from_variables("ollama", with(&[])).unwrap();
}

#[test]
fn documentation_names_every_provider() {
    let page = include_str!("../../../../docs/models.md");
    for name in Provider::names() {
        assert!(page.contains(&format!("| `{name}` | ")), "{name} is missing");
        let error = Provider::from_variables(name, |_| None).err();
        let variables =
            error.iter().flat_map(|error| error.message().split(' ')).filter(|word| word.contains('_'));
        for variable in variables {
            assert!(page.contains(&format!("`{variable}`")), "{variable} is missing");
        }
    }
}

#[test]
fn registry_resolves_provider_names() {
    let models = Models::new();
    assert_eq!(models.get("ollama:llama3.2:3b").unwrap().name(), "ollama:llama3.2:3b");
    let error = models.get("antropic:claude").unwrap_err().to_string();
    assert!(error.contains("did you mean `anthropic`?"), "{error}");
    let error = models.get("openai:").unwrap_err().to_string();
    assert!(error.contains("has no model name"), "{error}");
    let error = models.get("scripted:none").unwrap_err().to_string();
    assert_eq!(error, "there is no model `scripted:none`: no models were added");
}
