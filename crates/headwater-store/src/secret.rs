//! The key that signs cursors and tokens.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::{Error, ErrorKind, Expect, Result, Store};

/// The key under which a store keeps its secret.
pub(crate) const KEY: &str = "secret";

/// A key that signs cursors and tokens, so that forged ones from clients are detected.
///
/// ```
/// use headwater_store::Secret;
///
/// let secret = Secret::from_bytes([7; 32]);
/// let tag = secret.sign(&[b"run_1", b"request_2"]);
/// assert!(secret.verify(&[b"run_1", b"request_2"], &tag));
/// assert!(!secret.verify(&[b"run_1r", b"equest_2"], &tag), "where a part ends is signed too");
/// ```
#[derive(Clone)]
pub struct Secret {
    bytes: [u8; 32],
    keyed: Hmac<Sha256>,
}

impl Secret {
    /// A secret with the given bytes, for stores and tests.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        // HMAC pads a shorter key with zeros; a whole block is always accepted.
        let mut block = [0; 64];
        block.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        let keyed = Hmac::new(&block.into());
        Self { bytes, keyed }
    }

    /// The store's secret, created on first use and the same in every process from then on.
    ///
    /// # Errors
    /// When the store cannot be read or written, or the system provides no random bytes.
    pub async fn of(store: &dyn Store) -> Result<Self> {
        loop {
            if let Some(value) = store.get(KEY).await? {
                let bytes = <[u8; 32]>::try_from(&*value.bytes)
                    .map_err(|_| Error::new(ErrorKind::Corrupt, "the store's secret is not 32 bytes long"))?;
                return Ok(Self::from_bytes(bytes));
            }
            let mut bytes = [0; 32];
            getrandom::fill(&mut bytes).map_err(|error| {
                Error::new(ErrorKind::Io, format!("no random bytes for a secret: {error}"))
            })?;
            match store.put(KEY, bytes.to_vec().into(), Expect::Absent, None).await {
                Ok(_) => return Ok(Self::from_bytes(bytes)),
                // Another process was first: use its secret.
                Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Signs some parts, including their boundaries.
    #[must_use]
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 16] {
        let full = self.digest(parts).finalize().into_bytes();
        let mut tag = [0; 16];
        tag.iter_mut().zip(full).for_each(|(tag, byte)| *tag = byte);
        tag
    }

    /// Whether `tag` (the first 8 or more bytes of a signature) signs these parts. Runs in constant time.
    #[must_use]
    pub fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        tag.len() >= 8 && self.digest(parts).verify_truncated_left(tag).is_ok()
    }

    fn digest(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut digest = self.keyed.clone();
        for part in parts {
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
