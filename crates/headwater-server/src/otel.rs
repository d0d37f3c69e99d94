//! Spans and metrics for an OpenTelemetry collector, sent by OTLP over HTTP. Behind the feature `otel`.
//!
//! The spans are those of the `tracing` crate; the metrics of generative AI are measured on them. Both are
//! listed in `docs/operations.md`. They contain no text of a person or a model.

mod attributes;
mod genai_metrics;
mod sender;

use std::{env, error::Error, fmt};

use axum::http::HeaderMap;
use opentelemetry::{
    Context, KeyValue,
    metrics::MeterProvider as _,
    propagation::TextMapPropagator as _,
    trace::{TraceContextExt as _, TracerProvider as _},
};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    metrics::{PeriodicReader, SdkMeterProvider},
    propagation::TraceContextPropagator,
    trace::{BatchSpanProcessor, SdkTracerProvider},
};
use tokio::runtime::Handle;
use tracing::{Level, Metadata, Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

use attributes::AttributeExporter;
use genai_metrics::GenAiMetrics;
use sender::Sender;

/// The instrumentation scope.
const SCOPE: &str = "headwater";

/// Sends spans and metrics to a collector, until it is closed.
///
/// The settings of the SDK's own environment variables count too: `OTEL_EXPORTER_OTLP_HEADERS`,
/// `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_SCHEDULE_DELAY`, `OTEL_METRIC_EXPORT_INTERVAL` and the like.
///
/// ```no_run
/// use headwater_server::otel::Export;
/// use tracing_subscriber::{layer::SubscriberExt as _, util::SubscriberInitExt as _};
///
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// let export = Export::new("http://localhost:4318", "my-agents")?;
/// tracing_subscriber::registry().with(export.layer()).init();
/// // … serve …
/// export.close().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Export {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl Export {
    /// Starts exporting to the collector at this address, under a service name. Must be called within Tokio's
    /// runtime.
    ///
    /// # Errors
    /// When the address is invalid, there is no runtime, or this system's TLS cannot be set up.
    pub fn new(endpoint: &str, service: &str) -> Result<Self, ExportError> {
        let runtime = Handle::try_current()
            .map_err(|error| ExportError::new("to export, begin within Tokio's runtime", error))?;
        let sender = Sender::new(runtime)?;
        let failed = |error| ExportError::new(format!("cannot export to `{endpoint}`"), error);
        let spans = SpanExporter::builder()
            .with_http()
            .with_http_client(sender.clone())
            .with_endpoint(address(endpoint, "TRACES", "v1/traces"))
            .build()
            .map_err(failed)?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_http_client(sender)
            .with_endpoint(address(endpoint, "METRICS", "v1/metrics"))
            .build()
            .map_err(failed)?;
        let resource = Resource::builder()
            .with_service_name(service.to_owned())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let traces = SdkTracerProvider::builder()
            .with_span_processor(BatchSpanProcessor::builder(AttributeExporter(spans)).build())
            .with_resource(resource.clone())
            .build();
        let metrics = SdkMeterProvider::builder()
            .with_reader(PeriodicReader::builder(metrics).build())
            .with_resource(resource)
            .build();
        Ok(Self { traces, metrics })
    }

    /// The layer that exports Headwater's spans. Logs are not exported: an error may contain more than a span should.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        let ours = |metadata: &Metadata<'_>| {
            metadata.is_span()
                && *metadata.level() <= Level::INFO
                && metadata.target().starts_with("headwater")
        };
        let spans = tracing_opentelemetry::layer()
            .with_tracer(self.traces.tracer(SCOPE))
            .with_context_activation(false)
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_target(false)
            .with_level(false);
        let measure = GenAiMetrics::new(&self.metrics.meter(SCOPE));
        spans.and_then(measure).with_filter(filter_fn(ours))
    }

    /// Sends the remaining spans and metrics, and stops.
    ///
    /// # Errors
    /// When the collector did not take it: then it is lost.
    pub async fn close(self) -> Result<(), ExportError> {
        let lost = "the last spans and metrics did not reach the collector";
        // It waits for its own threads, which need the runtime to send.
        let closed = tokio::task::spawn_blocking(move || -> OTelSdkResult {
            let traces = self.traces.shutdown();
            self.metrics.shutdown()?;
            traces
        });
        let closed = closed.await.map_err(|error| ExportError::new(lost, error))?;
        closed.map_err(|error| ExportError::new(lost, error))
    }
}

/// The URL of a signal: from its standard variable, or its path below the endpoint.
fn address(endpoint: &str, signal: &str, path: &str) -> String {
    let named = env::var(format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")).ok();
    let named = named.filter(|named| !named.is_empty());
    named.unwrap_or_else(|| format!("{}/{path}", endpoint.trim_end_matches('/')))
}

/// Makes a request's span part of the trace that its headers name, if they do (`traceparent`).
pub(crate) fn continue_trace(span: &Span, headers: &HeaderMap) {
    if !headers.contains_key("traceparent") {
        return;
    }
    let named =
        TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(headers));
    if named.span().span_context().is_valid() {
        // It fails where nothing is exported.
        let _ = span.set_parent(named);
    }
}

/// Why nothing can be exported.
#[derive(Debug)]
pub struct ExportError {
    message: String,
    source: Box<dyn Error + Send + Sync>,
}

impl ExportError {
    fn new(message: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { message: message.into(), source: source.into() }
    }
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.source)
    }
}

impl Error for ExportError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}
