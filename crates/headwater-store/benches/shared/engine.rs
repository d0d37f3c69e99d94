//! What the bench asks an engine, and the system about its processes.

use std::{fs, ops::Sub};

/// A server that runs.
pub(crate) trait Engine {
    /// Whether the npm package `resumable-stream` runs on it.
    const HAS_RESUMABLE_STREAM: bool;

    fn url(&self) -> String;
    /// Removes everything that was written.
    fn clear(&self);
    /// The connections of clients over the network.
    fn connections(&self) -> usize;
    /// The process that accepts connections.
    fn process(&self) -> u32;
    /// The bytes that it keeps, and those that it has written to its log.
    fn bytes(&self) -> (f64, f64);

    fn usage(&self) -> Usage {
        let (kept, written) = self.bytes();
        Usage { processor: processor_time(&with_children(self.process())), kept, written }
    }

    /// The bytes of memory that its processes have for themselves.
    fn resident(&self) -> f64 {
        resident(&with_children(self.process()))
    }
}

/// What an engine has used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// Seconds.
    pub(crate) processor: f64,
    pub(crate) kept: f64,
    pub(crate) written: f64,
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            processor: self.processor - before.processor,
            kept: self.kept - before.kept,
            written: self.written - before.written,
        }
    }
}

/// The fields of `/proc/PID/stat` after the name.
fn stat(process: u32) -> Vec<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in brackets, may hold anything. The first field after it is a letter.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(1);
    fields.map(|field| field.parse().unwrap_or(0)).collect()
}

/// A process and those that it started.
fn with_children(process: u32) -> Vec<u32> {
    let all =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let children = all.filter(|other| stat(*other).first() == Some(&u64::from(process)));
    children.chain([process]).collect()
}

/// The seconds that processes were on a core, with those of their children that have ended.
pub(crate) fn processor_time(processes: &[u32]) -> f64 {
    let ticks = |process: &u32| stat(*process).iter().skip(10).take(4).sum::<u64>();
    // A tick is 10 ms on every Linux.
    processes.iter().map(ticks).sum::<u64>() as f64 / 100.0
}

/// The bytes of memory that processes have for themselves.
pub(crate) fn resident(processes: &[u32]) -> f64 {
    let kilobytes = |process: &u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0)
    };
    processes.iter().map(kilobytes).sum::<f64>() * 1024.0
}

/// The time that all cores were busy, and all the time that passed on them.
pub(crate) fn machine_time() -> (f64, f64) {
    let stat = fs::read_to_string("/proc/stat").unwrap();
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
    let fields: Vec<f64> = fields.filter_map(|field| field.parse().ok()).collect();
    let all: f64 = fields.iter().sum();
    // Idle, and idle while the disk works.
    (all - fields[3] - fields[4], all)
}
