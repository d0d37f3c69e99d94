//! Telemetry of a model call: its span, which follows OpenTelemetry's conventions for generative AI, and its
//! metrics.

use headwater_models::ModelEvent;
use headwater_protocol::{SessionId, Usage};
use metrics::{counter, histogram};
use tokio::time::Instant;
use tracing::{Span, field::Empty, info_span};

/// One attempt of a model call.
#[derive(Debug)]
pub(crate) struct ModelCall {
    pub(crate) span: Span,
    model: String,
    began: Instant,
    spoke: bool,
    over: bool,
}

impl ModelCall {
    pub(crate) fn new(model: &str, session: Option<&SessionId>) -> Self {
        let (provider, name) = model.split_once(':').unwrap_or(("custom", model));
        let span = info_span!(
            "model",
            otel.name = format_args!("chat {name}"),
            otel.kind = "client",
            otel.status_code = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = well_known(provider),
            gen_ai.conversation.id = session.map(SessionId::as_str),
            gen_ai.request.model = name,
            gen_ai.request.stream = true,
            gen_ai.response.id = Empty,
            gen_ai.response.model = Empty,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.response.time_to_first_chunk = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.reasoning.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.cache_creation.input_tokens = Empty,
            "error.type" = Empty,
        );
        Self { span, model: model.to_owned(), began: Instant::now(), spoke: false, over: false }
    }

    /// Records model name, time to first token and finish reason, never content.
    pub(crate) fn heard(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Started { id, model } => {
                self.span.record("gen_ai.response.id", id.as_deref());
                self.span.record("gen_ai.response.model", model.as_deref());
            }
            ModelEvent::Finished { reason, .. } => {
                self.span.record("gen_ai.response.finish_reasons", reason.as_str().replace('-', "_"));
            }
            _ => {}
        }
        let word = matches!(
            event,
            ModelEvent::TextDelta { .. }
                | ModelEvent::ReasoningDelta { .. }
                | ModelEvent::ToolCallStart { .. }
                | ModelEvent::ToolCallDelta { .. }
        );
        if word && !self.spoke {
            self.spoke = true;
            let seconds = self.began.elapsed().as_secs_f64();
            self.span.record("gen_ai.response.time_to_first_chunk", seconds);
            histogram!("headwater_model_first_token_seconds", "model" => self.model.clone()).record(seconds);
        }
    }

    pub(crate) fn answered(&mut self, usage: &Usage) {
        let kinds = [
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("reasoning", usage.reasoning_tokens),
            ("cached-input", usage.cached_input_tokens),
        ];
        for (kind, tokens) in kinds {
            let Some(tokens) = tokens else { continue };
            counter!("headwater_model_tokens_total", "model" => self.model.clone(), "kind" => kind)
                .increment(tokens);
        }
        let span = &self.span;
        span.record("gen_ai.usage.input_tokens", number(usage.input_tokens));
        span.record("gen_ai.usage.output_tokens", number(usage.output_tokens));
        span.record("gen_ai.usage.reasoning.output_tokens", number(usage.reasoning_tokens));
        span.record("gen_ai.usage.cache_read.input_tokens", number(usage.cached_input_tokens));
        span.record("gen_ai.usage.cache_creation.input_tokens", number(usage.cache_write_tokens));
        self.end("answered");
    }

    pub(crate) fn failed(&mut self, code: &str) {
        super::failed(&self.span, code);
        self.end("failed");
    }

    fn end(&mut self, outcome: &'static str) {
        self.over = true;
        let model = self.model.clone();
        counter!("headwater_model_calls_total", "model" => model.clone(), "outcome" => outcome).increment(1);
        histogram!("headwater_model_call_seconds", "model" => model)
            .record(self.began.elapsed().as_secs_f64());
    }
}

impl Drop for ModelCall {
    fn drop(&mut self) {
        if !self.over {
            self.end("stopped");
        }
    }
}

/// A number in OpenTelemetry's type: an unsigned one would be exported as text.
fn number(tokens: Option<u64>) -> Option<i64> {
    tokens.map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX))
}

/// The provider's name in the OpenTelemetry conventions, if it has one.
fn well_known(provider: &str) -> &str {
    match provider {
        "openai-chat" => "openai",
        "google" => "gcp.gemini",
        "mistral" => "mistral_ai",
        other => other,
    }
}
