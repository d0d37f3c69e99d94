//! Alerts and the dashboard, beside what real servers show at `/metrics`.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::file;
use crate::server::Server;

/// The series of a scrape: metrics with the labels that they have.
type ScrapedSeries = BTreeMap<String, BTreeSet<String>>;

/// Labels that Prometheus adds.
const ADDED: [&str; 2] = ["instance", "job"];

/// Reads the text format: `name{label="value",…} number`.
fn series(text: &str, into: &mut ScrapedSeries) {
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let labels = into.entry(name.to_owned()).or_default();
        let inside =
            line.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')).map(|(inside, _)| inside);
        for pair in inside.unwrap_or_default().split("\",") {
            labels.extend(pair.split_once("=\"").map(|(label, _)| label.to_owned()));
        }
    }
}

/// The metrics of a query, and the labels that it selects or groups by.
fn named(query: &str) -> (Vec<String>, BTreeSet<String>) {
    let word = |each: char| each.is_ascii_alphanumeric() || each == '_';
    let words = query.split(|each: char| !word(each));
    let metrics = words.filter(|name| name.starts_with("headwater_")).map(str::to_owned).collect();
    let mut labels = BTreeSet::new();
    let inside = |open: &'static str, close: char| {
        query.split(open).skip(1).filter_map(move |rest| rest.split(close).next())
    };
    for list in inside("by (", ')') {
        labels.extend(list.split(',').map(|label| label.trim().to_owned()));
    }
    for list in inside("{", '}') {
        let names = list.split(',').filter_map(|matcher| matcher.split(['=', '!']).next());
        labels.extend(names.map(|label| label.trim().to_owned()));
    }
    (metrics, labels)
}

/// Waits until a scrape has this metric.
fn scrape(server: &Server, metric: &str, into: &mut ScrapedSeries) {
    let begun = Instant::now();
    loop {
        let text = server.get("/metrics");
        if text.status == 200 && text.body.contains(metric) {
            return series(&text.body, into);
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{metric} never comes: {text:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a server shows that had runs of every kind, and refused a connection.
fn busy_server(into: &mut ScrapedSeries) {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--set", "metrics=true", "--set", "limits.connections=8"];
    let server = Server::start(&folder.path().join("data"), &settings);
    let run_to_end = |agent: &str, input: &str| {
        let begun = server.post("/v1/runs", &json!({ "agent": agent, "input": input })).json();
        let run = begun["run"].as_str().unwrap().to_owned();
        server.get(&format!("/v1/runs/{run}/events"));
        run
    };
    run_to_end("flaky", "hello");
    run_to_end("tools", "weather in Paris");
    // A question that is answered: the run is resumed.
    let waiting = run_to_end("email", "the beta");
    let answer = server.post(&format!("/v1/runs/{waiting}/answer"), &json!({ "answer": "revise" }));
    assert_eq!(answer.status, 202, "{answer:?}");
    let connections: Vec<_> = (0..10).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    std::thread::sleep(Duration::from_millis(200));
    drop(connections);
    for metric in ["headwater_runs_resumed_total", "headwater_connections_refused_total"] {
        scrape(&server, metric, into);
    }
}

/// What a server shows whose disk is full.
fn full_server(into: &mut ScrapedSeries) {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--set", "metrics=true", "--set", "store_on_failure=recover"];
    let server = Server::start_small(&folder.path().join("data"), 400, &settings);
    // Runs that are active when the disk is full lose their driver.
    for _ in 0..4 {
        server.post("/v1/runs", &json!({ "agent": "chat", "input": "slow" }));
    }
    let body = json!({ "agent": "table", "input": "x".repeat(20_000) }).to_string();
    let begun = Instant::now();
    while server.try_post("/v1/runs", &body).is_some_and(|answer| answer.status == 201) {
        assert!(begun.elapsed() < Duration::from_secs(120), "the disk does not fill up");
    }
    scrape(&server, "headwater_store_errors_total", into);
}

#[test]
fn alerts_and_dashboard_query_metrics_of_real_servers() {
    let rules: Value = serde_saphyr::from_str(&file("monitoring/rules.yaml")).unwrap();
    let dashboard: Value = serde_json::from_str(&file("monitoring/grafana-dashboard.json")).unwrap();
    let alerts = rules["groups"][0]["rules"].as_array().unwrap().iter();
    let mut queries: Vec<String> = alerts.map(|rule| rule["expr"].as_str().unwrap().to_owned()).collect();
    for panel in dashboard["panels"].as_array().unwrap() {
        let targets = panel["targets"].as_array().unwrap().iter();
        queries.extend(targets.map(|target| target["expr"].as_str().unwrap().to_owned()));
    }
    assert!(queries.len() > 15);
    let mut served = ScrapedSeries::new();
    busy_server(&mut served);
    full_server(&mut served);
    for query in &queries {
        let (metrics, labels) = named(query);
        assert!(!metrics.is_empty() || query.starts_with("up{"), "{query}");
        for metric in metrics {
            let known = served.get(&metric).unwrap_or_else(|| panic!("{metric} is not served: {query}"));
            let missing: Vec<_> = labels
                .iter()
                .filter(|label| !ADDED.contains(&label.as_str()) && !known.contains(*label))
                .collect();
            assert!(missing.is_empty(), "{metric} has no {missing:?}, only {known:?}: {query}");
        }
    }
}

#[test]
fn labels_of_queries_are_found() {
    let (metrics, labels) =
        named("sum by (model, le) (rate(headwater_x_bucket{outcome=\"failed\",status=~\"5..\"}[5m]))");
    assert_eq!(metrics, ["headwater_x_bucket"]);
    assert_eq!(labels.iter().collect::<Vec<_>>(), ["le", "model", "outcome", "status"]);
    let mut served = ScrapedSeries::new();
    series("# HELP a b\na{x=\"1,y=2\",z=\"{}\"} 3\nb 1\n", &mut served);
    assert_eq!(served["a"].iter().collect::<Vec<_>>(), ["x", "z"]);
    assert!(served["b"].is_empty());
}
