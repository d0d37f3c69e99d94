//! Maps with keys that the store itself assigns.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

/// A map by numbers that count up.
pub(super) type NumberMap<V> = HashMap<u64, V, BuildHasherDefault<NumberHasher>>;

/// Hashes numbers that no client chooses, so it need not resist attacks.
#[derive(Debug, Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write_u64(&mut self, number: u64) {
        // An odd factor keeps numbers that follow each other apart in the low bits, and spreads them in the high ones.
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0.rotate_left(8) ^ u64::from(*byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
