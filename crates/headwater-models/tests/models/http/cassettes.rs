//! Exchanges are recorded without secrets and replayed byte for byte.

use std::fs;

use headwater_models::{
    ModelErrorKind, ModelRequest, Models,
    http::{Player, Provider, Recorder},
};
use tokio::time::Instant;

use super::{
    COMPLETION, ask, provider_of,
    server::{Reply, Server},
    transport,
};
use crate::recorded::recordings;

fn files(folder: &std::path::Path) -> Vec<String> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn recorded_answers_are_replayed_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for (number, recording) in recordings(|_| true).into_iter().enumerate() {
        let kind = if recording.is_stream { "text/event-stream" } else { "application/json" };
        let server = Server::start(vec![Reply::ok(kind, &recording.bytes).split(vec![700, 13])]).await;
        let provider = Provider::new(provider_of(&recording)).unwrap();
        let recorder = transport().recording(Recorder::new(folder.path()).unwrap());
        let mut request = ModelRequest::new(format!("recording {number}"));
        request.whole = !recording.is_stream;
        let model = provider.clone().base_url(server.url()).key("k").model("m", &recorder);
        seen.push((recording.name.clone(), provider, request.clone(), ask(&model, request).await));
    }
    if seen.is_empty() {
        return;
    }
    let player = transport().playing(Player::new(folder.path()).unwrap());
    for (name, provider, request, said) in seen {
        let played = ask(&provider.model("m", &player), request).await;
        assert!(played == said, "{name}\n{played:?}\n{said:?}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn cassettes_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cassettes");
    let server = Server::start(vec![Reply::ok("text/event-stream", COMPLETION.as_bytes())]).await;
    let recorder = transport().recording(Recorder::new(&path).unwrap());
    let provider = Provider::new("groq").unwrap();
    ask(&provider.base_url(server.url()).key("k").model("m", &recorder), ModelRequest::new("hi")).await;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    let written = files(&path);
    assert!(!written.is_empty());
    for file in written {
        assert_eq!(mode(&path.join(file)), 0o600);
    }
}

#[tokio::test]
async fn cassettes_contain_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = Reply::status(401, "{\"error\":{\"message\":\"Incorrect key s3cret-key\"}}")
        .header("set-cookie", "session=c00kie")
        .header("x-request-id", "req-1");
    let server = Server::start(vec![refusal]).await;
    let transport = transport().recording(Recorder::new(folder.path()).unwrap());
    for (name, key) in [("google", "s3cret-key")] {
        let provider = Provider::new(name).unwrap().base_url(server.url()).key(key);
        ask(&provider.model("m", &transport), ModelRequest::new("Hi")).await;
    }
    let kept = files(folder.path());
    assert_eq!(kept.len(), 1);
    let text = fs::read_to_string(folder.path().join(&kept[0])).unwrap();
    for secret in ["s3cret", "c00kie", "goog-api-key", "authorization", "127.0.0.1"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert!(text.contains("req-1") && text.contains("Incorrect key [removed]"), "{text}");
}

#[tokio::test]
async fn unrecorded_request_is_an_error_that_shows_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(vec![Reply::ok("text/event-stream", COMPLETION.as_bytes())]).await;
    let recording = transport().recording(Recorder::new(folder.path()).unwrap());
    let groq = Provider::new("groq").unwrap();
    ask(&groq.clone().base_url(server.url()).model("m", &recording), ModelRequest::new("Hello")).await;

    // By name and without a key, as a server with a cassette does it.
    let models = Models::new().playing(folder.path(), false).unwrap();
    let model = models.get("groq:m").unwrap();
    let fine = ask(&model, ModelRequest::new("Hello")).await;
    assert!(fine.last().unwrap().is_ok());
    let wrong = ask(&model, ModelRequest::new("Goodbye")).await;
    let error = wrong.last().unwrap().as_ref().unwrap_err();
    assert_eq!((error.kind(), error.is_retryable()), (ModelErrorKind::InvalidRequest, false));
    let error = error.to_string();
    assert!(error.contains("groq-") && error.contains(".exchange.json"), "{error}");
    assert!(
        error.contains("`messages[0].content`: \"Hello\" was recorded, \"Goodbye\" is requested"),
        "{error}"
    );
    let other = ask(&models.get("anthropic:m").unwrap(), ModelRequest::new("Hello")).await;
    let error = other.last().unwrap().as_ref().unwrap_err().to_string();
    assert!(error.contains("no request to /v1/messages was recorded"), "{error}");
}

#[tokio::test]
async fn repeated_request_gets_recorded_answers_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let busy = Reply::status(503, "{\"error\":{\"message\":\"busy\"}}").header("retry-after-ms", "1");
    let fine = Reply::ok("text/event-stream", COMPLETION.as_bytes());
    let second = Reply::ok("text/event-stream", COMPLETION.replace("Hello", "Again").as_bytes());
    let server = Server::start(vec![busy, fine, second]).await;
    let recording = transport().recording(Recorder::new(folder.path()).unwrap());
    let groq = Provider::new("groq").unwrap();
    let model = groq.clone().base_url(server.url()).model("m", &recording);
    let first = ask(&model, ModelRequest::new("Hi")).await;
    let again = ask(&model, ModelRequest::new("Hi")).await;
    assert_eq!(files(folder.path()).len(), 3);
    assert_ne!(first, again);

    let playing = transport().playing(Player::new(folder.path()).unwrap());
    let model = groq.model("m", &playing);
    for wanted in [&first, &again, &again] {
        assert_eq!(&ask(&model, ModelRequest::new("Hi")).await, wanted);
    }
}

#[tokio::test(start_paused = true)]
async fn timed_playback_keeps_recorded_delays() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = serde_json::json!({
        "format": 1,
        "provider": "groq",
        "request": { "path": "/chat/completions", "headers": [], "body": null },
        "response": {
            "status": 200,
            "headers": [["content-type", "text/event-stream"]],
            "pieces": [
                { "at": 5_000, "text": "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n" },
                { "at": 9_000, "base64": "ZGF0YTogW0RPTkVdCgo=" },
            ],
            "end": "complete",
        },
    });
    let settings = headwater_models::wire::Settings::new("groq", "m");
    let wire = headwater_models::wire::Wire::chat(&headwater_models::wire::ChatQuirks::GROQ);
    let mut exchange = exchange;
    exchange["request"]["body"] = wire.encode(&ModelRequest::new("Hi"), &settings).unwrap().body;
    fs::write(folder.path().join("groq-1-001.exchange.json"), exchange.to_string()).unwrap();
    let took = async |player: Player| {
        let begun = Instant::now();
        let playing = transport().playing(player);
        ask(&Provider::new("groq").unwrap().model("m", &playing), ModelRequest::new("Hi")).await;
        begun.elapsed().as_millis()
    };
    // The clock is paused and moves only during waits, so the times are exact.
    assert_eq!(took(Player::new(folder.path()).unwrap()).await, 0);
    assert_eq!(took(Player::new(folder.path()).unwrap().timed()).await, 9_000);
}

#[test]
fn unusable_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let error = |folder: &std::path::Path| Player::new(folder).unwrap_err().to_string();
    assert!(error(&folder.path().join("no")).contains("cannot be read"));
    assert!(error(folder.path()).contains("has no exchanges"));
    fs::write(folder.path().join("a.exchange.json"), "{}").unwrap();
    assert!(error(folder.path()).starts_with("a.exchange.json: missing field"), "{}", error(folder.path()));
}
