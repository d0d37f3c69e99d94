//! Background responses: OpenAI completes them without a reader, and keeps their events for a while.

use serde_json::Value;

use crate::{
    Warning,
    wire::{AnswerPosition, EncodedRequest, HttpMethod},
};

/// Prepares a request with the provider option `background`.
pub(super) fn prepare(encoded: &mut EncodedRequest) {
    let Value::Object(body) = &mut encoded.body else { return };
    if body.get("background") != Some(&Value::Bool(true)) {
        return;
    }
    if body.get("stream") == Some(&Value::Bool(true)) {
        // OpenAI refuses a background response that it must not store.
        body.insert("store".to_owned(), true.into());
        encoded.is_resumable = true;
    } else {
        // Without a stream the response comes before the answer.
        body.remove("background");
        let message = "ignored: a background response needs a stream";
        encoded.warnings.push(Warning::new("provider_options.background", message));
    }
}

/// The request for the events after a position.
pub(in crate::wire) fn resume(position: &AnswerPosition) -> Option<EncodedRequest> {
    let path = path_of(&position.answer)?;
    let after = position.sequence.map(|sequence| format!("&starting_after={sequence}")).unwrap_or_default();
    Some(EncodedRequest::of_answer(HttpMethod::Get, format!("{path}?stream=true{after}")))
}

/// The request that stops a background response.
pub(in crate::wire) fn cancel(answer: &str) -> Option<EncodedRequest> {
    Some(EncodedRequest::of_answer(HttpMethod::Post, format!("{}/cancel", path_of(answer)?)))
}

/// The id is the provider's word, so it must not lead to another path.
fn path_of(answer: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_id = !answer.is_empty() && answer.len() <= 256 && answer.bytes().all(is_plain);
    is_id.then(|| format!("/responses/{answer}"))
}
