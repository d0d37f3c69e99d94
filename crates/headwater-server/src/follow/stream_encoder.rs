//! Encodes a journal for one reader.

mod position;

use std::sync::Arc;

use bytes::Bytes;
use headwater_dialects::Encoder;
use headwater_protocol::{BlockDelta, Event, EventKind, Framing, Record};
use headwater_runtime::{RecordReader, Run, VisibleRecord, lost_after};
use headwater_store::{Cursor, JournalId, Page, Secret, Tail};

use super::{PAGE, ReaderView, StreamEnd};
use crate::ApiError;

/// How many bytes stay allocated for the text of the next delta.
const KEPT_TEXT: usize = 256;

/// Encodes a journal for one reader, from a position on.
#[derive(Debug)]
pub(super) struct StreamEncoder {
    view: Arc<ReaderView>,
    encoder: Encoder,
    reader: RecordReader,
    /// The last visible record: the next delta may be merged into it.
    held: Option<PendingRecord>,
    journal: JournalId,
    secret: Secret,
    /// How many frames to skip.
    skip: u64,
    /// Encoded bytes that were not taken yet.
    written: Vec<u8>,
    /// The last record that was read.
    pub(super) after: u64,
    /// The epoch of that record; 0 before the first.
    pub(super) epoch: u64,
    /// Waits up to this record belong to an earlier response.
    since: u64,
    /// Whether the last event reported a wait.
    waits: bool,
    /// A wait not sent yet; dropped if it is answered first.
    wait: Option<PendingRecord>,
    /// Whether the run has ended.
    pub(super) ended: bool,
    /// Whether the encoder started from a state, without the events that led to it.
    from_state: bool,
    /// Whether to discard the output.
    passes: bool,
    /// Whether the response is over, although the run may have continued: [`ReaderView::ends_at_wait`].
    over: bool,
}

/// A record, with the sequence of the first record merged into it.
#[derive(Debug)]
struct PendingRecord {
    record: Record,
    first: u64,
    epoch: u64,
    /// Whether it was encoded; kept only because more of the delta may follow.
    written: bool,
}

impl PendingRecord {
    fn new(record: Record, stored: &headwater_store::Record) -> Self {
        Self { record, first: stored.seq, epoch: stored.epoch, written: false }
    }

    /// Appends to the delta, or replaces it if it was encoded already.
    fn grow(&mut self, stored: &headwater_store::Record, text: &str) {
        if std::mem::take(&mut self.written) {
            (self.first, self.epoch) = (stored.seq, stored.epoch);
        }
        self.record.grow(text, stored.seq, stored.time.0);
    }

    /// The empty delta to append to, after it was encoded.
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

impl StreamEncoder {
    async fn at_start(run: &Run, view: Arc<ReaderView>) -> Result<Self, ApiError> {
        Ok(Self {
            encoder: Encoder::new(view.dialect, &view.options()),
            reader: RecordReader::default(),
            held: None,
            journal: run.id().as_str().into(),
            secret: run.secret().await?.clone(),
            view,
            skip: 0,
            written: Vec::new(),
            after: 0,
            epoch: 0,
            since: 0,
            waits: false,
            wait: None,
            ended: false,
            from_state: false,
            passes: false,
            over: false,
        })
    }

    /// The reader's view.
    pub(super) fn view(&self) -> &Arc<ReaderView> {
        &self.view
    }

    /// Whether it writes the same bytes from here on as any encoder at the same record. An encoder that
    /// started from a state does not: it may have generated other ids for open blocks.
    pub(super) fn may_join(&self) -> bool {
        !self.from_state
    }

    /// The end of the previous response, or 0.
    pub(super) fn since(&self) -> u64 {
        self.since
    }

    /// Encodes a page of the journal, and returns whether the stream ends there. If the future is dropped, call it
    /// again even if there is nothing new.
    pub(super) async fn write_page(
        &mut self,
        run: &Run,
        page: &Page,
        ending: StreamEnd,
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
            over = ending == StreamEnd::AtWait;
        }
        self.tell_wait()?;
        if over {
            self.encoder.finish();
            self.move_written();
        }
        Ok(over)
    }

    /// The next page of the journal. `None` after a rewind to the last stored record: read again.
    pub(super) async fn next_page(&mut self, run: &Run) -> Result<Option<Page>, ApiError> {
        match run.store().read(&self.journal, self.after, PAGE).await {
            // Usually the next record has the same epoch as the last one, so nothing was lost.
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

    /// Rewinds to the last stored record, if this server read deltas of a driver that was fenced out before it had
    /// stored them. Returns whether it did.
    ///
    /// Readers have seen the lost deltas. The new driver retracts their attempt, so the following records correct the
    /// readers, as after any failed attempt.
    async fn rewind_lost(&mut self, run: &Run, page: &Page) -> Result<bool, ApiError> {
        if self.epoch == 0 {
            return Ok(false);
        }
        let store = &**run.store();
        let kept = Box::pin(lost_after(store, &self.journal, page, self.after, self.epoch)).await?;
        if let Some(kept) = kept {
            self.write_held()?;
            (self.after, self.epoch) = (kept, 0);
            (self.held, self.wait, self.waits) = (None, None, false);
            self.reader = RecordReader::default();
        }
        Ok(kept.is_some())
    }

    /// Whether a waiting run has been answered, so that the wait is over or about to be.
    async fn is_answered(&mut self, run: &Run) -> Result<bool, ApiError> {
        // In this order: a message removed from the inbox is in the journal by then.
        if run.has_mail().await? {
            return Ok(true);
        }
        let info = run.store().info(&self.journal).await?;
        Ok(info.is_some_and(|info| info.tail.last > self.after))
    }

    /// Encodes the wait that was held back.
    fn tell_wait(&mut self) -> Result<(), ApiError> {
        match self.wait.take() {
            Some(held) => self.encode(&held),
            None => Ok(()),
        }
    }

    /// Advances to a record without output.
    pub(super) async fn pass(&mut self, run: &Run, until: u64) -> Result<(), ApiError> {
        self.passes = true;
        self.read(run, Some(until)).await?;
        self.tell_wait()?;
        self.passes = false;
        Ok(())
    }

    /// Reads up to a record or the end.
    async fn read(&mut self, run: &Run, until: Option<u64>) -> Result<(), ApiError> {
        while !self.over && until.is_none_or(|until| self.after < until) {
            let page = run.store().read(&self.journal, self.after, PAGE).await?;
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
            let page = run.store().read(&self.journal, self.after, PAGE).await?;
            if page.records.is_empty() {
                break;
            }
            self.write(&page, until)?;
        }
        Ok(())
    }

    /// Encodes the records of a page, up to a sequence.
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
                // The wait is over, although no event followed it.
                VisibleRecord::Answered => {
                    (self.waits, self.wait) = (false, None);
                    continue;
                }
                VisibleRecord::Event(record) => record,
                VisibleRecord::Continuation(text) => {
                    if !coalesce {
                        self.write_held()?;
                    }
                    // Without a pending record the reader cannot place this text.
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
                self.waits && kind.leaves_waiting()
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
            let next = PendingRecord::new(record, stored);
            // Numbered frames must be the same for every reader.
            if kind == EventKind::RunWaiting && coalesce {
                self.held = None;
                self.wait = Some(next);
                continue;
            }
            if !kind.leaves_waiting() {
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

    /// Encodes the pending record, and keeps it if it can be extended.
    fn write_held(&mut self) -> Result<(), ApiError> {
        if let Some(held) = self.held.take_if(|held| !held.written) {
            self.encode(&held)?;
            self.held = held.rest();
        }
        Ok(())
    }

    fn encode(&mut self, held: &PendingRecord) -> Result<(), ApiError> {
        let Self { encoder, secret, journal, .. } = self;
        if self.passes {
            encoder.record(&held.record);
            encoder.clear();
            return Ok(());
        }
        encoder.record_with_ids(&held.record, &mut |frame, last| {
            // Only the last frame of merged records covers all of them; the frames before it belong to the first
            // record.
            let (seq, frame) = if last { (held.record.seq, 0) } else { (held.first, frame) };
            Cursor { journal: journal.clone(), epoch: held.epoch, seq, frame, count: 0 }.seal(secret)
        })?;
        self.move_written();
        Ok(())
    }

    /// Takes the encoded bytes.
    pub(super) fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.written).into()
    }

    /// Moves the encoder's output to `written`, without the frames to skip.
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
