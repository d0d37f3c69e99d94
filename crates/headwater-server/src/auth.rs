//! Authentication.

mod api_keys;
mod chain;
mod jwt;

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

pub use api_keys::ApiKeys;
pub use chain::AuthenticatorChain;
pub use jwt::{Jwt, KeyError, KeyFetch, PublishedKeys};

use crate::ApiError;

/// The authenticated caller, who owns the runs and sessions that it starts. No other principal can read, answer or stop
/// them.
///
/// Principals with the same name are the same principal.
#[derive(Clone)]
pub struct Principal {
    id: Arc<str>,
    claims: Option<Arc<Map<String, Value>>>,
    expires: Option<SystemTime>,
    role: PrincipalRole,
}

/// The permissions of a principal.
#[derive(Clone, Default)]
enum PrincipalRole {
    #[default]
    User,
    /// Has access to data of all principals. Holds the operator's request, for the audit log.
    Operator(Option<Arc<RequestLine>>),
    /// The owner of something, in whose name an operator acts.
    ActedFor { operator: Arc<str>, request: Option<Arc<RequestLine>> },
}

/// A request in the audit log.
#[derive(Debug, Default)]
pub(crate) struct RequestLine {
    pub(crate) method: String,
    pub(crate) route: String,
    pub(crate) request: String,
}

impl Principal {
    /// A principal with this unique name.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), claims: None, expires: None, role: PrincipalRole::User }
    }

    /// Adds claims of a token: for a run's `cx.runtime_context()`. They are stored with the run.
    #[must_use]
    pub fn with_claims(mut self, claims: Map<String, Value>) -> Self {
        self.claims = Some(Arc::new(claims));
        self
    }

    /// Makes it an operator, with access to the runs, sessions and questions of all principals. Each access
    /// to data of another principal is logged with the target `headwater::audit`.
    #[must_use]
    pub fn operator(mut self) -> Self {
        self.role = PrincipalRole::Operator(None);
        self
    }

    /// Whether it is an operator that acts in its own name.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        matches!(self.role, PrincipalRole::Operator(_))
    }

    /// The operator that acts in the name of this principal.
    #[must_use]
    pub fn acting_operator(&self) -> Option<&str> {
        match &self.role {
            PrincipalRole::ActedFor { operator, .. } => Some(operator),
            _ => None,
        }
    }

    /// Adds the operator's request, for the audit log.
    pub(crate) fn with_request(mut self, line: RequestLine) -> Self {
        if let PrincipalRole::Operator(request) = &mut self.role {
            *request = Some(Arc::new(line));
        }
        self
    }

    /// The request of an operator.
    pub(crate) fn request_line(&self) -> Option<&RequestLine> {
        match &self.role {
            PrincipalRole::User => None,
            PrincipalRole::Operator(request) | PrincipalRole::ActedFor { request, .. } => request.as_deref(),
        }
    }

    /// Whether something of this owner is visible to the caller.
    pub(crate) fn may_access(&self, owner: Option<&str>) -> bool {
        self.is_operator() || owner == Some(self.id())
    }

    /// The principal on whose behalf the caller acts for data of this owner: an operator acts for the owner.
    /// Data without an owner was created by the application itself.
    pub(crate) fn acting_for(&self, owner: Option<&str>) -> Self {
        match (&self.role, owner) {
            (PrincipalRole::Operator(request), Some(owner)) if *owner != *self.id => {
                let role = PrincipalRole::ActedFor { operator: self.id.clone(), request: request.clone() };
                Self { id: owner.into(), claims: None, expires: self.expires, role }
            }
            _ => self.clone(),
        }
    }

    /// Sets when the authentication expires. Streams of the request end then, so that the reader reconnects with a
    /// fresh token.
    #[must_use]
    pub fn expires(mut self, time: SystemTime) -> Self {
        self.expires = Some(time);
        self
    }

    /// The owner of stored runs and sessions. Changing it hides earlier ones from the caller.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The claims of the token; null for an API key.
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

/// Without the claims, which must not be logged.
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

/// The result of an authenticator.
pub type AuthFuture<'a> = Pin<Box<dyn Future<Output = Result<Principal, ApiError>> + Send + 'a>>;

/// Authenticates requests.
///
/// ```
/// use axum::http::request::Parts;
/// use headwater_server::{AuthFuture, Authenticator, Principal, unauthorized};
///
/// /// A proxy in front of the server authenticates users, and is the only way in.
/// #[derive(Debug)]
/// struct BehindProxy;
///
/// impl Authenticator for BehindProxy {
///     fn authenticate<'a>(&'a self, request: &'a Parts) -> AuthFuture<'a> {
///         Box::pin(async move {
///             let user = request.headers.get("x-forwarded-user").and_then(|user| user.to_str().ok());
///             user.map(Principal::new).ok_or_else(|| unauthorized("use the proxy"))
///         })
///     }
/// }
/// ```
pub trait Authenticator: fmt::Debug + Send + Sync {
    /// The principal that sent this request.
    ///
    /// # Errors
    /// [`unauthorized`] when the request has no valid credentials.
    fn authenticate<'a>(&'a self, request: &'a Parts) -> AuthFuture<'a>;

    /// Whether requests need no authentication. Then only this machine is accepted as the host, unless
    /// [`Options::host`](crate::Options::host) adds others: otherwise a web page elsewhere could control the
    /// server.
    fn is_open(&self) -> bool {
        false
    }
}

/// The error for a request without credentials.
#[must_use]
pub fn unauthorized(message: &str) -> ApiError {
    refused("auth.missing", message)
}

/// The error for a request with invalid credentials.
fn refused(code: &str, message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, code, message)
}

/// No authentication: every caller is the principal `local`. For a server that only this machine can reach.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenAccess {
    is_operator: bool,
}

impl OpenAccess {
    /// The name of the principal that everyone is.
    pub const PRINCIPAL: &str = "local";

    /// Makes everyone an operator.
    #[must_use]
    pub fn operator() -> Self {
        Self { is_operator: true }
    }
}

impl Authenticator for OpenAccess {
    fn authenticate<'a>(&'a self, _: &'a Parts) -> AuthFuture<'a> {
        Box::pin(async {
            let principal = Principal::new(Self::PRINCIPAL);
            Ok(if self.is_operator { principal.operator() } else { principal })
        })
    }

    fn is_open(&self) -> bool {
        true
    }
}

/// The credentials of a request: `Authorization: Bearer …`, or `X-Api-Key`.
fn sent_key(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    bearer.or_else(|| headers.get("x-api-key")?.to_str().ok()).filter(|key| !key.is_empty())
}
