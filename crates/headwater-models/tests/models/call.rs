//! Calls a model without a runtime and formats its events, one line each.

use std::{
    pin::Pin,
    task::{Context, Poll, Waker},
};

use futures_core::Stream as _;
use headwater_models::{Model, ModelError, ModelEvent, ModelRequest, ModelStream};

/// The result of polling a stream once.
pub(crate) fn poll(stream: &mut ModelStream) -> Poll<Option<Result<ModelEvent, ModelError>>> {
    Pin::new(stream).poll_next(&mut Context::from_waker(Waker::noop()))
}

/// All events of a model that never waits.
pub(crate) fn ask(model: &impl Model, request: ModelRequest) -> Vec<Result<ModelEvent, ModelError>> {
    let mut stream = model.ask(request);
    let mut all = Vec::new();
    loop {
        match poll(&mut stream) {
            Poll::Ready(Some(item)) => all.push(item),
            Poll::Ready(None) => return all,
            Poll::Pending => panic!("the model must not wait, after {all:?}"),
        }
    }
}

/// The events of a model, one line each.
pub(crate) fn lines(model: &impl Model, request: ModelRequest) -> Vec<String> {
    ask(model, request).iter().map(line).collect()
}

/// One event as `kind part content`.
pub(crate) fn line(item: &Result<ModelEvent, ModelError>) -> String {
    match item {
        Err(error) => format!("error {} {}", error.kind().code(), error.message()),
        Ok(event) => {
            let mut fields = serde_json::to_value(event).unwrap();
            let fields = fields.as_object_mut().unwrap();
            let kind = fields.shift_remove("type").unwrap();
            let mut words = vec![kind.as_str().unwrap().to_owned()];
            for key in ["part", "call", "name", "delta"] {
                if let Some(value) = fields.shift_remove(key) {
                    words.push(value.to_string());
                }
            }
            if !fields.is_empty() {
                words.push(serde_json::to_string(fields).unwrap());
            }
            words.join(" ")
        }
    }
}
