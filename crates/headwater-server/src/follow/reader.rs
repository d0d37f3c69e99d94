//! One reader of a run: alone until it has caught up, and with others from there on.

use std::sync::Arc;

use bytes::Bytes;
use headwater_runtime::Run;
use headwater_store::{Cursor, JournalId, Place};

use super::{
    Ending, From,
    pace::Pace,
    pen::Pen,
    shared::{Batch, Given, Known, Shared},
};
use crate::ApiError;

/// One reader of a run.
#[derive(Debug)]
pub(crate) struct Reader {
    run: Run,
    journal: JournalId,
    source: Source,
    /// It was given something since it last waited.
    given: bool,
    pace: Arc<Pace>,
}

#[derive(Debug)]
enum Source {
    Alone(Box<Alone>),
    Shared {
        shared: Arc<Shared>,
        /// The number of the next batch.
        next: u64,
        /// The last record that was read, and its epoch; 0 if it is not known.
        after: u64,
        epoch: u64,
    },
    Over,
}

/// A stream that nobody else reads.
#[derive(Debug)]
struct Alone {
    pen: Pen,
    ending: Ending,
    fresh: bool,
    over: bool,
    /// Where it finds others to go on with.
    others: Option<(Known, String)>,
}

impl Reader {
    /// A reader that writes for itself, and goes on with others once it has caught up.
    pub(super) fn alone(
        run: Run,
        pen: Pen,
        ending: Ending,
        others: Option<(Known, String)>,
        pace: Arc<Pace>,
    ) -> Self {
        let alone = Alone { pen, ending, fresh: true, over: false, others };
        Self::of(run, Source::Alone(Box::new(alone)), pace)
    }

    /// A reader that begins where others began.
    pub(super) fn with_others(run: Run, shared: Arc<Shared>, after: u64, pace: Arc<Pace>) -> Self {
        Self::of(run, Source::Shared { shared, next: 0, after, epoch: 0 }, pace)
    }

    fn of(run: Run, source: Source, pace: Arc<Pace>) -> Self {
        Self { journal: run.id().as_str().into(), run, source, given: false, pace }
    }

    /// What comes next, as soon as there is something; nothing at the end. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let mut failed = None;
        loop {
            let given = match &mut self.source {
                Source::Alone(alone) => Box::pin(alone.next(&self.run)).await?,
                Source::Shared { shared, next, after, epoch } => {
                    let given = shared.next(&self.run, *next).await?;
                    if let Given::Batch(batch) = &given {
                        (*next, *after, *epoch) = (*next + 1, batch.after, batch.epoch);
                    }
                    given
                }
                Source::Over => return Ok(None),
            };
            match given {
                Given::Batch(batch) if batch.bytes.is_empty() => {}
                Given::Batch(batch) => {
                    self.given = true;
                    return Ok(Some(batch.bytes));
                }
                Given::Nothing(after) => {
                    if let Some(error) = failed {
                        return Err(error);
                    }
                    self.join();
                    if std::mem::take(&mut self.given) {
                        self.pace.pause().await;
                    }
                    // What was waited for may have been lost: the next read finds that out.
                    let waited = self.run.agent().store().wait(&self.journal, after).await;
                    failed = waited.err().map(ApiError::from);
                }
                // In a box: it is rare, and would make every reader larger.
                Given::Behind => Box::pin(self.fall_behind()).await?,
                Given::Over => return Ok(None),
            }
        }
    }

    /// Goes on with others that have come as far.
    fn join(&mut self) {
        let Source::Alone(alone) = &mut self.source else { return };
        let Some((known, key)) = alone.others.take() else { return };
        if let Source::Alone(alone) = std::mem::replace(&mut self.source, Source::Over) {
            let Alone { pen, ending, .. } = *alone;
            let (after, epoch) = (pen.after, pen.epoch);
            let (shared, next) = known.join(&key, pen, ending);
            self.source = Source::Shared { shared, next, after, epoch };
        }
    }

    /// Slower than what is kept: it writes for itself from here on.
    async fn fall_behind(&mut self) -> Result<(), ApiError> {
        if let Source::Shared { shared, after, epoch, .. } = &self.source {
            let from = match shared.since {
                0 => from_record(&self.run, &self.journal, *epoch, *after).await?,
                since => From::Response(since),
            };
            let mut pen = Pen::new(&self.run, shared.view.clone(), &from).await?;
            if !matches!(from, From::Lost(_)) {
                pen.pass(&self.run, *after).await?;
            }
            let alone = Alone { pen, ending: shared.ending, fresh: false, over: false, others: None };
            self.source = Source::Alone(Box::new(alone));
        }
        Ok(())
    }
}

/// Where a reader goes on that has read a record of an epoch. The record is gone if its driver was fenced out before it was
/// written.
async fn from_record(run: &Run, journal: &JournalId, epoch: u64, seq: u64) -> Result<From, ApiError> {
    let read = From::After { seq, frame: 0 };
    let Some(info) = run.agent().store().info(journal).await? else { return Ok(read) };
    let cursor = Cursor { journal: journal.clone(), epoch, seq, frame: 0, count: 0 };
    Ok(match cursor.place(journal, &info) {
        Ok(Place::Moved(kept)) => From::Lost(kept),
        _ => read,
    })
}

impl Alone {
    async fn next(&mut self, run: &Run) -> Result<Given, ApiError> {
        if self.over {
            return Ok(Given::Over);
        }
        let pen = &mut self.pen;
        let Some(page) = pen.next_page(run).await? else {
            return Ok(Given::Batch(Batch { bytes: pen.take(), after: pen.after, epoch: pen.epoch }));
        };
        if page.records.is_empty() && !self.fresh && !page.tail.closed {
            return Ok(Given::Nothing(pen.after.min(page.tail.last)));
        }
        // If this is dropped while it waits, it is done again.
        self.fresh = true;
        self.over = pen.write_page(run, &page, self.ending).await?;
        self.fresh = false;
        Ok(Given::Batch(Batch { bytes: pen.take(), after: pen.after, epoch: pen.epoch }))
    }
}
