//! A server in a process of its own: started, watched, and stopped when it is dropped.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::serve;

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// This program again, as a server.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(serve::FLAG).args(arguments);
        Self::of(command).unwrap()
    }

    /// A Node server in the folder of the vendors' packages, if they are there.
    pub(crate) fn node() -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/vendors");
        folder.join("node_modules/ai").exists().then_some(())?;
        let mut command = Command::new("node");
        command.current_dir(folder).arg("bench-server.mjs").env("NODE_ENV", "production");
        Self::of(command).ok()
    }

    /// A server says where it listens in its first line, and ends when its input does.
    fn of(mut command: Command) -> std::io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line)?;
        let address = line.trim().parse().map_err(|_| std::io::Error::other("the server did not start"))?;
        Ok(Self { child, address })
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// The bytes that it has handed to the system for writing, and those that went to the disk.
    pub(crate) fn written(&self) -> [f64; 2] {
        let io = std::fs::read_to_string(format!("/proc/{}/io", self.child.id())).unwrap_or_default();
        ["wchar: ", "write_bytes: "].map(|name| {
            let line = io.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|number| number.parse().ok()).unwrap_or(f64::NAN)
        })
    }

    /// The seconds that it was on a core, all its threads together.
    pub(crate) fn cpu(&self) -> f64 {
        cpu(&self.child.id().to_string())
    }

    /// The bytes of the system's memory that it takes.
    pub(crate) fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
        let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
        kilobytes.unwrap_or(0.0) * 1024.0
    }
}

/// The seconds that the threads of a process were on a core.
pub(crate) fn cpu(process: &str) -> f64 {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let times = threads.filter_map(|thread| {
        let times = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        times.split_whitespace().next()?.parse::<f64>().ok()
    });
    let nanoseconds = times.sum::<f64>();
    if nanoseconds > 0.0 { nanoseconds / 1e9 } else { cpu_by_ticks(process) }
}

/// The same in steps of some milliseconds, where the system does not count the time of threads.
fn cpu_by_ticks(process: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name, in brackets, may hold anything.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: f64 = rest.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum();
    ticks / rustix::param::clock_ticks_per_second() as f64
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
