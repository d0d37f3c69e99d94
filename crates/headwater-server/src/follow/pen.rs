//! Writes what a journal holds in the words of one reader.

mod place;

use std::sync::Arc;

use bytes::Bytes;
use headwater_dialects::Encoder;
use headwater_protocol::{BlockDelta, Event, EventKind, Framing, Record};
use headwater_runtime::{RecordReader, Run, VisibleRecord, lost_after};
use headwater_store::{Cursor, JournalId, Page, Secret, Tail};

use super::{Ending, PAGE, View};
use crate::ApiError;

/// How many bytes are kept ready for the text of the next delta.
const KEPT_TEXT: usize = 256;

/// Writes what a journal holds in the words of one reader, from a place on.
#[derive(Debug)]
pub(super) struct Pen {
    view: Arc<View>,
    encoder: Encoder,
    reader: RecordReader,
    /// The last record that was looked at, if the reader sees it: what comes next may be more of it.
    held: Option<Held>,
    journal: JournalId,
    secret: Secret,
    /// How many frames are still to be left out.
    skip: u64,
    /// What was written and not yet taken.
    written: Vec<u8>,
    /// The last record that was looked at.
    pub(super) after: u64,
    /// The epoch of that record; 0 before the first.
    pub(super) epoch: u64,
    /// A wait that was told before this is over.
    since: u64,
    /// The last event says that the run waits.
    waits: bool,
    /// A wait that is told when it turns out to last: one that is over is none to whoever comes late.
    wait: Option<Held>,
    /// The run has ended.
    pub(super) ended: bool,
    /// It was told the state, and has not seen what led to it.
    told: bool,
    /// What it writes is left out.
    passes: bool,
    /// The response is over, though the run may have gone on: [`View::ends_at_wait`].
    over: bool,
}

/// A record, and the first of those that were merged into it.
#[derive(Debug)]
struct Held {
    record: Record,
    first: u64,
    epoch: u64,
    /// It was written, and is kept only for what may follow.
    written: bool,
}

impl Held {
    fn new(record: Record, stored: &headwater_store::Record) -> Self {
        Self { record, first: stored.seq, epoch: stored.epoch, written: false }
    }

    /// Takes more of the delta that it is: added to what is not yet written, or alone.
    fn grow(&mut self, stored: &headwater_store::Record, text: &str) {
        if std::mem::take(&mut self.written) {
            (self.first, self.epoch) = (stored.seq, stored.epoch);
        }
        self.record.grow(text, stored.seq, stored.time.0);
    }

    /// What is left of it once it was written: what more of it will be added to.
    fn rest(mut self) -> Option<Self> {
        self.written = true;
        match &mut self.record.event {
            Event::BlockDelta(BlockDelta { delta, metadata: None, .. }) => {
                delta.clear();
                delta.shrink_to(KEPT_TEXT);
                Some(self)
            }
            _ => None,
        }
    }
}

impl Pen {
    async fn at_start(run: &Run, view: Arc<View>) -> Result<Self, ApiError> {
        Ok(Self {
            encoder: Encoder::new(view.dialect, &view.options()),
            reader: RecordReader::default(),
            held: None,
            journal: run.id().as_str().into(),
            secret: run.agent().secret().await?.clone(),
            view,
            skip: 0,
            written: Vec::new(),
            after: 0,
            epoch: 0,
            since: 0,
            waits: false,
            wait: None,
            ended: false,
            told: false,
            passes: false,
            over: false,
        })
    }

    /// How it sees the run.
    pub(super) fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Whether it writes the same from here on as any other that comes to the same record. An encoder that was told the
    /// state does not: it may have given other names to what is open.
    pub(super) fn may_join(&self) -> bool {
        !self.told
    }

    /// Where the response ended after which it began, or 0.
    pub(super) fn since(&self) -> u64 {
        self.since
    }

    /// Writes a page of the journal, and says whether that is the end of the stream. If it is dropped while it waits, it
    /// must be called again, though there may be nothing new.
    pub(super) async fn write_page(
        &mut self,
        run: &Run,
        page: &Page,
        ending: Ending,
    ) -> Result<bool, ApiError> {
        self.write(page, None)?;
        if self.over {
            return Ok(true);
        }
        if self.after < page.tail.last {
            return Ok(false);
        }
        let mut over = self.ended || page.tail.closed;
        if self.waits && !over {
            if self.is_answered(run).await? {
                return Ok(false);
            }
            over = ending == Ending::AtWait;
        }
        self.tell_wait()?;
        if over {
            self.encoder.finish();
            self.move_written();
        }
        Ok(over)
    }

    /// The next page of the journal. `None` if the pen went back to the last record that was kept: read again.
    pub(super) async fn next_page(&mut self, run: &Run) -> Result<Option<Page>, ApiError> {
        match run.agent().store().read(&self.journal, self.after, PAGE).await {
            // Nothing was lost where the next record has the epoch of the last one: what nearly every page says.
            Ok(page) if page.records.first().is_some_and(|record| record.epoch == self.epoch) => {
                Ok(Some(page))
            }
            Ok(page) => Ok((!self.rewind_lost(run, &page).await?).then_some(page)),
            // A store may refuse to read after records that it has lost.
            Err(error) => {
                let unread = Page { records: Vec::new(), tail: Tail { last: 0, closed: false } };
                match self.rewind_lost(run, &unread).await {
                    Ok(true) => Ok(None),
                    _ => Err(error.into()),
                }
            }
        }
    }

    /// Goes back to the last record that was kept, if this server was told more by a driver that was fenced out before it
    /// had written it. Returns whether it did.
    ///
    /// The encoder has told its readers what was lost. The new driver retracts the attempt that it belonged to, so what
    /// it writes from there on corrects them, like any failed attempt.
    async fn rewind_lost(&mut self, run: &Run, page: &Page) -> Result<bool, ApiError> {
        if self.epoch == 0 {
            return Ok(false);
        }
        let store = &**run.agent().store();
        let kept = Box::pin(lost_after(store, &self.journal, page, self.after, self.epoch)).await?;
        if let Some(kept) = kept {
            self.write_held()?;
            (self.after, self.epoch) = (kept, 0);
            (self.held, self.wait, self.waits) = (None, None, false);
            self.reader = RecordReader::default();
        }
        Ok(kept.is_some())
    }

    /// Whether a run that waited after all that was read has been answered: the wait is over, or about to be.
    async fn is_answered(&mut self, run: &Run) -> Result<bool, ApiError> {
        // In this order: what is taken out of the mail is in the journal by then.
        if run.agent().has_mail(run.id()).await? {
            return Ok(true);
        }
        let info = run.agent().store().info(&self.journal).await?;
        Ok(info.is_some_and(|info| info.tail.last > self.after))
    }

    /// Tells that the run waits, if it does.
    fn tell_wait(&mut self) -> Result<(), ApiError> {
        match self.wait.take() {
            Some(held) => self.encode(&held),
            None => Ok(()),
        }
    }

    /// Goes on to a record, and leaves out what comes before.
    pub(super) async fn pass(&mut self, run: &Run, until: u64) -> Result<(), ApiError> {
        self.passes = true;
        self.read(run, Some(until)).await?;
        self.tell_wait()?;
        self.passes = false;
        Ok(())
    }

    /// Reads up to a record, or as far as there is something.
    async fn read(&mut self, run: &Run, until: Option<u64>) -> Result<(), ApiError> {
        while !self.over && until.is_none_or(|until| self.after < until) {
            let page = run.agent().store().read(&self.journal, self.after, PAGE).await?;
            if page.records.is_empty() {
                break;
            }
            self.write(&page, until)?;
        }
        Ok(())
    }

    /// Reads until the frames to skip are passed, no further.
    async fn skip_frames(&mut self, run: &Run, until: Option<u64>) -> Result<(), ApiError> {
        while self.skip > 0 && !self.over && until.is_none_or(|until| self.after < until) {
            let page = run.agent().store().read(&self.journal, self.after, PAGE).await?;
            if page.records.is_empty() {
                break;
            }
            self.write(&page, until)?;
        }
        Ok(())
    }

    /// Writes what a page of the journal holds, up to a record.
    pub(super) fn write(&mut self, page: &Page, until: Option<u64>) -> Result<(), ApiError> {
        if self.over {
            return Ok(());
        }
        let coalesce = self.encoder.profile().coalesce;
        let from = page.records.partition_point(|record| record.seq <= self.after);
        for stored in page.records.iter().skip(from) {
            if until.is_some_and(|until| stored.seq > until) {
                break;
            }
            (self.after, self.epoch) = (stored.seq, stored.epoch);
            let record = match self.reader.read(stored)? {
                VisibleRecord::Hidden => continue,
                // The wait is over, though nothing was told since.
                VisibleRecord::Answered => {
                    (self.waits, self.wait) = (false, None);
                    continue;
                }
                VisibleRecord::Event(record) => record,
                VisibleRecord::Continuation(text) => {
                    if !coalesce {
                        self.write_held()?;
                    }
                    // Without a record the reader does not see what this is more of.
                    if let Some(held) = &mut self.held {
                        held.grow(stored, text);
                    }
                    continue;
                }
            };
            let kind = record.event.kind();
            self.waits = if kind == EventKind::RunWaiting {
                stored.seq > self.since
            } else {
                self.waits && follows_wait(kind)
            };
            self.ended |= kind.ends_run();
            let Some(record) = self.view.see(*record) else {
                self.write_held()?;
                self.held = None;
                continue;
            };
            let growing = self.held.as_mut().filter(|held| coalesce && !held.written);
            let record = match growing.filter(|held| held.record.event.may_merge()) {
                Some(held) => match held.record.merge(record) {
                    Ok(()) => continue,
                    Err(record) => record,
                },
                None => record,
            };
            self.write_held()?;
            let next = Held::new(record, stored);
            // Frames that are numbered are the same for everyone.
            if kind == EventKind::RunWaiting && coalesce {
                self.held = None;
                self.wait = Some(next);
                continue;
            }
            if !follows_wait(kind) {
                self.wait = None;
            }
            self.held = Some(next);
            if self.view.ends_at_wait && self.waits && !self.passes {
                self.write_held()?;
                self.over = true;
                self.encoder.finish();
                self.move_written();
                return Ok(());
            }
        }
        self.write_held()
    }

    /// Writes what is held, and keeps it for what may follow.
    fn write_held(&mut self) -> Result<(), ApiError> {
        if let Some(held) = self.held.take_if(|held| !held.written) {
            self.encode(&held)?;
            self.held = held.rest();
        }
        Ok(())
    }

    fn encode(&mut self, held: &Held) -> Result<(), ApiError> {
        let Self { encoder, secret, journal, .. } = self;
        if self.passes {
            encoder.record(&held.record);
            encoder.clear();
            return Ok(());
        }
        encoder.record_with_ids(&held.record, &mut |frame, last| {
            // Of what was merged only the last frame has all; before it there is the beginning of the first record.
            let (seq, frame) = if last { (held.record.seq, 0) } else { (held.first, frame) };
            Cursor { journal: journal.clone(), epoch: held.epoch, seq, frame, count: 0 }.seal(secret)
        })?;
        self.move_written();
        Ok(())
    }

    /// Takes what was written.
    pub(super) fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.written).into()
    }

    /// Moves what the encoder wrote to where it is taken from, without the frames that are to be left out.
    fn move_written(&mut self) {
        let mut bytes = self.encoder.bytes();
        let end: &[u8] = match self.encoder.framing() {
            Framing::Sse => b"\n\n",
            Framing::Ndjson => b"\n",
        };
        while self.skip > 0 && !bytes.is_empty() {
            let at = bytes.windows(end.len()).position(|window| window == end);
            let at = at.map_or(bytes.len(), |at| at + end.len());
            bytes = bytes.get(at..).unwrap_or_default();
            self.skip -= 1;
        }
        self.written.extend_from_slice(bytes);
        self.encoder.clear();
    }
}

/// Whether a run that waits still does after an event of this kind.
fn follows_wait(kind: EventKind) -> bool {
    matches!(kind, EventKind::Checkpoint | EventKind::Usage | EventKind::Status | EventKind::Trace)
}
