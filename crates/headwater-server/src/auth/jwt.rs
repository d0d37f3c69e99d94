//! JSON Web Tokens signed by another party.
//!
//! Verified with `ring`, which TLS depends on already, and not with a JWT crate: `docs/security.md` has the
//! reasons. Only four algorithms are needed, each with a key bound to it.

mod key;
mod key_set;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::http::{StatusCode, request::Parts};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Map, Value};

pub use key::KeyError;
use key::{Algorithm, Origin, VerificationKey};
use key_set::KeySet;
pub use key_set::{KeyFetch, PublishedKeys};

use super::{AuthFuture, Authenticator, Principal, refused, sent_key, unauthorized};
use crate::ApiError;

/// The longest token that is read.
const LONGEST: usize = 16 << 10;

/// The prefix of token principals, so that none equals a principal of API keys.
const PREFIX: &str = "jwt:";

/// The types of tokens (`typ`) that are accepted, beside no type at all.
const TYPES: [&str; 2] = ["JWT", "at+jwt"];

/// Tokens signed with HS256, RS256, ES256 or EdDSA, sent as `Authorization: Bearer …`.
///
/// A token must expire. If it has an audience, the server must be part of it. The principal is `jwt:` and the
/// claim `sub`; if several issuers are accepted, it includes the issuer.
///
/// ```
/// use headwater_server::{Jwt, Options};
///
/// let tokens = Jwt::hs256(b"a secret of at least thirty-two bytes")?
///     .issuer("https://login.example.com")
///     .audience("headwater");
/// let options = Options::default().authenticator(tokens);
/// # Ok::<(), headwater_server::KeyError>(())
/// ```
#[derive(Clone)]
pub struct Jwt {
    keys: Arc<KeySet>,
    issuers: Vec<String>,
    audiences: Vec<String>,
    leeway: Duration,
    claim: String,
    prefix: String,
    /// The claim of operators, and the value that it must have.
    operator_claim: Option<(String, String)>,
    /// The accepted types of tokens; otherwise the usual ones.
    types: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct JwtHeader {
    alg: String,
    typ: Option<String>,
    kid: Option<String>,
    crit: Option<Value>,
}

impl JwtHeader {
    fn read(text: &str) -> Option<Self> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
    }
}

impl Jwt {
    /// Tokens that are signed by HS256 with a shared secret.
    ///
    /// # Errors
    /// When the secret has less than 32 bytes: it could be guessed from one token.
    pub fn hs256(secret: &[u8]) -> Result<Self, KeyError> {
        Ok(Self::with(vec![VerificationKey::secret(secret, None)?]))
    }

    /// Tokens that are signed with the private half of a public key in PEM: RS256 by RSA, ES256 by P-256,
    /// EdDSA by Ed25519.
    ///
    /// # Errors
    /// When there is no such key in it.
    pub fn public_key(pem: &str) -> Result<Self, KeyError> {
        Ok(Self::with(vec![VerificationKey::from_pem(pem)?]))
    }

    /// Tokens that are signed with one of the keys of a JSON Web Key Set, as an issuer publishes it. Keys that are
    /// for something else are left out.
    ///
    /// # Errors
    /// When the text is no such set, or none of its keys can be used.
    pub fn jwks(text: &str) -> Result<Self, KeyError> {
        Ok(Self::with(key::set(text, Origin::Local)?))
    }

    /// As [`jwks`](Self::jwks), for a set published by its issuer, which may change. It is fetched again when
    /// tokens arrive before it reaches its [maximum age](Self::max_age), and when a token has an unknown key
    /// id, at most once a minute. Secrets (`oct`) in it are ignored.
    ///
    /// ```
    /// use headwater_server::{Jwt, PublishedKeys};
    ///
    /// # fn keys(first: String) -> Result<Jwt, headwater_server::KeyError> {
    /// Jwt::published(first.into(), || {
    ///     Box::pin(async { Ok(PublishedKeys::from(std::fs::read_to_string("/etc/keys.json")?)) })
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the text is not such a set, or has no usable key.
    pub fn published(
        first: PublishedKeys,
        fetch: impl Fn() -> KeyFetch + Send + Sync + 'static,
    ) -> Result<Self, KeyError> {
        let keys = KeySet::published(&first, fetch)?;
        Ok(Self { keys: Arc::new(keys), ..Self::with(Vec::new()) })
    }

    /// Sets how long a published set is used before it is fetched again: 10 minutes. Its issuer may shorten
    /// this with `Cache-Control: max-age`. A key removed from the set is refused after that time; while
    /// fetching fails, the last set is used for one more hour, and after that no token is accepted.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        // Nothing else has the set before the first request.
        if let Some(keys) = Arc::get_mut(&mut self.keys) {
            keys.set_max_age(age);
        }
        self
    }

    fn with(keys: Vec<VerificationKey>) -> Self {
        Self {
            keys: Arc::new(KeySet::new(keys)),
            issuers: Vec::new(),
            audiences: Vec::new(),
            leeway: Duration::from_secs(60),
            claim: "sub".to_owned(),
            prefix: PREFIX.to_owned(),
            operator_claim: None,
            types: None,
        }
    }

    /// Accepts tokens of this issuer (`iss`); may be called for several, whose principals then differ by
    /// issuer. Otherwise `iss` is ignored: all holders of the key count as one issuer.
    #[must_use]
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuers.push(issuer.into());
        self
    }

    /// Takes tokens for this audience (`aud`); may be called for several. Otherwise those that name none.
    #[must_use]
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Sets the tolerated clock skew: one minute.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway;
        self
    }

    /// Sets the claim with the principal: `sub`.
    #[must_use]
    pub fn principal_claim(mut self, claim: impl Into<String>) -> Self {
        self.claim = claim.into();
        self
    }

    /// Sets the prefix of the principals: `jwt:`, which distinguishes them from those of
    /// [`ApiKeys`](super::ApiKeys). With an empty prefix `ann` of the tokens equals `ann` of the keys.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Makes the principals [operators](Principal::operator) whose tokens have a claim with this value: as its text, as one of its
    /// words (as in `scope`), or in its list. Otherwise no token is an operator's.
    #[must_use]
    pub fn operator_claim(mut self, claim: impl Into<String>, value: impl Into<String>) -> Self {
        self.operator_claim = Some((claim.into(), value.into()));
        self
    }

    fn is_operator(&self, claims: &Map<String, Value>) -> bool {
        let Some((claim, value)) = &self.operator_claim else { return false };
        match claims.get(claim) {
            Some(Value::String(text)) => text.split_whitespace().any(|word| word == value),
            Some(Value::Array(items)) => items.iter().any(|item| item.as_str() == Some(value)),
            _ => false,
        }
    }

    /// Takes tokens of these types (`typ`) only, such as `at+jwt` for access tokens. Otherwise `JWT`, `at+jwt` and tokens without
    /// a type.
    #[must_use]
    pub fn types<T: Into<String>>(mut self, types: impl IntoIterator<Item = T>) -> Self {
        self.types = Some(types.into_iter().map(Into::into).collect());
        self
    }

    fn accepts_type(&self, typ: Option<&str>) -> bool {
        // A media type may be written without its first half.
        let short = |name: &str| name.to_ascii_lowercase().trim_start_matches("application/").to_owned();
        let same = |accepted: &str| typ.is_some_and(|typ| short(typ) == short(accepted));
        match &self.types {
            Some(types) => types.iter().any(|accepted| same(accepted)),
            None => typ.is_none() || TYPES.into_iter().any(same),
        }
    }

    /// The principal of a name that a token holds.
    fn principal(&self, claims: &Map<String, Value>, name: &str) -> Principal {
        let prefix = &self.prefix;
        let issuer = claims.get("iss").and_then(Value::as_str).filter(|_| self.issuers.len() > 1);
        match issuer {
            // Without `|` in the first part, no two pairs are written alike.
            Some(issuer) => {
                let issuer = issuer.replace('%', "%25").replace('|', "%7C");
                Principal::new(format!("{prefix}{issuer}|{name}"))
            }
            None => Principal::new(format!("{prefix}{name}")),
        }
    }

    fn verify(&self, token: &str, now: u64) -> Result<Principal, ApiError> {
        let parts: Vec<_> = token.split('.').collect();
        let &[header, claims, signature] = parts.as_slice() else {
            return Err(refused("auth.unknown", "the value of `Authorization: Bearer …` is not a token"));
        };
        let invalid = |what: &str| refused("auth.invalid", format!("the token is not valid: {what}"));
        if token.len() > LONGEST {
            return Err(invalid("it is too long"));
        }
        let header = JwtHeader::read(header).ok_or_else(|| invalid("its header cannot be read"))?;
        if header.crit.is_some() {
            return Err(invalid("it needs an extension that is not known here"));
        }
        if !self.accepts_type(header.typ.as_deref()) {
            return Err(invalid("its type (`typ`) is not one that is accepted here"));
        }
        let algorithm = Algorithm::named(&header.alg)
            .ok_or_else(|| invalid("it must be signed by HS256, RS256, ES256 or EdDSA"))?;
        let signature =
            URL_SAFE_NO_PAD.decode(signature).map_err(|_| invalid("its signature cannot be read"))?;
        let signed = token.rsplit_once('.').map_or("", |(signed, _)| signed).as_bytes();
        let keys = self.keys.keys();
        let mut fitting = keys.iter().filter(|key| key.is_for(algorithm, header.kid.as_deref()));
        if !fitting.any(|key| key.verifies(signed, &signature)) {
            return Err(invalid("its signature is not by a key that is known here"));
        }
        let claims = URL_SAFE_NO_PAD.decode(claims).ok();
        let claims: Map<String, Value> = claims
            .and_then(|claims| serde_json::from_slice(&claims).ok())
            .ok_or_else(|| invalid("its claims cannot be read"))?;
        let expires = self.check(&claims, now)?;
        let name = match claims.get(&self.claim) {
            Some(Value::String(name)) if !name.is_empty() => name.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => return Err(invalid(&format!("its claim `{}` is missing or empty", self.claim))),
        };
        let mut principal = self.principal(&claims, &name);
        if self.is_operator(&claims) {
            principal = principal.operator();
        }
        let principal = principal.with_claims(claims);
        Ok(match expires {
            Some(time) => principal.expires(time),
            None => principal,
        })
    }

    /// Checks the claims, and returns the expiry of the token.
    fn check(&self, claims: &Map<String, Value>, now: u64) -> Result<Option<SystemTime>, ApiError> {
        let invalid = |what: &str| refused("auth.invalid", format!("the token is not valid: {what}"));
        #[expect(clippy::cast_precision_loss, reason = "seconds of this millennium are exact")]
        let (now, leeway) = (now as f64, self.leeway.as_secs_f64());
        let expires = match claims.get("exp").map(Value::as_f64) {
            Some(Some(expires)) if now < expires + leeway => expires + leeway,
            Some(Some(_)) => return Err(refused("auth.expired", "the token has expired: get a new one")),
            Some(None) | None => return Err(invalid("it must say in `exp` when it expires")),
        };
        match claims.get("nbf").map(Value::as_f64) {
            None => {}
            Some(Some(begins)) if now + leeway >= begins => {}
            Some(_) => return Err(invalid("it is not valid yet")),
        }
        let issuer = claims.get("iss").and_then(Value::as_str);
        if !self.issuers.is_empty() && !self.issuers.iter().any(|known| issuer == Some(known)) {
            return Err(invalid("its issuer is not one that is trusted here"));
        }
        let named: Vec<_> = match claims.get("aud") {
            Some(Value::String(one)) => vec![one.as_str()],
            Some(Value::Array(several)) if several.iter().all(Value::is_string) => {
                several.iter().filter_map(Value::as_str).collect()
            }
            Some(_) => return Err(invalid("its `aud` cannot be read")),
            None => Vec::new(),
        };
        let addressed = self.audiences.iter().any(|known| named.contains(&known.as_str()));
        // A token without an audience is only accepted if no audience is required.
        let anyone = named.is_empty() && self.audiences.is_empty();
        if !addressed && !anyone {
            return Err(invalid("it is for another audience"));
        }
        let expires = Duration::try_from_secs_f64(expires).ok();
        // A time beyond the clock's range never expires.
        Ok(expires.and_then(|since| UNIX_EPOCH.checked_add(since)))
    }
}

impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwt")
            .field("keys", &self.keys.keys().len())
            .field("issuers", &self.issuers)
            .field("audiences", &self.audiences)
            .field("claim", &self.claim)
            .finish_non_exhaustive()
    }
}

impl Authenticator for Jwt {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> AuthFuture<'a> {
        Box::pin(async {
            let Some(token) = sent_key(&request.headers) else {
                return Err(unauthorized("send a token as `Authorization: Bearer …`"));
            };
            if token.len() <= LONGEST
                && let Some(header) = token.split('.').next().and_then(JwtHeader::read)
                && Algorithm::named(&header.alg).is_some()
            {
                self.keys.refresh(header.kid.as_deref()).await.map_err(|_| {
                    let message = "the keys of tokens are too old and cannot be fetched: try again later";
                    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "auth.unavailable", message)
                        .retry_after(60)
                })?;
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
            self.verify(token, now)
        })
    }
}

#[cfg(test)]
mod tests;
