//! Why the server behind gave no answer, or only a part of one.

use headwater_protocol::ErrorInfo;
use headwater_runtime::{Error, ErrorKind};

/// An error of the server behind, or of the way to it. `answered` is whether it had begun to answer, and `loss` why the
/// answer was last lost.
pub(super) fn of_client(
    name: &str,
    error: &headwater_client::Error,
    loss: Option<&headwater_client::Error>,
    answered: bool,
) -> Error {
    let code = match (error.code(), error.status()) {
        ("stream.stalled" | "timeout", _) => "upstream.stalled",
        ("stream.too-large", _) => "upstream.too-large",
        ("stream.html" | "stream.json" | "stream.empty", _) => "upstream.wrong-type",
        ("stream.invalid", _) => "upstream.invalid",
        ("request.invalid" | "header.invalid" | "url.invalid", _) => "upstream.request",
        // The answer could not be continued. What the person can act on is why it was lost, not what the attempt to
        // continue it met.
        _ if answered => match loss.map(headwater_client::Error::code) {
            Some("stream.stalled" | "timeout") => "upstream.stalled",
            _ => "upstream.cut",
        },
        (_, Some(status)) => of_status(status),
        _ => "upstream.unreachable",
    };
    failed(name, code, &error.to_string()).with_retryable(error.is_retryable())
}

fn of_status(status: u16) -> &'static str {
    match status {
        300..=399 => "upstream.redirect",
        401 | 403 => "upstream.auth",
        404 | 405 | 410 => "upstream.not-found",
        429 => "upstream.rate-limit",
        408 | 500..=599 => "upstream.unavailable",
        _ => "upstream.refused",
    }
}

/// An error that the server behind reports in its answer.
pub(super) fn of_answer(name: &str, error: &ErrorInfo) -> Error {
    let code = error.code.as_deref().map(|code| format!(" ({code})")).unwrap_or_default();
    failed(name, "upstream.failed", &format!("{}{code}", error.message))
}

pub(super) fn failed(name: &str, code: &str, text: &str) -> Error {
    Error::new(ErrorKind::Node, format!("upstream {name}: {text}")).with_code(code)
}
