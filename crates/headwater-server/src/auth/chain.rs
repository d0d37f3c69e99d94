//! Several authenticators in a row.

use axum::http::request::Parts;

use super::{AuthFuture, Authenticator, unauthorized};

/// Several authenticators: the first one that recognises the request decides.
///
/// Principal names share one namespace. Those of tokens start with `jwt:` unless
/// [`Jwt::prefix`](super::Jwt::prefix) changes that, so `ann` of the API keys and `ann` of the tokens are two
/// principals. Two token authenticators need two prefixes to be distinct.
///
/// ```
/// use headwater_server::{ApiKeys, Jwt, AuthenticatorChain};
///
/// let keys = ApiKeys::new().add("ann", "a long secret");
/// let tokens = Jwt::hs256(b"a secret of at least thirty-two bytes").unwrap();
/// let either = AuthenticatorChain::new().or(keys).or(tokens);
/// ```
#[derive(Debug, Default)]
pub struct AuthenticatorChain(Vec<Box<dyn Authenticator>>);

impl AuthenticatorChain {
    /// No authenticator: every request is rejected.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an authenticator, used when those before it do not recognise the request.
    #[must_use]
    pub fn or(mut self, authenticator: impl Authenticator + 'static) -> Self {
        self.0.push(Box::new(authenticator));
        self
    }
}

impl Authenticator for AuthenticatorChain {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> AuthFuture<'a> {
        Box::pin(async move {
            let mut refusal = None;
            for authenticator in &self.0 {
                match authenticator.authenticate(request).await {
                    Ok(principal) => return Ok(principal),
                    // Keep the most specific error: an expired token is more specific than an unknown key.
                    Err(error) if refusal.is_none() || !is_vague(error.code()) => refusal = Some(error),
                    Err(_) => {}
                }
            }
            Err(refusal
                .unwrap_or_else(|| unauthorized("the server has no keys yet, so it accepts no requests")))
        })
    }

    fn is_open(&self) -> bool {
        self.0.iter().any(|authenticator| authenticator.is_open())
    }
}

fn is_vague(code: &str) -> bool {
    matches!(code, "auth.missing" | "auth.unknown")
}
