//! More than one way to show who is asking.

use axum::http::request::Parts;

use super::{Authenticated, Authenticator, unauthorized};

/// More than one way to show who is asking: the first that knows the request decides.
///
/// The names of principals are one space. Those of tokens begin with `jwt:` unless [`Jwt::prefix`](super::Jwt::prefix) changes that,
/// so `ann` of the API keys and `ann` of the tokens are two principals; two authenticators of tokens need two prefixes to be apart.
///
/// ```
/// use headwater_server::{ApiKeys, Jwt, Several};
///
/// let keys = ApiKeys::new().add("ann", "a long secret");
/// let tokens = Jwt::hs256(b"a secret of at least thirty-two bytes").unwrap();
/// let either = Several::new().or(keys).or(tokens);
/// ```
#[derive(Debug, Default)]
pub struct Several(Vec<Box<dyn Authenticator>>);

impl Several {
    /// No way yet: nobody may ask.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A further way, asked when those before it do not know the request.
    #[must_use]
    pub fn or(mut self, authenticator: impl Authenticator + 'static) -> Self {
        self.0.push(Box::new(authenticator));
        self
    }
}

impl Authenticator for Several {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> Authenticated<'a> {
        Box::pin(async move {
            let mut told = None;
            for authenticator in &self.0 {
                match authenticator.authenticate(request).await {
                    Ok(principal) => return Ok(principal),
                    // What says most about the request: a token that has expired is more than an unknown key.
                    Err(error) if told.is_none() || !is_vague(error.code()) => told = Some(error),
                    Err(_) => {}
                }
            }
            Err(told.unwrap_or_else(|| unauthorized("nobody may ask here yet: the server has no keys")))
        })
    }

    fn is_open(&self) -> bool {
        self.0.iter().any(|authenticator| authenticator.is_open())
    }
}

fn is_vague(code: &str) -> bool {
    matches!(code, "auth.missing" | "auth.unknown")
}
