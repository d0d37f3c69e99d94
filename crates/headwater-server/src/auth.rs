//! Who is asking.

use std::{collections::HashMap, fmt, future::Future, pin::Pin, sync::Arc};

use axum::http::{HeaderMap, StatusCode, header, request::Parts};

use crate::ApiError;

/// Who is asking: the owner of the runs and sessions that they begin. Nobody else reads, answers or stops these.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    /// A principal by a name that is theirs alone.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Finds out who is asking.
pub trait Authenticator: fmt::Debug + Send + Sync {
    /// Who sends this request.
    ///
    /// # Errors
    /// [`unauthorized`] when the request does not show it.
    fn authenticate<'a>(
        &'a self,
        request: &'a Parts,
    ) -> Pin<Box<dyn Future<Output = Result<Principal, ApiError>> + Send + 'a>>;
}

/// The answer to a request that does not show who sends it.
#[must_use]
pub fn unauthorized(message: &str) -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "auth.missing", message)
}

/// Everyone is the same: for a server that only this machine can reach.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open;

impl Authenticator for Open {
    fn authenticate<'a>(
        &'a self,
        _: &'a Parts,
    ) -> Pin<Box<dyn Future<Output = Result<Principal, ApiError>> + Send + 'a>> {
        Box::pin(async { Ok(Principal::new("local")) })
    }
}

/// One key for each principal, sent as `Authorization: Bearer …` or `X-Api-Key`.
#[derive(Clone, Default)]
pub struct ApiKeys(HashMap<String, Principal>);

impl ApiKeys {
    /// No keys: nobody may ask.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a principal a key.
    #[must_use]
    pub fn add(mut self, principal: impl Into<Arc<str>>, key: impl Into<String>) -> Self {
        self.0.insert(key.into(), Principal::new(principal));
        self
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKeys of {} principals", self.0.len())
    }
}

impl Authenticator for ApiKeys {
    fn authenticate<'a>(
        &'a self,
        request: &'a Parts,
    ) -> Pin<Box<dyn Future<Output = Result<Principal, ApiError>> + Send + 'a>> {
        Box::pin(async {
            let Some(key) = sent_key(&request.headers) else {
                return Err(unauthorized("send a key as `Authorization: Bearer …`, or as `X-Api-Key`"));
            };
            // Every key is looked at to its end, so that time tells nothing about them.
            let mut found = None;
            for (known, principal) in &self.0 {
                if same(known.as_bytes(), key.as_bytes()) {
                    found = Some(principal.clone());
                }
            }
            found.ok_or_else(|| {
                ApiError::new(StatusCode::UNAUTHORIZED, "auth.unknown", "the key is not known here")
            })
        })
    }
}

pub(crate) fn sent_key(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = bearer.and_then(|value| {
        let (scheme, key) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
    });
    bearer.or_else(|| headers.get("x-api-key")?.to_str().ok())
}

fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
