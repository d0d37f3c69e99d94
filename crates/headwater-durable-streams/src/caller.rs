//! The caller of a request, and the public URL of the server.

use axum::{Extension, http::HeaderMap};

/// Whose streams a request is about. Without it there is one owner for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamOwner(pub String);

/// The owner of the streams of a request.
pub(crate) fn owner_of(owner: Option<Extension<StreamOwner>>) -> String {
    owner.map(|Extension(StreamOwner(owner))| owner).unwrap_or_default()
}

/// The public URL of this server, from the request.
pub(crate) fn base_url(headers: &HeaderMap) -> String {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = named("x-forwarded-proto").filter(|scheme| *scheme == "https").unwrap_or("http");
    format!("{scheme}://{}", named("host").unwrap_or("localhost"))
}
