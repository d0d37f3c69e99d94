//! A key of a request stands for one request: the same key with another body is a mistake of its client.

use axum::http::StatusCode;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_runtime::Agent;
use headwater_store::{Expect, key::join};
use sha2::{Digest as _, Sha256};

use crate::ApiError;

/// Fingerprint of the body of a request.
pub(crate) fn fingerprint(body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(body))
}

/// Refuses a request whose key came before with another body, for the same owner and the same place: a route, and a session
/// where one is named. Keys are kept as long as runs.
pub(crate) async fn check(
    agent: &Agent,
    owner: &str,
    place: [&str; 2],
    key: Option<&str>,
    fingerprint: &str,
) -> Result<(), ApiError> {
    let Some(key) = key else { return Ok(()) };
    let [route, session] = place;
    let name = join("request", &[agent.name(), owner, route, session, key]);
    let bytes = fingerprint.to_owned().into();
    match agent.store().put(&name, bytes, Expect::Absent, Some(agent.keeps())).await {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
            match agent.store().get(&name).await? {
                Some(before) if before.bytes != fingerprint.as_bytes() => {
                    let message =
                        "this idempotency key came before with another body: use a new key for a new request";
                    Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency.mismatch", message))
                }
                _ => Ok(()),
            }
        }
        Err(error) => Err(error.into()),
    }
}
