//! Copies a store into another of any kind, and reads back what it wrote.
//!
//! The target has the same journals (sequences, epochs, times, classes, beginnings and ends) and the same values with the time
//! that they have left. The secret is a value, so cursors and tokens that were given out stay valid. Versions of values are
//! the target's own: nothing that is stored names one.
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
//! // The driver writes on: a second pass brings the rest.
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

use crate::{Clock, Error, ErrorKind, JournalId, Result, Store, SystemClock, secret};

pub use digest::Digest;

/// How many names or values are asked for at once.
const NAMES: usize = 10_000;

/// Problems beyond this are counted and not described.
const MAX_PROBLEMS: usize = 100;

/// How a store is copied.
#[derive(Debug, Clone)]
pub struct CopyOptions {
    /// Whether the target may be an earlier copy of the source: it gets what has changed since, and loses what the source
    /// no longer has. Otherwise the target must be empty.
    pub update: bool,
    /// How many journals and values are copied at the same time.
    pub concurrency: usize,
    /// Says how much time the values have left.
    pub clock: Arc<dyn Clock>,
}

impl Default for CopyOptions {
    /// Into an empty target, 32 at a time.
    fn default() -> Self {
        Self { update: false, concurrency: 32, clock: Arc::new(SystemClock) }
    }
}

/// How far a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyProgress {
    /// Journals that are done, whether or not they had to be copied.
    pub journals: u64,
    /// Journals of the source when the copy began.
    pub journals_total: u64,
    /// Values that are done.
    pub values: u64,
    /// Bytes of records and values that were copied.
    pub bytes: u64,
}

/// What became of journals or values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyCounts {
    /// Written to the target, read back, and the same.
    pub copied: u64,
    /// The same in the target already.
    pub unchanged: u64,
    /// Removed from the target, because the source no longer has them.
    pub removed: u64,
    /// Not in the target as the source has them: see [`CopyReport::problems`].
    pub failed: u64,
}

/// What a copy did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CopyReport {
    /// Journals.
    pub journals: CopyCounts,
    /// Values.
    pub values: CopyCounts,
    /// Records that were copied.
    pub records: u64,
    /// Bytes of records and values that were copied.
    pub bytes: u64,
    /// Journals that had a driver, alive or dead. What a live one has written since is not in the target.
    pub active: u64,
    /// The digest of all journals and values that were copied, as they were read back from the target. Their order does
    /// not matter.
    pub digest: Digest,
    /// What could not be copied, and why; at most 100 of them.
    pub problems: Vec<CopyProblem>,
}

impl CopyReport {
    /// Whether the target has everything as the source had it.
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
    /// Its name.
    pub what: String,
    /// The code of the error.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for CopyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.message)
    }
}

/// Copies all journals and values of a store into another, and reads them back.
///
/// The source may be in use: each journal is copied up to the record that could be seen when its turn came. A copy that is
/// to replace its source needs one more pass with [`CopyOptions::update`] when nothing writes to the source any more. The
/// target must not be in use.
///
/// # Errors
/// [`Exists`](ErrorKind::Exists) when the target is not empty, or with `update` not a copy of the source; nothing is changed
/// then. An error of a store that concerns more than one journal or value; what is in the target then is not complete, and
/// a pass with `update` goes on.
pub async fn copy(
    from: &dyn Store,
    to: &dyn Store,
    options: &CopyOptions,
    progress: impl Fn(CopyProgress) + Sync,
) -> Result<CopyReport> {
    // What an earlier copy may have left under way.
    to.flush().await?;
    let is_empty = to.journals(None, 1).await?.is_empty() && to.list("", None, 1).await?.is_empty();
    if !is_empty {
        check_is_copy(from, to, options).await?;
    }
    // First of all: by its secret, a target that was not copied to its end is known as a copy of this source.
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

/// One copy while it is made.
struct Pass<'a> {
    from: &'a dyn Store,
    to: &'a dyn Store,
    options: &'a CopyOptions,
    /// Whether the target was empty, so that nothing of it has to be looked at.
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
    let mut names: Vec<JournalId> = Vec::new();
    loop {
        let page = store.journals(names.last(), NAMES).await?;
        if page.is_empty() {
            return Ok(names);
        }
        names.extend(page);
    }
}

/// Whether an error concerns one journal or value alone, so that the others can go on.
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
