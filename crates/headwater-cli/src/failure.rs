//! How a command ends: with a verdict about the stream, or with a failure.

use std::{fmt, io, path::Path};

/// The verdict about a stream or store; it decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitVerdict {
    /// Nothing is wrong.
    Sound,
    /// It is truncated, breaks a rule, or cannot be read by its own clients.
    AtFault,
}

impl ExitVerdict {
    pub(crate) fn at_fault_if(fault: bool) -> Self {
        if fault { Self::AtFault } else { Self::Sound }
    }
}

/// Why a command could not run: wrong usage, unreadable input, or output that cannot be written.
#[derive(Debug)]
pub(crate) struct CommandFailure {
    message: String,
    source: Option<io::Error>,
    exit_code: u8,
}

impl CommandFailure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None, exit_code: 2 }
    }

    /// A file could not be read.
    pub(crate) fn reading(name: &str, error: io::Error) -> Self {
        let what = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            io::ErrorKind::IsADirectory => "it is a directory: name a file in it".to_owned(),
            _ => error.to_string(),
        };
        Self { message: format!("cannot read {name}: {what}"), source: Some(error), exit_code: 2 }
    }

    /// The store in a folder could not be opened or read.
    pub(crate) fn of_folder(folder: &Path, error: &headwater_store::Error) -> Self {
        let folder = folder.display();
        Self::new(match error.kind() {
            headwater_store::ErrorKind::Locked => {
                format!("the store in {folder} is in use: stop its server first")
            }
            _ => format!("cannot read the store in {folder}: {error}"),
        })
    }

    /// A failure that may pass, such as a full disk: the exit code asks the supervisor to restart the server.
    pub(crate) fn temporary(message: impl Into<String>) -> Self {
        Self::with_exit_code(message, 3)
    }

    /// A failure with an exit code of its own.
    pub(crate) fn with_exit_code(message: impl Into<String>, exit_code: u8) -> Self {
        Self { exit_code, ..Self::new(message) }
    }

    /// Whether the same command may succeed later.
    pub(crate) const fn is_temporary(&self) -> bool {
        self.exit_code == 3
    }

    pub(crate) const fn exit_code(&self) -> u8 {
        self.exit_code
    }

    /// The reader of our output has closed it, which is not an error.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.source.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CommandFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// Errors without a file name come from writing; reads use [`CommandFailure::reading`].
impl From<io::Error> for CommandFailure {
    fn from(error: io::Error) -> Self {
        Self { message: format!("cannot write the output: {error}"), source: Some(error), exit_code: 2 }
    }
}

impl From<serde_json::Error> for CommandFailure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}
