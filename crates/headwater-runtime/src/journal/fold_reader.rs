//! Reading the fold of a run, from a snapshot on.

use headwater_protocol::{Record, RunState};
use headwater_store::{JournalId, ReadLimit, Store};

use super::{
    Fold,
    fold::fingerprint,
    reader::{RecordReader, StoredRecord},
    record::{self, unreadable},
    text_ref,
};
use crate::{Error, Result, error::ErrorKind};

/// Applies records of the store to a [`Fold`].
#[derive(Debug, Default)]
struct Folding {
    fold: Fold,
    reader: RecordReader,
    /// A delta whose text may continue in the next record: the state gets the merged text.
    growing: Option<Record>,
}

/// Reads a run's journal into a [`Fold`], up to a chosen record.
#[derive(Debug)]
pub(crate) struct FoldReader<'a> {
    store: &'a dyn Store,
    journal: &'a JournalId,
    folding: Folding,
}

impl<'a> FoldReader<'a> {
    /// A reader that starts with the snapshot of this sequence number. Without such a snapshot (0, or one
    /// that was not durable when its process died) it starts with the first record.
    pub(crate) async fn open(store: &'a dyn Store, journal: &'a JournalId, snapshot: u64) -> Result<Self> {
        let mut folding = Folding::default();
        if snapshot > 0 {
            let page = store.read(journal, snapshot - 1, ReadLimit { records: 1, bytes: 1 }).await?;
            if let Some(record) = page.records.first().filter(|record| super::is_snapshot(record)) {
                folding.fold = record::read_snapshot(record)?;
                folding.fold.count(record.seq, record.body.len());
                folding.fold.count_snapshot(record.body.len());
                folding.fold.last_time = record.time.0;
            }
        }
        Ok(Self { store, journal, folding })
    }

    /// The fold of the records read so far.
    pub(crate) fn fold(&self) -> &Fold {
        &self.folding.fold
    }

    /// Reads the records up to a sequence number or the end.
    pub(crate) async fn read_to(&mut self, last: u64) -> Result<()> {
        while self.fold().last < last {
            let page = self.store.read(self.journal, self.fold().last, ReadLimit::default()).await?;
            for record in page.records.iter().take_while(|record| record.seq <= last) {
                self.folding.add(record)?;
            }
            if self.fold().last >= page.tail.last {
                break;
            }
        }
        self.folding.settle()
    }

    /// Reads the records up to a sequence number, and returns their fold.
    pub(crate) async fn read_up_to(mut self, last: u64) -> Result<Fold> {
        self.read_to(last).await?;
        Ok(self.folding.fold)
    }

    /// Reads all remaining records.
    pub(crate) async fn read_all(mut self) -> Result<Fold> {
        self.read_to(u64::MAX).await?;
        Ok(self.folding.fold)
    }

    /// Reads all records from the first one, keeps the data of every visit, and compares each snapshot with
    /// the records before it.
    ///
    /// # Errors
    /// `journal.snapshot-differs` when a snapshot does not match.
    pub(crate) async fn read_whole(store: &'a dyn Store, journal: &'a JournalId) -> Result<Fold> {
        let (mut whole, mut checked) = (Folding::default(), Folding::default());
        whole.fold.keeps_all = true;
        loop {
            let page = store.read(journal, whole.fold.last, ReadLimit::default()).await?;
            for record in &page.records {
                checked.check_snapshot(record)?;
                whole.add(record)?;
                checked.add(record)?;
            }
            if whole.fold.last >= page.tail.last {
                whole.settle()?;
                return Ok(whole.fold);
            }
        }
    }
}

/// The state of a run after these records, which start with its first one. Snapshots are compared with the
/// records before them.
///
/// # Errors
/// When they are not the records of a run.
pub fn state_after(records: &[headwater_store::Record]) -> Result<RunState> {
    let mut folding = Folding::default();
    for record in records {
        folding.check_snapshot(record)?;
        folding.add(record)?;
    }
    folding.settle()?;
    Ok(folding.fold.state)
}

impl Folding {
    /// Adds the next record.
    fn add(&mut self, record: &headwater_store::Record) -> Result<()> {
        self.fold.count(record.seq, record.body.len());
        self.fold.last_time = record.time.0;
        if let Some(growing) = &mut self.growing
            && let Some(more) = self.reader.more(record)
        {
            growing.grow(more, record.seq, record.time.0);
            return Ok(());
        }
        if super::is_snapshot(record) {
            self.fold.count_snapshot(record.body.len());
            return Ok(());
        }
        let StoredRecord { event, origin, emit, effect } = self.reader.stored(record)?;
        if let Some(event) = event {
            self.settle()?;
            let told = Record::new(record.seq, event).at(record.time.0).from(origin);
            if told.event.may_grow() && emit.is_none() && effect.is_none() {
                self.growing = Some(told);
            } else {
                let emit = emit.as_ref().map(|emit| (emit, fingerprint(&told.event)));
                let added = self.fold.event(&told, emit, effect.is_some());
                added.map_err(|error| disagrees(record.seq, error.message()))?;
            }
        }
        if let Some(mut effect) = effect {
            self.settle()?;
            text_ref::expand(&mut effect, &self.fold.state)
                .map_err(|part| disagrees(record.seq, &format!("there is no text `{part}`")))?;
            self.fold.effect(effect);
        }
        Ok(())
    }

    /// Applies the delta that was growing.
    fn settle(&mut self) -> Result<()> {
        let Some(delta) = self.growing.take() else { return Ok(()) };
        self.fold.event(&delta, None, false).map_err(|error| disagrees(delta.seq, error.message()))
    }

    /// Compares a snapshot with the records before it.
    fn check_snapshot(&mut self, record: &headwater_store::Record) -> Result<()> {
        if !super::is_snapshot(record) {
            return Ok(());
        }
        self.settle()?;
        match record::read_snapshot::<Fold>(record)?.difference(&self.fold)? {
            Some(part) => Err(snapshot_differs(record.seq, &part)),
            None => Ok(()),
        }
    }
}

/// The error for a record that the state rejects. The writer's state accepted it, so the journal is damaged.
fn disagrees(seq: u64, why: &str) -> Error {
    unreadable(seq, &format!("it does not fit the records and the snapshot before it: {why}"))
}

fn snapshot_differs(seq: u64, part: &str) -> Error {
    let message = format!(
        "the snapshot in record {seq} of the journal disagrees with the records before it: `{part}` differs. Restore the \
         journal from a backup, or delete the run"
    );
    Error::new(ErrorKind::Store, message).with_code("journal.snapshot-differs")
}
