//! Implements the `Store` trait on top of the core: locking, waiting, reading.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;

use super::{
    Embedded,
    core::{ClaimStep, Core, ReadStep, Restore, Trim, ValueLocation, Waiting},
    values::StoredValue,
};
use crate::{
    Class, Error, ErrorKind, Expect, JournalId, JournalInfo, Lease, Monotonic, Page, Pending, ReadLimit,
    Receipt, Record, Result, Store, Swept, Tail, Value, Watch, WriteOp, batch::Batch,
};

impl Embedded {
    fn monotonic(&self) -> Monotonic {
        self.shared.options.clock.monotonic()
    }

    fn wake(&self) {
        self.shared.wake.notify_one();
    }

    /// Calls the core, wakes the writer and waits until the change is durable.
    async fn settled<T>(
        &self,
        call: impl FnOnce(&mut Core) -> Result<Option<(T, Arc<Batch>)>>,
    ) -> Result<Option<T>> {
        let called = call(&mut self.shared.core())?;
        let Some((given, batch)) = called else { return Ok(None) };
        self.wait_for(batch).await?;
        Ok(Some(given))
    }

    async fn wait_for(&self, batch: Arc<Batch>) -> Result<()> {
        self.wake();
        batch.wait().await
    }

    /// Makes changes in order, in one commit unless there is no room for all of them.
    async fn write_all(&self, after: Option<Receipt>, changes: Vec<WriteOp>) -> Result<Vec<u64>> {
        let (mut versions, mut failed, mut last) = (Vec::with_capacity(changes.len()), None, None);
        let mut changes = VecDeque::from(changes);
        while let (Some(_), None) = (changes.front(), &failed) {
            let mut busy = false;
            {
                let mut core = self.shared.core();
                while let Some(change) = changes.front() {
                    match self.gather(&mut core, change) {
                        Ok((version, batch)) => {
                            versions.push(version);
                            last = batch.or(last);
                            changes.pop_front();
                        }
                        Err(error) if *error.kind() == ErrorKind::Busy => {
                            busy = true;
                            break;
                        }
                        Err(error) => {
                            failed = Some(error);
                            break;
                        }
                    }
                }
            }
            self.wake();
            if busy {
                self.shared.room.wait().await;
            }
        }
        if let Some(after) = after {
            after.await?;
        }
        if let Some(batch) = last {
            batch.wait().await?;
        }
        match (failed, changes.front()) {
            (None, _) => Ok(versions),
            (Some(error), Some(WriteOp::Put { key, .. } | WriteOp::Remove { key, .. })) => {
                self.refuse(key, error).await
            }
            (Some(error), _) => Err(error),
        }
    }

    /// Adds a change to the gathering commit. Returns the version if the change puts a value.
    fn gather(&self, core: &mut Core, change: &WriteOp) -> Result<(u64, Option<Arc<Batch>>)> {
        let retention = &self.shared.retention;
        match change {
            WriteOp::Put { key, bytes, expect, ttl } => {
                let expires = ttl.map(|ttl| retention.deadline(ttl));
                let (version, batch) = core.put(key, bytes.clone(), *expect, expires, retention.now())?;
                Ok((version, Some(batch)))
            }
            WriteOp::Remove { key, expect } => {
                core.remove(key, *expect, retention.now()).map(|(_, batch)| (0, batch))
            }
            WriteOp::Close { lease, keep } => {
                let goes = keep.map(|keep| retention.deadline(keep));
                core.close(lease, goes).map(|batch| (0, Some(batch)))
            }
        }
    }

    /// Refuses the write of a value. A conflict is only reported once the winning write can be read, because
    /// the caller reads it next.
    async fn refuse<T>(&self, key: &str, error: Error) -> Result<T> {
        if matches!(error.kind(), ErrorKind::Conflict { .. }) {
            let pending = self.shared.core().settle_value(key)?;
            if let Some(batch) = pending {
                self.wait_for(batch).await?;
            }
        }
        Err(error)
    }

    fn read_page(&self, journal: &JournalId, after: u64, mut limit: ReadLimit) -> Result<Page> {
        let mut records = Vec::new();
        let mut from = after.saturating_add(1);
        let mut seen = None;
        loop {
            let step = self.shared.core().read_step(journal, from, &mut limit, !records.is_empty());
            match (step, seen) {
                // The records read before the journal was deleted or trimmed were valid then.
                (Err(_), Some(tail)) => return Ok(Page { records, tail }),
                (Err(error), None) => return Err(error),
                (Ok(ReadStep::Done(more, tail)), _) => {
                    if records.is_empty() {
                        records = more;
                    } else {
                        records.extend(more);
                    }
                    return Ok(Page { records, tail });
                }
                (Ok(ReadStep::Disk(reading, tail)), _) => {
                    let before = records.len();
                    reading.read(&self.shared.lists, &mut limit, &mut records)?;
                    let Some(last) = records.last().filter(|_| records.len() > before) else {
                        return Ok(Page { records, tail });
                    };
                    if limit.records == 0 || last.seq >= tail.last {
                        return Ok(Page { records, tail });
                    }
                    from = last.seq + 1;
                    seen = Some(tail);
                }
            }
        }
    }

    fn value(&self, key: &str, stored: &StoredValue, found: ValueLocation) -> Result<Value> {
        let StoredValue { version, expires, .. } = *stored;
        let bytes = match found {
            ValueLocation::Cached(bytes) => bytes,
            ValueLocation::At(place) => {
                let bytes = place.read(key)?;
                self.shared.core().values.cache(key, version, bytes.clone());
                bytes
            }
        };
        Ok(Value { bytes, version, expires, damaged: false })
    }
}

impl Store for Embedded {
    fn append(&self, lease: &Lease, class: Class, bodies: &[Bytes]) -> Result<Receipt> {
        let now = self.shared.options.clock.now();
        let (receipt, wake) = self.shared.core().append(lease, class, bodies, now)?;
        if wake {
            self.wake();
        }
        Ok(receipt)
    }

    fn room(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            self.shared.room.wait().await;
            Ok(())
        })
    }

    fn has_room(&self) -> bool {
        self.shared.room.is_open()
    }

    fn read<'a>(&'a self, journal: &'a JournalId, after: u64, limit: ReadLimit) -> Pending<'a, Page> {
        Box::pin(async move { self.read_page(journal, after, limit) })
    }

    fn wait<'a>(&'a self, journal: &'a JournalId, after: u64) -> Pending<'a, Tail> {
        Box::pin(async move {
            loop {
                let waiters = match self.shared.core().wait_step(journal, after)? {
                    Waiting::Ready(tail) => return Ok(tail),
                    Waiting::Until(waiters) => waiters,
                };
                let mut woken = std::pin::pin!(waiters.notified());
                // Registered before the second check, or a record between the two would wake no waiter.
                woken.as_mut().enable();
                if let Waiting::Ready(tail) = self.shared.core().wait_step(journal, after)? {
                    return Ok(tail);
                }
                woken.await;
            }
        })
    }

    fn info<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, Option<JournalInfo>> {
        Box::pin(async move { Ok(self.shared.core().info(journal)) })
    }

    fn journals<'a>(&'a self, after: Option<&'a JournalId>, limit: usize) -> Pending<'a, Vec<JournalId>> {
        Box::pin(async move { Ok(self.shared.core().journals_after(after, limit)) })
    }

    fn restore<'a>(
        &'a self,
        journal: &'a JournalId,
        info: &'a JournalInfo,
        records: &'a [Record],
    ) -> Pending<'a, ()> {
        Box::pin(async move {
            loop {
                let restore = self.shared.core().restore(journal, info, records);
                match restore {
                    Err(error) if *error.kind() == ErrorKind::Busy => self.shared.room.wait().await,
                    Err(error) => return Err(error),
                    Ok(Restore::Begun(batch)) => return self.wait_for(batch).await,
                    Ok(Restore::Later(batch)) => self.wait_for(batch).await?,
                }
            }
        })
    }

    fn close<'a>(&'a self, lease: &'a Lease, keep: Option<Duration>) -> Pending<'a, ()> {
        Box::pin(async move {
            let goes = keep.map(|keep| self.shared.retention.deadline(keep));
            self.settled(|core| Ok(Some(((), core.close(lease, goes)?)))).await.map(drop)
        })
    }

    fn trim<'a>(&'a self, lease: &'a Lease, before: u64) -> Pending<'a, ()> {
        Box::pin(async move {
            loop {
                let trim = self.shared.core().trim(lease, before)?;
                match trim {
                    Trim::Nothing => return Ok(()),
                    Trim::Begun(batch) => return self.wait_for(batch).await,
                    Trim::Later(batch) => self.wait_for(batch).await?,
                }
            }
        })
    }

    fn delete<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, ()> {
        Box::pin(async move {
            let now = self.monotonic();
            let delete = |core: &mut Core| Ok(core.delete(journal, now)?.map(|batch| ((), batch)));
            self.settled(delete).await.map(drop)
        })
    }

    fn claim<'a>(&'a self, journal: &'a JournalId, owner: &'a str, ttl: Duration) -> Pending<'a, Lease> {
        Box::pin(async move {
            loop {
                let claim = self.shared.core().claim(journal, owner, ttl, self.monotonic())?;
                match claim {
                    ClaimStep::Given(lease, batch) => return self.wait_for(batch).await.map(|()| lease),
                    ClaimStep::Later(batch) => self.wait_for(batch).await?,
                }
            }
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> Pending<'a, Lease> {
        Box::pin(async move { self.shared.core().renew(lease, ttl, self.monotonic()) })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Pending<'a, ()> {
        Box::pin(async move { self.settled(|core| Ok(Some(((), core.release(lease)?)))).await.map(drop) })
    }

    fn expired(&self, limit: usize) -> Pending<'_, Vec<JournalId>> {
        Box::pin(async move { Ok(self.shared.core().expired(limit, self.monotonic())) })
    }

    fn get<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Value>> {
        Box::pin(async move {
            let found = {
                let core = self.shared.core();
                core.values.get(key, self.shared.retention.now()).map(|stored| (stored, core.locate(&stored)))
            };
            found.map(|(stored, found)| self.value(key, &stored, found)).transpose()
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Pending<'a, u64> {
        Box::pin(async move {
            let retention = &self.shared.retention;
            let expires = ttl.map(|ttl| retention.deadline(ttl));
            loop {
                let put = self.shared.core().put(key, bytes.clone(), expect, expires, retention.now());
                match put {
                    Err(error) if *error.kind() == ErrorKind::Busy => self.shared.room.wait().await,
                    Err(error) => return self.refuse(key, error).await,
                    Ok((version, batch)) => return self.wait_for(batch).await.map(|()| version),
                }
            }
        })
    }

    fn remove<'a>(&'a self, key: &'a str, expect: Expect) -> Pending<'a, bool> {
        Box::pin(async move {
            let now = self.shared.retention.now();
            let removed = self.shared.core().remove(key, expect, now);
            match removed {
                Err(error) => self.refuse(key, error).await,
                Ok((was_there, None)) => Ok(was_there),
                Ok((was_there, Some(batch))) => self.wait_for(batch).await.map(|()| was_there),
            }
        })
    }

    fn write<'a>(&'a self, after: Option<Receipt>, changes: Vec<WriteOp>) -> Pending<'a, Vec<u64>> {
        Box::pin(self.write_all(after, changes))
    }

    fn hold_commit(&self) {
        self.shared.gathering.fetch_add(1, Ordering::SeqCst);
    }

    fn release_commit(&self) {
        let last = self.shared.gathering.fetch_sub(1, Ordering::SeqCst) == 1;
        if last && self.shared.writer_waits.swap(false, Ordering::SeqCst) {
            // The writer has the lock until it waits.
            drop(self.shared.core());
            self.shared.gathered.notify_one();
        }
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> Pending<'a, Vec<(String, Value)>> {
        Box::pin(async move {
            let found: Vec<_> = {
                let core = self.shared.core();
                let values = core.values.list(prefix, after, limit, self.shared.retention.now());
                values.into_iter().map(|(key, stored)| (key, stored, core.locate(&stored))).collect()
            };
            found
                .into_iter()
                .map(|(key, stored, found)| {
                    let value = match self.value(&key, &stored, found) {
                        Err(error) if *error.kind() == ErrorKind::Corrupt => {
                            let StoredValue { version, expires, .. } = stored;
                            Value { bytes: Bytes::new(), version, expires, damaged: true }
                        }
                        value => value?,
                    };
                    Ok((key.to_string(), value))
                })
                .collect()
        })
    }

    fn watch(&self, prefix: &str) -> Watch {
        self.shared.core().values.watch(prefix)
    }

    fn sweep(&self) -> Pending<'_, Swept> {
        Box::pin(self.sweep_all())
    }

    fn flush(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            let batch = self.shared.core().flush()?;
            self.wait_for(batch).await
        })
    }

    fn stopped(&self) -> Pin<Box<dyn Future<Output = Error> + Send + '_>> {
        Box::pin(async move {
            let mut failure = self.shared.failure.subscribe();
            let cause = failure.wait_for(Option::is_some).await.ok().and_then(|cause| cause.clone());
            // The sender lives as long as the store.
            cause.unwrap_or_else(|| Error::new(ErrorKind::Stopped, "the store was closed"))
        })
    }

    fn limits(&self) -> crate::Limits {
        let options = &self.shared.options;
        crate::Limits::new(options.max_record_bytes, options.max_journal_bytes)
    }
}
