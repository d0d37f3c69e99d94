//! Copies values with their remaining time to live.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};

use super::{Digest, Pass, is_local};
use crate::{Error, ErrorKind, Expect, Result, Store, Time, Value, ValuePages, secret};

/// Number of values in memory at once.
const PAGE: usize = 128;

/// Expiry times that differ by less count as equal: a copy takes time.
const TOLERANCE: u64 = 1_000;

/// The result for one value.
enum ValueResult {
    Done {
        digest: Digest,
        bytes: u64,
    },
    Unchanged,
    /// It expired during the copy.
    Expired,
}

/// Copies the secret. It does not expire.
pub(super) async fn copy_secret(from: &dyn Store, to: &dyn Store) -> Result<()> {
    let there = to.get(secret::KEY).await?.map(|value| value.bytes);
    match from.get(secret::KEY).await? {
        Some(value) if there.as_ref() != Some(&value.bytes) => {
            to.put(secret::KEY, value.bytes, Expect::Any, None).await.map(drop)
        }
        _ => Ok(()),
    }
}

impl Pass<'_> {
    pub(super) async fn copy_values(&mut self) -> Result<()> {
        let mut after: Option<String> = None;
        let mut pages = ValuePages::new(self.from, "").size(PAGE);
        loop {
            let page = pages.next().await?;
            // All keys of the target up to the end of the page; after the last page all that remain.
            let last = page.as_ref().and_then(|page| page.last()).map(|(key, _)| key.clone());
            if !self.fresh {
                self.remove_gone(after.as_deref(), last.as_deref(), page.as_deref().unwrap_or_default())
                    .await?;
            }
            let Some(page) = page else { return Ok(()) };
            self.copy_page(page).await?;
            after = last;
        }
    }

    async fn copy_page(&mut self, page: Vec<(String, Value)>) -> Result<()> {
        let (to, fresh, now) = (self.to, self.fresh, self.options.clock.now());
        let copies = page.into_iter().map(|(key, value)| async move {
            let copied = copy_value(to, fresh, now, &key, value).await;
            (key, copied)
        });
        let mut copies = stream::iter(copies).buffer_unordered(self.options.concurrency.max(1));
        while let Some((key, copied)) = copies.next().await {
            match copied {
                Ok(ValueResult::Done { digest, bytes }) => {
                    self.report.values.copied += 1;
                    self.report.bytes += bytes;
                    self.report.digest.add(digest);
                    self.done.bytes += bytes;
                }
                Ok(ValueResult::Unchanged) => self.report.values.unchanged += 1,
                Ok(ValueResult::Expired) => {}
                Err(error) if is_local(&error) => {
                    self.report.values.failed += 1;
                    self.report.problem(format!("value {key}"), &error);
                }
                Err(error) => return Err(error),
            }
            self.done.values += 1;
        }
        (self.progress)(self.done);
        Ok(())
    }

    /// Removes the target's values between two keys that the source does not have.
    async fn remove_gone(
        &mut self,
        after: Option<&str>,
        until: Option<&str>,
        page: &[(String, Value)],
    ) -> Result<()> {
        let mut pages = ValuePages::new(self.to, "").after(after.map(str::to_owned)).size(PAGE);
        while let Some(there) = pages.next().await? {
            let within = |key: &str| until.is_none_or(|until| key <= until);
            for (key, _) in there.iter().filter(|(key, _)| within(key)) {
                if page.binary_search_by(|(known, _)| known.as_str().cmp(key)).is_err() {
                    self.to.remove(key, Expect::Any).await?;
                    self.report.values.removed += 1;
                }
            }
            if there.last().is_some_and(|(key, _)| !within(key)) {
                break;
            }
        }
        Ok(())
    }
}

async fn copy_value(to: &dyn Store, fresh: bool, now: Time, key: &str, value: Value) -> Result<ValueResult> {
    if value.damaged {
        let message = format!("value {key} is damaged in the source: restore it, or remove it");
        return Err(Error::new(ErrorKind::Corrupt, message));
    }
    let ttl = match value.expires {
        Some(expires) if expires <= now => return Ok(ValueResult::Expired),
        Some(expires) => Some(Duration::from_millis(expires.0 - now.0)),
        None => None,
    };
    if !fresh && to.get(key).await?.is_some_and(|there| is_same(&value, &there)) {
        return Ok(ValueResult::Unchanged);
    }
    let digest = Digest::of_value(key, &value.bytes);
    let bytes = value.bytes.len() as u64;
    to.put(key, value.bytes, Expect::Any, ttl).await?;
    match to.get(key).await? {
        Some(there) if Digest::of_value(key, &there.bytes) == digest => {
            Ok(ValueResult::Done { digest, bytes })
        }
        None if ttl.is_some() => Ok(ValueResult::Expired),
        _ => {
            let message =
                format!("value {key} is not the same when it is read back from the target: copy it again");
            Err(Error::new(ErrorKind::Corrupt, message))
        }
    }
}

fn is_same(source: &Value, target: &Value) -> bool {
    let expires = match (source.expires, target.expires) {
        (None, None) => true,
        (Some(source), Some(target)) => source.0.abs_diff(target.0) <= TOLERANCE,
        _ => false,
    };
    expires && source.bytes == target.bytes && !target.damaged
}
