//! A server's process: started in a group of its own, so that all that it starts in turn ends with it.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fmt,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, ChildStdin, ChildStdout, Command},
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

    /// Starts it.
    pub(super) fn start(&self) -> Result<(Process, ChildStdout, ChildStdin)> {
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
        let ending = Ending::default();
        let reader = tokio::spawn(keep_last(errors, ending.clone()));
        Ok((Process { group: Group::of(&child), child, ending, reader }, output, input))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 4;
        write!(f, "{}", self.command.display())?;
        for arg in self.args.iter().take(MOST) {
            write!(f, " {}", arg.display())?;
        }
        if self.args.len() > MOST { f.write_str(" …") } else { Ok(()) }
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
    child: Child,
    group: Group,
    ending: Ending,
    /// Keeps the last of what it says to stderr.
    reader: JoinHandle<()>,
}

impl Process {
    /// How it ended, to be asked later.
    pub(super) fn ending(&self) -> Ending {
        self.ending.clone()
    }

    /// Waits until it has ended. May be dropped and called again.
    pub(super) async fn ended(&mut self) {
        let status = self.child.wait().await;
        // What it left behind holds its pipes open.
        self.group.kill();
        let _ = timeout(LAST_WORDS, &mut self.reader).await;
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
        let _ = self.child.start_kill();
        self.ended().await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.group.kill();
        self.reader.abort();
    }
}

/// The process group of a process, as long as there is one.
#[derive(Debug)]
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

    #[cfg(not(unix))]
    fn of(_: &Child) -> Self {
        Self()
    }

    #[cfg(not(unix))]
    fn ask_to_end(&self) {}

    #[cfg(not(unix))]
    fn kill(&mut self) {}
}

/// How a process ended and what it said last. A clone tells the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Ending(Arc<Mutex<Ended>>);

#[derive(Debug, Default)]
struct Ended {
    status: Option<Option<ExitStatus>>,
    last_words: VecDeque<u8>,
}

impl Ending {
    const KEPT: usize = 1024;

    fn with<T>(&self, look: impl FnOnce(&mut Ended) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_set(&self) -> bool {
        self.with(|ended| ended.status.is_some())
    }

    fn set(&self, status: Option<ExitStatus>) {
        self.with(|ended| ended.status = Some(status));
    }

    fn say(&self, bytes: &[u8]) {
        self.with(|ended| {
            ended.last_words.extend(bytes);
            let surplus = ended.last_words.len().saturating_sub(Self::KEPT);
            ended.last_words.drain(..surplus);
        });
    }

    /// What is known, as a clause: `it ended with exit status: 1 and said: …`.
    pub(super) fn describe(&self) -> String {
        self.with(|ended| {
            let status = match ended.status {
                Some(Some(status)) => format!("it ended with {status}"),
                Some(None) => "it ended".to_owned(),
                None => "it closed its output".to_owned(),
            };
            let words = String::from_utf8_lossy(ended.last_words.make_contiguous());
            let words = words.trim();
            if words.is_empty() { status } else { format!("{status} and said: {words}") }
        })
    }
}

async fn keep_last(mut from: impl AsyncRead + Unpin, ending: Ending) {
    let mut buffer = [0; 512];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        ending.say(buffer.get(..read).unwrap_or_default());
    }
}
