//! Telemetry of a server.

use headwater_server::{METRICS, Metrics, Options};
use serde_json::json;

use crate::{harness::World, talk::says};

#[tokio::test]
async fn stopping_server_reports_it_while_its_process_lives() {
    let world = World::new().await;
    assert_eq!(world.get("/healthz").await.json()["status"], "ok");
    assert_eq!(world.get("/readyz").await.json()["status"], "ready");
    world.server.let_go();
    assert_eq!(world.get("/healthz").await.status, 200);
    let leaving = world.get("/readyz").await;
    assert_eq!((leaving.status, leaving.json()["code"].clone()), (503, json!("server.stopping")));
}

#[tokio::test]
async fn request_keeps_the_name_that_its_sender_gave_it() {
    let world = World::new().await;
    let said = world.get_with("/v1/runs", &[("x-request-id", "r-17")]).await;
    assert_eq!(said.header("x-request-id"), "r-17");
    let long = "x".repeat(1_000);
    let fresh = world.get_with("/v1/runs", &[("x-request-id", &long)]).await;
    assert!(fresh.header("x-request-id").starts_with("req_"), "{}", fresh.header("x-request-id"));
}

/// The value of a series.
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map_or(0.0, |value| value.parse().unwrap())
}

#[tokio::test]
async fn events_are_counted() {
    let world = World::with(Options::default().metrics(Metrics::install().unwrap())).await;
    // Other tests of this process count too, so only what grows by something of our own is looked at.
    let series = [
        r#"headwater_requests_total{method="POST",route="/v1/{dialect}/chat",status="200"}"#,
        r#"headwater_stream_bytes_total{dialect="ai-sdk"}"#,
        r#"headwater_stream_frames_total{dialect="ai-sdk"}"#,
        r#"headwater_runs_started_total{agent="demo"}"#,
        r#"headwater_runs_waited_total{agent="demo"}"#,
        r#"headwater_runs_ended_total{agent="demo",outcome="finished"}"#,
        r#"headwater_runs_ended_total{agent="demo",outcome="failed"}"#,
        r#"headwater_model_calls_total{model="scripted:script",outcome="answered"}"#,
        r#"headwater_model_first_token_seconds_count{model="scripted:script"}"#,
        r#"headwater_tool_calls_total{outcome="output",tool="weather"}"#,
    ];
    let before = world.get("/metrics").await;
    assert_eq!(before.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    for (session, text) in [("a", "weather please"), ("b", "let me choose"), ("c", "fail")] {
        let said = world.post("/v1/ai-sdk/chat", &says("ai-sdk", session, "u1", text)).await;
        assert_eq!(said.status, 200, "{}", said.body);
    }
    for (path, status) in [("/v1/nothing", 404), ("/v1/runs/none", 404)] {
        assert_eq!(world.get(path).await.status, status);
    }
    let after = world.get("/metrics").await.body;
    for series in series {
        let (was, is) = (value(&before.body, series), value(&after, series));
        assert!(is > was, "{series} was {was} and is {is}:\n{after}");
    }
    for line in after.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let known = METRICS.iter().any(|(known, ..)| name.starts_with(known));
        assert!(known, "{name} is not in METRICS");
        assert!(!line.contains("none\"") || line.contains("route=\"none\""), "an id is a label: {line}");
    }
}

#[tokio::test]
async fn runs_that_wait_are_counted_as_they_are_now() {
    let metrics = Metrics::install().unwrap();
    let world = World::named("patient", Options::default().metrics(metrics)).await;
    let waiting = async || {
        let text = world.get("/metrics").await.body;
        value(&text, r#"headwater_runs_waiting{agent="patient"}"#)
    };
    let mut runs = Vec::new();
    for _ in 0..2 {
        let begun = world.post("/v1/runs", &json!({ "input": "let me choose" })).await.json();
        let run = begun["run"].as_str().unwrap().to_owned();
        world.get(&format!("/v1/runs/{run}/events")).await;
        runs.push(run);
    }
    world.idle().await;
    assert_eq!(waiting().await, 2.0);
    let answered = world.post(&format!("/v1/runs/{}/answer", runs[0]), &json!({ "answer": "a" })).await;
    assert_eq!(answered.status, 202);
    world.agent.run(runs[0].as_str()).outcome().await.unwrap();
    world.idle().await;
    assert_eq!(waiting().await, 1.0);
    // A process that is started anew finds out when it first looks after its runs.
    let later = world.restarted();
    later.recover().await.unwrap();
    assert_eq!(waiting().await, 1.0);
    later.stop(&runs[1].as_str().into(), None).await.unwrap();
    later.run(runs[1].as_str()).outcome().await.unwrap();
    later.recover().await.unwrap();
    assert_eq!(waiting().await, 0.0);
}
