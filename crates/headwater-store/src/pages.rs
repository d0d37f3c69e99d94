//! Going through values and journals a page at a time, however many there are.

use crate::{Expect, JournalId, Result, Store, Value};

/// How many values a page has.
const VALUES: usize = 100;

/// How many names of journals a page has: listing names may cost as much as scanning all of them.
const JOURNALS: usize = 10_000;

/// The values whose keys begin with a prefix, in the order of their keys. Values that are removed meanwhile do no harm.
///
/// ```
/// use headwater_store::{Expect, Memory, Store, ValuePages};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> headwater_store::Result<()> {
/// let store = Memory::new();
/// for name in ["color/red", "color/blue", "shape/round"] {
///     store.put(name, "".into(), Expect::Any, None).await?;
/// }
/// let mut colors = Vec::new();
/// let mut pages = ValuePages::new(&store, "color/").size(1);
/// while let Some(page) = pages.next().await? {
///     colors.extend(page.into_iter().map(|(key, _)| key));
/// }
/// assert_eq!(colors, ["color/blue", "color/red"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ValuePages<'a> {
    store: &'a dyn Store,
    prefix: String,
    after: Option<String>,
    size: usize,
    is_over: bool,
}

impl<'a> ValuePages<'a> {
    /// All values whose keys begin with a prefix, in pages of 100.
    #[must_use]
    pub fn new(store: &'a dyn Store, prefix: impl Into<String>) -> Self {
        Self { store, prefix: prefix.into(), after: None, size: VALUES, is_over: false }
    }

    /// Begins after a key.
    #[must_use]
    pub fn after(mut self, key: Option<String>) -> Self {
        self.after = key;
        self
    }

    /// Sets how many values a page has: fewer where values are large.
    #[must_use]
    pub fn size(mut self, size: usize) -> Self {
        self.size = size.max(1);
        self
    }

    /// The next values, at least one; `None` after the last.
    ///
    /// # Errors
    /// When the store fails. The same page can be asked for again.
    pub async fn next(&mut self) -> Result<Option<Vec<(String, Value)>>> {
        if self.is_over {
            return Ok(None);
        }
        let page = self.store.list(&self.prefix, self.after.as_deref(), self.size).await?;
        self.is_over = page.len() < self.size;
        let Some((last, _)) = page.last() else { return Ok(None) };
        self.after = Some(last.clone());
        Ok(Some(page))
    }

    /// The key at which to continue later; `None` at the end.
    #[must_use]
    pub fn rest(self) -> Option<String> {
        self.after.filter(|_| !self.is_over)
    }
}

/// The names of all journals, in their order.
#[derive(Debug)]
pub struct JournalPages<'a> {
    store: &'a dyn Store,
    after: Option<JournalId>,
    is_over: bool,
}

impl<'a> JournalPages<'a> {
    /// All journals of a store.
    #[must_use]
    pub fn new(store: &'a dyn Store) -> Self {
        Self { store, after: None, is_over: false }
    }

    /// The next names, at least one; `None` after the last.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn next(&mut self) -> Result<Option<Vec<JournalId>>> {
        if self.is_over {
            return Ok(None);
        }
        let page = self.store.journals(self.after.as_ref(), JOURNALS).await?;
        self.is_over = page.len() < JOURNALS;
        let Some(last) = page.last() else { return Ok(None) };
        self.after = Some(last.clone());
        Ok(Some(page))
    }
}

/// Removes all values whose keys begin with a prefix.
///
/// # Errors
/// When the store fails. What was not removed then is removed by the same call.
pub async fn remove_all(store: &dyn Store, prefix: &str) -> Result<()> {
    let mut pages = ValuePages::new(store, prefix);
    while let Some(page) = pages.next().await? {
        for (key, _) in &page {
            store.remove(key, Expect::Any).await?;
        }
    }
    Ok(())
}
