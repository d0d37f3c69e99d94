//! JSON Web Tokens that must not be accepted.

use std::{fs, sync::LazyLock};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD},
};
use ring::{
    hmac,
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RsaKeyPair},
};
use serde_json::{Value, json};

use crate::{raw, report::attack, server::Server, status};

const SECRET: &[u8] = b"a secret of the operator's, of enough bytes";
const RSA_PUBLIC: &str = include_str!("keys/rsa.pub.pem");
const WEAK_KEY: &str = include_str!("keys/weak.json");
const WEAK_TOKEN: &str = include_str!("keys/weak.jwt");
/// A time far in the future.
const LATER: u64 = 4_102_444_800;

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn from_pem(pem: &str) -> Vec<u8> {
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    STANDARD.decode(body).unwrap()
}

/// An issuer with a key of each kind.
struct Issuer {
    ed: Ed25519KeyPair,
    ec: EcdsaKeyPair,
    rsa: RsaKeyPair,
}

static ISSUER: LazyLock<Issuer> = LazyLock::new(Issuer::new);
/// An issuer that the server does not know. Its RSA key is the same, and never used.
static STRANGER: LazyLock<Issuer> = LazyLock::new(Issuer::new);

impl Issuer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
        let fixed = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
        let ec = EcdsaKeyPair::generate_pkcs8(fixed, &random).unwrap();
        Self {
            ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
            ec: EcdsaKeyPair::from_pkcs8(fixed, ec.as_ref(), &random).unwrap(),
            rsa: RsaKeyPair::from_pkcs8(&from_pem(include_str!("keys/rsa.pem"))).unwrap(),
        }
    }

    fn ed_key(&self) -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encode(self.ed.public_key()) })
    }

    fn ec_key(&self) -> Value {
        let point = self.ec.public_key().as_ref();
        json!({ "kty": "EC", "crv": "P-256", "kid": "ec", "x": encode(&point[1..33]), "y": encode(&point[33..]) })
    }

    fn rsa_public(&self) -> PublicKeyComponents<Vec<u8>> {
        self.rsa.public().into()
    }

    fn rsa_key(&self, kid: &str) -> Value {
        let PublicKeyComponents { n, e } = self.rsa_public();
        json!({ "kty": "RSA", "kid": kid, "n": encode(n), "e": encode(e) })
    }

    fn set(&self) -> String {
        let secret = json!({ "kty": "oct", "kid": "secret", "k": encode(SECRET) });
        let mut encrypts = self.rsa_key("enc");
        encrypts["use"] = json!("enc");
        let weak: Value = serde_json::from_str(WEAK_KEY).unwrap();
        json!({ "keys": [self.ed_key(), self.ec_key(), self.rsa_key("rsa"), secret, encrypts, weak] })
            .to_string()
    }

    fn sign_ed(&self, signed: &str) -> Vec<u8> {
        self.ed.sign(signed.as_bytes()).as_ref().to_vec()
    }

    fn sign_ec(&self, signed: &str) -> Vec<u8> {
        self.ec.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec()
    }

    fn sign_rsa(&self, how: &'static dyn signature::RsaEncoding, signed: &str) -> Vec<u8> {
        let mut made = vec![0; self.rsa.public().modulus_len()];
        self.rsa.sign(how, &SystemRandom::new(), signed.as_bytes(), &mut made).unwrap();
        made
    }

    /// A token signed with Ed25519 with this header and these claims.
    fn token(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", encode(header), encode(claims));
        format!("{signed}.{}", encode(self.sign_ed(&signed)))
    }

    /// A valid token of each algorithm.
    fn good(&self) -> [String; 4] {
        let signed = |alg: &str, kid: &str| {
            format!(
                "{}.{}",
                encode(json!({ "alg": alg, "kid": kid }).to_string()),
                encode(claims().to_string())
            )
        };
        let finish = |signed: String, made: Vec<u8>| format!("{signed}.{}", encode(made));
        let [ed, ec, rsa, secret] =
            [signed("EdDSA", "ed"), signed("ES256", "ec"), signed("RS256", "rsa"), signed("HS256", "secret")];
        let by_ed = self.sign_ed(&ed);
        let by_ec = self.sign_ec(&ec);
        let by_rsa = self.sign_rsa(&signature::RSA_PKCS1_SHA256, &rsa);
        let by_secret = by_hmac(hmac::HMAC_SHA256, SECRET, &secret);
        [finish(ed, by_ed), finish(ec, by_ec), finish(rsa, by_rsa), finish(secret, by_secret)]
    }
}

fn by_hmac(how: hmac::Algorithm, secret: &[u8], signed: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(how, secret), signed.as_bytes()).as_ref().to_vec()
}

fn claims() -> Value {
    json!({ "sub": "ann", "iss": "https://login.example", "aud": "guides", "exp": LATER })
}

/// The valid claims with some replaced; `null` removes one.
fn with(more: &Value) -> String {
    let mut claims = claims();
    for (name, value) in more.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims.to_string()
}

const HEADER: &str = r#"{"alg":"EdDSA","kid":"ed"}"#;

/// All tokens that must be refused, with a description of what is wrong.
fn forged() -> Vec<(String, String)> {
    let mut all = Vec::new();
    unsigned(&mut all);
    signed_with_public_keys(&mut all);
    headers(&mut all);
    wrong_claims(&mut all);
    broken_signatures(&mut all);
    broken_text(&mut all);
    all
}

type Forged = Vec<(String, String)>;

/// Tokens that claim to need no signature.
fn unsigned(all: &mut Forged) {
    let (_, good) = ISSUER.good()[0].clone().rsplit_once('.').map(|(_, made)| ((), made.to_owned())).unwrap();
    for alg in [
        json!("none"),
        json!("None"),
        json!("NONE"),
        json!("nOnE"),
        json!(" none"),
        json!("none "),
        json!("none\u{0}"),
        json!(""),
        Value::Null,
        json!(["none"]),
        json!({ "alg": "none" }),
        json!(0),
        json!(false),
    ] {
        let signed = format!(
            "{}.{}",
            encode(json!({ "alg": alg, "kid": "ed" }).to_string()),
            encode(claims().to_string())
        );
        for signature in ["", "AA", &good] {
            all.push((format!("alg {alg}"), format!("{signed}.{signature}")));
        }
    }
    let signed = format!("{}.{}", encode(r#"{"typ":"JWT"}"#), encode(claims().to_string()));
    all.push(("no alg".to_owned(), format!("{signed}.{good}")));
}

/// Tokens signed with HMAC and a public key as the secret, which is public.
fn signed_with_public_keys(all: &mut Forged) {
    let der = from_pem(RSA_PUBLIC);
    let point = ISSUER.ec.public_key().as_ref().to_vec();
    let secrets: Vec<Vec<u8>> = vec![
        RSA_PUBLIC.into(),
        RSA_PUBLIC.trim().into(),
        RSA_PUBLIC.replace('\n', "\r\n").into(),
        RSA_PUBLIC.replace('\n', "").into(),
        STANDARD.encode(&der).into(),
        der,
        ISSUER.rsa_public().n,
        ISSUER.rsa_key("rsa").to_string().into(),
        ISSUER.rsa_key("rsa")["n"].as_str().unwrap().into(),
        point.clone(),
        point[1..].to_vec(),
        ISSUER.ec_key().to_string().into(),
        ISSUER.ed.public_key().as_ref().to_vec(),
        ISSUER.ed_key().to_string().into(),
        ISSUER.ed_key()["x"].as_str().unwrap().into(),
        ISSUER.set().into(),
        Vec::new(),
        b"secret".to_vec(),
    ];
    for secret in &secrets {
        for (alg, how) in
            [("HS256", hmac::HMAC_SHA256), ("HS384", hmac::HMAC_SHA384), ("HS512", hmac::HMAC_SHA512)]
        {
            for kid in ["rsa", "secret"] {
                let header = json!({ "alg": alg, "kid": kid }).to_string();
                let signed = format!("{}.{}", encode(header), encode(claims().to_string()));
                all.push((
                    format!("{alg} with a public key"),
                    format!("{signed}.{}", encode(by_hmac(how, secret, &signed))),
                ));
            }
        }
    }
    for (alg, how) in [("HS384", hmac::HMAC_SHA384), ("HS512", hmac::HMAC_SHA512)] {
        let signed = format!(
            "{}.{}",
            encode(json!({ "alg": alg, "kid": "secret" }).to_string()),
            encode(claims().to_string())
        );
        all.push((
            format!("{alg} with the secret of HS256"),
            format!("{signed}.{}", encode(by_hmac(how, SECRET, &signed))),
        ));
    }
}

/// Tokens whose header points to the attacker's key or to missing features.
fn headers(all: &mut Forged) {
    let stranger = &STRANGER;
    for kid in [
        "ed",
        "rsa",
        "secret",
        "unknown",
        "",
        "../../../../dev/null",
        "/dev/null",
        "ed\u{0}",
        "' OR 1=1 --",
        "ed ",
        "ED",
        "*",
    ] {
        for more in [
            json!({}),
            json!({ "jwk": stranger.ed_key() }),
            json!({ "jku": "http://127.0.0.1:9/keys.json" }),
            json!({ "x5u": "http://127.0.0.1:9/cert.pem" }),
            json!({ "x5c": [STANDARD.encode(stranger.ed.public_key())], "x5t": "AAAA" }),
        ] {
            let mut header = json!({ "alg": "EdDSA", "kid": kid });
            header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all.push((
                format!("a stranger's key: {header}"),
                stranger.token(&header.to_string(), &claims().to_string()),
            ));
        }
    }
    all.push((
        "a stranger's key without kid".to_owned(),
        stranger.token(r#"{"alg":"EdDSA"}"#, &claims().to_string()),
    ));
    // The right key, with another algorithm in the header.
    for alg in [
        "HS256",
        "RS256",
        "ES256",
        "RS384",
        "RS512",
        "PS256",
        "PS384",
        "PS512",
        "ES384",
        "ES512",
        "ES256K",
        "Ed25519",
        "eddsa",
        "EDDSA",
        "EdDSA ",
        "dir",
        "RSA-OAEP",
        "A128KW",
        "none,EdDSA",
    ] {
        let header = json!({ "alg": alg, "kid": "ed" }).to_string();
        all.push((format!("alg {alg} by Ed25519"), ISSUER.token(&header, &claims().to_string())));
    }
    for (alg, how) in [
        ("RS384", &signature::RSA_PKCS1_SHA384 as &'static dyn signature::RsaEncoding),
        ("RS512", &signature::RSA_PKCS1_SHA512),
        ("PS256", &signature::RSA_PSS_SHA256),
        ("PS384", &signature::RSA_PSS_SHA384),
        ("PS512", &signature::RSA_PSS_SHA512),
    ] {
        for named in [alg, "RS256"] {
            for kid in ["rsa", "enc"] {
                let header = json!({ "alg": named, "kid": kid }).to_string();
                let signed = format!("{}.{}", encode(header), encode(claims().to_string()));
                all.push((
                    format!("{alg} as {named}"),
                    format!("{signed}.{}", encode(ISSUER.sign_rsa(how, &signed))),
                ));
            }
        }
    }
    let signed = format!("{}.{}", encode(r#"{"alg":"RS256","kid":"enc"}"#), encode(claims().to_string()));
    let made = ISSUER.sign_rsa(&signature::RSA_PKCS1_SHA256, &signed);
    all.push(("by a key for encryption".to_owned(), format!("{signed}.{}", encode(made))));
    all.push(("by an RSA key of 1,024 bits".to_owned(), WEAK_TOKEN.trim().to_owned()));
    for header in [
        r#"{"alg":"EdDSA","kid":"ed","crit":["b64"],"b64":false}"#,
        r#"{"alg":"EdDSA","kid":"ed","crit":["exp"]}"#,
        r#"{"alg":"EdDSA","kid":"ed","crit":[]}"#,
        r#"{"alg":"EdDSA","kid":"ed","crit":"b64"}"#,
        r#"{"alg":"EdDSA","kid":"ed","crit":{}}"#,
        r#"{"alg":"EdDSA","kid":"ed","typ":"dpop+jwt"}"#,
        r#"{"alg":"EdDSA","kid":"ed","typ":"logout+jwt"}"#,
        r#"{"alg":"EdDSA","kid":"ed","typ":""}"#,
        r#"{"alg":"EdDSA","kid":"ed","typ":7}"#,
        r#"{"alg":"EdDSA","alg":"EdDSA","kid":"ed"}"#,
        r#"{"alg":"none","kid":"ed","alg":"EdDSA"}"#,
        r#"{"alg":"EdDSA","kid":"ed","kid":"rsa"}"#,
        r#"{"alg":"EdDSA","kid":7}"#,
        r#"{"alg":"EdDSA","kid":["ed"]}"#,
        r#"{"ALG":"EdDSA","kid":"ed"}"#,
        r#"["EdDSA"]"#,
        r#""EdDSA""#,
        "null",
        "{}",
        "",
    ] {
        all.push((format!("header {header}"), ISSUER.token(header, &claims().to_string())));
    }
}

/// Correctly signed tokens with invalid claims.
fn wrong_claims(all: &mut Forged) {
    let long = "x".repeat(20_000);
    for more in [
        json!({ "exp": null }),
        json!({ "exp": "4102444800" }),
        json!({ "exp": "tomorrow" }),
        json!({ "exp": true }),
        json!({ "exp": [LATER] }),
        json!({ "exp": { "n": LATER } }),
        json!({ "exp": 0 }),
        json!({ "exp": -1 }),
        json!({ "exp": 1 }),
        json!({ "exp": 1_600_000_000 }),
        json!({ "exp": 1.6e9 }),
        json!({ "exp": 1e-300 }),
        json!({ "exp": -1e300 }),
        json!({ "exp": null, "EXP": LATER }),
        json!({ "exp": null, "expires": LATER }),
        json!({ "nbf": LATER }),
        json!({ "nbf": "0" }),
        json!({ "nbf": true }),
        json!({ "nbf": [0] }),
        json!({ "nbf": {} }),
        json!({ "nbf": 1e300 }),
        json!({ "nbf": 4_102_444_799_u64 }),
        json!({ "iss": null }),
        json!({ "iss": "" }),
        json!({ "iss": "https://login.example/" }),
        json!({ "iss": "https://evil.example" }),
        json!({ "iss": "HTTPS://LOGIN.EXAMPLE" }),
        json!({ "iss": " https://login.example" }),
        json!({ "iss": ["https://login.example"] }),
        json!({ "iss": 7 }),
        json!({ "iss": true }),
        json!({ "iss": "https://login.example\u{0}" }),
        json!({ "iss": "https://login.example.evil" }),
        json!({ "aud": null }),
        json!({ "aud": "" }),
        json!({ "aud": "other" }),
        json!({ "aud": [] }),
        json!({ "aud": ["other"] }),
        json!({ "aud": [["guides"]] }),
        json!({ "aud": { "guides": true } }),
        json!({ "aud": 7 }),
        json!({ "aud": "Guides" }),
        json!({ "aud": "guides " }),
        json!({ "aud": "guides,other" }),
        json!({ "aud": [7, null] }),
        json!({ "aud": "*" }),
        json!({ "sub": null }),
        json!({ "sub": "" }),
        json!({ "sub": [] }),
        json!({ "sub": ["ann"] }),
        json!({ "sub": {} }),
        json!({ "sub": true }),
        json!({ "sub": null, "SUB": "ann" }),
        json!({ "sub": null, "user": "ann" }),
        json!({ "sub": long }),
    ] {
        let claims = with(&more);
        all.push((format!("claims {}", claims.get(..80).unwrap_or(&claims)), ISSUER.token(HEADER, &claims)));
    }
    for claims in [
        r#"{"sub":"ann","iss":"https://login.example","aud":"guides","exp":4102444800,"exp":1}"#,
        r#"{"sub":"ann","iss":"https://login.example","iss":"https://evil.example","aud":"guides","exp":4102444800}"#,
        r#"{"sub":"ann","iss":"https://login.example","aud":"guides","aud":"other","exp":4102444800}"#,
        r#"{"sub":"ann","iss":"https://login.example","aud":"guides","exp":4102444800"#,
        r#"[{"sub":"ann","iss":"https://login.example","aud":"guides","exp":4102444800}]"#,
        r#""ann""#,
        "null",
        "{}",
        "",
    ] {
        all.push((format!("claims {claims}"), ISSUER.token(HEADER, claims)));
    }
}

/// Signatures that some verifiers accept by mistake.
fn broken_signatures(all: &mut Forged) {
    let [ed, ec, rsa, secret] = ISSUER.good();
    let replace =
        |token: &str, made: &[u8]| format!("{}.{}", token.rsplit_once('.').unwrap().0, encode(made));
    let made = |token: &str| URL_SAFE_NO_PAD.decode(token.rsplit_once('.').unwrap().1).unwrap();
    // The order of P-256: its multiples are equivalent to zero.
    let order: Vec<u8> =
        (0..32).map(|at| u8::from_str_radix(&ORDER[at * 2..at * 2 + 2], 16).unwrap()).collect();
    let (zero, one) = ([0_u8; 32], {
        let mut one = [0_u8; 32];
        one[31] = 1;
        one
    });
    for r in [&zero[..], &one, &order] {
        for s in [&zero[..], &one, &order] {
            all.push(("a psychic signature".to_owned(), replace(&ec, &[r, s].concat())));
        }
    }
    let (r, s) = made(&ec).split_at(32).to_owned_pair();
    all.push(("r and s swapped".to_owned(), replace(&ec, &[&s[..], &r].concat())));
    let der = [&[0x30, 68, 2, 32][..], &r, &[2, 32], &s].concat();
    all.push(("a signature in DER".to_owned(), replace(&ec, &der)));
    // Ed25519 with the order of the curve added to S.
    let by_ed = made(&ed);
    let mut carry = 0;
    let added: Vec<u8> = by_ed[32..]
        .iter()
        .zip(CURVE)
        .map(|(digit, order)| {
            let sum = u16::from(*digit) + u16::from(order) + carry;
            carry = sum >> 8;
            sum.to_le_bytes()[0]
        })
        .collect();
    all.push(("S + L".to_owned(), replace(&ed, &[&by_ed[..32], &added].concat())));
    for (token, length) in [(&ed, 64), (&ec, 64), (&rsa, 256), (&secret, 32)] {
        for bytes in
            [vec![], vec![0], vec![0; length], vec![0xff; length], vec![0; length - 1], vec![0; length + 1]]
        {
            all.push(("a signature of zeros or ones".to_owned(), replace(token, &bytes)));
        }
        let good = made(token);
        all.push(("a signature with a byte more".to_owned(), replace(token, &[&good[..], &[0]].concat())));
        all.push(("a signature with a byte before".to_owned(), replace(token, &[&[0], &good[..]].concat())));
        all.push(("a signature with a byte less".to_owned(), replace(token, &good[..length - 1])));
        all.push(("the first byte of a signature".to_owned(), replace(token, &good[..1])));
        // One token's signature with another's claims.
        let (head, _) = token.split_once('.').unwrap();
        let other = encode(with(&json!({ "sub": "bob" })));
        all.push(("another's claims".to_owned(), format!("{head}.{other}.{}", encode(&good))));
    }
}

const ORDER: &str = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551";
const CURVE: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

trait ToOwnedPair {
    fn to_owned_pair(&self) -> (Vec<u8>, Vec<u8>);
}

impl ToOwnedPair for (&[u8], &[u8]) {
    fn to_owned_pair(&self) -> (Vec<u8>, Vec<u8>) {
        (self.0.to_vec(), self.1.to_vec())
    }
}

/// Tokens that are truncated, concatenated or changed by a character.
fn broken_text(all: &mut Forged) {
    for token in ISSUER.good() {
        for at in 0..token.len() {
            let mut bytes = token.clone().into_bytes();
            bytes[at] ^= 1;
            all.push((format!("character {at} changed"), String::from_utf8(bytes).unwrap()));
        }
        for cut in 1..10 {
            all.push((format!("cut at {cut}/10"), token[..token.len() * cut / 10].to_owned()));
        }
        let parts: Vec<_> = token.split('.').collect();
        let padded: Vec<_> =
            parts.iter().map(|part| URL_SAFE.encode(URL_SAFE_NO_PAD.decode(part).unwrap())).collect();
        let [head, claims, made] = parts[..] else { panic!("{token}") };
        for broken in [
            format!("{head}.{claims}"),
            format!("{head}.{claims}."),
            format!("{head}..{made}"),
            format!(".{claims}.{made}"),
            format!("{token}."),
            format!(".{token}"),
            format!("{token}.{made}"),
            format!("{head}.{claims}.{made}.{claims}.{made}"),
            format!("{claims}.{head}.{made}"),
            format!("{head} .{claims}.{made}"),
            format!("{head}.{claims}.{made}="),
            format!("{token},{token}"),
            format!("{token} {token}"),
            token.to_uppercase(),
            token.replace('.', ":"),
            token.replace('.', ""),
        ] {
            all.push(("glued".to_owned(), broken));
        }
        if padded.iter().any(|part| part.contains('=')) {
            all.push(("with padding".to_owned(), padded.join(".")));
        }
    }
    all.push((
        "much too long".to_owned(),
        format!("{}.{}.{}", encode(HEADER), "A".repeat(17_000), "A".repeat(86)),
    ));
    all.push(("nothing".to_owned(), "..".to_owned()));
}

#[test]
fn forged_tokens_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    fs::write(&path, ISSUER.set()).unwrap();
    let keys = format!("jwt.jwks={}", path.display());
    let args = [
        "--set",
        &keys,
        "--store",
        "memory:",
        "--set",
        "jwt.issuer=https://login.example",
        "--set",
        "jwt.audience=guides",
    ];
    let server = Server::start(&folder.path().join("data"), &args);
    let ask = |token: &str| {
        let head = format!(
            "GET /v1/runs HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n",
            server.address
        );
        status(&raw(&server, head.as_bytes()))
    };
    for good in ISSUER.good() {
        assert_eq!(ask(&good), 200, "{good}");
    }
    for header in [
        r#"{"alg":"EdDSA"}"#,
        r#"{"alg":"EdDSA","kid":"ed","typ":"at+jwt"}"#,
        r#"{"alg":"EdDSA","kid":"ed","jku":"http://127.0.0.1:9/"}"#,
    ] {
        assert_eq!(ask(&ISSUER.token(header, &claims().to_string())), 200, "{header}");
    }
    let several = ISSUER.token(HEADER, &with(&json!({ "aud": ["other", "guides"], "nbf": 1 })));
    assert_eq!(ask(&several), 200);
    attack("forged tokens", &forged(), |(what, token)| match ask(token) {
        400 | 401 | 431 => Ok(()),
        status => Err(format!("{what}: {status} for {token}")),
    });
}
