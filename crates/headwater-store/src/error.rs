//! What a store can refuse or fail at.

use std::{fmt, sync::Arc};

use crate::{Class, JournalId, Monotonic};

/// The result of asking a store for something.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a store refused or failed at, and what to do.
///
/// One pointer wide and cheap to clone: one failed commit is told to everyone who waited for it.
#[derive(Debug, Clone)]
pub struct Error(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<std::io::Error>,
}

/// What kind of thing went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The lease's epoch is not the journal's newest: another driver has taken over.
    Stale {
        /// The epoch that holds the journal now, if any does.
        current: Option<u64>,
    },
    /// Somebody else holds the lease.
    Held {
        /// Who.
        owner: Arc<str>,
        /// Until when, unless renewed.
        expires: Monotonic,
    },
    /// There is no such journal.
    Unknown,
    /// There is a journal of that name already.
    Exists,
    /// The journal is closed; nothing is appended to it any more.
    Closed,
    /// The records asked for are no longer kept.
    Trimmed {
        /// The first sequence that is kept.
        first: u64,
    },
    /// The value is not at the version that was expected.
    Conflict {
        /// The version that it is at; `None` if there is no such value.
        current: Option<u64>,
    },
    /// A record, batch, key or value is larger than allowed.
    TooLarge,
    /// The journal's share of the store is used up, or the memory of a store in memory. It stays so until something is
    /// trimmed or deleted: repeating the call does not help.
    Full,
    /// More waits to be written than the store takes: the disk is slower than its callers. Nothing was appended; wait for
    /// [`room`](crate::Store::room) and repeat the call.
    Busy,
    /// The disk has no space left. This stops the store.
    NoSpace,
    /// Stored bytes are not what was written.
    Corrupt,
    /// The file system refused or failed.
    Io,
    /// Another process uses the folder.
    Locked,
    /// The folder was written by a newer version.
    Format,
    /// An earlier failure stopped the store: it takes no more writes until it is opened anew.
    Stopped,
    /// The engine behind the store cannot be reached, or cannot do it now. It reconnects by itself: repeat the call later.
    Unavailable,
    /// The engine rejects this program: its URL, password or rights are wrong, or it is a server that does not fit.
    Rejected,
    /// A cursor is not one of ours, or not for this journal: `cursor.forged`, `cursor.foreign` and so on.
    Cursor(CursorFault),
}

/// What is wrong with a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CursorFault {
    /// It cannot be read at all.
    Malformed,
    /// It was not made with this store's secret.
    Forged,
    /// It belongs to another journal.
    Foreign,
    /// Its epoch never wrote to this journal.
    UnknownEpoch,
    /// It points after the last record.
    Future,
}

impl ErrorKind {
    /// A stable word for machines.
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
    /// An error of a kind, with what happened, where, and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner { kind, message: message.into(), source: None }))
    }

    /// A failure of the file system while doing something.
    pub fn io(doing: impl fmt::Display, source: std::io::Error) -> Self {
        let message = format!("{doing}: {source}");
        Self(Arc::new(Inner { kind: ErrorKind::Io, message, source: Some(source) }))
    }

    /// What kind of thing went wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// A stable word for machines.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// Whether the same call may succeed later, with nothing changed but the time. All other refusals stay: a record that
    /// is [`TooLarge`](ErrorKind::TooLarge) or a journal that is [`Full`](ErrorKind::Full) is so for ever, and a store that
    /// has [`Stopped`](ErrorKind::Stopped) must be opened anew.
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
            None => "nobody holds its lease now".to_owned(),
        };
        let message = format!("journal {journal}: epoch {epoch} may not write any more, {now}");
        Self::new(ErrorKind::Stale { current }, message)
    }

    /// There is no such journal.
    #[must_use]
    pub fn unknown(journal: &JournalId) -> Self {
        Self::new(ErrorKind::Unknown, format!("no journal {journal}: it never was, or its retention is over"))
    }

    /// A journal cannot be restored over another.
    #[must_use]
    pub fn exists(journal: &JournalId) -> Self {
        let message = format!("journal {journal} is in this store already: delete it first, or keep it");
        Self::new(ErrorKind::Exists, message)
    }

    /// The journal takes no more records.
    #[must_use]
    pub fn closed(journal: &JournalId) -> Self {
        Self::new(ErrorKind::Closed, format!("journal {journal} is closed and takes no more records"))
    }

    /// The lease is another's.
    #[must_use]
    pub fn held(journal: &JournalId, owner: &Arc<str>, expires: Monotonic) -> Self {
        let message =
            format!("journal {journal} is driven by {owner}, whose lease has not run out; try again later");
        Self::new(ErrorKind::Held { owner: owner.clone(), expires }, message)
    }

    /// The records asked for are gone.
    #[must_use]
    pub fn trimmed(journal: &JournalId, after: u64, first: u64) -> Self {
        let message =
            format!("journal {journal}: what follows {after} is no longer kept, the first record is {first}");
        Self::new(ErrorKind::Trimmed { first }, message)
    }

    /// The value changed meanwhile.
    #[must_use]
    pub fn conflict(key: &str, current: Option<u64>) -> Self {
        let now = current.map_or_else(|| "it is not there".to_owned(), |at| format!("it is at version {at}"));
        let message = format!("value {key}: not what was expected, {now}; read it again and decide anew");
        Self::new(ErrorKind::Conflict { current }, message)
    }

    /// A record that is larger than the store takes.
    #[must_use]
    pub fn too_large(what: &str, size: usize, limit: usize) -> Self {
        Self::new(ErrorKind::TooLarge, format!("{what} of {size} bytes: at most {limit} are taken"))
    }

    /// The journal's share of the store is used up.
    #[must_use]
    pub fn full(journal: &JournalId, class: Class, limit: u64) -> Self {
        let message =
            format!("journal {journal}: no room for another {class}, {limit} bytes are kept; trim it first");
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
