//! API keys.

use std::{fmt, sync::Arc};

use axum::http::request::Parts;
use sha2::{Digest as _, Sha256};

use super::{AuthFuture, Authenticator, Principal, refused, sent_key, unauthorized};

/// Keys for principals, sent as `Authorization: Bearer …` or `X-Api-Key`. A principal may have several, so that one
/// can be replaced while the other still works.
///
/// ```
/// use headwater_server::{ApiKeys, Options};
///
/// let keys = ApiKeys::new().add("ann", "a long secret").add("bob", "another long secret");
/// let options = Options::default().authenticator(keys);
/// ```
#[derive(Clone, Default)]
pub struct ApiKeys(Vec<(Hash, Principal)>);

type Hash = [u8; 32];

impl ApiKeys {
    /// No keys: every request is rejected.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key of a principal. Only its hash is stored. An empty key is ignored.
    #[must_use]
    pub fn add(self, principal: impl Into<Arc<str>>, key: impl AsRef<str>) -> Self {
        self.with(Principal::new(principal), key.as_ref())
    }

    /// Adds a key for a principal that is an [operator](Principal::operator).
    #[must_use]
    pub fn add_operator(self, principal: impl Into<Arc<str>>, key: impl AsRef<str>) -> Self {
        self.with(Principal::new(principal).operator(), key.as_ref())
    }

    fn with(mut self, principal: Principal, key: &str) -> Self {
        if !key.is_empty() {
            self.0.push((hash(key), principal));
        }
        self
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKeys({} keys)", self.0.len())
    }
}

impl Authenticator for ApiKeys {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> AuthFuture<'a> {
        Box::pin(async {
            let Some(key) = sent_key(&request.headers) else {
                return Err(unauthorized("send a key as `Authorization: Bearer …`, or as `X-Api-Key`"));
            };
            let sent = hash(key);
            // Every hash is compared to its end, so that timing reveals nothing.
            let mut found = None;
            for (known, principal) in &self.0 {
                if same(known, &sent) {
                    found = Some(principal.clone());
                }
            }
            found.ok_or_else(|| refused("auth.unknown", "unknown key: ask for a new one"))
        })
    }
}

fn hash(key: &str) -> Hash {
    Sha256::digest(key.as_bytes()).into()
}

fn same(one: &Hash, other: &Hash) -> bool {
    one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
