//! Who is let in, and from where.

use headwater_server::{ApiKeys, AuthenticatorChain, Jwt, Options};
use serde_json::json;

use crate::{
    harness::{TestResponse, World},
    talk::says,
};

fn refused(said: &TestResponse, status: u16, code: &str) {
    assert_eq!((said.status, said.code().as_deref()), (status, Some(code)), "{}", said.body);
    let json = said.json();
    // The clients of a dialect may read another form.
    let message = json["error"].as_str().or(json["error"]["message"].as_str());
    assert!(message.is_some_and(|message| !message.is_empty()), "{}", said.body);
}

#[tokio::test]
async fn page_of_a_rebound_name_is_refused_without_keys() {
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
async fn page_of_another_origin_cannot_change_anything() {
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
async fn cors_preflight_lists_allowed_origins_without_a_key() {
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
    let options = Options::default().authenticator(
        AuthenticatorChain::new().or(ApiKeys::new().add("ann", "a-key")).or(Jwt::hs256(SECRET).unwrap()),
    );
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
    assert_eq!(mine.json()["runs"], json!([]), "`ann` of the tokens is not `ann` of the keys");
    let other = world.get_with("/v1/runs", &[("authorization", &token("bob", 4_102_444_800))]).await;
    assert_eq!(other.json()["runs"], json!([]));
    refused(&world.get_with("/v1/runs", &[("authorization", &token("ann", 1))]).await, 401, "auth.expired");
}

#[tokio::test]
async fn routes_without_data_of_principals_need_no_key() {
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

#[tokio::test]
async fn application_answers_for_unknown_paths_and_a_merged_router_does_not() {
    use axum::{Router, routing::get};
    let world = World::new().await;
    let unknown = world.get_with("/v1/nope", &[("x-request-id", "r-1")]).await;
    refused(&unknown, 404, "route.unknown");
    assert_eq!(unknown.header("x-request-id"), "r-1");
    refused(&world.get_with("/v1/nope", &[("host", "evil.test")]).await, 403, "host.refused");
    let method = world.delete_with("/v1/runs", &[]).await;
    refused(&method, 405, "method.unsupported");
    assert_eq!(method.header("allow"), "GET,HEAD,POST");

    let own = Router::new()
        .route("/about", get(|| async { "mine" }))
        .fallback(|| async { (axum::http::StatusCode::NOT_FOUND, "my own") });
    for app in [own.clone().merge(world.server.router()), world.server.router().merge(own)] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(headwater_server::serve(listener, app, std::future::pending()));
        let get = async |path: &str| {
            let said =
                world.http.get(format!("{base}{path}")).header("host", "evil.test").send().await.unwrap();
            (said.status().as_u16(), said.headers().contains_key("x-request-id"), said.text().await.unwrap())
        };
        assert_eq!(get("/about").await, (200, false, "mine".to_owned()));
        assert_eq!(get("/nowhere").await, (404, false, "my own".to_owned()));
        let guarded = get("/v1/runs").await;
        assert_eq!((guarded.0, guarded.1), (403, true), "its own routes are guarded");
        task.abort();
    }
}

#[tokio::test]
async fn page_beside_the_routes_is_behind_the_guard_and_needs_no_key() {
    use axum::{Router, routing::get};
    let options = Options::default().authenticator(ApiKeys::new().add("ann", "a-key")).host("agents.test");
    let world = World::with(options).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let app = world.server.application(Router::new().route("/", get(|| async { "page" })));
    let task = tokio::spawn(headwater_server::serve(listener, app, std::future::pending()));
    let ask = |host: &'static str| world.http.get(format!("{base}/")).header("host", host).send();
    let page = ask("agents.test").await.unwrap();
    assert_eq!(page.status().as_u16(), 200);
    assert_eq!(page.headers()["x-content-type-options"], "nosniff");
    assert_eq!(ask("evil.test").await.unwrap().status().as_u16(), 403);
    task.abort();
}

#[tokio::test]
async fn every_answer_has_the_headers_that_browsers_need() {
    let world = World::new().await;
    let stream = world.post("/v1/ai-sdk/chat", &says("ai-sdk", "c", "u1", "hello")).await;
    assert_eq!(stream.header("cache-control"), "no-cache, no-transform", "a stream keeps its own");
    let document = world.get("/openapi.json").await;
    for said in [
        &stream,
        &document,
        &world.get("/v1/runs").await,
        &world.get("/v1/runs/none").await,
        &world.get("/nowhere").await,
        &world.get_with("/v1/runs", &[("host", "evil.test")]).await,
        &world.delete_with("/v1/runs", &[]).await,
    ] {
        assert_eq!(said.header("x-content-type-options"), "nosniff");
        assert_eq!(said.header("referrer-policy"), "no-referrer");
        assert_eq!(said.header("cross-origin-resource-policy"), "same-origin");
        assert!(said.header("content-security-policy").starts_with("default-src 'none'"));
        assert!(!said.header("x-request-id").is_empty());
        assert!(!said.header("cache-control").is_empty());
    }
    assert_eq!(world.get("/v1/runs").await.header("cache-control"), "no-store");
    let tag = document.header("etag");
    let again = world.get_with("/openapi.json", &[("if-none-match", tag)]).await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let changed = world.get_with("/openapi.json", &[("if-none-match", "\"other\"")]).await;
    assert_eq!((changed.status, &changed.body), (200, &document.body));
}

#[tokio::test]
async fn stream_ends_when_the_token_of_its_reader_expires() {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    const SECRET: &[u8] = b"a secret of at least thirty-two bytes";
    let tokens = Jwt::hs256(SECRET).unwrap().leeway(Duration::ZERO);
    let world = World::with(Options::default().authenticator(tokens)).await;
    let token = |seconds: u64| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({ "sub": "ann", "exp": now + seconds }).to_string();
        let signed =
            format!("{}.{}", URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#), URL_SAFE_NO_PAD.encode(claims));
        let tag = ring::hmac::sign(&ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET), signed.as_bytes());
        format!("Bearer {signed}.{}", URL_SAFE_NO_PAD.encode(tag))
    };
    let long = token(3_600);
    let begun =
        world.post_with("/v1/runs", &json!({ "input": "let me choose" }), &[("authorization", &long)]).await;
    let path = format!("/v1/runs/{}/events?until=end", begun.json()["run"].as_str().unwrap());
    // The run waits for an answer that never comes, so only the token ends its stream.
    let short = token(2);
    let headers = [("authorization", short.as_str())];
    let ends = world.get_with(&path, &headers);
    let said = tokio::time::timeout(Duration::from_secs(60), ends).await.expect("the stream continues");
    assert_eq!(said.status, 200, "{}", said.body);
    assert!(!said.ids().is_empty(), "it was a stream: {}", said.body);
    refused(&world.get_with(&path, &[("authorization", &short)]).await, 401, "auth.expired");
}

#[tokio::test]
async fn ids_that_are_not_text_are_refused() {
    let world = World::new().await;
    let begun = world.post("/v1/runs", &json!({ "input": "hello" })).await.json();
    let events = format!("{}/v1/runs/{}/events", world.base, begun["run"].as_str().unwrap());
    let ids = ["last-event-id", "x-run-id", "idempotency-key"];
    for name in ids {
        let value = reqwest::header::HeaderValue::from_bytes("\u{2603}".as_bytes()).unwrap();
        let said = world.http.get(&events).header(name, value).send().await.unwrap();
        assert_eq!(said.status().as_u16(), 400, "{name}");
        assert!(said.text().await.unwrap().contains("header.invalid"), "{name}");
    }
}

#[tokio::test]
async fn pages_elsewhere_may_send_their_own_headers_and_cookies_where_it_is_set() {
    let told = async |headers: &[&str], credentials| {
        let mut options = Options::default().origin("https://app.test");
        options.cors_headers = headers.iter().map(ToString::to_string).collect();
        options.cors_credentials = credentials;
        let world = World::with(options).await;
        let request = world.http.request(reqwest::Method::OPTIONS, format!("{}/v1/ai-sdk/chat", world.base));
        let request =
            request.header("origin", "https://app.test").header("access-control-request-method", "POST");
        let told = request.header("access-control-request-headers", "x-tenant").send().await.unwrap();
        let header = |name: &str| told.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        let sent = header("access-control-allow-headers").unwrap_or_default();
        (sent.contains("x-tenant"), header("access-control-allow-credentials").as_deref() == Some("true"))
    };
    assert_eq!(told(&[], false).await, (false, false));
    assert_eq!(told(&["X-Tenant"], true).await, (true, true));
    assert_eq!(told(&["*"], false).await, (true, false));
}
