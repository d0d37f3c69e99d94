//! The key that signs webhooks. It is kept in the store, so all servers of a store have the same.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_store::{Expect, Store};
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{StreamError, clock};

/// The key of the value.
const KEY: &str = "durable-stream-signing-key";

/// The key pair of a store.
#[derive(Debug)]
pub(super) struct SigningKey {
    pair: Ed25519KeyPair,
    pub(super) id: String,
    public: String,
}

impl SigningKey {
    /// The key of the store, created on first use.
    pub(super) async fn of(store: &dyn Store) -> Result<Self, StreamError> {
        let broken = |_| {
            tracing::error!("the signing key of webhooks cannot be used");
            StreamError::internal()
        };
        loop {
            if let Some(value) = store.get(KEY).await? {
                return Ok(Self::new(
                    Ed25519KeyPair::from_pkcs8_maybe_unchecked(&value.bytes).map_err(broken)?,
                ));
            }
            let pair =
                Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| StreamError::internal())?;
            match store.put(KEY, bytes::Bytes::copy_from_slice(pair.as_ref()), Expect::Absent, None).await {
                Ok(_) => {}
                // Another server was first.
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn new(pair: Ed25519KeyPair) -> Self {
        let public = URL_SAFE_NO_PAD.encode(pair.public_key());
        // The thumbprint of RFC 7638: the required members in the order of their names.
        let thumbprint = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{public}"}}"#);
        let id = format!("ds_{}", URL_SAFE_NO_PAD.encode(Sha256::digest(thumbprint)));
        Self { pair, id, public }
    }

    /// The public key as a JSON Web Key Set.
    pub(super) fn jwks(&self) -> Value {
        json!({ "keys": [{
            "kty": "OKP", "crv": "Ed25519", "x": self.public, "kid": self.id, "use": "sig", "alg": "EdDSA",
        }] })
    }

    /// The value of `Webhook-Signature` for a body sent now.
    pub(super) fn sign(&self, body: &str) -> String {
        let time = clock::now() / 1_000;
        let signature = self.pair.sign(format!("{time}.{body}").as_bytes());
        format!("t={time},kid={},ed25519={}", self.id, URL_SAFE_NO_PAD.encode(signature))
    }
}
