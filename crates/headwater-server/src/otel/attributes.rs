//! Converts attributes to the form of the conventions, if a field of `tracing` cannot have it.

use std::time::Duration;

use opentelemetry::{Array, KeyValue, Value};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};

/// An attribute that is a list; a field is one text.
const LIST: &str = "gen_ai.response.finish_reasons";

/// An exporter whose spans are in shape.
#[derive(Debug)]
pub(super) struct AttributeExporter<E>(pub(super) E);

impl<E: SpanExporter> SpanExporter for AttributeExporter<E> {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        for attribute in batch.iter_mut().flat_map(|span| &mut span.attributes) {
            shape(attribute);
        }
        self.0.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

fn shape(attribute: &mut KeyValue) {
    if attribute.key.as_str() == LIST
        && let Value::String(one) = &attribute.value
    {
        attribute.value = Value::Array(Array::String(vec![one.clone()]));
    }
}
