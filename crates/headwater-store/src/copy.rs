//! Copies a store to another of any kind and verifies the copy by reading it back.
//!
//! The target gets the same journals (sequences, epochs, times, classes, beginnings and ends) and the same
//! values with their remaining time to live. The secret is a value, so existing cursors and tokens stay
//! valid. Versions of values are the target's own: no stored data refers to one.
//!
//! ```
//! use headwater_store::{Class, Memory, Store, copy::{CopyOptions, copy}};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> headwater_store::Result<()> {
//! let (from, to) = (Memory::new(), Memory::new());
//! let lease = from.claim(&"run".into(), "me", std::time::Duration::from_secs(30)).await?;
//! from.append(&lease, Class::Fact, &["it began".into()])?.await?;
//!
//! let report = copy(&from, &to, &CopyOptions::default(), |_| {}).await?;
//! assert!(report.is_good());
//! assert_eq!((report.journals.copied, report.records, report.active), (1, 1, 1));
//!
//! // The driver continues to write: a second pass copies the rest.
//! from.append(&lease, Class::Fact, &["it went on".into()])?.await?;
//! let update = CopyOptions { update: true, ..CopyOptions::default() };
//! assert_eq!(copy(&from, &to, &update, |_| {}).await?.records, 2);
//! # Ok(())
//! # }
//! ```

mod digest;
mod journals;
mod values;

use std::{fmt, sync::Arc};

use crate::{Clock, Error, ErrorKind, JournalId, JournalPages, Result, Store, SystemClock, secret};

pub use digest::Digest;

/// Further problems are counted but not described.
const MAX_PROBLEMS: usize = 100;

/// The options of a copy.
#[derive(Debug, Clone)]
pub struct CopyOptions {
    /// Whether the target may be an earlier copy of the source: then changes are copied and deletions
    /// repeated. Otherwise the target must be empty.
    pub update: bool,
    /// Number of journals and values copied concurrently.
    pub concurrency: usize,
    /// The clock for the remaining time to live of values.
    pub clock: Arc<dyn Clock>,
}

impl Default for CopyOptions {
    /// Into an empty target, 32 at a time.
    fn default() -> Self {
        Self { update: false, concurrency: 32, clock: Arc::new(SystemClock) }
    }
}

/// The progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyProgress {
    /// Finished journals, including unchanged ones.
    pub journals: u64,
    /// Number of journals in the source when the copy started.
    pub journals_total: u64,
    /// Finished values.
    pub values: u64,
    /// Copied bytes of records and values.
    pub bytes: u64,
}

/// Results for journals or values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyCounts {
    /// Written to the target and verified.
    pub copied: u64,
    /// Already the same in the target.
    pub unchanged: u64,
    /// Removed from the target because the source no longer has them.
    pub removed: u64,
    /// Differences between source and target: see [`CopyReport::problems`].
    pub failed: u64,
}

/// The result of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CopyReport {
    /// Results for journals.
    pub journals: CopyCounts,
    /// Results for values.
    pub values: CopyCounts,
    /// Copied records.
    pub records: u64,
    /// Copied bytes of records and values.
    pub bytes: u64,
    /// Journals that had a driver, alive or dead. Later writes of a live one are not in the target.
    pub active: u64,
    /// The digest of all copied journals and values, as read back from the target. It does not depend on
    /// their order.
    pub digest: Digest,
    /// The items that could not be copied, at most 100.
    pub problems: Vec<CopyProblem>,
}

impl CopyReport {
    /// Whether the target has everything that the source had.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.journals.failed == 0 && self.values.failed == 0
    }

    fn problem(&mut self, what: String, error: &Error) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(CopyProblem { what, code: error.code(), message: error.to_string() });
        }
    }
}

/// A journal or value that could not be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyProblem {
    /// The journal or value.
    pub what: String,
    /// The code of the error.
    pub code: &'static str,
    /// The error message.
    pub message: String,
}

impl fmt::Display for CopyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.message)
    }
}

/// Copies all journals and values of a store to another, and reads them back.
///
/// The source may be in use: each journal is copied up to its last visible record at that moment. Before the
/// copy replaces the source, make another pass with [`CopyOptions::update`] when nothing writes to the source
/// any more. The target must not be in use.
///
/// # Errors
/// [`Exists`](ErrorKind::Exists) when the target is not empty or, with `update`, not a copy of the source;
/// nothing is changed then. An error of a store that concerns more than one journal or value; the target is
/// then incomplete, and a pass with `update` continues.
pub async fn copy(
    from: &dyn Store,
    to: &dyn Store,
    options: &CopyOptions,
    progress: impl Fn(CopyProgress) + Sync,
) -> Result<CopyReport> {
    // Wait for writes that an earlier copy may have left in progress.
    to.flush().await?;
    let is_empty = to.journals(None, 1).await?.is_empty() && to.list("", None, 1).await?.is_empty();
    if !is_empty {
        check_is_copy(from, to, options).await?;
    }
    // The secret goes first: it identifies an incomplete target as a copy of this source.
    values::copy_secret(from, to).await?;
    let mut pass = Pass {
        from,
        to,
        options,
        fresh: is_empty,
        progress: &progress,
        done: CopyProgress::default(),
        report: CopyReport::default(),
    };
    pass.copy_journals().await?;
    pass.copy_values().await?;
    to.flush().await?;
    Ok(pass.report)
}

/// A copy in progress.
struct Pass<'a> {
    from: &'a dyn Store,
    to: &'a dyn Store,
    options: &'a CopyOptions,
    /// Whether the target was empty, so that nothing in it needs to be compared.
    fresh: bool,
    progress: &'a (dyn Fn(CopyProgress) + Sync),
    done: CopyProgress,
    report: CopyReport,
}

async fn check_is_copy(from: &dyn Store, to: &dyn Store, options: &CopyOptions) -> Result<()> {
    let refuse = |why: &str| Err(Error::new(ErrorKind::Exists, why));
    if !options.update {
        return refuse(
            "the target is not empty: copy to an empty one, or update it if it is an earlier copy of this source",
        );
    }
    let secret =
        async |store: &dyn Store| Ok::<_, Error>(store.get(secret::KEY).await?.map(|value| value.bytes));
    if secret(from).await? != secret(to).await? {
        return refuse(
            "the target has another secret than the source, so it is not a copy of it: copy to an empty one",
        );
    }
    Ok(())
}

/// The names of all journals.
async fn names(store: &dyn Store) -> Result<Vec<JournalId>> {
    let mut names = Vec::new();
    let mut pages = JournalPages::new(store);
    while let Some(page) = pages.next().await? {
        names.extend(page);
    }
    Ok(names)
}

/// Whether an error concerns only one journal or value, so that the others can continue.
fn is_local(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Corrupt
            | ErrorKind::TooLarge
            | ErrorKind::Full
            | ErrorKind::Exists
            | ErrorKind::Held { .. }
    )
}
