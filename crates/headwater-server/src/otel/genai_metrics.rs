//! The metrics of generative AI, measured on the spans of runs, model calls and tools, sampled or not.
//!
//! Names, units, buckets and attributes follow OpenTelemetry's conventions.

use std::time::Instant;

use opentelemetry::{
    KeyValue,
    metrics::{Histogram, Meter},
};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context, registry::LookupSpan};

/// The field with the operation of a span.
const OPERATION: &str = "gen_ai.operation.name";

/// The upper ends of the buckets, in seconds: of a model call or a tool, and of a run.
const CALL: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const RUN: [f64; 13] = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6];

/// A layer that measures spans.
#[derive(Debug)]
pub(super) struct GenAiMetrics {
    model: Histogram<f64>,
    first_chunk: Histogram<f64>,
    tokens: Histogram<u64>,
    agent: Histogram<f64>,
    tool: Histogram<f64>,
}

impl GenAiMetrics {
    pub(super) fn new(meter: &Meter) -> Self {
        let seconds = |name: &'static str, about: &'static str, buckets: &[f64]| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(about);
            histogram.with_boundaries(buckets.to_vec()).build()
        };
        let first = "gen_ai.client.operation.time_to_first_chunk";
        Self {
            model: seconds("gen_ai.client.operation.duration", "Time of a call of a model.", &CALL),
            first_chunk: seconds(first, "Time to the first chunk of a model call.", &CALL),
            tokens: meter
                .u64_histogram("gen_ai.client.token.usage")
                .with_unit("{token}")
                .with_description("Tokens of a call of a model.")
                // 1, 4, 16 … 67,108,864.
                .with_boundaries((0..14).map(|power| 4_f64.powi(power)).collect())
                .build(),
            agent: seconds("gen_ai.invoke_agent.duration", "Time for which a run was driven.", &RUN),
            tool: seconds("gen_ai.execute_tool.duration", "Time of a call of a tool.", &CALL),
        }
    }

    fn record(&self, seen: &SpanMeasurement) {
        let seconds = seen.since.elapsed().as_secs_f64();
        match seen.operation.as_str() {
            "chat" => {
                let of_call =
                    [OPERATION, "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model"];
                let mut call = seen.only(&of_call);
                if let Some(seconds) = seen.first_chunk {
                    self.first_chunk.record(seconds, &call);
                }
                for (kind, tokens) in [("input", seen.input), ("output", seen.output)] {
                    let Some(tokens) = tokens else { continue };
                    call.push(KeyValue::new("gen_ai.token.type", kind));
                    self.tokens.record(tokens, &call);
                    call.pop();
                }
                call.extend(seen.only(&["error.type"]));
                self.model.record(seconds, &call);
            }
            "invoke_agent" => self.agent.record(seconds, &seen.only(&["gen_ai.agent.name", "error.type"])),
            "execute_tool" => {
                let names = ["gen_ai.tool.name", "gen_ai.tool.type", "gen_ai.agent.name", "error.type"];
                self.tool.record(seconds, &seen.only(&names));
            }
            _ => {}
        }
    }
}

impl<S> Layer<S> for GenAiMetrics
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().fields().field(OPERATION).is_none() {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let mut seen = SpanMeasurement::new();
        attributes.record(&mut seen);
        span.extensions_mut().insert(seen);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(seen) = span.extensions_mut().get_mut::<SpanMeasurement>() {
            values.record(seen);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let seen = span.extensions_mut().remove::<SpanMeasurement>();
        if let Some(seen) = seen {
            self.record(&seen);
        }
    }
}

/// The measured fields of a span.
struct SpanMeasurement {
    since: Instant,
    operation: String,
    texts: Vec<(&'static str, String)>,
    first_chunk: Option<f64>,
    input: Option<u64>,
    output: Option<u64>,
}

impl SpanMeasurement {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            operation: String::new(),
            texts: Vec::new(),
            first_chunk: None,
            input: None,
            output: None,
        }
    }

    /// The attributes of these names: metrics must not have ids as attributes.
    fn only(&self, names: &[&str]) -> Vec<KeyValue> {
        let known = self.texts.iter().filter(|(name, _)| names.contains(name));
        known.map(|(name, text)| KeyValue::new(*name, text.clone())).collect()
    }
}

impl Visit for SpanMeasurement {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == OPERATION {
            value.clone_into(&mut self.operation);
        }
        self.texts.push((field.name(), value.to_owned()));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        let Ok(value) = u64::try_from(value) else { return };
        match field.name() {
            "gen_ai.usage.input_tokens" => self.input = Some(value),
            "gen_ai.usage.output_tokens" => self.output = Some(value),
            _ => {}
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "gen_ai.response.time_to_first_chunk" {
            self.first_chunk = Some(value);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}
