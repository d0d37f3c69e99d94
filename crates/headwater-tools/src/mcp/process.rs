//! A server's process: started in a group of its own, so that all that it starts in turn ends with it.

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

/// How long a process may take to end by itself. Many do not, and somebody waits for the end of the reason call.
const UNASKED: Duration = Duration::from_millis(300);
/// How long it may take when it is asked to.
const ASKED: Duration = Duration::from_secs(2);
/// How long the last words of a process that has ended may take.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A shorter word of an argument is an ordinary one, unless a name says otherwise.
const SHORTEST_WORD: usize = 8;
/// The longest line of a process that is read.
pub(super) const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// What a program needs to run. The rest of our environment may hold keys, and is nobody's business.
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

    /// Starts it.
    pub(super) fn start(&self) -> Result<(Process, Output, ChildStdin)> {
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
            return Err(Error::new(ErrorKind::Start, "it was started without its pipes"));
        };
        let ending = Ending::new(self);
        let reader = tokio::spawn(keep_last(errors, ending.clone()));
        let output = Output { pipe: output, ending: ending.clone(), line: 0 };
        Ok((
            Process { group: Group::of(&child), child: Some(child), ending, reader: Some(reader) },
            output,
            input,
        ))
    }
}

/// The command alone: arguments and environment may hold secrets.
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

/// A process that was started, with all that it started. Dropped, it is killed.
#[derive(Debug)]
pub(super) struct Process {
    /// Gone when it is dropped.
    child: Option<Child>,
    group: Group,
    ending: Ending,
    /// Keeps the last of what it says to stderr.
    reader: Option<JoinHandle<()>>,
}

impl Process {
    /// How it ended, to be asked later.
    pub(super) fn ending(&self) -> Ending {
        self.ending.clone()
    }

    /// Waits until it has ended. May be dropped and called again.
    pub(super) async fn ended(&mut self) {
        let (Some(child), Some(reader)) = (&mut self.child, &mut self.reader) else { return };
        let status = child.wait().await;
        // What it left behind holds its pipes open.
        self.group.kill();
        let _ = timeout(LAST_WORDS, reader).await;
        self.ending.set(status.ok());
    }

    /// Waits a little for the end of a process that has closed its output.
    pub(super) async fn ended_soon(&mut self) {
        if !self.ending.is_set() {
            let _ = timeout(LAST_WORDS, self.ended()).await;
        }
    }

    /// Ends it: by itself now that its input is closed, or asked to, or killed.
    pub(super) async fn stop(&mut self) {
        if self.ending.is_set() {
            return;
        }
        if timeout(UNASKED, self.ended()).await.is_ok() {
            return;
        }
        self.group.ask_to_end();
        if timeout(ASKED, self.ended()).await.is_ok() {
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
        // One that is about to end by itself gets a moment to tell how: a server that dies at once closes the connection
        // before its status and its last words are there.
        runtime.spawn(async move {
            let mut status = timeout(LAST_WORDS, child.wait()).await.ok();
            group.kill();
            if status.is_none() {
                status = Some(child.wait().await);
            }
            let _ = timeout(LAST_WORDS, &mut reader).await;
            reader.abort();
            ending.set(status.and_then(Result::ok));
        });
    }
}

/// The process group of a process, as long as there is one. Dropped, it is killed.
#[derive(Debug, Default)]
struct Group(#[cfg(unix)] Option<rustix::process::Pid>);

impl Group {
    #[cfg(unix)]
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(rustix::process::Pid::from_raw))
    }

    #[cfg(unix)]
    fn ask_to_end(&self) {
        if let Some(group) = self.0 {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
    }

    /// Once: the number may be another group's later.
    #[cfg(unix)]
    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }

    /// Hands the group over: the new holder kills it.
    fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    #[cfg(not(unix))]
    fn of(_: &Child) -> Self {
        Self()
    }

    #[cfg(not(unix))]
    fn ask_to_end(&self) {}

    #[cfg(not(unix))]
    fn kill(&mut self) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a process ended and what it said last. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Ending(Arc<Mutex<Ended>>);

#[derive(Debug)]
struct Ended {
    command: String,
    secrets: Secrets,
    status: Option<Option<ExitStatus>>,
    /// It wrote a line that is longer than any message may be.
    is_oversized: bool,
    last_words: VecDeque<u8>,
    is_logged: bool,
    /// Told when the status is known.
    settled: Arc<Notify>,
}

impl Ending {
    const KEPT: usize = 1024;

    fn new(program: &Program) -> Self {
        Self(Arc::new(Mutex::new(Ended {
            command: program.to_string(),
            secrets: program.secrets(),
            status: None,
            is_oversized: false,
            last_words: VecDeque::new(),
            is_logged: false,
            settled: Arc::default(),
        })))
    }

    fn with<T>(&self, look: impl FnOnce(&mut Ended) -> T) -> T {
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

    /// Waits a little until its status is known.
    pub(super) async fn settled(&self) {
        let settled = self.with(|ended| Arc::clone(&ended.settled));
        let settled = settled.notified();
        if !self.is_set() {
            let _ = timeout(LAST_WORDS * 3, settled).await;
        }
    }

    fn say(&self, bytes: &[u8]) {
        self.with(|ended| {
            ended.last_words.extend(bytes);
            let surplus = ended.last_words.len().saturating_sub(Self::KEPT);
            ended.last_words.drain(..surplus);
        });
    }

    /// Why a connection to it is over. What it wrote to stderr goes to the log, once: it is for the operator.
    pub(super) fn error(&self) -> Error {
        self.with(|ended| {
            let status = match ended.status {
                _ if ended.is_oversized => {
                    format!("it wrote a line of more than {LONGEST_LINE} bytes, the most that is read")
                }
                Some(Some(status)) => format!("it ended with {status}"),
                Some(None) => "it ended".to_owned(),
                None => "it closed its output".to_owned(),
            };
            if !std::mem::replace(&mut ended.is_logged, true) {
                let stderr = String::from_utf8_lossy(ended.last_words.make_contiguous());
                let stderr = ended.secrets.remove(stderr.trim());
                tracing::warn!(command = ?ended.command, status, ?stderr, "an MCP server failed");
            }
            Error::new(if ended.is_oversized { ErrorKind::Protocol } else { ErrorKind::Ended }, status)
        })
    }
}

/// The output of a process. A line that is too long is an error here: rmcp would drop it, and the call that it answers would
/// wait in vain.
#[derive(Debug)]
pub(super) struct Output {
    pipe: ChildStdout,
    ending: Ending,
    /// The bytes since the last end of a line.
    line: usize,
}

impl AsyncRead for Output {
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

async fn keep_last(mut from: impl AsyncRead + Unpin, ending: Ending) {
    let mut buffer = [0; 512];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        ending.say(buffer.get(..read).unwrap_or_default());
    }
}
