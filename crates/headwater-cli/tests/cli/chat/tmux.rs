//! A terminal of tmux with a program in it.

use std::{
    ffi::OsStr,
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::server::binary;

/// What stands before the exit code.
const EXIT: &str = "exit code ";

/// Runs the program and prints its exit code: tmux 3.3 sometimes does not notice that a program has exited.
const SHELL: &str = r#""$0" "$@"; echo "exit code $?"; read _"#;

/// How long something may take to be shown: a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A terminal. Its server is of its own, and ends with it.
pub(crate) struct Tmux {
    socket: String,
}

impl Tmux {
    /// Starts `headwater chat` in a terminal of 80 columns and 24 rows.
    pub(crate) fn chat(args: &[&str]) -> Self {
        Self::chat_with(args, &[])
    }

    /// The same with variables of the environment.
    pub(crate) fn chat_with(args: &[&str], variables: &[(&str, &str)]) -> Self {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let terminal = Self { socket: format!("headwater-test-{}-{number}", std::process::id()) };
        let mut start = terminal.command();
        let sets = |name: &str| name.starts_with("HEADWATER_") || name.starts_with("CLICOLOR");
        for (name, _) in std::env::vars().filter(|(name, _)| sets(name)) {
            start.env_remove(name);
        }
        start.env_remove("NO_COLOR").env_remove("TMUX").env("LC_ALL", "C.UTF-8");
        start.env("HEADWATER_DEMO_PACE", "0ms").envs(variables.iter().copied());
        start.args([
            "-f",
            "/dev/null",
            "start-server",
            ";",
            "set-option",
            "-g",
            "history-limit",
            "5000",
            ";",
        ]);
        start.args(["new-session", "-d", "-x", "80", "-y", "24", "--", "sh", "-c", SHELL]);
        start.arg(binary()).arg("chat").args(args);
        let output = start.output().unwrap_or_else(|error| {
            panic!("tmux cannot be started ({error}): these tests need it, so install it (Debian: tmux)")
        });
        checked(&output);
        terminal.wait_for("/help");
        terminal
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-L", &self.socket]);
        command
    }

    fn tmux<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> String {
        let output = self.command().args(args).output().unwrap();
        checked(&output);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Types a text, and Enter.
    pub(crate) fn send(&self, text: &str) {
        self.write(text);
        self.keys(&["Enter"]);
    }

    /// Types a text.
    pub(crate) fn write(&self, text: &str) {
        self.tmux(["send-keys", "-l", "--", text]);
    }

    /// Presses keys by their names in tmux.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tmux(["send-keys"].iter().chain(keys));
    }

    pub(crate) fn resize(&self, width: u32, height: u32) {
        self.tmux(["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    /// All that was printed and is on the screen. Lines that the terminal broke are joined.
    pub(crate) fn text(&self) -> String {
        let shown = self.tmux(["capture-pane", "-p", "-J", "-S", "-"]);
        shown.trim_end().lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// All that was printed, with the escapes of its styles.
    pub(crate) fn styled(&self) -> String {
        self.tmux(["capture-pane", "-p", "-e", "-S", "-"])
    }

    /// Waits until the terminal shows a text.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait(&format!("`{text}`"), |shown| shown.contains(text))
    }

    /// Waits until what the terminal shows is right.
    pub(crate) fn wait(&self, what: &str, is_right: impl Fn(&str) -> bool) -> String {
        let begin = Instant::now();
        loop {
            let shown = self.text();
            if is_right(&shown) {
                return shown;
            }
            assert!(begin.elapsed() < PATIENCE, "{what} was not shown:\n{shown}");
            thread::sleep(Duration::from_millis(30));
        }
    }

    /// Waits until the chat has nothing under way: the prompt is the last but one line, and no spinner turns.
    pub(crate) fn wait_idle(&self) -> String {
        self.wait("an idle prompt", |shown| {
            let end: Vec<_> = shown.lines().rev().take(8).collect();
            let is_busy = end.iter().any(|line| line.contains(|char| ('⠀'..='⣿').contains(&char)));
            let prompt = matches!(end.as_slice(), [foot, prompt, ..]
                if foot.contains("/help") && prompt.starts_with('›'));
            prompt && !is_busy
        })
    }

    /// Waits until the program has exited, and gives its exit code.
    pub(crate) fn wait_exit(&self) -> i32 {
        let code = |shown: &str| -> Option<i32> {
            Some(shown.rsplit_once(EXIT)?.1.split_whitespace().next()?.parse().unwrap())
        };
        code(&self.wait("the exit of the program", |shown| code(shown).is_some())).unwrap()
    }

    /// The process of the program.
    pub(crate) fn pid(&self) -> u32 {
        let shell = self.tmux(["display-message", "-p", "#{pane_pid}"]);
        let shell = shell.trim();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        children.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Closes the terminal.
    pub(crate) fn close(&self) {
        self.tmux(["kill-server"]);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // It may be closed already.
        let _ = self.command().arg("kill-server").output();
    }
}

fn checked(output: &Output) {
    assert!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr));
}
