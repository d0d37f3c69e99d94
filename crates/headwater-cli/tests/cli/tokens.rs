//! `headwater serve` with JSON Web Tokens: key sets from a file and from a URL, and refused tokens.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};

use crate::server::{Answer, Server, command};

/// Signs tokens.
struct Issuer {
    pair: Ed25519KeyPair,
    kid: &'static str,
}

impl Issuer {
    fn new(kid: &'static str) -> Self {
        let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self { pair: Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap(), kid }
    }

    /// The public key as a JSON Web Key.
    fn key(&self) -> Value {
        let x = URL_SAFE_NO_PAD.encode(self.pair.public_key());
        json!({ "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": self.kid, "x": x })
    }

    fn token(&self, claims: &Value) -> String {
        let signed = unsigned(&json!({ "alg": "EdDSA", "kid": self.kid }), claims);
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(self.pair.sign(signed.as_bytes())))
    }
}

fn unsigned(header: &Value, claims: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", encode(header), encode(claims))
}

fn set(issuers: &[&Issuer]) -> String {
    json!({ "keys": issuers.iter().map(|issuer| issuer.key()).collect::<Vec<_>>() }).to_string()
}

/// Claims that expire in some hours, or expired some hours ago.
fn claims(name: &str, hours: i64) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let expires = i64::try_from(now).unwrap() + hours * 3_600;
    json!({ "sub": name, "iss": "https://login.example", "aud": "guides", "exp": expires })
}

fn ask(server: &Server, token: &str) -> Answer {
    server.ask("GET", "/v1/runs", &[("authorization", &format!("Bearer {token}"))], "")
}

const MEANT: [&str; 4] = ["--set", "jwt.issuer=https://login.example", "--set", "jwt.audience=guides"];

#[test]
fn token_of_a_key_file_is_accepted_and_others_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (issuer, stranger) = (Issuer::new("one"), Issuer::new("one"));
    let path = folder.path().join("keys.json");
    std::fs::write(&path, set(&[&issuer])).unwrap();
    let keys = format!("jwt.jwks={}", path.display());
    let args = [&["--set", &keys, "--store", "memory:"][..], &MEANT].concat();
    let server = Server::start(&folder.path().join("data"), &args);
    assert!(server.greeting.contains("clients need an API key"), "{}", server.greeting);

    let good = issuer.token(&claims("ann", 1));
    assert_eq!(ask(&server, &good).status, 200);
    let begun = server.ask(
        "POST",
        "/v1/runs",
        &[("authorization", &format!("Bearer {good}"))],
        r#"{"agent":"table","input":"planets"}"#,
    );
    let run = format!("/v1/runs/{}", begun.json()["run"].as_str().unwrap());
    let asks = |name: &str| {
        let token = format!("Bearer {}", issuer.token(&claims(name, 1)));
        server.ask("GET", &run, &[("authorization", &token)], "").status
    };
    assert_eq!((asks("ann"), asks("bob")), (200, 404), "a run belongs to the token's principal");

    let mut elsewhere = claims("ann", 1);
    elsewhere["aud"] = json!("others");
    let mut by_another = claims("ann", 1);
    by_another["iss"] = json!("https://login.elsewhere");
    let unsigned = format!("{}.", unsigned(&json!({ "alg": "none" }), &claims("ann", 1)));
    let (rest, last) = good.split_at(good.len() - 4);
    for (what, token, code) in [
        ("expired", issuer.token(&claims("ann", -1)), "auth.expired"),
        ("for another audience", issuer.token(&elsewhere), "auth.invalid"),
        ("by another issuer", issuer.token(&by_another), "auth.invalid"),
        ("by another key", stranger.token(&claims("ann", 1)), "auth.invalid"),
        ("not signed", unsigned, "auth.invalid"),
        ("tampered with", format!("{rest}{}", if last == "AAAA" { "BBBB" } else { "AAAA" }), "auth.invalid"),
        ("no token", "0123456789abcdef".to_owned(), "auth.unknown"),
    ] {
        let refused = ask(&server, &token);
        assert_eq!((refused.status, &refused.json()["code"]), (401, &json!(code)), "{what}");
    }
    assert_eq!(server.get("/v1/runs").json()["code"], "auth.missing");
}

/// Publishes key sets one after the other, the last one repeatedly; returns the URL and the number of
/// requests.
fn publish(sets: Vec<String>) -> (String, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/keys.json", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    // The thread ends with the test process.
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            assert!(lines.next().unwrap().starts_with("GET /keys.json "));
            assert!(lines.any(|line| line.is_empty()), "a whole request");
            let mut count = count.lock().unwrap();
            let body = &sets[(*count).min(sets.len() - 1)];
            *count += 1;
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
            write!(&stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    (url, asked)
}

#[test]
fn key_set_is_refetched_for_unknown_keys_at_a_limited_rate() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new, stranger) = (Issuer::new("old"), Issuer::new("new"), Issuer::new("stranger"));
    let (url, asked) = publish(vec![set(&[&old]), set(&[&old, &new])]);
    let asked = || *asked.lock().unwrap();
    let keys = format!("jwt.jwks_url={url}");
    let args = [&["--set", &keys, "--store", "memory:"][..], &MEANT].concat();
    let server = Server::start(&folder.path().join("data"), &args);
    assert_eq!(asked(), 1, "the key set is fetched at startup");
    assert_eq!(ask(&server, &old.token(&claims("ann", 1))).status, 200);
    assert_eq!(asked(), 1);
    assert_eq!(ask(&server, &new.token(&claims("ann", 1))).status, 200);
    assert_eq!(asked(), 2);
    for _ in 0..3 {
        assert_eq!(ask(&server, &stranger.token(&claims("ann", 1))).status, 401);
    }
    assert_eq!(asked(), 2, "unknown key names do not cause more requests");
    assert_eq!(ask(&server, &old.token(&claims("ann", 1))).status, 200);
}

#[test]
fn removed_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Issuer::new("old"), Issuer::new("new"));
    let (url, _) = publish(vec![set(&[&old, &new]), set(&[&new])]);
    let keys = format!("jwt.jwks_url={url}");
    let args = [&["--set", &keys, "--set", "jwt.max_age=1s", "--store", "memory:"][..], &MEANT].concat();
    let server = Server::start(&folder.path().join("data"), &args);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while ask(&server, &old.token(&claims("ann", 1))).status != 401 {
        assert!(std::time::Instant::now() < deadline, "it is still accepted");
        thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(ask(&server, &new.token(&claims("ann", 1))).status, 200);
}

#[test]
fn key_principals_and_token_principals_are_distinct() {
    let folder = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("one");
    let path = folder.path().join("keys.json");
    std::fs::write(&path, set(&[&issuer])).unwrap();
    let keys = format!("jwt.jwks={}", path.display());
    let args =
        [&["--set", &keys, "--set", "api_keys=ann=0123456789abcdef", "--store", "memory:"][..], &MEANT]
            .concat();
    let server = Server::start(&folder.path().join("data"), &args);
    let key = ("authorization", "Bearer 0123456789abcdef");
    let begun = server.ask("POST", "/v1/runs", &[key], r#"{"agent":"table","input":"planets"}"#);
    let run = format!("/v1/runs/{}", begun.json()["run"].as_str().unwrap());
    let token = format!("Bearer {}", issuer.token(&claims("ann", 1)));
    assert_eq!(server.ask("GET", &run, &[key], "").status, 200);
    assert_eq!(server.ask("GET", &run, &[("authorization", &token)], "").status, 404);
}

#[test]
fn claims_of_a_token_reach_the_runtime_context() {
    let folder = tempfile::tempdir().unwrap();
    let issuer = Issuer::new("one");
    let path = folder.path().join("keys.json");
    std::fs::write(&path, set(&[&issuer])).unwrap();
    let agent = folder.path().join("plan.yaml");
    let node = r#"{ message: "{{ context.principal }} has the plan {{ context.claims.plan }}" }"#;
    let workflow = format!("workflows: {{ plan: {{ start: ask, nodes: {{ ask: {node} }} }} }}\n");
    std::fs::write(&agent, format!("name: plan\n{workflow}")).unwrap();
    let keys = format!("jwt.jwks={}", path.display());
    let args = [&[agent.to_str().unwrap(), "--set", &keys, "--store", "memory:"][..], &MEANT].concat();
    let server = Server::start(&folder.path().join("data"), &args);
    let mut claims = claims("ann", 1);
    claims["plan"] = json!("gold");
    let token = format!("Bearer {}", issuer.token(&claims));
    let key = ("authorization", token.as_str());
    // Claims in the client's own context change nothing.
    let body = r#"{"input":"hi","context":{"claims":{"plan":"none"},"principal":"eve"}}"#;
    let begun = server.ask("POST", "/v1/runs", &[key], body);
    assert_eq!(begun.status, 201, "{begun:?}");
    let run = begun.json()["run"].as_str().unwrap().to_owned();
    let events = server.ask("GET", &format!("/v1/runs/{run}/events?dialect=kortyx"), &[key], "");
    assert!(events.body.contains("ann has the plan gold"), "{events:?}");
}

#[test]
fn unavailable_keys_are_reported_at_startup() {
    let (url, _) = publish(vec!["{}".to_owned()]);
    // A published key set may be available at the next start; a wrong setting stays wrong.
    let (wrong, temporary) = (Some(2), Some(3));
    for (setting, code, says) in [
        ("jwt.jwks=no/such.json".to_owned(), wrong, "`jwt.jwks`: no/such.json: "),
        ("jwt.jwks_url=http://keys.example/keys.json".to_owned(), wrong, "must begin with `https://`"),
        (
            "jwt.jwks_url=http://127.0.0.1:9/keys.json".to_owned(),
            temporary,
            "`jwt.jwks_url`: http://127.0.0.1:9/keys.json: ",
        ),
        (format!("jwt.jwks_url={url}"), temporary, "`jwt.jwks_url`: "),
        ("jwt.audience=guides".to_owned(), wrong, "have no effect without a key to verify tokens"),
    ] {
        let args = ["serve", "--listen", "127.0.0.1:0", "--store", "memory:", "--set", &setting];
        let output = command().args(args).output().unwrap();
        assert_eq!(output.status.code(), code, "{setting}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains(says), "{told}");
    }
}
