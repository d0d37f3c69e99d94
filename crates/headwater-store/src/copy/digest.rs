//! Digests of copied data.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::{Class, JournalId, Record};

/// A digest of journals and values that does not depend on their order: the sum of their SHA-256 hashes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Digest([u64; 4]);

impl Digest {
    /// Adds another digest.
    pub fn add(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
    }

    fn of(hash: Sha256) -> Self {
        let mut parts = [0; 4];
        let hash = hash.finalize();
        for (part, bytes) in parts.iter_mut().zip(hash.chunks(8)) {
            *part = bytes.iter().fold(0, |part, byte| part << 8 | u64::from(*byte));
        }
        Self(parts)
    }

    /// The digest of one value.
    pub(crate) fn of_value(key: &str, bytes: &[u8]) -> Self {
        let mut hash = Sha256::new_with_prefix(b"value");
        put(&mut hash, key.as_bytes());
        put(&mut hash, bytes);
        Self::of(hash)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| write!(f, "{part:016x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The digest of a journal while its records are read.
pub(crate) struct JournalDigest {
    hash: Sha256,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

impl JournalDigest {
    pub(crate) fn new(journal: &JournalId) -> Self {
        let mut hash = Sha256::new_with_prefix(b"journal");
        put(&mut hash, journal.as_str().as_bytes());
        Self { hash, records: 0, bytes: 0 }
    }

    pub(crate) fn add(&mut self, records: &[Record]) {
        for record in records {
            let fact = u64::from(record.class == Class::Fact);
            for number in [record.seq, record.epoch, record.time.0, fact] {
                self.hash.update(number.to_le_bytes());
            }
            put(&mut self.hash, &record.body);
            self.records += 1;
            self.bytes += record.body.len() as u64;
        }
    }

    pub(crate) fn finish(self) -> Digest {
        Digest::of(self.hash)
    }
}

/// Hashes a part with its length, so that part boundaries count.
fn put(hash: &mut Sha256, part: &[u8]) {
    hash.update((part.len() as u64).to_le_bytes());
    hash.update(part);
}
