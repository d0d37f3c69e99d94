//! How a command ends: with a verdict about the stream, or with a failure to judge it at all.

use std::{fmt, io};

/// What a command has to say about the stream it read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is what it should be.
    Sound,
    /// It is cut, or breaks a rule, or cannot be read by its own clients.
    AtFault,
}

impl Verdict {
    pub(crate) fn at_fault_if(fault: bool) -> Self {
        if fault { Self::AtFault } else { Self::Sound }
    }
}

/// Why a command could not do its work: wrong usage, input that cannot be read, output that cannot be written.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    source: Option<io::Error>,
    exit_code: u8,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, exit_code: 2 }
    }

    /// Something could not be read.
    pub(crate) fn reading(name: &str, error: io::Error) -> Self {
        let what = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            io::ErrorKind::IsADirectory => "it is a directory: name a file in it".to_owned(),
            _ => error.to_string(),
        };
        Self { message: format!("cannot read {name}: {what}"), source: Some(error), exit_code: 2 }
    }

    /// A failure that may pass, such as a full disk: the exit code tells the supervisor to start the server again.
    pub(crate) fn temporary(message: impl Into<String>) -> Self {
        Self { exit_code: 3, ..Self::new(message) }
    }

    pub(crate) const fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// Whoever read our output has gone; that is their right.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.source.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// An I/O error without a name is one of writing; reading goes through [`Failure::reading`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { message: format!("cannot write the output: {error}"), source: Some(error), exit_code: 2 }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}
