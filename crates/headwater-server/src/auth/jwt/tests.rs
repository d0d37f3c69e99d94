use ring::hmac;
use serde_json::json;

use super::*;

const SECRET: &[u8] = b"a secret of at least thirty-two bytes";
const RSA: &str = include_str!("tests/rsa.pem");
const P256: &str = include_str!("tests/ec.pem");
const SET: &str = include_str!("tests/jwks.json");
// Signed with the private halves of the keys above, for `ann`, until the year 2100.
const BY_RSA: &str = include_str!("tests/rs256.jwt");
const BY_P256: &str = include_str!("tests/es256.jwt");
const NOW: u64 = 1_800_000_000;

fn token(header: &Value, claims: &Value) -> String {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(header), encode(claims));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))
}

fn hs256(claims: &Value) -> String {
    token(&json!({ "alg": "HS256" }), claims)
}

fn jwt() -> Jwt {
    Jwt::hs256(SECRET).unwrap()
}

fn code(jwt: &Jwt, token: &str) -> String {
    jwt.verify(token, NOW).unwrap_err().code().to_owned()
}

#[test]
fn a_token_of_each_algorithm_names_its_principal() {
    let by_secret = hs256(&json!({ "sub": "ann", "exp": NOW + 60 }));
    assert_eq!(jwt().verify(&by_secret, NOW).unwrap().id(), "jwt:ann");
    let (by_rsa, by_p256) = (BY_RSA.trim(), BY_P256.trim());
    assert_eq!(Jwt::public_key(RSA).unwrap().verify(by_rsa, NOW).unwrap().id(), "jwt:ann");
    assert_eq!(Jwt::public_key(P256).unwrap().verify(by_p256, NOW).unwrap().id(), "jwt:ann");
    let set = Jwt::jwks(SET).unwrap();
    assert_eq!(set.verify(by_rsa, NOW).unwrap().id(), "jwt:ann");
    assert_eq!(set.verify(by_p256, NOW).unwrap().id(), "jwt:ann");
}

#[test]
fn claims_of_a_token_stay_with_its_principal() {
    let claims = json!({ "sub": "ann", "exp": NOW + 60, "plan": "free", "groups": ["staff"] });
    let principal = jwt().prefix("jwt:").verify(&hs256(&claims), NOW).unwrap();
    assert_eq!(Value::from(principal.claims().unwrap().clone()), claims);
    // Who they are is their name alone, and a log has no claims.
    assert_eq!(principal, Principal::new("jwt:ann"));
    assert_eq!(format!("{principal:?}"), r#"Principal("jwt:ann")"#);
}

#[test]
fn a_token_by_ed25519_names_its_principal() {
    use ring::{
        rand::SystemRandom,
        signature::{Ed25519KeyPair, KeyPair as _},
    };
    let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(pair.as_ref()).unwrap();
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let public = pair.public_key().as_ref();
    let signed = format!(
        "{}.{}",
        encode(br#"{"alg":"EdDSA","kid":"ed"}"#),
        encode(json!({ "sub": "ann", "exp": NOW + 60 }).to_string().as_bytes())
    );
    let token = format!("{signed}.{}", encode(pair.sign(signed.as_bytes()).as_ref()));
    let set = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encode(public) }] });
    assert_eq!(Jwt::jwks(&set.to_string()).unwrap().verify(&token, NOW).unwrap().id(), "jwt:ann");
    // The head that every Ed25519 key has in PEM.
    let der = [b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", public].concat();
    let body = base64::engine::general_purpose::STANDARD.encode(der);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
    assert_eq!(Jwt::public_key(&pem).unwrap().verify(&token, NOW).unwrap().id(), "jwt:ann");
    assert_eq!(code(&Jwt::jwks(SET).unwrap(), &token), "auth.invalid");
}

#[test]
fn a_token_with_one_bit_changed_anywhere_is_refused() {
    for (jwt, token) in [
        (jwt(), hs256(&json!({ "sub": "ann", "exp": NOW + 60 }))),
        (Jwt::public_key(RSA).unwrap(), BY_RSA.trim().to_owned()),
        (Jwt::public_key(P256).unwrap(), BY_P256.trim().to_owned()),
    ] {
        jwt.verify(&token, NOW).unwrap();
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] ^= 1;
            let Ok(tampered) = String::from_utf8(bytes) else { continue };
            jwt.verify(&tampered, NOW).unwrap_err();
        }
    }
}

#[test]
fn a_token_cannot_choose_the_algorithm_of_a_key() {
    let claims = json!({ "sub": "ann", "exp": NOW + 60 });
    // Signed by HMAC with the text of a public key, which is public.
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(&json!({ "alg": "HS256" })), encode(&claims));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, RSA.as_bytes()), signed.as_bytes());
    let confused = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag));
    assert_eq!(code(&Jwt::public_key(RSA).unwrap(), &confused), "auth.invalid");
    let unsigned = format!("{}.{}.", encode(&json!({ "alg": "none" })), encode(&claims));
    assert_eq!(code(&jwt(), &unsigned), "auth.invalid");
    let extended = token(&json!({ "alg": "HS256", "crit": ["b64"], "b64": false }), &claims);
    assert_eq!(code(&jwt(), &extended), "auth.invalid");
}

#[test]
fn a_token_is_valid_in_its_time_only_with_some_leeway() {
    let exp = |exp: Value| hs256(&json!({ "sub": "ann", "exp": exp }));
    jwt().verify(&exp(json!(NOW - 59)), NOW).unwrap();
    assert_eq!(code(&jwt(), &exp(json!(NOW - 60))), "auth.expired");
    assert_eq!(code(&jwt().leeway(Duration::ZERO), &exp(json!(NOW))), "auth.expired");
    assert_eq!(code(&jwt(), &exp(json!("tomorrow"))), "auth.invalid");
    assert_eq!(code(&jwt(), &hs256(&json!({ "sub": "ann" }))), "auth.invalid");
    let nbf = |nbf: u64| hs256(&json!({ "sub": "ann", "exp": NOW + 600, "nbf": nbf }));
    jwt().verify(&nbf(NOW + 60), NOW).unwrap();
    assert_eq!(code(&jwt(), &nbf(NOW + 61)), "auth.invalid");
}

#[test]
fn a_token_must_be_by_a_trusted_issuer_and_for_this_audience() {
    let claims = |more: Value| {
        let mut claims = json!({ "sub": "ann", "exp": NOW + 60 });
        claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hs256(&claims)
    };
    let strict = jwt().issuer("https://login").audience("headwater");
    let good = claims(json!({ "iss": "https://login", "aud": ["other", "headwater"] }));
    strict.verify(&good, NOW).unwrap();
    for bad in [
        json!({ "aud": "headwater" }),
        json!({ "iss": "https://evil", "aud": "headwater" }),
        json!({ "iss": "https://login" }),
        json!({ "iss": "https://login", "aud": "other" }),
        json!({ "iss": "https://login", "aud": 7 }),
    ] {
        assert_eq!(code(&strict, &claims(bad.clone())), "auth.invalid", "{bad}");
    }
    // A server without an audience rejects tokens for an audience.
    assert_eq!(code(&jwt(), &claims(json!({ "aud": "other" }))), "auth.invalid");
    assert_eq!(code(&jwt(), &claims(json!({ "aud": [7] }))), "auth.invalid");
}

#[test]
fn the_claim_that_names_the_principal_can_be_chosen() {
    let token = hs256(&json!({ "sub": "ann", "uid": 7, "empty": "", "exp": NOW + 60 }));
    let named = |claim: &str| jwt().principal_claim(claim).prefix("jwt:").verify(&token, NOW);
    assert_eq!(named("uid").unwrap().id(), "jwt:7");
    assert_eq!(named("empty").unwrap_err().code(), "auth.invalid");
    assert_eq!(named("missing").unwrap_err().code(), "auth.invalid");
}

#[test]
fn keys_that_cannot_be_used_are_refused_with_the_reason() {
    let message = |result: Result<Jwt, KeyError>| result.unwrap_err().to_string();
    assert!(message(Jwt::hs256(b"short")).contains("at least 32 bytes"));
    assert!(message(Jwt::public_key("no key")).contains("-----BEGIN PUBLIC KEY-----"));
    let cut = RSA.replacen("MIIB", "MIIC", 1);
    assert!(message(Jwt::public_key(&cut)).contains("neither RSA nor P-256 nor Ed25519"));
    assert!(message(Jwt::jwks("[]")).contains("JSON Web Key Set"));
    assert!(message(Jwt::jwks(r#"{"keys":[]}"#)).contains("no key for"));
    assert!(message(Jwt::jwks(r#"{"keys":[{"kty":"RSA","kid":"a","n":"!"}]}"#)).contains("key a"));
}

#[test]
fn a_key_of_a_set_that_cannot_be_read_is_left_out() {
    for unreadable in [
        r#"{"kty":"oct","kid":"short","k":"AAAA"}"#,
        r#"{"kty":"EC","crv":"P-256","kid":"cut","x":"AAAA","y":"AAAA"}"#,
        r#"{"kty":"RSA","kid":"odd","n":7}"#,
        r#"{"kid":"no type"}"#,
        "7",
    ] {
        let set = SET.replacen('[', &format!("[{unreadable},"), 1);
        let jwt = Jwt::jwks(&set).unwrap_or_else(|error| panic!("{unreadable}: {error}"));
        assert_eq!(jwt.keys.keys().len(), Jwt::jwks(SET).unwrap().keys.keys().len(), "{unreadable}");
        let alone = Jwt::jwks(&format!("{{\"keys\":[{unreadable}]}}")).unwrap_err().to_string();
        assert!(alone.contains("keys[0] cannot be read"), "{alone}");
    }
}

#[test]
fn value_that_is_no_token_is_rejected() {
    assert_eq!(code(&jwt(), "some-key"), "auth.unknown");
    assert_eq!(code(&jwt(), "a.b.c"), "auth.invalid");
    assert_eq!(code(&jwt(), &format!("a.{}.c", "b".repeat(LONGEST))), "auth.invalid");
}

#[test]
fn principals_of_several_issuers_are_apart() {
    let token = |issuer: &str, name: &str| hs256(&json!({ "sub": name, "iss": issuer, "exp": NOW + 60 }));
    let one = jwt().issuer("https://a");
    assert_eq!(one.verify(&token("https://a", "ann"), NOW).unwrap().id(), "jwt:ann");
    let both = jwt().issuer("https://a").issuer("https://b").issuer("https://a|x");
    let name = |issuer: &str, name: &str| both.verify(&token(issuer, name), NOW).unwrap().id().to_owned();
    assert_eq!(name("https://a", "ann"), "jwt:https://a|ann");
    assert_ne!(name("https://a", "ann"), name("https://b", "ann"));
    assert_ne!(name("https://a", "x|ann"), name("https://a|x", "ann"), "no name can be written as another");
    assert_eq!(jwt().prefix("").verify(&token("https://a", "ann"), NOW).unwrap().id(), "ann");
}

#[test]
fn types_of_tokens_are_checked() {
    let typed = |typ: Value| {
        let mut header = json!({ "alg": "HS256" });
        if !typ.is_null() {
            header["typ"] = typ;
        }
        token(&header, &json!({ "sub": "ann", "exp": NOW + 60 }))
    };
    for good in [Value::Null, json!("JWT"), json!("jwt"), json!("at+jwt"), json!("application/at+JWT")] {
        jwt().verify(&typed(good.clone()), NOW).unwrap_or_else(|_| panic!("{good}"));
    }
    for bad in [json!(""), json!("secevent+jwt"), json!("dpop+jwt"), json!("JOSE"), json!(7), json!(["JWT"])]
    {
        assert_eq!(code(&jwt(), &typed(bad.clone())), "auth.invalid", "{bad}");
    }
    let access = jwt().types(["at+jwt"]);
    access.verify(&typed(json!("at+jwt")), NOW).unwrap();
    for other in [Value::Null, json!("JWT")] {
        assert_eq!(code(&access, &typed(other.clone())), "auth.invalid", "{other}");
    }
}

#[test]
fn secrets_in_a_published_set_are_refused() {
    let secret = json!({ "kty": "oct", "kid": "shared", "k": URL_SAFE_NO_PAD.encode(SECRET) });
    let fetch = || -> KeyFetch { Box::pin(async { Err("never asked".into()) }) };
    let alone = json!({ "keys": [secret] }).to_string();
    let refused = Jwt::published(alone.clone().into(), fetch).unwrap_err().to_string();
    assert!(refused.contains("everyone could sign"), "{refused}");
    let both = SET.replacen('[', &format!("[{secret},"), 1);
    let published = Jwt::published(both.into(), fetch).unwrap();
    published.verify(BY_RSA.trim(), NOW).unwrap();
    let by_secret =
        token(&json!({ "alg": "HS256", "kid": "shared" }), &json!({ "sub": "ann", "exp": NOW + 60 }));
    assert_eq!(code(&published, &by_secret), "auth.invalid");
    // The operator's own file may hold one.
    Jwt::jwks(&alone).unwrap().verify(&by_secret, NOW).unwrap();
}

#[test]
fn keys_for_something_else_are_left_out() {
    for other in [
        r#""use":"enc""#,
        r#""alg":"PS256""#,
        r#""alg":"ES256""#,
        r#""alg":"none""#,
        r#""key_ops":["encrypt"]"#,
    ] {
        let set: Value = serde_json::from_str(SET).unwrap();
        let rsa = set["keys"].as_array().unwrap().iter().find(|key| key["kty"] == "RSA").unwrap().clone();
        let mut rsa = rsa.as_object().unwrap().clone();
        rsa.remove("alg");
        rsa.remove("use");
        let text = Value::from(rsa).to_string().replacen('{', &format!("{{{other},"), 1);
        let refused = Jwt::jwks(&format!("{{\"keys\":[{text}]}}")).unwrap_err().to_string();
        assert!(refused.contains("no key for"), "{other}: {refused}");
    }
}

/// A key set with a fetch counter.
#[derive(Default)]
struct Publisher {
    fetches: std::sync::atomic::AtomicUsize,
    answer: std::sync::Mutex<Option<PublishedKeys>>,
}

impl Publisher {
    fn new(text: &str) -> Arc<Self> {
        let publisher = Self::default();
        publisher.answers(Some(text.to_owned().into()));
        Arc::new(publisher)
    }

    fn answers(&self, keys: Option<PublishedKeys>) {
        *self.answer.lock().unwrap() = keys;
    }

    fn fetches(&self) -> usize {
        self.fetches.load(std::sync::atomic::Ordering::SeqCst)
    }

    fn jwt(self: &Arc<Self>) -> Jwt {
        let publisher = self.clone();
        let first = self.answer.lock().unwrap().clone().unwrap();
        Jwt::published(first, move || {
            publisher.fetches.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let answer = publisher.answer.lock().unwrap().clone();
            Box::pin(async move {
                // Concurrent requests wait for the same response.
                tokio::time::sleep(Duration::from_secs(1)).await;
                answer.ok_or_else(|| "it is away".into())
            })
        })
        .unwrap()
    }
}

async fn accepts(jwt: &Jwt, token: &str) -> Result<(), String> {
    let request = axum::http::Request::get("/").header("authorization", format!("Bearer {token}"));
    let (parts, ()) = request.body(()).unwrap().into_parts();
    jwt.authenticate(&parts).await.map(|_| ()).map_err(|error| error.code().to_owned())
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn unknown_key_fetches_the_set_once_a_minute() {
    let publisher = Publisher::new(SET);
    let jwt = publisher.jwt();
    jwt.keys.refresh(Some("rsa-1")).await.unwrap();
    assert_eq!(publisher.fetches(), 0, "a known key needs no fetch");
    publisher.answers(None);
    let (one, other) = tokio::join!(jwt.keys.refresh(Some("new")), jwt.keys.refresh(Some("new")));
    one.unwrap();
    other.unwrap();
    assert_eq!(publisher.fetches(), 1, "one fetch for both, and none after it failed");
    assert!(jwt.keys.keys().iter().any(|key| key.is_named("rsa-1")), "the last set stays");
    publisher.answers(Some(SET.replace("rsa-1", "new").into()));
    tokio::time::advance(MINUTE).await;
    jwt.keys.refresh(Some("new")).await.unwrap();
    assert_eq!(publisher.fetches(), 2);
    assert!(jwt.keys.keys().iter().any(|key| key.is_named("new")));
}

#[tokio::test(start_paused = true)]
async fn removed_key_is_refused_after_the_maximum_age() {
    let publisher = Publisher::new(SET);
    let jwt = publisher.jwt();
    let token = BY_RSA.trim();
    accepts(&jwt, token).await.unwrap();
    let mut without: Value = serde_json::from_str(SET).unwrap();
    without["keys"].as_array_mut().unwrap().retain(|key| key["kty"] != "RSA");
    publisher.answers(Some(without.to_string().into()));
    tokio::time::advance(4 * MINUTE).await;
    accepts(&jwt, token).await.unwrap();
    assert_eq!(publisher.fetches(), 0, "a young set is not fetched");
    tokio::time::advance(6 * MINUTE).await;
    // Its kid is unknown by now, so the code is that of any unknown key.
    assert_eq!(accepts(&jwt, token).await.unwrap_err(), "auth.invalid");
    assert_eq!(publisher.fetches(), 1);
}

#[tokio::test(start_paused = true)]
async fn set_in_use_is_fetched_in_the_background() {
    let publisher = Publisher::new(SET);
    let jwt = publisher.jwt();
    for _ in 0..30 {
        tokio::time::advance(MINUTE).await;
        let asked = tokio::time::Instant::now();
        accepts(&jwt, BY_RSA.trim()).await.unwrap();
        assert_eq!(asked.elapsed(), Duration::ZERO, "no request waits");
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    assert!((4..=8).contains(&publisher.fetches()), "{}", publisher.fetches());
}

#[tokio::test(start_paused = true)]
async fn set_that_cannot_be_fetched_is_used_for_an_hour_and_not_longer() {
    let publisher = Publisher::new(SET);
    let jwt = publisher.jwt();
    publisher.answers(None);
    tokio::time::advance(65 * MINUTE).await;
    accepts(&jwt, BY_RSA.trim()).await.unwrap();
    tokio::time::advance(6 * MINUTE).await;
    assert_eq!(accepts(&jwt, BY_RSA.trim()).await.unwrap_err(), "auth.unavailable");
    publisher.answers(Some(SET.to_owned().into()));
    tokio::time::advance(MINUTE).await;
    accepts(&jwt, BY_RSA.trim()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn issuer_may_shorten_the_age_and_not_lengthen_it() {
    let waits = async |allowed: Option<Duration>, age: Duration| {
        let publisher = Publisher::new(SET);
        publisher.answers(Some(PublishedKeys::from(SET.to_owned()).max_age(allowed)));
        let jwt = publisher.jwt();
        tokio::time::advance(age).await;
        let asked = tokio::time::Instant::now();
        jwt.keys.refresh(None).await.unwrap();
        !asked.elapsed().is_zero()
    };
    for (allowed, minutes) in
        [(Some(2 * MINUTE), 2), (Some(Duration::ZERO), 1), (Some(60 * MINUTE), 10), (None, 10)]
    {
        let age = minutes * MINUTE;
        assert!(!waits(allowed, age - Duration::from_secs(1)).await, "{allowed:?}");
        assert!(waits(allowed, age).await, "{allowed:?}");
    }
    let publisher = Publisher::new(SET);
    let jwt = publisher.jwt().max_age(Duration::from_secs(5));
    tokio::time::advance(Duration::from_secs(5)).await;
    jwt.keys.refresh(None).await.unwrap();
    assert_eq!(publisher.fetches(), 1, "the setting counts");
}
