//! `headwater serve` with an OpenTelemetry collector: which spans and metrics it gets, and what they must not
//! contain.

mod collector;

use opentelemetry_proto::tonic::{
    metrics::v1::metric::Data,
    trace::v1::{span::SpanKind, status::StatusCode},
};
use serde_json::json;

use crate::server::Server;
use collector::{Collector, Telemetry, text};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

fn start(data: &std::path::Path, collector: &Collector, args: &[&str]) -> Server {
    let endpoint = collector.endpoint();
    let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()), ("OTEL_SERVICE_NAME", "guides")];
    Server::start_with("127.0.0.1:0", data, args, &variables)
}

/// Sends a message to an agent in a session and reads the response to its end.
fn send_text(server: &Server, agent: &str, headers: &[(&str, &str)], words: &str) -> String {
    let message = json!({ "id": "u1", "role": "user", "parts": [{ "type": "text", "text": words }] });
    let body = json!({ "id": format!("with {agent}"), "messages": [message] }).to_string();
    let answer = server.ask("POST", &format!("/v1/ai-sdk/chat?agent={agent}"), headers, &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

#[test]
fn collector_gets_the_span_tree_without_message_text() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start();
    let server = start(&folder.path().join("data"), &collector, &["--set", "log.level=error"]);
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let said = send_text(&server, "tools", &[("traceparent", &parent)], "compare Paris and Rome");
    assert!(said.contains("Paris"), "{said}");
    assert_eq!(server.terminate(), Some(0));
    let sent = collector.sent();

    let resource = sent.resource();
    assert_eq!(text(&resource, "service.name"), "guides");
    let request = sent.span("POST /v1/{dialect}/chat");
    assert_eq!((request.kind(), request.trace_id(), request.parent()), (SpanKind::Server, TRACE, CALLER));
    assert_eq!(request.number("http.response.status_code"), 200);
    let run = sent.span("invoke_agent tools");
    assert_eq!((run.kind(), run.trace_id(), run.parent()), (SpanKind::Internal, TRACE, request.id()));
    assert_eq!(run.text("gen_ai.operation.name"), "invoke_agent");
    assert_eq!(run.text("gen_ai.agent.name"), "tools");
    assert_eq!(run.text("gen_ai.conversation.id"), "with tools");
    assert!(run.text("headwater.run").len() > 4);
    let nodes = sent.children(&run);
    assert_eq!(nodes.len(), 1, "{nodes:?}");
    let steps = sent.children(&nodes[0]);
    let names: Vec<_> = steps.iter().map(|step| step.name().split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(names, ["chat", "execute_tool", "execute_tool", "chat"]);
    for (step, finish) in [(&steps[0], "tool_calls"), (&steps[3], "stop")] {
        assert_eq!(step.kind(), SpanKind::Client);
        assert_eq!(step.name(), format!("chat {}", step.text("gen_ai.request.model")));
        assert_eq!(step.text("gen_ai.operation.name"), "chat");
        assert_eq!(step.text("gen_ai.provider.name"), "demo");
        assert_eq!(step.text("gen_ai.conversation.id"), "with tools");
        assert_eq!(step.list("gen_ai.response.finish_reasons"), [finish]);
        assert!(
            step.number("gen_ai.usage.input_tokens") > 0 && step.number("gen_ai.usage.output_tokens") > 0
        );
        assert!(step.seconds("gen_ai.response.time_to_first_chunk") >= 0.0);
        assert_eq!(step.status(), StatusCode::Unset);
    }
    for step in &steps[1..3] {
        assert_eq!((step.name(), step.kind()), ("execute_tool get_weather", SpanKind::Internal));
        assert_eq!(step.text("gen_ai.tool.name"), "get_weather");
        assert!(!step.text("gen_ai.tool.call.id").is_empty());
    }

    let attributes = |name: &str| -> Vec<String> {
        let metric = sent.metric(name);
        let Some(Data::Histogram(histogram)) = metric.data else { panic!("{metric:?}") };
        let mut all: Vec<_> = histogram
            .data_points
            .iter()
            .inspect(|point| assert!(point.count > 0 && point.explicit_bounds.len() > 12, "{point:?}"))
            .map(|point| {
                let mut names: Vec<_> = point.attributes.iter().map(|one| one.key.clone()).collect();
                names.sort();
                names.join(" ")
            })
            .collect();
        all.dedup();
        all
    };
    let call = "gen_ai.operation.name gen_ai.provider.name gen_ai.request.model gen_ai.response.model";
    let unit = |name: &str| sent.metric(name).unit;
    assert_eq!(attributes("gen_ai.client.operation.duration"), [call]);
    assert_eq!(unit("gen_ai.client.operation.duration"), "s");
    assert_eq!(attributes("gen_ai.client.operation.time_to_first_chunk"), [call]);
    assert_eq!(attributes("gen_ai.client.token.usage"), [format!("{call} gen_ai.token.type")]);
    assert_eq!(unit("gen_ai.client.token.usage"), "{token}");
    assert_eq!(attributes("gen_ai.invoke_agent.duration"), ["gen_ai.agent.name"]);
    assert_eq!(
        attributes("gen_ai.execute_tool.duration"),
        ["gen_ai.agent.name gen_ai.tool.name gen_ai.tool.type"]
    );

    let whole = sent.debug();
    for word in ["Paris", "Rome", "compare", "°C", "Several tools"] {
        assert!(!whole.contains(word), "`{word}` is message text and was exported");
    }
}

#[test]
fn failed_spans_have_an_error_code() {
    let folder = tempfile::tempdir().unwrap();
    let collector = Collector::start();
    let server = start(&folder.path().join("data"), &collector, &[]);
    send_text(&server, "tools", &[], "weather in Atlantis");
    send_text(&server, "flaky", &[], "hello");
    assert_eq!(server.terminate(), Some(0));
    let sent = collector.sent();
    let tool = sent.span("execute_tool get_weather");
    assert_eq!((tool.status(), tool.text("error.type")), (StatusCode::Error, "tool.failed"));
    let failed = |sent: &Telemetry| {
        let mut spans = sent.spans().into_iter().filter(|span| span.name().starts_with("chat "));
        spans.find(|span| span.status() == StatusCode::Error).unwrap()
    };
    let model = failed(&sent);
    assert!(!model.text("error.type").is_empty(), "{model:?}");
    assert_eq!(sent.span("invoke_agent flaky").status(), StatusCode::Unset, "another model answered");
    assert!(!sent.debug().contains("weather station"), "the output of a tool is in no span");
}

#[test]
fn resumed_run_has_a_new_span_with_the_same_run_id() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let collector = Collector::start();
    let server = start(&data, &collector, &["--set", "demo.pace=1h"]);
    let run = server.post("/v1/runs", &json!({ "agent": "flaky", "input": "x" })).json()["run"].clone();
    server.kill();
    let server = start(&data, &collector, &[]);
    let run = run.as_str().unwrap();
    server.get(&format!("/v1/runs/{run}/events?until=end"));
    assert_eq!(server.terminate(), Some(0));
    let taken_up = collector.sent().span("invoke_agent flaky");
    assert_eq!(taken_up.text("headwater.run"), run);
    assert!(taken_up.flag("headwater.resumed"));
    assert_eq!(taken_up.parent(), "", "no request began it");
}

#[test]
fn unreachable_collector_does_not_affect_runs() {
    let folder = tempfile::tempdir().unwrap();
    let variables = [("OTEL_EXPORTER_OTLP_TIMEOUT", "500")];
    let args = ["--set", "otel.endpoint=http://127.0.0.1:9"];
    let server = Server::start_with("127.0.0.1:0", &folder.path().join("data"), &args, &variables);
    assert!(send_text(&server, "tools", &[], "weather in Oslo").contains("Oslo"));
    assert_eq!(server.terminate(), Some(0));
}
