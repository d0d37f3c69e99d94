//! The key that signs cursors and tokens.

use std::{fmt, hash::Hasher as _};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use siphasher::sip::SipHasher24;

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
    /// The same key for [`Secret::sign_cursor`].
    cursors: SipHasher24,
}

impl Secret {
    /// A secret with the given bytes, for stores and tests.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        // HMAC pads a shorter key with zeros; a whole block is always accepted.
        let mut block = [0; 64];
        block.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        let keyed = Hmac::new(&block.into());
        // A separate key, which reveals nothing about the secret.
        let key = sign(keyed.clone(), &[b"key of cursors"]);
        Self { bytes, keyed, cursors: SipHasher24::new_with_key(&key) }
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
        sign(self.keyed.clone(), parts)
    }

    /// Signs a cursor. A stream has one for each frame, so it uses SipHash, a keyed hash made for short messages.
    pub(crate) fn sign_cursor(&self, cursor: &[u8]) -> [u8; 8] {
        let mut hasher = self.cursors;
        hasher.write(cursor);
        hasher.finish().to_le_bytes()
    }

    /// Whether `tag` (the first 8 or more bytes of a signature) signs these parts. Runs in constant time.
    #[must_use]
    pub fn verify(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        tag.len() >= 8 && self.digest(parts).verify_truncated_left(tag).is_ok()
    }

    fn digest(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        digest(self.keyed.clone(), parts)
    }
}

fn digest(mut keyed: Hmac<Sha256>, parts: &[&[u8]]) -> Hmac<Sha256> {
    for part in parts {
        keyed.update(&(part.len() as u64).to_le_bytes());
        keyed.update(part);
    }
    keyed
}

fn sign(keyed: Hmac<Sha256>, parts: &[&[u8]]) -> [u8; 16] {
    let full = digest(keyed, parts).finalize().into_bytes();
    let mut tag = [0; 16];
    tag.iter_mut().zip(full).for_each(|(tag, byte)| *tag = byte);
    tag
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
