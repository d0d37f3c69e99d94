//! Finds the position where a reader starts or resumes.

use std::{sync::Arc, time::Duration};

use headwater_protocol::{EventKind, RunStatus};
use headwater_runtime::{RecordReader, Run, VisibleRecord};
use headwater_store::{Cursor, JournalId, Place, ReadLimit};
use tokio::time::{Instant, timeout};

use super::{PendingRecord, StreamEncoder};
use crate::{
    ApiError,
    follow::{ReadFrom, ReaderView, from_the_future, is_future},
};

/// Maximum number of frames that a process may have sent without storing their records before it died.
const LOST_FRAMES: u64 = 1_024;

/// How long another server may take to take over a run after its lease has expired.
const TAKEOVER: Duration = Duration::from_secs(5);

/// How long to wait for a record before reading the journal again.
const POLL: Duration = Duration::from_secs(1);

impl StreamEncoder {
    /// An encoder at the position where a reader starts.
    pub(in crate::follow) async fn new(
        run: &Run,
        view: Arc<ReaderView>,
        from: &ReadFrom,
    ) -> Result<Self, ApiError> {
        let mut encoder = Self::at_start(run, view).await?;
        match *from {
            ReadFrom::Start => {}
            ReadFrom::Response(since) => encoder.begin_after(run, since).await?,
            ReadFrom::Reentry => {
                encoder.from_state = true;
                encoder.reenter(run).await?;
            }
            ReadFrom::After { seq, frame } => encoder.resume_after_frame(run, seq, frame).await?,
            ReadFrom::Lost(seq) => encoder.resume_after_loss(run, seq).await?,
            ReadFrom::Ahead(ref cursor) => encoder.catch_up(run, cursor).await?,
            ReadFrom::Sequence { since, number } => encoder.resume_after(run, since, number).await?,
        }
        Ok(encoder)
    }

    /// Resumes after this many frames of a record; 0 means all of them.
    async fn resume_after_frame(&mut self, run: &Run, seq: u64, frame: u32) -> Result<(), ApiError> {
        if frame == 0 {
            return self.pass(run, seq).await;
        }
        self.pass(run, seq.saturating_sub(1)).await?;
        self.skip = u64::from(frame);
        self.read(run, Some(seq)).await?;
        self.skip = 0;
        Ok(())
    }

    /// Resumes after the last stored record, and repeats the current state.
    async fn resume_after_loss(&mut self, run: &Run, seq: u64) -> Result<(), ApiError> {
        self.pass(run, seq).await?;
        self.restate(None);
        Ok(())
    }

    /// Waits until the record of a cursor is written, or is known to be lost because another server has taken over the
    /// run. The server that sent it may be cut off from the store for as long as its lease lasts.
    async fn catch_up(&mut self, run: &Run, cursor: &Cursor) -> Result<(), ApiError> {
        let store = run.store();
        let deadline = Instant::now() + run.lease() * 2 + TAKEOVER;
        loop {
            let info = store.info(&self.journal).await?.ok_or_else(ApiError::no_run)?;
            match cursor.place(&self.journal, &info) {
                Ok(Place::After(seq)) => return self.resume_after_frame(run, seq, cursor.frame).await,
                Ok(Place::Moved(seq)) => return self.resume_after_loss(run, seq).await,
                Err(error) if !is_future(&error) || Instant::now() >= deadline => return Err(error.into()),
                // Only an active run has records that are not written yet.
                Err(error) if run.summary().await?.status != RunStatus::Running => return Err(error.into()),
                Err(_) => wait_a_little(run, &self.journal, info.tail.last).await?,
            }
        }
    }

    /// Starts the response after the one that ended at this record; 0 is the first response.
    async fn begin_after(&mut self, run: &Run, since: u64) -> Result<(), ApiError> {
        if since > 0 {
            self.pass(run, since).await?;
            self.since = since;
            self.waits = false;
            self.encoder.next_response();
            self.move_written();
        }
        Ok(())
    }

    /// Resumes after the frame with this number, in the response that starts after `since`.
    async fn resume_after(&mut self, run: &Run, since: u64, number: u64) -> Result<(), ApiError> {
        let next = number.saturating_add(1);
        self.begin_after(run, since).await?;
        self.skip = next;
        let deadline = Instant::now() + run.lease() * 2 + TAKEOVER;
        loop {
            let died = self.first_death(run).await?;
            self.skip_frames(run, died.filter(|died| *died > since)).await?;
            if self.skip == 0 {
                return Ok(());
            }
            if next > self.count_frames(run, since).await?.saturating_add(LOST_FRAMES) {
                return Err(from_the_future(number));
            }
            if died.is_some() {
                break;
            }
            // The server that sent the frame may not have written it yet.
            let info = run.store().info(&self.journal).await?.ok_or_else(ApiError::no_run)?;
            let is_active = !(info.tail.closed || self.ended || self.waits || self.over);
            if !is_active || Instant::now() >= deadline {
                return Err(from_the_future(number));
            }
            wait_a_little(run, &self.journal, self.after).await?;
        }
        // A process that died may have used this number for a record that was not stored, and its successor
        // reused the number. So the reader gets the stored state, and everything after it, under unused
        // numbers.
        self.skip = 0;
        self.restate(Some(next));
        Ok(())
    }

    fn restate(&mut self, next: Option<u64>) {
        self.from_state = true;
        self.encoder.restate(next);
        self.move_written();
    }

    /// The last record before a takeover from a process that died in the middle of its output.
    async fn first_death(&mut self, run: &Run) -> Result<Option<u64>, ApiError> {
        let store = run.store();
        let epochs = store.info(&self.journal).await?.map(|info| info.epochs).unwrap_or_default();
        for next in epochs.iter().skip(1) {
            let before = next.first - 1;
            let page = store.read(&self.journal, before, ReadLimit::default()).await?;
            let mut reader = RecordReader::default();
            for stored in &page.records {
                match reader.read(stored)? {
                    VisibleRecord::Hidden => {}
                    VisibleRecord::Event(record) if record.event.kind() == EventKind::AttemptRetracted => {
                        return Ok(Some(before));
                    }
                    _ => break,
                }
            }
        }
        Ok(None)
    }

    /// Number of frames so far in the response that starts after `since`.
    async fn count_frames(&mut self, run: &Run, since: u64) -> Result<u64, ApiError> {
        let mut counting = Self::at_start(run, self.view.clone()).await?;
        counting.begin_after(run, since).await?;
        counting.skip = u64::MAX;
        counting.read(run, None).await?;
        Ok(u64::MAX - counting.skip)
    }

    /// Encodes the current state in the fewest frames.
    async fn reenter(&mut self, run: &Run) -> Result<(), ApiError> {
        let store = run.store();
        let (after, mut state) = run.snapshot().await?.unwrap_or_default();
        self.after = after;
        let mut answered = false;
        loop {
            let page = store.read(&self.journal, self.after, ReadLimit::default()).await?;
            for stored in &page.records {
                (self.after, self.epoch) = (stored.seq, stored.epoch);
                let seen = match self.reader.read(stored)? {
                    VisibleRecord::Hidden => continue,
                    VisibleRecord::Answered => {
                        answered = true;
                        continue;
                    }
                    VisibleRecord::Event(record) => self.held.insert(PendingRecord::new(*record, stored)),
                    VisibleRecord::Continuation(text) => match &mut self.held {
                        Some(held) => {
                            held.grow(stored, text);
                            held
                        }
                        None => continue,
                    },
                };
                answered &= seen.record.event.kind() != EventKind::RunWaiting;
                // Cannot fail: the writer's state accepted the same records.
                let _ = state.apply(&seen.record);
                self.held = self.held.take().and_then(PendingRecord::rest);
            }
            if self.after < page.tail.last {
                continue;
            }
            // A wait with an unprocessed answer is not sent to a reader that reconnects.
            if state.run().status != RunStatus::Waiting || !(answered || self.is_answered(run).await?) {
                break;
            }
            wait_a_little(run, &self.journal, self.after).await?;
        }
        self.held = self.held.take().filter(|held| self.view.sees(&held.record));
        let status = state.run().status;
        self.waits = status == RunStatus::Waiting;
        self.ended = !self.waits && status != RunStatus::Running;
        self.encoder.reentry(&self.view.see_state(&state));
        self.move_written();
        Ok(())
    }
}

/// Waits briefly for a record: a new driver wakes readers only when it writes.
async fn wait_a_little(run: &Run, journal: &JournalId, after: u64) -> Result<(), ApiError> {
    if let Ok(woken) = timeout(POLL, run.store().wait(journal, after)).await {
        woken?;
    }
    Ok(())
}
