//! The studio at `/`: chats, and what their runs do. Its files are built from `web/studio` and committed.

mod files;

use axum::{
    Router,
    http::{HeaderValue, header},
    response::IntoResponse,
    routing::get,
};

use self::files::{FILES, StudioFile};

/// The content security policy: the page may load its own files and call this server, nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) fn routes() -> Router {
    FILES.iter().fold(Router::new(), |router, file| {
        router.route(file.path, get(move || async move { response(file) }))
    })
}

fn response(file: &'static StudioFile) -> impl IntoResponse {
    // All other files have a content hash in their name.
    let cache = if file.path == "/" { "no-cache" } else { "public, max-age=31536000, immutable" };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(file.media_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static(cache)),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    ];
    (headers, file.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> &'static str {
        std::str::from_utf8(FILES[0].bytes).unwrap()
    }

    #[test]
    fn studio_page_has_no_inline_script() {
        assert!(!POLICY.contains("unsafe"));
        let modules = page().matches("<script type=\"module\" crossorigin src=").count();
        assert_eq!(page().matches("<script").count(), modules);
        for inline in ["<style", " style=", " onclick=", " onerror=", " onload=", "javascript:"] {
            assert!(!page().contains(inline), "browsers do not run {inline}");
        }
    }

    #[test]
    fn studio_files_named_by_the_page_are_served() {
        let names: Vec<_> = page().split("\"./").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(names.len() >= 2, "{names:?}");
        for name in names {
            assert!(FILES.iter().any(|file| file.path.strip_prefix('/') == Some(name)), "{name}");
        }
    }
}
