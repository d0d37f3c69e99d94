//! Going through all values whose keys begin with a prefix, a page at a time.

use headwater_store::{Expect, Store, Value};

use crate::Result;

/// How many values are read with one call of the store.
const PAGE: usize = 100;

/// The values whose keys begin with a prefix, in the order of their keys. Values that are removed meanwhile do no harm.
#[derive(Debug)]
pub(crate) struct ValuePages<'a> {
    store: &'a dyn Store,
    prefix: String,
    after: Option<String>,
    over: bool,
}

impl<'a> ValuePages<'a> {
    pub(crate) fn new(store: &'a dyn Store, prefix: impl Into<String>) -> Self {
        Self { store, prefix: prefix.into(), after: None, over: false }
    }

    /// Begins after a key.
    pub(crate) fn after(mut self, key: Option<String>) -> Self {
        self.after = key;
        self
    }

    /// The next values, at least one; `None` after the last.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<(String, Value)>>> {
        if self.over {
            return Ok(None);
        }
        let page = self.store.list(&self.prefix, self.after.as_deref(), PAGE).await?;
        self.over = page.len() < PAGE;
        self.after = page.last().map(|(key, _)| key.clone());
        Ok(Some(page).filter(|page| !page.is_empty()))
    }
}

/// Removes all values whose keys begin with a prefix.
pub(crate) async fn remove_all(store: &dyn Store, prefix: &str) -> Result<()> {
    loop {
        let page = store.list(prefix, None, PAGE).await?;
        for (key, _) in &page {
            store.remove(key, Expect::Any).await?;
        }
        if page.len() < PAGE {
            return Ok(());
        }
    }
}
