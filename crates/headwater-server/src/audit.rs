//! The audit log: a line for each access of an operator to data of another principal.

use axum::{extract::MatchedPath, http::request::Parts};

use crate::{Principal, auth::RequestLine, telemetry};

/// The header with the owner on whose behalf an operator sends a request.
pub(crate) const OWNER: &str = "x-headwater-owner";

/// The accessed object. Without either it is a list.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Subject<'a> {
    pub(crate) run: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
}

/// The request of an operator, for its audit lines.
pub(crate) fn request_line(parts: &Parts) -> RequestLine {
    let matched = parts.extensions.get::<MatchedPath>();
    RequestLine {
        method: parts.method.to_string(),
        route: matched.map_or("none", MatchedPath::as_str).to_owned(),
        request: telemetry::request_id_of(&parts.headers),
    }
}

/// Logs that an operator accesses something, unless it is their own. Without an owner it belongs to everyone.
pub(crate) fn access(principal: &Principal, owner: Option<&str>, subject: Subject<'_>) {
    if !principal.is_operator() || owner == Some(principal.id()) {
        return;
    }
    let line = principal.request_line();
    tracing::info!(
        target: "headwater::audit",
        parent: None,
        operator = principal.id(),
        owner = owner.unwrap_or("*"),
        method = line.map_or("", |line| line.method.as_str()),
        route = line.map_or("", |line| line.route.as_str()),
        run = subject.run,
        session = subject.session,
        request = line.map_or("", |line| line.request.as_str()),
        "operator access"
    );
}
