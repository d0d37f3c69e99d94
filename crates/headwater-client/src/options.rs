//! Time limits and sizes of a client.

use std::time::Duration;

use crate::platform;

/// How patient a client is.
///
/// ```
/// use std::time::Duration;
/// use headwater_client::{Client, Options};
///
/// let options = Options { give_up_after: Duration::from_secs(600), ..Options::default() };
/// let client = Client::new("http://127.0.0.1:8787").options(options);
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    /// Time limit of a request without a stream: 30 seconds.
    pub request_timeout: Duration,
    /// How long a stream may be silent before it counts as cut: 45 seconds. The server sends a heartbeat
    /// every 15.
    pub stall_timeout: Duration,
    /// How long a cut stream reconnects without new data: 2 minutes. Then it fails with `stream.lost`.
    pub give_up_after: Duration,
    /// The wait before the first attempt to reconnect: a quarter of a second. It doubles with each further one, and half
    /// of it is random, so that clients of a restarted server do not return all at once.
    pub first_delay: Duration,
    /// The longest wait between two attempts: 10 seconds. A `Retry-After` of the server is honoured instead.
    pub longest_delay: Duration,
    /// The largest event that is accepted: 8 MiB. A larger one is `stream.too-large`.
    pub max_event_bytes: usize,
    /// Maximum bytes of a response, or of a stream in total: 256 MiB.
    pub max_response_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(45),
            give_up_after: Duration::from_secs(120),
            first_delay: Duration::from_millis(250),
            longest_delay: Duration::from_secs(10),
            max_event_bytes: 8 << 20,
            max_response_bytes: 256 << 20,
        }
    }
}

impl Options {
    /// The wait before the n-th attempt, from 1.
    pub(crate) fn delay(&self, attempt: u32) -> Duration {
        let doubled = self.first_delay.saturating_mul(1 << attempt.saturating_sub(1).min(20));
        let half = doubled.min(self.longest_delay) / 2;
        let share = (platform::random() % 1024) as u32;
        half + half * share / 1024
    }
}
