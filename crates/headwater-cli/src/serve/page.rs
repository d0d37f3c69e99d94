//! The plain page at `/`: a small chat, and the endpoints.

use axum::{
    Router,
    http::{HeaderValue, header},
    response::{Html, IntoResponse},
    routing::get,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use headwater_server::Server;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::lines::LINES;
use crate::failure::Failure;

const PAGE: &str = include_str!("page.html");

/// What the page may do: run its own script and style, talk to this server, and nothing else.
fn policy() -> Result<String, Failure> {
    let (script, style) = (hash_of("script")?, hash_of("style")?);
    Ok(format!(
        "default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ))
}

/// The hash by which a browser knows the page's own script or style.
fn hash_of(element: &str) -> Result<String, Failure> {
    let (begin, end) = (format!("<{element}>"), format!("</{element}>"));
    let text = PAGE.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end));
    let (text, _) = text.ok_or_else(|| Failure::new(format!("the page has no <{element}>")))?;
    Ok(STANDARD.encode(Sha256::digest(text)))
}

/// The page, for a server with these agents.
pub(crate) fn routes(server: Server, default: String, keys: bool) -> Result<Router, Failure> {
    let policy: HeaderValue =
        policy()?.parse().map_err(|error| Failure::new(format!("the page has no policy: {error}")))?;
    let page = move || {
        let lines = LINES
            .iter()
            .map(|line| json!({ "name": line.dialect, "path": line.path(), "line": line.curl("$BASE") }));
        let lines: Vec<_> = lines.collect();
        let known = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "agents": server.agents().names(),
            "agent": default,
            "keys": keys,
            "lines": lines,
        });
        // A name could end the script element.
        let known = known.to_string().replace('<', "\\u003c");
        let headers = [(header::CONTENT_SECURITY_POLICY, policy.clone())];
        let answer = (headers, Html(PAGE.replacen("/*SERVER*/", &known, 1))).into_response();
        std::future::ready(answer)
    };
    Ok(Router::new().route("/", get(page)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_needs_no_inline_script_or_style() {
        let policy = policy().unwrap();
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(PAGE.matches("<script>").count(), 1, "a second script has no hash");
        assert_eq!(PAGE.matches("<style>").count(), 1);
        for attribute in [" style=", " onclick=", " onerror=", " onload=", "javascript:"] {
            assert!(!PAGE.contains(attribute), "{attribute} is not run by browsers");
        }
    }
}
