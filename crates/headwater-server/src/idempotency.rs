//! An idempotency key identifies one request: the same key with another body is an error of the client.

use axum::http::{HeaderMap, StatusCode};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_runtime::Agent;
use headwater_store::{Expect, key::join};
use sha2::{Digest as _, Sha256};

use crate::{ApiError, Principal, agents::ServedAgent};

/// Fingerprint of the body of a request.
pub(crate) fn fingerprint(body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(body))
}

/// Refuses a request whose key was used before with another body, for the same owner and the same place: a route, and a session
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
                    let message = "this idempotency key was used before with another body: use a new key for a new request";
                    Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency.mismatch", message))
                }
                _ => Ok(()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// The idempotency key of a request.
pub(crate) fn idempotency_key(headers: &HeaderMap) -> Option<String> {
    let key = headers.get("idempotency-key")?.to_str().ok().filter(|key| !key.is_empty())?;
    Some(format!("key:{key}"))
}

/// An id derived from principal and key: always the same, and impossible to guess.
pub(crate) async fn derived_id(
    served: &ServedAgent,
    principal: &Principal,
    kind: &str,
    key: &str,
) -> Result<String, ApiError> {
    let secret = served.agent.secret().await?;
    let tag =
        secret.sign(&[kind.as_bytes(), served.name.as_bytes(), principal.id().as_bytes(), key.as_bytes()]);
    Ok(format!("{kind}_{}", URL_SAFE_NO_PAD.encode(tag.get(..12).unwrap_or_default())))
}
