//! The plain page at `/`: a small chat, and the endpoints.

use axum::{
    Router,
    http::{HeaderName, header},
    response::{Html, IntoResponse},
    routing::get,
};
use headwater_server::Server;
use serde_json::json;

use super::lines::LINES;

const PAGE: &str = include_str!("page.html");

/// What the page may do: talk to this server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page, for a server with these agents.
pub(crate) fn routes(server: Server, default: String, keys: bool) -> Router {
    let page = move || {
        let lines: Vec<_> =
            LINES.iter().map(|line| json!({ "name": line.dialect, "line": line.curl("$BASE") })).collect();
        let known = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "agents": server.agents().names(),
            "agent": default,
            "keys": keys,
            "lines": lines,
        });
        // A name could end the script element.
        let known = known.to_string().replace('<', "\\u003c");
        let headers: [(HeaderName, &str); 3] = [
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        let answer = (headers, Html(PAGE.replacen("/*SERVER*/", &known, 1))).into_response();
        std::future::ready(answer)
    };
    Router::new().route("/", get(page))
}
