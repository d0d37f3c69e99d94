//! Tokens that authorize an answer: signed, and bound to the run, the request and, for a tool call, its exact
//! input.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_protocol::{RequestId, RunId};
use headwater_store::Secret;
use serde_json::Value;

/// A token for a request of a run.
pub(super) fn sign(secret: &Secret, run: &RunId, request: &RequestId, bound: Option<&Value>) -> String {
    URL_SAFE_NO_PAD.encode(secret.sign(&parts(run, request, &bytes(bound))))
}

/// Whether a token is for this request of this run, and this input.
pub(super) fn verify(
    secret: &Secret,
    token: &str,
    run: &RunId,
    request: &RequestId,
    bound: Option<&Value>,
) -> bool {
    URL_SAFE_NO_PAD
        .decode(token)
        .is_ok_and(|tag| tag.len() == 16 && secret.verify(&parts(run, request, &bytes(bound)), &tag))
}

fn bytes(bound: Option<&Value>) -> Vec<u8> {
    bound.map(|input| input.to_string().into_bytes()).unwrap_or_default()
}

fn parts<'a>(run: &'a RunId, request: &'a RequestId, bound: &'a [u8]) -> [&'a [u8]; 4] {
    [b"answer", run.as_str().as_bytes(), request.as_str().as_bytes(), bound]
}
