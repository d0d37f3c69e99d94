//! Errors of stores.

use std::{fmt, sync::Arc};

use crate::{Class, JournalId, Monotonic};

/// The result of a store operation.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of a store, with cause, place and remedy.
///
/// One pointer wide and cheap to clone: every caller of a failed commit gets the same error.
#[derive(Debug, Clone)]
pub struct Error(Arc<ErrorInner>);

#[derive(Debug)]
struct ErrorInner {
    kind: ErrorKind,
    message: String,
    source: Option<std::io::Error>,
}

/// The kind of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The lease's epoch is not the journal's newest: another driver has taken over.
    Stale {
        /// The epoch that holds the journal now, if any.
        current: Option<u64>,
    },
    /// Another owner holds the lease.
    Held {
        /// The process that has the lease.
        owner: Arc<str>,
        /// When the lease ends, unless renewed.
        expires: Monotonic,
    },
    /// There is no such journal.
    Unknown,
    /// A journal with this name already exists.
    Exists,
    /// The journal is closed and accepts no more records.
    Closed,
    /// The requested records were trimmed.
    Trimmed {
        /// The first sequence that is kept.
        first: u64,
    },
    /// The value is not at the expected version.
    Conflict {
        /// The current version; `None` if there is no such value.
        current: Option<u64>,
    },
    /// A record, batch, key or value is larger than allowed.
    TooLarge,
    /// The journal has reached its size limit, or a store in memory its own. Retrying does not help until
    /// something is trimmed or deleted.
    Full,
    /// Too much data waits to be written: the disk is slower than the callers. Nothing was appended; wait for
    /// [`room`](crate::Store::room) and repeat the call.
    Busy,
    /// The disk has no space left. This stops the store.
    NoSpace,
    /// The stored bytes are not the ones that were written.
    Corrupt,
    /// The file system failed.
    Io,
    /// Another process uses the folder.
    Locked,
    /// The folder was written in a different format.
    Format,
    /// An earlier failure stopped the store: it accepts no writes until it is reopened.
    Stopped,
    /// The database is unreachable or temporarily unable to respond. The store reconnects on its own: retry
    /// later.
    Unavailable,
    /// The database rejects this program: wrong URL, password or rights, or an unsupported server.
    Rejected,
    /// A cursor is not valid for this journal: `cursor.forged`, `cursor.foreign` and so on.
    Cursor(CursorFault),
}

/// The reason why a cursor is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CursorFault {
    /// It cannot be parsed.
    Malformed,
    /// It was not signed with this store's secret.
    Forged,
    /// It belongs to another journal.
    Foreign,
    /// Its epoch never wrote to this journal.
    UnknownEpoch,
    /// It points beyond the last record.
    Future,
}

impl ErrorKind {
    /// A stable code for machines.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Stale { .. } => "store.stale",
            Self::Held { .. } => "store.held",
            Self::Unknown => "store.unknown",
            Self::Exists => "store.exists",
            Self::Closed => "store.closed",
            Self::Trimmed { .. } => "store.trimmed",
            Self::Conflict { .. } => "store.conflict",
            Self::TooLarge => "store.too-large",
            Self::Full => "store.full",
            Self::Busy => "store.busy",
            Self::NoSpace => "store.no-space",
            Self::Corrupt => "store.corrupt",
            Self::Io => "store.io",
            Self::Locked => "store.locked",
            Self::Format => "store.format",
            Self::Stopped => "store.stopped",
            Self::Unavailable => "store.unavailable",
            Self::Rejected => "store.rejected",
            Self::Cursor(CursorFault::Malformed) => "cursor.malformed",
            Self::Cursor(CursorFault::Forged) => "cursor.forged",
            Self::Cursor(CursorFault::Foreign) => "cursor.foreign",
            Self::Cursor(CursorFault::UnknownEpoch) => "cursor.unknown-epoch",
            Self::Cursor(CursorFault::Future) => "cursor.future",
        }
    }
}

impl Error {
    /// An error of a kind, whose message has cause, place and remedy.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(ErrorInner { kind, message: message.into(), source: None }))
    }

    /// A failure of the file system during an operation.
    pub fn io(doing: impl fmt::Display, source: std::io::Error) -> Self {
        let message = format!("{doing}: {source}");
        Self(Arc::new(ErrorInner { kind: ErrorKind::Io, message, source: Some(source) }))
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// A stable code for machines.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// Whether the same call may succeed later without any other change. All other errors are permanent: a
    /// record that is [`TooLarge`](ErrorKind::TooLarge) or a journal that is [`Full`](ErrorKind::Full) stays
    /// so, and a store that has [`Stopped`](ErrorKind::Stopped) must be reopened.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::Held { .. } | ErrorKind::Busy | ErrorKind::Locked | ErrorKind::Unavailable
        )
    }

    /// The lease has been taken over.
    #[must_use]
    pub fn stale(journal: &JournalId, epoch: u64, current: Option<u64>) -> Self {
        let now = match current {
            Some(current) => format!("epoch {current} drives it now"),
            None => "its lease is free now".to_owned(),
        };
        let message = format!("journal {journal}: epoch {epoch} is fenced and can no longer write, {now}");
        Self::new(ErrorKind::Stale { current }, message)
    }

    /// There is no such journal.
    #[must_use]
    pub fn unknown(journal: &JournalId) -> Self {
        Self::new(
            ErrorKind::Unknown,
            format!("unknown journal {journal}: it never existed, or it was deleted"),
        )
    }

    /// A journal of this name already exists.
    #[must_use]
    pub fn exists(journal: &JournalId) -> Self {
        let message = format!("journal {journal} already exists in this store: delete it first, or keep it");
        Self::new(ErrorKind::Exists, message)
    }

    /// The journal is closed.
    #[must_use]
    pub fn closed(journal: &JournalId) -> Self {
        Self::new(ErrorKind::Closed, format!("journal {journal} is closed and accepts no more records"))
    }

    /// Another owner holds the lease.
    #[must_use]
    pub fn held(journal: &JournalId, owner: &Arc<str>, expires: Monotonic) -> Self {
        let message =
            format!("journal {journal} is driven by {owner}, whose lease has not expired; try again later");
        Self::new(ErrorKind::Held { owner: owner.clone(), expires }, message)
    }

    /// The requested records were trimmed.
    #[must_use]
    pub fn trimmed(journal: &JournalId, after: u64, first: u64) -> Self {
        let message =
            format!("journal {journal}: records after {after} were trimmed, the first record is {first}");
        Self::new(ErrorKind::Trimmed { first }, message)
    }

    /// The value was changed in the meantime.
    #[must_use]
    pub fn conflict(key: &str, current: Option<u64>) -> Self {
        let now =
            current.map_or_else(|| "it does not exist".to_owned(), |at| format!("it is at version {at}"));
        let message = format!("value {key}: version conflict, {now}; read it again and retry");
        Self::new(ErrorKind::Conflict { current }, message)
    }

    /// A record, batch, name or value is too large.
    #[must_use]
    pub fn too_large(what: &str, size: usize, limit: usize) -> Self {
        Self::new(ErrorKind::TooLarge, format!("{what} of {size} bytes is too large: the limit is {limit}"))
    }

    /// The journal has reached its size limit.
    #[must_use]
    pub fn full(journal: &JournalId, class: Class, limit: u64) -> Self {
        let message = format!(
            "journal {journal}: no room for another {class}, the limit is {limit} bytes; trim it first"
        );
        Self::new(ErrorKind::Full, message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}
