//! Which keys of an object have come, where it matters that one comes again.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

/// The keys of one object. Declared names are bits; what only a wildcard matches is kept by its hash. Two keys with one
/// hash would take away what nobody wrote, which does nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    names: u64,
    others: Option<Hashes>,
}

type Hashes = HashSet<u64, BuildHasherDefault<Keep>>;

/// Makes and keeps what all the [`Seen`] of one extractor need.
#[derive(Debug, Clone, Default)]
pub(super) struct Pool {
    hasher: RandomState,
    spare: Vec<Hashes>,
}

/// A set that has grown beyond this is not kept: to empty it again and again would cost more than to make another.
const KEPT: usize = 256;

impl Pool {
    /// Notes that a key has come, and tells whether it had come before.
    #[inline]
    pub(super) fn again(&mut self, seen: &mut Seen, ordinal: Option<u32>, key: &str) -> bool {
        if let Some(bit) = ordinal.and_then(|ordinal| 1_u64.checked_shl(ordinal)) {
            let again = seen.names & bit != 0;
            seen.names |= bit;
            return again;
        }
        let others = seen.others.get_or_insert_with(|| self.spare.pop().unwrap_or_default());
        !others.insert(self.hasher.hash_one(key))
    }

    #[inline]
    pub(super) fn take_back(&mut self, seen: Seen) {
        if let Some(mut others) = seen.others
            && others.capacity() <= KEPT
        {
            others.clear();
            self.spare.push(others);
        }
    }
}

/// Keeps a number that is a hash already.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Keep(u64);

impl Hasher for Keep {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
