//! The signals of the terminal: closed, asked to stop, or of another size.

use crate::failure::CommandFailure;

/// What a signal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "there are no such signals elsewhere"))]
pub(super) enum TerminalSignal {
    End,
    Resize,
}

#[cfg(unix)]
pub(super) struct TerminalSignals {
    hangup: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    resize: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl TerminalSignals {
    pub(super) fn watch() -> Result<Self, CommandFailure> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error| CommandFailure::new(format!("cannot wait for signals: {error}"));
        Ok(Self {
            hangup: signal(SignalKind::hangup()).map_err(failed)?,
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            resize: signal(SignalKind::window_change()).map_err(failed)?,
        })
    }

    pub(super) async fn next(&mut self) -> TerminalSignal {
        tokio::select! {
            _ = self.hangup.recv() => TerminalSignal::End,
            _ = self.terminate.recv() => TerminalSignal::End,
            _ = self.resize.recv() => TerminalSignal::Resize,
        }
    }
}

#[cfg(not(unix))]
pub(super) struct TerminalSignals;

#[cfg(not(unix))]
impl TerminalSignals {
    #[expect(clippy::unnecessary_wraps, reason = "signals can fail elsewhere")]
    pub(super) fn watch() -> Result<Self, CommandFailure> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) -> TerminalSignal {
        std::future::pending().await
    }
}
