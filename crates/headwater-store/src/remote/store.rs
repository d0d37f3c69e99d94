//! The store's trait on top of the state in memory and an engine.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::{
    ClaimOutcome, Engine, JournalHeader, JournalHold, LeaseChange, Options, Refusal, SweepStep,
    call::{call, random_u64},
    context::{StoreContext, check_name},
    entry::unpack,
    hints,
    state::{refusal_error, refusal_of},
    time::EngineClock,
    writer,
};
use crate::{
    Class, Error, ErrorKind, Expect, JournalId, JournalInfo, Lease, Limits, Page, Pending, ReadLimit,
    Receipt, Record, Result, Store, SweepReport, Tail, Value, Watch, batch::Batch,
};

/// A store on an engine. Dropping it writes the rest in the background.
#[derive(Debug)]
pub(crate) struct Remote<E: Engine> {
    pub(super) shared: Arc<StoreContext<E>>,
    /// Tasks that only listen and look.
    listeners: Vec<JoinHandle<()>>,
}

impl<E: Engine> Drop for Remote<E> {
    fn drop(&mut self) {
        self.listeners.iter().for_each(JoinHandle::abort);
        self.shared.close();
    }
}

impl<E: Engine> Remote<E> {
    /// A store on an engine that is connected. Must be called within a tokio runtime, which the store's tasks run on.
    pub(crate) async fn start(engine: E, options: Options, time: Arc<EngineClock>) -> Result<Self> {
        // Before anything is watched or followed, so that nothing is missed.
        let hints = engine.subscribe().await.map_err(|fault| fault.error().clone())?;
        let shared = Arc::new(StoreContext::new(engine, options, time));
        tokio::spawn(writer::run(shared.clone()));
        let listeners = vec![
            tokio::spawn(hints::listen(shared.clone(), hints)),
            tokio::spawn(hints::fetch(shared.clone())),
            tokio::spawn(hints::keep_polling(shared.clone())),
        ];
        Ok(Self { shared, listeners })
    }

    /// Takes writes again after the store has stopped, if the engine can be reached.
    pub(crate) async fn recover(&self) -> Result<()> {
        let now = self.shared.engine.now().await.map_err(|fault| fault.error().clone())?;
        self.shared.time.observe(now);
        self.shared.state().resume();
        Ok(())
    }

    async fn call<T, F>(&self, ask: impl FnMut(u32) -> F) -> Result<T>
    where
        F: Future<Output = super::Answer<T>>,
    {
        call(self.shared.limits(), ask).await
    }

    /// Waits until all that was appended to a journal so far is durable.
    async fn flush_journal(&self, journal: &JournalId) -> Result<()> {
        while let Some(batch) = self.pending_of(journal) {
            self.shared.work.notify_one();
            batch.wait().await?;
        }
        Ok(())
    }

    fn pending_of(&self, journal: &JournalId) -> Option<Arc<Batch>> {
        self.shared.state().pending_of(journal)
    }

    /// Changes a journal with its lease.
    async fn change(&self, lease: &Lease, change: LeaseChange) -> Result<()> {
        self.shared.state().running()?;
        let changed = self
            .call(|repeated| self.shared.engine.change(&lease.journal, lease.epoch, change, repeated > 0))
            .await?;
        changed.map_err(|header| {
            let refusal = refusal_of(header.as_ref());
            self.shared.state().fence(&lease.journal, lease.epoch, refusal);
            refusal_error(&lease.journal, lease.epoch, refusal)
        })
    }

    /// Ends a lease after all that was appended with it is durable.
    async fn end(&self, lease: &Lease, change: LeaseChange, refusal: Refusal) -> Result<()> {
        self.flush_journal(&lease.journal).await?;
        if let Some(driven) = self.shared.state().driven(lease) {
            driven.ending = true;
        }
        let ended = match self.flush_journal(&lease.journal).await {
            Ok(()) => self.change(lease, change).await,
            Err(error) => Err(error),
        };
        match &ended {
            Ok(()) => self.shared.state().end(lease, refusal),
            Err(_) => {
                if let Some(driven) = self.shared.state().driven(lease) {
                    driven.ending = false;
                }
            }
        }
        ended
    }

    async fn trim_before(&self, lease: &Lease, before: u64) -> Result<()> {
        self.flush_journal(&lease.journal).await?;
        let journal = &lease.journal;
        let limit = ReadLimit { records: 1, bytes: 1 };
        let stored = self.call(|_| self.shared.engine.read(journal, before.saturating_sub(1), limit)).await?;
        let Some(stored) = stored else { return Err(Error::unknown(journal)) };
        let header = &stored.header;
        if header.epoch != lease.epoch || !matches!(header.hold, JournalHold::Leased { .. }) {
            return Err(refusal_error(journal, lease.epoch, refusal_of(Some(header))));
        }
        let before = before.min(header.last + 1);
        if before <= header.first {
            return Ok(());
        }
        let mut bytes = header.total;
        if let Some(entry) = stored.entries.first() {
            let records = unpack(journal, entry, &header.epochs)?;
            let trimmed = records.iter().take_while(|record| record.seq < before);
            bytes = entry.start + trimmed.map(|record| record.body.len() as u64).sum::<u64>();
        }
        self.change(lease, LeaseChange::Trim { before, bytes }).await?;
        let mut state = self.shared.state();
        if let Some(driven) = state.driven(lease) {
            driven.trimmed = bytes;
        }
        if let Some(local) = state.journals.get_mut(journal) {
            local.first = local.first.max(before);
            local.recent.forget_before(before);
        }
        Ok(())
    }

    async fn claim_lease(&self, journal: &JournalId, owner: &str, ttl: Duration) -> Result<Lease> {
        check_name("journal name", journal.as_str())?;
        check_name("owner", owner)?;
        self.shared.state().running()?;
        // What an earlier lease of this process wrote and showed must not be fenced out by its own successor.
        let _ = self.flush_journal(journal).await;
        let time = &self.shared.time;
        let (nonce, ttl_ms) = (random_u64(), milliseconds(ttl));
        let mut asked = time.monotonic();
        let claimed = self
            .call(|_| {
                // The lease may begin with any of the requests, so it ends here by the first that can have succeeded.
                asked = asked.min(time.monotonic());
                self.shared.engine.claim(journal, owner, ttl_ms, nonce)
            })
            .await?;
        match claimed {
            ClaimOutcome::Given(header) => {
                time.observe(header.now);
                self.shared.restoring().remove(journal);
                self.shared.state().drive(journal, &header);
                Ok(Lease {
                    journal: journal.clone(),
                    epoch: header.epoch,
                    owner: owner.into(),
                    expires: asked.after(ttl),
                    first: header.last + 1,
                })
            }
            ClaimOutcome::Refused(header) => Err(self.not_free(journal, &header)),
        }
    }

    /// Why a journal can be neither claimed nor deleted.
    fn not_free(&self, journal: &JournalId, header: &JournalHeader) -> Error {
        self.shared.time.observe(header.now);
        match &header.hold {
            JournalHold::Leased { owner, expires } => {
                Error::held(journal, owner, self.shared.time.local(*expires, header.now))
            }
            JournalHold::Closed { .. } => Error::closed(journal),
            JournalHold::Free => Error::new(
                ErrorKind::Unavailable,
                format!("journal {journal} is being claimed and released by others; try again"),
            ),
        }
    }
}

impl<E: Engine> Store for Remote<E> {
    fn append(&self, lease: &Lease, class: Class, bodies: &[Bytes]) -> Result<Receipt> {
        let max = self.shared.options.max_record_bytes;
        if let Some(body) = bodies.iter().find(|body| body.len() > max) {
            let what = format!("journal {}: a {class}", lease.journal);
            return Err(Error::too_large(&what, body.len(), max));
        }
        let now = self.shared.time.estimate();
        let (receipt, wake) = self.shared.state().append(lease, class, bodies, now, &self.shared.options)?;
        if wake {
            self.shared.work.notify_one();
        }
        Ok(receipt)
    }

    fn room(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            self.shared.room.wait().await;
            Ok(())
        })
    }

    fn read<'a>(&'a self, journal: &'a JournalId, after: u64, limit: ReadLimit) -> Pending<'a, Page> {
        Box::pin(self.shared.read_page(journal, after, limit))
    }

    fn wait<'a>(&'a self, journal: &'a JournalId, after: u64) -> Pending<'a, Tail> {
        Box::pin(self.shared.wait_for(journal, after))
    }

    fn info<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, Option<JournalInfo>> {
        Box::pin(self.shared.read_info(journal))
    }

    fn journals<'a>(&'a self, after: Option<&'a JournalId>, limit: usize) -> Pending<'a, Vec<JournalId>> {
        Box::pin(self.call(move |_| self.shared.engine.journals(after, limit)))
    }

    fn restore<'a>(
        &'a self,
        journal: &'a JournalId,
        info: &'a JournalInfo,
        records: &'a [Record],
    ) -> Pending<'a, ()> {
        Box::pin(self.shared.restore_piece(journal, info, records))
    }

    fn close<'a>(&'a self, lease: &'a Lease, keep: Option<Duration>) -> Pending<'a, ()> {
        Box::pin(self.end(lease, LeaseChange::Close(keep.map(milliseconds)), Refusal::Closed))
    }

    fn trim<'a>(&'a self, lease: &'a Lease, before: u64) -> Pending<'a, ()> {
        Box::pin(self.trim_before(lease, before))
    }

    fn delete<'a>(&'a self, journal: &'a JournalId) -> Pending<'a, ()> {
        Box::pin(async move {
            self.shared.state().running()?;
            match self.call(|_| self.shared.engine.delete(journal)).await? {
                Ok(()) => {
                    self.shared.restoring().remove(journal);
                    self.shared.state().forget(journal);
                    Ok(())
                }
                Err(header) => Err(self.not_free(journal, &header)),
            }
        })
    }

    fn claim<'a>(&'a self, journal: &'a JournalId, owner: &'a str, ttl: Duration) -> Pending<'a, Lease> {
        Box::pin(self.claim_lease(journal, owner, ttl))
    }

    fn renew<'a>(&'a self, lease: &'a Lease, ttl: Duration) -> Pending<'a, Lease> {
        Box::pin(async move {
            // From before the request, so that this process never counts on the lease for longer than the engine does.
            let expires = self.shared.time.monotonic().after(ttl);
            self.change(lease, LeaseChange::Renew(milliseconds(ttl))).await?;
            Ok(Lease { expires, ..lease.clone() })
        })
    }

    fn release<'a>(&'a self, lease: &'a Lease) -> Pending<'a, ()> {
        Box::pin(self.end(lease, LeaseChange::Release, Refusal::Stale(None)))
    }

    fn expired(&self, limit: usize) -> Pending<'_, Vec<JournalId>> {
        Box::pin(self.call(move |_| self.shared.engine.expired(limit)))
    }

    fn get<'a>(&'a self, key: &'a str) -> Pending<'a, Option<Value>> {
        Box::pin(self.call(move |_| self.shared.engine.get(key)))
    }

    fn put<'a>(
        &'a self,
        key: &'a str,
        bytes: Bytes,
        expect: Expect,
        ttl: Option<Duration>,
    ) -> Pending<'a, u64> {
        Box::pin(async move {
            check_name("key", key)?;
            let max = self.shared.options.max_value_bytes;
            if bytes.len() > max {
                return Err(Error::too_large(&format!("value {key}"), bytes.len(), max));
            }
            self.shared.state().running()?;
            let (nonce, ttl) = (random_u64(), ttl.map(milliseconds));
            let put = self.call(|_| self.shared.engine.put(key, &bytes, expect, ttl, nonce)).await?;
            let version = put.map_err(|current| Error::conflict(key, current))?;
            self.shared.watches.changed(key);
            Ok(version)
        })
    }

    fn remove<'a>(&'a self, key: &'a str, expect: Expect) -> Pending<'a, bool> {
        Box::pin(async move {
            self.shared.state().running()?;
            let mut attempts = 0;
            let removed = self
                .call(|repeated| {
                    attempts = repeated;
                    self.shared.engine.remove(key, expect)
                })
                .await?;
            match removed {
                // It may have been this call that removed it, before its answer was lost.
                Ok(false) | Err(None) if attempts > 0 => {
                    let message = format!(
                        "value {key}: the connection was lost, and now the value is gone; whether this call removed it is unknown"
                    );
                    Err(Error::new(ErrorKind::Unavailable, message))
                }
                Ok(was_there) => {
                    if was_there {
                        self.shared.watches.changed(key);
                    }
                    Ok(was_there)
                }
                Err(current) => Err(Error::conflict(key, current)),
            }
        })
    }

    fn list<'a>(
        &'a self,
        prefix: &'a str,
        after: Option<&'a str>,
        limit: usize,
    ) -> Pending<'a, Vec<(String, Value)>> {
        Box::pin(self.call(move |_| self.shared.engine.list(prefix, after, limit)))
    }

    fn watch(&self, prefix: &str) -> Watch {
        self.shared.watches.watch(prefix)
    }

    fn sweep(&self) -> Pending<'_, SweepReport> {
        Box::pin(async move {
            self.shared.state().running()?;
            let mut all = SweepReport::default();
            loop {
                let SweepStep { swept, journals, more } = self.call(|_| self.shared.engine.sweep()).await?;
                self.shared.state().forget_numbers(&journals);
                all.journals += swept.journals;
                all.values += swept.values;
                all.bytes += swept.bytes;
                if !more {
                    return Ok(all);
                }
            }
        })
    }

    fn flush(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            self.shared.state().running()?;
            let pending = self.shared.state().pending();
            self.shared.work.notify_one();
            for batch in pending {
                // Each append got its error if another driver has taken over its journal; a store that has stopped
                // fails here.
                let _ = batch.wait().await;
                self.shared.state().running()?;
            }
            Ok(())
        })
    }

    fn stopped(&self) -> Pin<Box<dyn Future<Output = Error> + Send + '_>> {
        Box::pin(async move {
            let mut failure = self.shared.state().failure.subscribe();
            let cause = failure.wait_for(Option::is_some).await.ok().and_then(|cause| cause.clone());
            // The sender lives as long as the store.
            cause.unwrap_or_else(|| Error::new(ErrorKind::Stopped, "the store was closed"))
        })
    }

    fn limits(&self) -> Limits {
        Limits::new(self.shared.options.max_record_bytes, self.shared.options.max_journal_bytes)
    }
}

fn milliseconds(duration: Duration) -> u64 {
    // More than 100,000 years would overflow the engines' numbers when added to a time.
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).min(1 << 52)
}
