//! A server's process, started in its own process group so that its children end with it.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fmt, io,
    path::PathBuf,
    pin::Pin,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, ready},
    time::Duration,
};

use headwater_protocol::Secrets;
use tokio::{
    io::{AsyncRead, AsyncReadExt, ReadBuf},
    process::{Child, ChildStdin, ChildStdout, Command},
    runtime::Handle,
    sync::Notify,
    task::JoinHandle,
    time::timeout,
};

use crate::{Error, ErrorKind, Result};

/// How long a process may take to exit on its own. Many never do, and the caller waits for the end of the
/// reason call.
const EXIT_GRACE: Duration = Duration::from_millis(300);
/// How long it may take after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long to wait for the stderr of an exited process.
const STDERR_GRACE: Duration = Duration::from_millis(500);

/// A shorter argument is an ordinary word, unless the flag before it marks it as secret.
const SHORTEST_WORD: usize = 8;
/// Maximum length of a line of output.
pub(super) const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// Variables that a program needs to run. The rest of our environment may hold keys and is not passed on.
#[cfg(not(windows))]
const INHERITED: &[&str] = &[
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_RUNTIME_DIR",
];
#[cfg(windows)]
const INHERITED: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
];

/// A program and how to start it.
#[derive(Clone)]
pub(super) struct Program {
    command: OsString,
    args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: Option<PathBuf>,
}

impl Program {
    pub(super) fn new(command: OsString, args: Vec<OsString>) -> Self {
        Self { command, args, env: Vec::new(), cwd: None }
    }

    /// Values to redact: all environment values, arguments after a secret-like flag, and unusual words.
    pub(super) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::of(self.env.iter().filter_map(|(_, value)| value.to_str()));
        let mut is_named = false;
        for arg in self.args.iter().filter_map(|arg| arg.to_str()) {
            let words = arg.split(|c: char| c.is_whitespace() || "\"'=;,&|".contains(c));
            for word in words.filter(|word| !word.is_empty()) {
                let is_odd = word.contains(|c: char| c.is_ascii_digit() || c.is_uppercase());
                if is_named || (is_odd && word.len() >= SHORTEST_WORD) {
                    secrets.add(word);
                }
                is_named = Secrets::is_name(word);
            }
        }
        secrets
    }

    /// Starts the program.
    pub(super) fn start(&self) -> Result<(Process, ProcessOutput, ChildStdin)> {
        let mut command = Command::new(&self.command);
        command.args(&self.args).env_clear();
        let inherited = INHERITED.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value)));
        command.envs(inherited).envs(self.env.iter().cloned());
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let start = |error| Error::caused(ErrorKind::Start, "it cannot be started", error);
        let mut child = command.spawn().map_err(start)?;
        let pipes = (child.stdout.take(), child.stdin.take(), child.stderr.take());
        let (Some(output), Some(input), Some(errors)) = pipes else {
            return Err(Error::new(ErrorKind::Start, "the pipes are missing"));
        };
        let ending = ProcessExit::new(self);
        let reader = tokio::spawn(keep_last(errors, ending.clone()));
        let output = ProcessOutput { pipe: output, ending: ending.clone(), line: 0 };
        Ok((
            Process { group: ProcessGroup::of(&child), child: Some(child), ending, reader: Some(reader) },
            output,
            input,
        ))
    }
}

/// Shows only the command: arguments and environment may hold secrets.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.command.display())
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("command", &self.to_string()).finish_non_exhaustive()
    }
}

/// A running process and its children. Dropping it kills them.
#[derive(Debug)]
pub(super) struct Process {
    /// `None` once the drop handler has taken it.
    child: Option<Child>,
    group: ProcessGroup,
    ending: ProcessExit,
    /// Reads stderr and keeps its end.
    reader: Option<JoinHandle<()>>,
}

impl Process {
    /// How it ended, available later.
    pub(super) fn ending(&self) -> ProcessExit {
        self.ending.clone()
    }

    /// Waits until it has exited. Cancel-safe: may be called again.
    pub(super) async fn ended(&mut self) {
        let (Some(child), Some(reader)) = (&mut self.child, &mut self.reader) else { return };
        let status = child.wait().await;
        // Its children may still hold its pipes open.
        self.group.kill();
        // A handle must not be polled again once it has given its result.
        if !reader.is_finished() {
            let _ = timeout(STDERR_GRACE, reader).await;
        }
        self.ending.set(status.ok());
    }

    /// Waits briefly for the exit of a process that has closed its output.
    pub(super) async fn ended_soon(&mut self) {
        if !self.ending.is_set() {
            let _ = timeout(STDERR_GRACE, self.ended()).await;
        }
    }

    /// Ends it: waits for it to exit now that its input is closed, then sends SIGTERM, then kills it.
    pub(super) async fn stop(&mut self) {
        if self.ending.is_set() {
            return;
        }
        if timeout(EXIT_GRACE, self.ended()).await.is_ok() {
            return;
        }
        self.group.terminate();
        if timeout(TERM_GRACE, self.ended()).await.is_ok() {
            return;
        }
        self.group.kill();
        if let Some(child) = &mut self.child {
            let _ = child.start_kill();
        }
        self.ended().await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let (Some(mut child), Some(mut reader)) = (self.child.take(), self.reader.take()) else { return };
        let (mut group, ending) = (self.group.take(), self.ending.clone());
        let Ok(runtime) = Handle::try_current().map_err(|_| group.kill()) else { return };
        // A server that fails at its start closes the connection before its exit status and stderr are
        // available, so it gets a moment.
        runtime.spawn(async move {
            let mut status = timeout(STDERR_GRACE, child.wait()).await.ok();
            group.kill();
            if status.is_none() {
                status = Some(child.wait().await);
            }
            if !reader.is_finished() {
                let _ = timeout(STDERR_GRACE, &mut reader).await;
            }
            reader.abort();
            ending.set(status.and_then(Result::ok));
        });
    }
}

/// The process group of a process, while it exists. Dropping it kills the group.
#[derive(Debug, Default)]
struct ProcessGroup(#[cfg(unix)] Option<rustix::process::Pid>);

impl ProcessGroup {
    #[cfg(unix)]
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(rustix::process::Pid::from_raw))
    }

    #[cfg(unix)]
    fn terminate(&self) {
        if let Some(group) = self.0 {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
    }

    /// Only once: the id may belong to another group later.
    #[cfg(unix)]
    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }

    /// Moves the group to a new owner, which will kill it.
    fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    #[cfg(not(unix))]
    fn of(_: &Child) -> Self {
        Self()
    }

    #[cfg(not(unix))]
    fn terminate(&self) {}

    #[cfg(not(unix))]
    fn kill(&mut self) {}
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a process ended and the end of its stderr. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct ProcessExit(Arc<Mutex<ExitState>>);

#[derive(Debug)]
struct ExitState {
    command: String,
    secrets: Secrets,
    status: Option<Option<ExitStatus>>,
    /// Whether it wrote a line above the length limit.
    is_oversized: bool,
    stderr_tail: VecDeque<u8>,
    is_logged: bool,
    /// Notified when the exit status is known.
    settled: Arc<Notify>,
}

impl ProcessExit {
    const KEPT: usize = 1024;

    fn new(program: &Program) -> Self {
        Self(Arc::new(Mutex::new(ExitState {
            command: program.to_string(),
            secrets: program.secrets(),
            status: None,
            is_oversized: false,
            stderr_tail: VecDeque::new(),
            is_logged: false,
            settled: Arc::default(),
        })))
    }

    fn with<T>(&self, look: impl FnOnce(&mut ExitState) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_set(&self) -> bool {
        self.with(|ended| ended.status.is_some())
    }

    fn set(&self, status: Option<ExitStatus>) {
        self.with(|ended| {
            ended.status.get_or_insert(status);
            ended.settled.notify_waiters();
        });
    }

    /// Waits briefly until the exit status is known.
    pub(super) async fn settled(&self) {
        let settled = self.with(|ended| Arc::clone(&ended.settled));
        let settled = settled.notified();
        if !self.is_set() {
            let _ = timeout(STDERR_GRACE * 3, settled).await;
        }
    }

    fn add_stderr(&self, bytes: &[u8]) {
        self.with(|ended| {
            ended.stderr_tail.extend(bytes);
            let surplus = ended.stderr_tail.len().saturating_sub(Self::KEPT);
            ended.stderr_tail.drain(..surplus);
        });
    }

    /// Why the connection ended. The stderr goes to the log once, for the operator, and not into the error.
    pub(super) fn error(&self) -> Error {
        self.with(|ended| {
            let status = match ended.status {
                _ if ended.is_oversized => {
                    format!("it wrote a line of more than {LONGEST_LINE} bytes, which is the limit")
                }
                Some(Some(status)) => format!("it ended with {status}"),
                Some(None) => "it ended".to_owned(),
                None => "it closed its output".to_owned(),
            };
            if !std::mem::replace(&mut ended.is_logged, true) {
                let stderr = String::from_utf8_lossy(ended.stderr_tail.make_contiguous());
                let stderr = ended.secrets.remove(stderr.trim());
                tracing::warn!(command = ?ended.command, status, ?stderr, "an MCP server failed");
            }
            Error::new(if ended.is_oversized { ErrorKind::Protocol } else { ErrorKind::Ended }, status)
        })
    }
}

/// The output of a process. A line above the limit is an error here: rmcp would drop it, and its call would
/// wait forever.
#[derive(Debug)]
pub(super) struct ProcessOutput {
    pipe: ChildStdout,
    ending: ProcessExit,
    /// Bytes since the last line break.
    line: usize,
}

impl AsyncRead for ProcessOutput {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        ready!(Pin::new(&mut this.pipe).poll_read(cx, into))?;
        let read = into.filled().get(before..).unwrap_or_default();
        this.line = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => read.len() - end - 1,
            None => this.line + read.len(),
        };
        if this.line > LONGEST_LINE {
            this.ending.with(|ended| ended.is_oversized = true);
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long")));
        }
        Poll::Ready(Ok(()))
    }
}

async fn keep_last(mut from: impl AsyncRead + Unpin, ending: ProcessExit) {
    let mut buffer = [0; 512];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        ending.add_stderr(buffer.get(..read).unwrap_or_default());
    }
}
