//! What is written for one reader is kept for a moment, for others that read the same run in the same way.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex as StdMutex, PoisonError, Weak},
};

use bytes::Bytes;
use headwater_runtime::Run;
use headwater_store::{JournalId, Page, ReadLimit};
use tokio::sync::{Mutex, watch};

use super::{Ending, From, View, pen::Pen};
use crate::ApiError;

/// How much is kept of a stream that several readers share.
const KEPT: usize = 256 << 10;

/// The streams that are being read.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    shared: Arc<StdMutex<HashMap<String, Weak<Shared>>>>,
    closing: watch::Sender<bool>,
}

impl Default for Streams {
    fn default() -> Self {
        Self { shared: Arc::default(), closing: watch::Sender::new(false) }
    }
}

impl Streams {
    /// Lets go of all readers: they come back, here or elsewhere.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    pub(super) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// A reader of a run.
    pub(crate) async fn reader(
        &self,
        run: Run,
        view: View,
        from: From,
        ending: Ending,
    ) -> Result<Reader, ApiError> {
        let view = Arc::new(view);
        let source = match from {
            From::Start | From::Response(_) => {
                let key = format!("{}/{from:?}/{ending:?}/{}", run.id(), view.key());
                let shared = match self.find(&key).await {
                    Some(shared) => shared,
                    None => self.share(key, Pen::new(&run, view.clone(), &from).await?),
                };
                let after = if let From::Response(since) = from { since } else { 0 };
                Source::Shared { shared, next: 0, after }
            }
            _ => {
                let pen = Pen::new(&run, view.clone(), &from).await?;
                Source::Own(Box::new(Own { pen, fresh: true, over: false }))
            }
        };
        Ok(Reader { journal: run.id().as_str().into(), run, source, ending, view, from })
    }

    /// A stream that still has its beginning.
    async fn find(&self, key: &str) -> Option<Arc<Shared>> {
        let shared =
            self.shared.lock().unwrap_or_else(PoisonError::into_inner).get(key).and_then(Weak::upgrade)?;
        let whole = shared.tail.lock().await.first == 0;
        whole.then_some(shared)
    }

    fn share(&self, key: String, pen: Pen) -> Arc<Shared> {
        let tail = Tail { pen, fresh: true, ring: VecDeque::new(), first: 0, bytes: 0, over: false };
        let shared = Arc::new(Shared { tail: Mutex::new(tail) });
        let mut all = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= 64 && all.len().is_power_of_two() {
            all.retain(|_, stream| stream.strong_count() > 0);
        }
        all.insert(key, Arc::downgrade(&shared));
        shared
    }
}

/// One reader of a run.
#[derive(Debug)]
pub(crate) struct Reader {
    run: Run,
    journal: JournalId,
    view: Arc<View>,
    source: Source,
    ending: Ending,
    from: From,
}

#[derive(Debug)]
enum Source {
    Own(Box<Own>),
    Shared {
        shared: Arc<Shared>,
        /// The number of the next batch.
        next: u64,
        /// The last record that was read.
        after: u64,
    },
}

/// A stream that nobody else reads.
#[derive(Debug)]
struct Own {
    pen: Pen,
    fresh: bool,
    over: bool,
}

/// A stream that several may read.
#[derive(Debug)]
struct Shared {
    tail: Mutex<Tail>,
}

/// What was written last.
#[derive(Debug)]
struct Tail {
    pen: Pen,
    /// There is something to write, even if the journal has nothing new.
    fresh: bool,
    ring: VecDeque<Batch>,
    /// The number of the first that is kept.
    first: u64,
    bytes: usize,
    over: bool,
}

/// What was written in one go.
#[derive(Debug, Clone)]
struct Batch {
    bytes: Bytes,
    /// The last record of it.
    after: u64,
}

/// What a reader is given.
enum Given {
    Bytes(Bytes),
    /// Nothing yet, after this record.
    Nothing(u64),
    /// What comes next is no longer kept.
    Behind,
    Over,
}

impl Reader {
    pub(super) fn heartbeat(&mut self) -> Bytes {
        let profile = self.view.dialect.profile(self.view.profile.as_deref());
        super::body::heartbeat(profile.keep_alive, self.view.framing)
    }

    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// What comes next, as soon as there is something; nothing at the end. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        loop {
            let given = match &mut self.source {
                Source::Own(own) => own.next(&self.run, &self.journal, self.ending).await?,
                Source::Shared { shared, next, after } => {
                    let batch = shared.next(&self.run, &self.journal, self.ending, *next).await?;
                    match batch {
                        Ok(batch) => {
                            (*next, *after) = (*next + 1, batch.after);
                            Given::Bytes(batch.bytes)
                        }
                        Err(Given::Behind) => {
                            // Slower than what is kept: it writes for itself from here on.
                            let mut pen = Pen::new(&self.run, self.view.clone(), &self.from).await?;
                            pen.pass(&self.run, *after).await?;
                            self.source = Source::Own(Box::new(Own { pen, fresh: false, over: false }));
                            continue;
                        }
                        Err(given) => given,
                    }
                }
            };
            match given {
                Given::Bytes(bytes) if bytes.is_empty() => {}
                Given::Bytes(bytes) => return Ok(Some(bytes)),
                Given::Nothing(after) => {
                    self.run.agent().store().wait(&self.journal, after).await?;
                }
                Given::Over | Given::Behind => return Ok(None),
            }
        }
    }
}

/// Writes a page of the journal. Gives whether the stream is over.
async fn write(run: &Run, pen: &mut Pen, page: &Page, ending: Ending) -> Result<bool, ApiError> {
    pen.write(page, None)?;
    if pen.after < page.tail.last {
        return Ok(false);
    }
    let mut over = pen.ended || page.tail.closed;
    if pen.waits && !over {
        // An answer that was given and not yet taken up: the wait is about to end.
        if run.agent().has_mail(run.id()).await? {
            return Ok(false);
        }
        let info = run.agent().store().info(&run.id().as_str().into()).await?;
        if info.is_some_and(|info| info.tail.last > pen.after) {
            return Ok(false);
        }
        over = ending == Ending::AtWait;
    }
    pen.tell_wait()?;
    if over {
        pen.finish();
    }
    Ok(over)
}

impl Own {
    async fn next(&mut self, run: &Run, journal: &JournalId, ending: Ending) -> Result<Given, ApiError> {
        if self.over {
            return Ok(Given::Over);
        }
        let page = run.agent().store().read(journal, self.pen.after, ReadLimit::default()).await?;
        if page.records.is_empty() && !self.fresh && !page.tail.closed {
            return Ok(Given::Nothing(self.pen.after));
        }
        // If this is dropped while it waits, it is done again.
        self.fresh = true;
        self.over = write(run, &mut self.pen, &page, ending).await?;
        self.fresh = false;
        Ok(Given::Bytes(self.pen.take()))
    }
}

impl Shared {
    /// The batch of a number, as soon as it is there, or why there is none.
    async fn next(
        self: &Arc<Self>,
        run: &Run,
        journal: &JournalId,
        ending: Ending,
        next: u64,
    ) -> Result<Result<Batch, Given>, ApiError> {
        let mut tail = self.tail.lock().await;
        loop {
            let Some(at) = next.checked_sub(tail.first) else { return Ok(Err(Given::Behind)) };
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            if let Some(batch) = tail.ring.get(at).cloned() {
                if Arc::strong_count(self) == 1 {
                    tail.forget(at + 1);
                }
                return Ok(Ok(batch));
            }
            if tail.over {
                return Ok(Err(Given::Over));
            }
            let page = run.agent().store().read(journal, tail.pen.after, ReadLimit::default()).await?;
            if page.records.is_empty() && !tail.fresh && !page.tail.closed {
                return Ok(Err(Given::Nothing(tail.pen.after)));
            }
            tail.push(run, &page, ending).await?;
        }
    }
}

impl Tail {
    async fn push(&mut self, run: &Run, page: &Page, ending: Ending) -> Result<(), ApiError> {
        // If this is dropped while it waits, it is done again.
        self.fresh = true;
        self.over = write(run, &mut self.pen, page, ending).await?;
        self.fresh = false;
        let bytes = self.pen.take();
        self.bytes += bytes.len();
        self.ring.push_back(Batch { bytes, after: self.pen.after });
        while self.bytes > KEPT && self.ring.len() > 1 {
            self.forget(1);
        }
        Ok(())
    }

    /// Lets go of the oldest.
    fn forget(&mut self, count: usize) {
        for batch in self.ring.drain(..count.min(self.ring.len())) {
            self.first += 1;
            self.bytes -= batch.bytes.len();
        }
    }
}
