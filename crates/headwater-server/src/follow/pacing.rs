//! Batches writes to readers while the server is busy.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::runtime::Handle;

/// The length of a measurement.
const WINDOW: Duration = Duration::from_millis(50);

/// In thousandths: above this load the server is busy.
const BUSY: u32 = 850;

/// How long a reader of a busy server waits before the next read: too short to notice.
const PAUSE: Duration = Duration::from_millis(40);

/// Load of the server.
#[derive(Debug, Default)]
pub(super) struct WritePacing {
    /// In thousandths of the time of all its threads.
    busy: AtomicU32,
    counted: Mutex<Option<BusySample>>,
}

/// Time of the last measurement, and the total busy time of all threads at that time.
#[derive(Debug, Clone, Copy)]
struct BusySample {
    at: Instant,
    busy: Duration,
}

impl WritePacing {
    /// Pauses a reader between a write and the next read. Events that arrive during the pause are written
    /// together: a write costs the same at any size, so a busy server saves most of them.
    pub(super) async fn pause(&self) {
        if self.busy() >= BUSY {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The load in thousandths.
    fn busy(&self) -> u32 {
        // If another reader is measuring, use the last value.
        if let Ok(mut counted) = self.counted.try_lock() {
            let now = Instant::now();
            let since = counted.map(|counted| now.duration_since(counted.at));
            if since.is_none_or(|since| since >= WINDOW) {
                let metrics = Handle::current().metrics();
                let threads = metrics.num_workers();
                let busy = (0..threads).map(|thread| metrics.worker_total_busy_duration(thread)).sum();
                if let Some((before, since)) = counted.zip(since) {
                    let share = busy_share(busy, before.busy, since, threads);
                    let smooth = (self.busy.load(Ordering::Relaxed) + share) / 2;
                    self.busy.store(smooth, Ordering::Relaxed);
                }
                *counted = Some(BusySample { at: now, busy });
            }
        }
        self.busy.load(Ordering::Relaxed)
    }
}

/// The share of the threads' time in which they were busy, in thousandths.
fn busy_share(now: Duration, before: Duration, since: Duration, threads: usize) -> u32 {
    let all = since.as_secs_f64() * threads as f64;
    let share = now.saturating_sub(before).as_secs_f64() / all;
    (share.clamp(0.0, 1.0) * 1000.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_the_time_of_all_threads() {
        let ms = Duration::from_millis;
        assert_eq!(busy_share(ms(50), ms(50), ms(50), 2), 0, "nothing was done");
        assert_eq!(busy_share(ms(100), ms(50), ms(50), 2), 500, "one of two threads was busy");
        assert_eq!(busy_share(ms(150), ms(50), ms(50), 2), 1000, "both were");
        assert_eq!(busy_share(ms(900), ms(50), ms(50), 2), 1000, "a late measurement is at most 1");
        assert_eq!(busy_share(ms(40), ms(50), ms(50), 2), 0, "an early measurement is at least 0");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_server_that_never_rests_is_found_to_be_busy_and_one_that_does_is_not() {
        let pace = WritePacing::default();
        let busy = tokio::spawn(async {
            loop {
                let began = Instant::now();
                while began.elapsed() < Duration::from_micros(100) {
                    std::hint::spin_loop();
                }
                tokio::task::yield_now().await;
            }
        });
        while pace.busy() < BUSY {
            tokio::time::sleep(WINDOW).await;
        }
        busy.abort();
        while pace.busy() >= BUSY {
            tokio::time::sleep(WINDOW).await;
        }
    }
}
