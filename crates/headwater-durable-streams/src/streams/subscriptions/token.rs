//! Tokens for acknowledgements of a worker: bound to a subscription and a generation.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_store::{Secret, Store};
use serde::{Deserialize, Serialize};

use crate::{StreamError, clock};

/// Lifetime of a token, and the longest extension of a lease with it.
const HOUR: u64 = 60 * 60 * 1_000;

/// The content of a token.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WakeToken {
    pub(super) owner: String,
    pub(super) subscription: String,
    pub(super) generation: u64,
    expires: u64,
}

/// Why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenFault {
    Invalid,
    Expired,
}

/// Makes a token.
pub(super) async fn issue(
    store: &dyn Store,
    owner: &str,
    subscription: &str,
    generation: u64,
) -> Result<String, StreamError> {
    let secret = Secret::of(store).await?;
    let token = WakeToken {
        owner: owner.to_owned(),
        subscription: subscription.to_owned(),
        generation,
        expires: clock::now() + HOUR,
    };
    let text = serde_json::to_vec(&token).map_err(|_| StreamError::internal())?;
    let tag = secret.sign(&[b"durable-subscription", &text]);
    Ok(format!("{}.{}", URL_SAFE_NO_PAD.encode(text), URL_SAFE_NO_PAD.encode(tag)))
}

/// Reads a token that this store has issued.
pub(super) async fn open(
    store: &dyn Store,
    token: &str,
) -> Result<Result<WakeToken, TokenFault>, StreamError> {
    let secret = Secret::of(store).await?;
    let parse = || {
        let (text, tag) = token.split_once('.')?;
        let (text, tag) = (URL_SAFE_NO_PAD.decode(text).ok()?, URL_SAFE_NO_PAD.decode(tag).ok()?);
        let valid = secret.verify(&[b"durable-subscription", &text], &tag);
        valid.then(|| serde_json::from_slice::<WakeToken>(&text).ok()).flatten()
    };
    Ok(match parse() {
        None => Err(TokenFault::Invalid),
        Some(token) if token.expires <= clock::now() => Err(TokenFault::Expired),
        Some(token) => Ok(token),
    })
}
