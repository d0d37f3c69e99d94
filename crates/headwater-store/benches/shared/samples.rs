//! Records that carry the time at which they were appended, and what their readers make of it.

use std::{
    sync::Mutex,
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;

use crate::RECORD;

/// Nanoseconds on the clock that all processes of a machine share.
fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// A record that is appended now.
pub(crate) fn record() -> Bytes {
    let mut record = text(RECORD);
    record[..8].copy_from_slice(&now().to_le_bytes());
    record.into()
}

/// Letters that no engine compresses to nothing.
pub(crate) fn text(length: usize) -> Vec<u8> {
    let next = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(b'a' + ((*state >> 33) % 26) as u8)
    };
    (0..length).scan(7_u64, |state, _| next(state)).collect()
}

/// How long records were under way, in nanoseconds.
#[derive(Default)]
pub(crate) struct Samples(Mutex<Vec<u64>>);

impl Samples {
    /// Takes note of a record that has arrived. Gives how many have.
    pub(crate) fn note(&self, record: &[u8]) -> usize {
        let sent = u64::from_le_bytes(record[..8].try_into().unwrap());
        let mut samples = self.0.lock().unwrap();
        samples.push(now().saturating_sub(sent));
        samples.len()
    }

    pub(crate) fn print(&self) {
        let mut samples = self.0.lock().unwrap();
        samples.sort_unstable();
        let at = |share: f64| samples[((samples.len() - 1) as f64 * share) as usize] as f64 / 1e6;
        println!("records={} p50={} p99={}", samples.len(), at(0.5), at(0.99));
    }
}
