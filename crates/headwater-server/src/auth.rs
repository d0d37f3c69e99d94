//! Who is asking.

mod jwt;
mod keys;
mod several;

use std::{
    fmt,
    future::Future,
    hash::{Hash, Hasher},
    pin::Pin,
    sync::Arc,
    time::SystemTime,
};

use axum::http::{HeaderMap, StatusCode, header, request::Parts};
use serde_json::{Map, Value};

pub use jwt::{Fetched, Jwt, KeyError, PublishedKeys};
pub use keys::ApiKeys;
pub use several::Several;

use crate::ApiError;

/// Who is asking: the owner of the runs and sessions that they begin. Nobody else reads, answers or stops these.
///
/// Two with the same name are the same principal.
#[derive(Clone)]
pub struct Principal {
    id: Arc<str>,
    claims: Option<Arc<Map<String, Value>>>,
    expires: Option<SystemTime>,
}

impl Principal {
    /// A principal by a name that is theirs alone.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), claims: None, expires: None }
    }

    /// What else is known about them, as a token says it: for a run's `cx.runtime_context()`. It is kept with the run.
    #[must_use]
    pub fn with_claims(mut self, claims: Map<String, Value>) -> Self {
        self.claims = Some(Arc::new(claims));
        self
    }

    /// Sets until when the request counts as theirs. Streams that it opened end then, so that their reader reconnects with a
    /// fresh token.
    #[must_use]
    pub fn expires(mut self, time: SystemTime) -> Self {
        self.expires = Some(time);
        self
    }

    /// The name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The claims of the token that was sent; none for a key.
    #[must_use]
    pub fn claims(&self) -> Option<&Map<String, Value>> {
        self.claims.as_deref()
    }

    pub(crate) fn expiry(&self) -> Option<SystemTime> {
        self.expires
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

/// Without the claims, which are not for logs.
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Principal").field(&self.id).finish()
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

/// What an authenticator gives.
pub type Authenticated<'a> = Pin<Box<dyn Future<Output = Result<Principal, ApiError>> + Send + 'a>>;

/// Finds out who is asking.
///
/// ```
/// use axum::http::request::Parts;
/// use headwater_server::{Authenticated, Authenticator, Principal, unauthorized};
///
/// /// A proxy in front of the server knows its users, and nobody comes past it.
/// #[derive(Debug)]
/// struct BehindProxy;
///
/// impl Authenticator for BehindProxy {
///     fn authenticate<'a>(&'a self, request: &'a Parts) -> Authenticated<'a> {
///         Box::pin(async move {
///             let user = request.headers.get("x-forwarded-user").and_then(|user| user.to_str().ok());
///             user.map(Principal::new).ok_or_else(|| unauthorized("come through the proxy"))
///         })
///     }
/// }
/// ```
pub trait Authenticator: fmt::Debug + Send + Sync {
    /// Who sends this request.
    ///
    /// # Errors
    /// [`unauthorized`] when the request does not show it.
    fn authenticate<'a>(&'a self, request: &'a Parts) -> Authenticated<'a>;

    /// Whether a request needs nothing to be let in. Then only this machine may be named as the host, unless
    /// [`Options::host`](crate::Options::host) names others: a web page elsewhere could drive the server otherwise.
    fn is_open(&self) -> bool {
        false
    }
}

/// The answer to a request that does not show who sends it.
#[must_use]
pub fn unauthorized(message: &str) -> ApiError {
    refused("auth.missing", message)
}

/// The answer to a request that shows it wrongly.
fn refused(code: &str, message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, code, message)
}

/// Everyone is the same: for a server that only this machine can reach.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open;

impl Authenticator for Open {
    fn authenticate<'a>(&'a self, _: &'a Parts) -> Authenticated<'a> {
        Box::pin(async { Ok(Principal::new("local")) })
    }

    fn is_open(&self) -> bool {
        true
    }
}

/// What a request shows: `Authorization: Bearer …`, or `X-Api-Key`.
fn sent_key(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    bearer.or_else(|| headers.get("x-api-key")?.to_str().ok()).filter(|key| !key.is_empty())
}
