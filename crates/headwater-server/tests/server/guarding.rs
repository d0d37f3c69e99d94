//! Who is let in, and from where.

use headwater_server::{ApiKeys, Jwt, Options, Several};
use serde_json::json;

use crate::{
    harness::{Said, World},
    talk::says,
};

fn refused(said: &Said, status: u16, code: &str) {
    assert_eq!((said.status, said.json()["code"].as_str()), (status, Some(code)), "{}", said.body);
    assert!(said.json()["error"].as_str().is_some_and(|error| !error.is_empty()), "{}", said.body);
}

#[tokio::test]
async fn a_page_whose_name_points_at_this_machine_is_not_answered_without_keys() {
    let world = World::new().await;
    refused(&world.get_with("/v1/runs", &[("host", "evil.test")]).await, 403, "host.refused");
    refused(&world.get_with("/healthz", &[("host", "evil.test:8787")]).await, 403, "host.refused");
    assert_eq!(world.get_with("/v1/runs", &[("host", "localhost:9")]).await.status, 200);
    let keys = Options::default().authenticator(ApiKeys::new().add("ann", "a-key"));
    let world = World::with(keys).await;
    let said = world.get_with("/v1/runs", &[("host", "agents.test"), ("x-api-key", "a-key")]).await;
    assert_eq!(said.status, 200);
}

#[tokio::test]
async fn a_page_elsewhere_cannot_make_its_reader_change_anything() {
    let world = World::with(Options::default().origin("https://app.test")).await;
    let body = says("ai-sdk", "c", "u1", "hello");
    let said = world.post_with("/v1/ai-sdk/chat", &body, &[("origin", "https://evil.test")]).await;
    refused(&said, 403, "origin.refused");
    refused(&world.post_with("/v1/ai-sdk/chat", &body, &[("origin", "null")]).await, 403, "origin.refused");
    let site = world.post_with("/v1/runs", &json!({}), &[("sec-fetch-site", "cross-site")]).await;
    refused(&site, 403, "origin.refused");
    let mut forms = Vec::new();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        forms.push(world.post_with("/v1/ai-sdk/chat", &body, &[("content-type", kind)]).await);
    }
    for form in &forms {
        refused(form, 415, "body.not-json");
    }
    assert_eq!(world.get("/v1/runs").await.json()["runs"], json!([]), "nothing was begun");
    let own = world.base.clone();
    for origin in ["https://app.test", own.as_str()] {
        let said = world.post_with("/v1/ai-sdk/chat", &body, &[("origin", origin)]).await;
        assert_eq!(said.status, 200, "{origin}: {}", said.body);
    }
}

#[tokio::test]
async fn a_browser_is_told_which_pages_elsewhere_may_ask_and_needs_no_key_for_that() {
    let options =
        Options::default().authenticator(ApiKeys::new().add("ann", "a-key")).origin("https://app.test");
    let world = World::with(options).await;
    let preflight = |origin: &'static str| {
        let request = world.http.request(reqwest::Method::OPTIONS, format!("{}/v1/ai-sdk/chat", world.base));
        let request = request.header("origin", origin).header("access-control-request-method", "POST");
        request.header("access-control-request-headers", "authorization,content-type,last-event-id").send()
    };
    let allowed = preflight("https://app.test").await.unwrap();
    assert!(allowed.status().is_success());
    let header = |name: &str| allowed.headers().get(name).unwrap().to_str().unwrap().to_owned();
    assert_eq!(header("access-control-allow-origin"), "https://app.test");
    for name in [
        "authorization",
        "content-type",
        "x-api-key",
        "x-run-id",
        "last-event-id",
        "idempotency-key",
        "x-request-id",
    ] {
        assert!(header("access-control-allow-headers").contains(name), "{name}");
    }
    let other = preflight("https://evil.test").await.unwrap();
    assert!(other.headers().get("access-control-allow-origin").is_none());
    let keys = [("origin", "https://app.test"), ("authorization", "Bearer a-key")];
    let said = world.post_with("/v1/ai-sdk/chat", &says("ai-sdk", "c", "u1", "hello"), &keys).await;
    assert_eq!(said.header("access-control-allow-origin"), "https://app.test");
    for name in ["x-run-id", "x-session-id", "x-request-id"] {
        assert!(said.header("access-control-expose-headers").contains(name), "{name}");
    }
    // A page must be able to read why it was refused.
    let refusal = world.get_with("/v1/runs", &[("origin", "https://app.test")]).await;
    refused(&refusal, 401, "auth.missing");
    assert_eq!(refusal.header("access-control-allow-origin"), "https://app.test");
}

#[tokio::test]
async fn keys_and_tokens_show_who_is_asking() {
    const SECRET: &[u8] = b"a secret of at least thirty-two bytes";
    let options = Options::default()
        .authenticator(Several::new().or(ApiKeys::new().add("ann", "a-key")).or(Jwt::hs256(SECRET).unwrap()));
    let world = World::with(options).await;
    let missing = world.get("/v1/runs").await;
    refused(&missing, 401, "auth.missing");
    assert_eq!(missing.header("www-authenticate"), "Bearer");
    for (name, value, code) in [
        ("authorization", "Bearer wrong", "auth.unknown"),
        ("authorization", "Basic YTpi", "auth.missing"),
        ("authorization", "Bearer a.b.c", "auth.invalid"),
        ("x-api-key", "", "auth.missing"),
    ] {
        refused(&world.get_with("/v1/runs", &[(name, value)]).await, 401, code);
    }
    let token = |subject: &str, expires: u64| {
        use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
        let claims = json!({ "sub": subject, "exp": expires }).to_string();
        let signed =
            format!("{}.{}", URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#), URL_SAFE_NO_PAD.encode(claims));
        let tag = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET), signed.as_bytes());
        format!("Bearer {signed}.{}", URL_SAFE_NO_PAD.encode(tag))
    };
    let begun = world.post_with("/v1/runs", &json!({ "input": "hello" }), &[("x-api-key", "a-key")]).await;
    assert_eq!(begun.status, 201, "{}", begun.body);
    let mine = world.get_with("/v1/runs", &[("authorization", &token("ann", 4_102_444_800))]).await;
    assert_eq!(mine.json()["runs"].as_array().unwrap().len(), 1, "the same person by key and by token");
    let other = world.get_with("/v1/runs", &[("authorization", &token("bob", 4_102_444_800))]).await;
    assert_eq!(other.json()["runs"], json!([]));
    refused(&world.get_with("/v1/runs", &[("authorization", &token("ann", 1))]).await, 401, "auth.expired");
}

#[tokio::test]
async fn what_tells_nothing_about_anybody_needs_no_key() {
    let world = World::with(Options::default().authenticator(ApiKeys::new().add("ann", "a-key"))).await;
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(world.get(path).await.status, 200, "{path}");
    }
    refused(&world.get("/metrics").await, 404, "metrics.off");
    for (method, path) in world.server.routes().into_iter().filter(|(_, path)| path.starts_with("/v1/")) {
        let path = path.replace(['{', '}', '*'], "");
        let said = if method == "GET" {
            world.get(&path).await
        } else if method == "POST" {
            world.post(&path, &json!({})).await
        } else {
            world.delete_with(&path, &[]).await
        };
        refused(&said, 401, "auth.missing");
    }
}
