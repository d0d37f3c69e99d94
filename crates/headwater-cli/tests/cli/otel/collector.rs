//! An OTLP over HTTP collector on the loopback interface that stores what it receives.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode as Http},
    routing::post,
};
use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{AnyValue, KeyValue, any_value::Value},
    metrics::v1::Metric,
    trace::v1::{Span, Status, span::SpanKind, status::StatusCode},
};
use prost::Message;
use tokio::runtime::Runtime;

type Requests = Arc<Mutex<(Vec<ExportTraceServiceRequest>, Vec<ExportMetricsServiceRequest>)>>;

/// A collector. It stops when dropped.
pub(super) struct Collector {
    address: SocketAddr,
    kept: Requests,
    _runtime: Runtime,
}

impl Collector {
    pub(super) fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let kept = Requests::default();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let routes = Router::new()
            .route("/v1/traces", post(traces))
            .route("/v1/metrics", post(metrics))
            .with_state(kept.clone());
        runtime.spawn(async move { axum::serve(listener, routes).await });
        Self { address, kept, _runtime: runtime }
    }

    pub(super) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The data received so far.
    pub(super) fn sent(&self) -> Telemetry {
        let kept = self.kept.lock().unwrap();
        Telemetry { traces: kept.0.clone(), metrics: kept.1.clone() }
    }
}

fn decode<T: Message + Default>(headers: &HeaderMap, body: Bytes) -> Result<T, Http> {
    assert_eq!(headers["content-type"], "application/x-protobuf");
    T::decode(body).map_err(|_| Http::BAD_REQUEST)
}

async fn traces(State(kept): State<Requests>, headers: HeaderMap, body: Bytes) -> Result<(), Http> {
    kept.lock().unwrap().0.push(decode(&headers, body)?);
    Ok(())
}

async fn metrics(State(kept): State<Requests>, headers: HeaderMap, body: Bytes) -> Result<(), Http> {
    kept.lock().unwrap().1.push(decode(&headers, body)?);
    Ok(())
}

/// The data that a collector has received.
pub(super) struct Telemetry {
    traces: Vec<ExportTraceServiceRequest>,
    metrics: Vec<ExportMetricsServiceRequest>,
}

impl Telemetry {
    /// The attributes of the exporting service.
    pub(super) fn resource(&self) -> Vec<KeyValue> {
        self.traces[0].resource_spans[0].resource.clone().unwrap().attributes
    }

    /// All spans, by start time.
    pub(super) fn spans(&self) -> Vec<ReceivedSpan> {
        let spans = self.traces.iter().flat_map(|sent| &sent.resource_spans);
        let spans = spans.flat_map(|spans| &spans.scope_spans).flat_map(|spans| &spans.spans);
        let mut spans: Vec<_> = spans.cloned().map(ReceivedSpan::new).collect();
        spans.sort_by_key(|span| span.span.start_time_unix_nano);
        spans
    }

    /// The last span of this name.
    pub(super) fn span(&self, name: &str) -> ReceivedSpan {
        let names: Vec<_> = self.spans().iter().map(|span| span.name().to_owned()).collect();
        let found = self.spans().into_iter().rev().find(|span| span.name() == name);
        found.unwrap_or_else(|| panic!("no span `{name}` in {names:?}"))
    }

    pub(super) fn children(&self, parent: &ReceivedSpan) -> Vec<ReceivedSpan> {
        let of = |span: &ReceivedSpan| span.parent() == parent.id() && span.trace_id() == parent.trace_id();
        self.spans().into_iter().filter(of).collect()
    }

    /// The latest value of this metric.
    pub(super) fn metric(&self, name: &str) -> Metric {
        let metrics = self.metrics.iter().flat_map(|sent| &sent.resource_metrics);
        let mut metrics =
            metrics.flat_map(|metrics| &metrics.scope_metrics).flat_map(|metrics| &metrics.metrics);
        let found = metrics.rfind(|metric| metric.name == name);
        found.unwrap_or_else(|| panic!("no metric `{name}` in {:?}", self.metrics)).clone()
    }

    /// All received data as text.
    pub(super) fn debug(&self) -> String {
        format!("{:?} {:?}", self.traces, self.metrics)
    }
}

/// A span with its ids as text.
#[derive(Debug)]
pub(super) struct ReceivedSpan {
    span: Span,
    id: String,
    parent: String,
    trace: String,
}

impl ReceivedSpan {
    fn new(span: Span) -> Self {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        Self { id: hex(&span.span_id), parent: hex(&span.parent_span_id), trace: hex(&span.trace_id), span }
    }

    pub(super) fn name(&self) -> &str {
        &self.span.name
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn parent(&self) -> &str {
        &self.parent
    }

    pub(super) fn trace_id(&self) -> &str {
        &self.trace
    }

    pub(super) fn kind(&self) -> SpanKind {
        self.span.kind()
    }

    pub(super) fn status(&self) -> StatusCode {
        self.span.status.as_ref().map_or(StatusCode::Unset, Status::code)
    }

    pub(super) fn text(&self, name: &str) -> &str {
        text(&self.span.attributes, name)
    }

    pub(super) fn number(&self, name: &str) -> i64 {
        match value(&self.span.attributes, name) {
            Some(Value::IntValue(number)) => *number,
            other => panic!("`{name}` of {} is {other:?}", self.name()),
        }
    }

    pub(super) fn seconds(&self, name: &str) -> f64 {
        match value(&self.span.attributes, name) {
            Some(Value::DoubleValue(number)) => *number,
            other => panic!("`{name}` of {} is {other:?}", self.name()),
        }
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        matches!(value(&self.span.attributes, name), Some(Value::BoolValue(true)))
    }

    pub(super) fn list(&self, name: &str) -> Vec<String> {
        let Some(Value::ArrayValue(list)) = value(&self.span.attributes, name) else {
            panic!("`{name}` of {} is not a list", self.name())
        };
        let one = |value: &AnyValue| match &value.value {
            Some(Value::StringValue(text)) => text.clone(),
            other => panic!("{other:?}"),
        };
        list.values.iter().map(one).collect()
    }
}

fn value<'a>(attributes: &'a [KeyValue], name: &str) -> Option<&'a Value> {
    attributes.iter().find(|one| one.key == name)?.value.as_ref()?.value.as_ref()
}

/// The text value of an attribute.
pub(super) fn text<'a>(attributes: &'a [KeyValue], name: &str) -> &'a str {
    match value(attributes, name) {
        Some(Value::StringValue(text)) => text,
        other => panic!("`{name}` is {other:?}"),
    }
}
