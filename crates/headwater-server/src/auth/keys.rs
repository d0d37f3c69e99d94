//! Keys that are handed out by hand.

use std::{fmt, sync::Arc};

use axum::http::request::Parts;
use sha2::{Digest as _, Sha256};

use super::{Authenticated, Authenticator, Principal, refused, sent_key, unauthorized};

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
    /// No keys: nobody may ask.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a principal a key. The key itself is not kept, only its hash. An empty key is not taken.
    #[must_use]
    pub fn add(mut self, principal: impl Into<Arc<str>>, key: impl AsRef<str>) -> Self {
        if !key.as_ref().is_empty() {
            self.0.push((hash(key.as_ref()), Principal::new(principal)));
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
    fn authenticate<'a>(&'a self, request: &'a Parts) -> Authenticated<'a> {
        Box::pin(async {
            let Some(key) = sent_key(&request.headers) else {
                return Err(unauthorized("send a key as `Authorization: Bearer …`, or as `X-Api-Key`"));
            };
            let sent = hash(key);
            // Every hash is looked at to its end, so that time tells nothing about them.
            let mut found = None;
            for (known, principal) in &self.0 {
                if same(known, &sent) {
                    found = Some(principal.clone());
                }
            }
            found.ok_or_else(|| refused("auth.unknown", "the key is not known here: ask for a new one"))
        })
    }
}

fn hash(key: &str) -> Hash {
    Sha256::digest(key.as_bytes()).into()
}

fn same(one: &Hash, other: &Hash) -> bool {
    one.iter().zip(other).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
