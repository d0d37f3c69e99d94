//! The keys that verify tokens. A key is for one algorithm only, regardless of the token's header.

use std::fmt;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    hmac,
    signature::{self, RsaPublicKeyComponents, UnparsedPublicKey},
};
use serde::Deserialize;
use serde_json::Value;

/// A key that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyError(String);

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KeyError {}

fn wrong(message: impl Into<String>) -> KeyError {
    KeyError(message.into())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Hs256,
    Rs256,
    Es256,
    EdDsa,
}

/// Source of a set of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The operator's own file or text, which may contain secrets.
    Local,
    /// A public URL: symmetric secrets in it are rejected.
    Published,
}

impl Algorithm {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "HS256" => Some(Self::Hs256),
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

#[derive(Clone)]
pub(super) struct VerificationKey {
    id: Option<String>,
    material: Material,
}

#[derive(Clone)]
enum Material {
    Secret(hmac::Key),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// A point of P-256, as both coordinates.
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl VerificationKey {
    pub(super) fn secret(secret: &[u8], id: Option<String>) -> Result<Self, KeyError> {
        if secret.len() < 32 {
            let message = format!("a secret for HS256 needs at least 32 bytes, not {}", secret.len());
            return Err(wrong(message));
        }
        Ok(Self { id, material: Material::Secret(hmac::Key::new(hmac::HMAC_SHA256, secret)) })
    }

    /// A public key in PEM.
    pub(super) fn from_pem(pem: &str) -> Result<Self, KeyError> {
        const LABEL: &str = "PUBLIC KEY-----";
        let unreadable =
            || wrong("there is no public key in PEM: it begins with `-----BEGIN PUBLIC KEY-----`");
        let (_, after) = pem.split_once(&format!("-----BEGIN {LABEL}")).ok_or_else(unreadable)?;
        let (body, _) = after.split_once(&format!("-----END {LABEL}")).ok_or_else(unreadable)?;
        let body: String = body.split_whitespace().collect();
        let der = STANDARD.decode(body).map_err(|_| unreadable())?;
        let material = subject_public_key(&der).ok_or_else(|| {
            wrong("the public key is neither RSA nor P-256 nor Ed25519: tokens cannot be verified by it")
        })?;
        Ok(Self { id: None, material })
    }

    pub(super) fn is_named(&self, id: &str) -> bool {
        self.id.as_deref() == Some(id)
    }

    /// The only algorithm that the key verifies.
    fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Secret(_) => Algorithm::Hs256,
            Material::Rsa { .. } => Algorithm::Rs256,
            Material::P256(_) => Algorithm::Es256,
            Material::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    pub(super) fn is_for(&self, algorithm: Algorithm, id: Option<&str>) -> bool {
        self.algorithm() == algorithm && (id.is_none() || self.id.is_none() || self.id.as_deref() == id)
    }

    pub(super) fn verifies(&self, signed: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Secret(key) => hmac::verify(key, signed, signature).is_ok(),
            Material::Rsa { n, e } => RsaPublicKeyComponents { n, e }
                .verify(&signature::RSA_PKCS1_2048_8192_SHA256, signed, signature)
                .is_ok(),
            Material::P256(point) => UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point)
                .verify(signed, signature)
                .is_ok(),
            Material::Ed25519(key) => {
                UnparsedPublicKey::new(&signature::ED25519, key).verify(signed, signature).is_ok()
            }
        }
    }
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
    k: Option<String>,
}

/// The keys of a set. One that cannot be read is left out: the others are no worse for it.
pub(super) fn set(text: &str, origin: Origin) -> Result<Vec<VerificationKey>, KeyError> {
    let set: Set = serde_json::from_str(text)
        .map_err(|error| wrong(format!("not a JSON Web Key Set, which is an object with `keys`: {error}")))?;
    let mut keys = Vec::new();
    let mut unread = String::new();
    for (at, jwk) in set.keys.into_iter().enumerate() {
        let read = serde_json::from_value(jwk).map_err(|error| wrong(error.to_string()));
        let read = read.and_then(|jwk| from_jwk(jwk, origin));
        match read {
            Ok(key) => keys.extend(key),
            Err(error) => {
                tracing::warn!(%error, "keys[{at}] of the set cannot be read, and is left out");
                unread = format!("{unread}; keys[{at}] cannot be read: {error}");
            }
        }
    }
    if keys.is_empty() {
        return Err(wrong(format!("the set has no key for HS256, RS256, ES256 or EdDSA{unread}")));
    }
    Ok(keys)
}

/// A key of a set, if it is one to verify tokens with.
fn from_jwk(jwk: Jwk, origin: Origin) -> Result<Option<VerificationKey>, KeyError> {
    let for_signatures = jwk.usage.as_deref().is_none_or(|usage| usage == "sig")
        && jwk.key_ops.as_ref().is_none_or(|operations| operations.iter().any(|it| it == "verify"));
    if !for_signatures {
        return Ok(None);
    }
    let alg = jwk.alg.clone();
    let key = read_jwk(jwk, origin)?;
    // A key for another algorithm serves a purpose that is not supported here.
    Ok(key.filter(|key| alg.is_none_or(|alg| Algorithm::named(&alg) == Some(key.algorithm()))))
}

fn read_jwk(jwk: Jwk, origin: Origin) -> Result<Option<VerificationKey>, KeyError> {
    let read = |name: &str, value: Option<&str>| {
        let value = value.and_then(|value| URL_SAFE_NO_PAD.decode(value.trim_end_matches('=')).ok());
        let id = jwk.kid.as_deref().unwrap_or("without a `kid`");
        value.ok_or_else(|| wrong(format!("key {id} of the set has no readable `{name}`")))
    };
    let material = match (jwk.kty.as_str(), jwk.crv.as_deref()) {
        ("RSA", _) => {
            let n = unsigned(&read("n", jwk.n.as_deref())?).to_vec();
            let e = unsigned(&read("e", jwk.e.as_deref())?).to_vec();
            Material::Rsa { n, e }
        }
        ("EC", Some("P-256")) => {
            let (x, y) = (read("x", jwk.x.as_deref())?, read("y", jwk.y.as_deref())?);
            if x.len() != 32 || y.len() != 32 {
                return Err(wrong("a P-256 key of the set needs 32 bytes in `x` and in `y`"));
            }
            Material::P256([&[4][..], &x, &y].concat())
        }
        ("OKP", Some("Ed25519")) => Material::Ed25519(read("x", jwk.x.as_deref())?),
        ("oct", _) if origin == Origin::Published => {
            return Err(wrong("a published set cannot hold a secret (`oct`): everyone could sign with it"));
        }
        ("oct", _) => {
            let secret = read("k", jwk.k.as_deref())?;
            return VerificationKey::secret(&secret, jwk.kid).map(Some);
        }
        _ => return Ok(None),
    };
    Ok(Some(VerificationKey { id: jwk.kid, material }))
}

/// A number without the zeros before it.
fn unsigned(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).unwrap_or_default()
}

/// The content of a `SubjectPublicKeyInfo`, if it is a supported key.
fn subject_public_key(der: &[u8]) -> Option<Material> {
    const SEQUENCE: u8 = 0x30;
    const BITS: u8 = 0x03;
    const OBJECT: u8 = 0x06;
    const INTEGER: u8 = 0x02;
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
    const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
    const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
    const ED25519: &[u8] = &[0x2b, 0x65, 0x70];
    let (info, _) = element(der, SEQUENCE)?;
    let (algorithm, rest) = element(info, SEQUENCE)?;
    let (kind, parameters) = element(algorithm, OBJECT)?;
    // The first byte of a bit string is the number of unused bits in the last one.
    let (&0, key) = element(rest, BITS)?.0.split_first()? else { return None };
    match kind {
        RSA => {
            let (numbers, _) = element(key, SEQUENCE)?;
            let (n, rest) = element(numbers, INTEGER)?;
            let (e, _) = element(rest, INTEGER)?;
            Some(Material::Rsa { n: unsigned(n).to_vec(), e: unsigned(e).to_vec() })
        }
        ED25519 if key.len() == 32 => Some(Material::Ed25519(key.to_vec())),
        EC if element(parameters, OBJECT)?.0 == P256 && key.len() == 65 => Some(Material::P256(key.to_vec())),
        _ => None,
    }
}

/// Splits off the first DER element, if it is of the given kind.
fn element(der: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&short, rest) = rest.split_first()?;
    let (length, rest) = if short < 0x80 {
        (usize::from(short), rest)
    } else {
        let digits = usize::from(short & 0x7f);
        if digits > 4 {
            return None;
        }
        let (length, rest) = rest.split_at_checked(digits)?;
        (length.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
    };
    (found == kind).then(|| rest.split_at_checked(length)).flatten()
}
