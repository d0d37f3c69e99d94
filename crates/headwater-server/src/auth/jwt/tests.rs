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
    assert_eq!(jwt().verify(&by_secret, NOW).unwrap().id(), "ann");
    let (by_rsa, by_p256) = (BY_RSA.trim(), BY_P256.trim());
    assert_eq!(Jwt::public_key(RSA).unwrap().verify(by_rsa, NOW).unwrap().id(), "ann");
    assert_eq!(Jwt::public_key(P256).unwrap().verify(by_p256, NOW).unwrap().id(), "ann");
    let set = Jwt::jwks(SET).unwrap();
    assert_eq!(set.verify(by_rsa, NOW).unwrap().id(), "ann");
    assert_eq!(set.verify(by_p256, NOW).unwrap().id(), "ann");
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
    assert_eq!(Jwt::jwks(&set.to_string()).unwrap().verify(&token, NOW).unwrap().id(), "ann");
    // The head that every Ed25519 key has in PEM.
    let der = [b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", public].concat();
    let body = base64::engine::general_purpose::STANDARD.encode(der);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
    assert_eq!(Jwt::public_key(&pem).unwrap().verify(&token, NOW).unwrap().id(), "ann");
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
    // Signed by HMAC with the text of a public key, which everyone has.
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
    // A token for somebody else is not for a server that says nothing about itself.
    assert_eq!(code(&jwt(), &claims(json!({ "aud": "other" }))), "auth.invalid");
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
    let said = |result: Result<Jwt, KeyError>| result.unwrap_err().to_string();
    assert!(said(Jwt::hs256(b"short")).contains("at least 32 bytes"));
    assert!(said(Jwt::public_key("no key")).contains("-----BEGIN PUBLIC KEY-----"));
    let cut = RSA.replacen("MIIB", "MIIC", 1);
    assert!(said(Jwt::public_key(&cut)).contains("neither RSA nor P-256 nor Ed25519"));
    assert!(said(Jwt::jwks("[]")).contains("JSON Web Key Set"));
    assert!(said(Jwt::jwks(r#"{"keys":[]}"#)).contains("no key for"));
    assert!(said(Jwt::jwks(r#"{"keys":[{"kty":"RSA","kid":"a","n":"!"}]}"#)).contains("key a"));
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
        assert_eq!(jwt.keys.now().len(), Jwt::jwks(SET).unwrap().keys.now().len(), "{unreadable}");
        let alone = Jwt::jwks(&format!("{{\"keys\":[{unreadable}]}}")).unwrap_err().to_string();
        assert!(alone.contains("keys[0] cannot be read"), "{alone}");
    }
}

#[test]
fn what_is_no_token_is_told_as_that() {
    assert_eq!(code(&jwt(), "some-key"), "auth.unknown");
    assert_eq!(code(&jwt(), "a.b.c"), "auth.invalid");
    assert_eq!(code(&jwt(), &format!("a.{}.c", "b".repeat(LONGEST))), "auth.invalid");
}

#[tokio::test(start_paused = true)]
async fn a_set_is_fetched_again_for_an_unknown_key_and_at_most_once_a_minute() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let fetched = Arc::new(AtomicUsize::new(0));
    let count = fetched.clone();
    let jwt = Jwt::published(SET, move || {
        let nth = count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            // Whoever asks meanwhile waits for the same answer.
            tokio::time::sleep(Duration::from_secs(1)).await;
            if nth == 0 { Err("it is away".into()) } else { Ok(SET.replace("rsa-1", "new")) }
        })
    })
    .unwrap();
    jwt.keys.look_for("rsa-1").await;
    assert_eq!(fetched.load(Ordering::SeqCst), 0, "a key that is known is not looked for");
    tokio::join!(jwt.keys.look_for("new"), jwt.keys.look_for("new"));
    assert_eq!(fetched.load(Ordering::SeqCst), 1, "it failed, and is left alone");
    assert!(jwt.keys.now().iter().any(|key| key.is_named("rsa-1")), "what is known stays");
    tokio::time::advance(Duration::from_secs(60)).await;
    jwt.keys.look_for("new").await;
    assert_eq!(fetched.load(Ordering::SeqCst), 2);
    assert!(jwt.keys.now().iter().any(|key| key.is_named("new")));
    tokio::time::advance(Duration::from_secs(600)).await;
    jwt.keys.look_for("new").await;
    assert_eq!(fetched.load(Ordering::SeqCst), 2, "it is known now");
}
