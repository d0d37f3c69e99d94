//! A server process: started until it is ready, watched, and stopped.

use std::{
    fs::{self, File},
    io,
    net::{Ipv4Addr, TcpListener},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// Maximum time for a server to start or stop.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Kills the server and removes its folder when the test process dies without dropping it: then the pipe
/// closes.
const WATCHDOG: &str = r#"read _; kill -9 "$1"; rm -rf "$2""#;

/// Messages of a server about temporary obstacles: its port was taken meanwhile, or processes of the killed
/// server before it are still exiting.
const TEMPORARY_OBSTACLES: [&str; 3] = ["Address already in use", "shared memory block", "postmaster.pid"];

/// Why a server did not start.
#[derive(Debug)]
pub(super) enum StartError {
    /// A retry or another port may work.
    Temporary(String),
    Final(String),
}

impl StartError {
    pub(super) fn text(self) -> String {
        match self {
            Self::Temporary(text) | Self::Final(text) => text,
        }
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::Final(error.to_string())
    }
}

/// A server that is ready. It is killed when it is dropped.
#[derive(Debug)]
pub(super) struct ServerProcess {
    server: Child,
    watchdog: Child,
}

impl ServerProcess {
    /// Starts a server and waits until it is ready. Its output goes to `log`.
    pub(super) fn start(
        mut command: Command,
        folder: &Path,
        log: &Path,
        ready: impl Fn() -> bool,
    ) -> Result<Self, StartError> {
        let output = File::create(log)?;
        let mut server = command.stdout(output.try_clone()?).stderr(output).spawn()?;
        let watchdog = match watchdog(server.id(), folder) {
            Ok(watchdog) => watchdog,
            Err(error) => {
                let _ = server.kill();
                let _ = server.wait();
                return Err(error.into());
            }
        };
        let mut process = Self { server, watchdog };
        let start = Instant::now();
        while !ready() {
            if let Some(status) = process.server.try_wait()? {
                return Err(ended(&format!("the server ended ({status})"), log));
            }
            if start.elapsed() > TIMEOUT {
                return Err(ended(&format!("not ready after {TIMEOUT:?}"), log));
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(process)
    }

    pub(super) fn id(&self) -> u32 {
        self.server.id()
    }

    /// The processes that it has begun and that still run, where the system has `/proc`.
    pub(super) fn children(&self) -> Vec<Pid> {
        let is_child = |pid: &i32| {
            let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // The name, in brackets, may hold anything; then come the state and the parent.
            let parent = status.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
            parent.and_then(|parent| parent.parse().ok()) == Some(self.id())
        };
        let names = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let pids = names.filter_map(|name| name.file_name().to_str()?.parse().ok());
        pids.filter(is_child).filter_map(Pid::from_raw).collect()
    }

    /// Signals the server to stop and waits until it has exited.
    pub(super) fn stop(mut self, signal: Signal) -> Result<(), String> {
        let id =
            i32::try_from(self.id()).ok().and_then(Pid::from_raw).ok_or("the server has no process id")?;
        kill_process(id, signal).map_err(|error| format!("cannot stop the server: {error}"))?;
        let start = Instant::now();
        while self.server.try_wait().map_err(|error| error.to_string())?.is_none() {
            if start.elapsed() > TIMEOUT {
                return Err(format!("did not end within {TIMEOUT:?} after {signal:?}"));
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The watchdog first: after the server has exited, its process id may be reused.
        for child in [&mut self.watchdog, &mut self.server] {
            // Either may have exited already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn watchdog(server: u32, folder: &Path) -> io::Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", WATCHDOG, "watchdog", &server.to_string()]).arg(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.process_group(0).spawn()
}

fn ended(what: &str, log: &Path) -> StartError {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let last = lines.get(lines.len().saturating_sub(20)..).unwrap_or_default().join("\n");
    let message = format!("{what}:\n{last}");
    if TEMPORARY_OBSTACLES.iter().any(|words| text.contains(words)) {
        StartError::Temporary(message)
    } else {
        StartError::Final(message)
    }
}

/// A port that is free now. Another process may take it before the server does, so starting is retried.
pub(super) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Retries while the obstacle is temporary.
pub(super) fn until_started<T>(mut start: impl FnMut() -> Result<T, StartError>) -> Result<T, String> {
    let begin = Instant::now();
    loop {
        match start() {
            Ok(started) => return Ok(started),
            Err(StartError::Temporary(_)) if begin.elapsed() < TIMEOUT => thread::sleep(POLL_INTERVAL * 10),
            Err(error) => return Err(error.text()),
        }
    }
}

/// The log of the n-th start.
pub(super) fn log_file(folder: &Path, start: u32) -> PathBuf {
    folder.join(format!("server-{start}.log"))
}
