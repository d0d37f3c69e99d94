//! Iterating over all values under a key prefix, page by page.

use headwater_store::{Expect, Store, Value};

use crate::Result;

/// Number of values read per store call.
const PAGE: usize = 100;

/// The values under a key prefix, in key order. Values removed in the meantime are skipped.
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

    /// Starts after a key.
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

/// Removes all values under a key prefix.
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
