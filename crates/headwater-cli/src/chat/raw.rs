//! The mode of the terminal in which each key arrives at once.

use std::io::{self, Write as _};

/// Writes to the terminal.
pub(super) fn write_all(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The columns and rows of the terminal.
pub(super) fn size() -> (u16, u16) {
    terminal_size::terminal_size().map_or((80, 24), |(width, height)| (width.0.max(1), height.0.max(1)))
}

/// Whether there is such a mode on this system; without it the chat is that of a pipe.
pub(super) const IS_AVAILABLE: bool = cfg!(unix);

/// A terminal in this mode; dropping it restores the terminal.
pub(super) struct RawTerminal {
    #[cfg(unix)]
    before: rustix::termios::Termios,
}

impl RawTerminal {
    #[cfg(unix)]
    pub(super) fn enter() -> io::Result<Self> {
        use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        // Text that was typed before stays.
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        let terminal = Self { before };
        // Pasted text arrives as a whole.
        write_all("\x1B[?2004h")?;
        Ok(terminal)
    }

    #[cfg(not(unix))]
    pub(super) fn enter() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        // A terminal that is gone cannot be restored.
        let _ = write_all("\x1B[?2004l\x1B[?25h");
        #[cfg(unix)]
        let _ =
            rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Drain, &self.before);
    }
}
