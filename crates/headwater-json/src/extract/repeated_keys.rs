//! Detects repeated keys of an object, where a repetition must remove earlier chunks.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

/// The keys that an object has had so far. Declared names are bits; keys that only a wildcard matches are
/// stored as hashes. A hash collision only removes a path that was never written, which has no effect.
#[derive(Debug, Clone, Default)]
pub(super) struct SeenKeys {
    names: u64,
    others: Option<Hashes>,
}

type Hashes = HashSet<u64, BuildHasherDefault<IdentityHasher>>;

/// Shared state and spare sets for all [`SeenKeys`] of one extractor.
#[derive(Debug, Clone, Default)]
pub(super) struct SeenKeysPool {
    hasher: RandomState,
    spare: Vec<Hashes>,
}

/// Larger sets are dropped: clearing them repeatedly would cost more than a new allocation.
const MAX_SPARE_CAPACITY: usize = 256;

impl SeenKeysPool {
    /// Records a key and returns whether the object already had it.
    #[inline]
    pub(super) fn repeated(&mut self, seen: &mut SeenKeys, ordinal: Option<u32>, key: &str) -> bool {
        if let Some(bit) = ordinal.and_then(|ordinal| 1_u64.checked_shl(ordinal)) {
            let repeated = seen.names & bit != 0;
            seen.names |= bit;
            return repeated;
        }
        let others = seen.others.get_or_insert_with(|| self.spare.pop().unwrap_or_default());
        !others.insert(self.hasher.hash_one(key))
    }

    #[inline]
    pub(super) fn recycle(&mut self, seen: SeenKeys) {
        if let Some(mut others) = seen.others
            && others.capacity() <= MAX_SPARE_CAPACITY
        {
            others.clear();
            self.spare.push(others);
        }
    }
}

/// A hasher for numbers that are hashes already.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
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
