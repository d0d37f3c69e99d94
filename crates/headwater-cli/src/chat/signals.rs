//! The signals that end the chat: a closed terminal, and a request to stop.

use crate::failure::CommandFailure;

#[cfg(unix)]
pub(super) struct EndSignals {
    hangup: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl EndSignals {
    pub(super) fn watch() -> Result<Self, CommandFailure> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error| CommandFailure::new(format!("cannot wait for signals: {error}"));
        let hangup = signal(SignalKind::hangup()).map_err(failed)?;
        Ok(Self { hangup, terminate: signal(SignalKind::terminate()).map_err(failed)? })
    }

    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.hangup.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
pub(super) struct EndSignals;

#[cfg(not(unix))]
impl EndSignals {
    #[expect(clippy::unnecessary_wraps, reason = "signals can fail elsewhere")]
    pub(super) fn watch() -> Result<Self, CommandFailure> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) {
        std::future::pending().await
    }
}
