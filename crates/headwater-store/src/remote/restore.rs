//! Writing a journal as another store has it.

use super::{
    Engine, JournalHeader, JournalHold, RestorePiece,
    call::{call, random_u64},
    context::{Restoring, StoreContext, check_name},
    entry::pack,
};
use crate::{Error, JournalId, JournalInfo, Record, Result, restore};

/// The numbers of restored journals have this bit, so that they are never epochs.
const RESTORED: u64 = 1 << 62;

impl<E: Engine> StoreContext<E> {
    pub(super) async fn restore_piece(
        &self,
        journal: &JournalId,
        info: &JournalInfo,
        records: &[Record],
    ) -> Result<()> {
        check_name("journal name", journal.as_str())?;
        let max = self.options.max_record_bytes;
        if let Some(record) = records.iter().find(|record| record.body.len() > max) {
            return Err(Error::too_large(&format!("journal {journal}: a record"), record.body.len(), max));
        }
        self.state().running()?;
        let step = restore::check(journal, info, records)?;
        // Taken out while it is used: after an error a restore begins again.
        let before = self.restoring().remove(journal);
        if self.fetch_header(journal).await?.is_some() {
            return Err(Error::exists(journal));
        }
        let mut restoring = match before {
            _ if step.begins => Restoring { number: random_u64() >> 2 | RESTORED, last: 0, bytes: 0 },
            Some(before) => {
                restore::check_next(journal, before.last, records)?;
                before
            }
            None => return Err(restore::not_begun(journal)),
        };
        let entries = pack(records, restoring.bytes);
        restoring.bytes += records.iter().map(|record| record.body.len() as u64).sum::<u64>();
        restoring.last = records.last().map_or(0, |record| record.seq);
        if restoring.bytes > self.options.max_journal_bytes {
            return Err(restore::too_long(journal, self.options.max_journal_bytes));
        }
        let complete = step.completes.then(|| header(info, &restoring));
        let piece = RestorePiece { number: restoring.number, begins: step.begins, entries, complete };
        let mut attempts = 0;
        let written = call(self.limits(), |repeated| {
            attempts = repeated;
            self.engine.restore(journal, &piece)
        })
        .await?;
        if !written {
            // An earlier request whose answer was lost may have completed it.
            let found = self.fetch_header(journal).await?;
            return match found {
                Some(found) if attempts > 0 && found.number == restoring.number => Ok(()),
                Some(_) => Err(Error::exists(journal)),
                None => Err(restore::not_begun(journal)),
            };
        }
        if !step.completes {
            self.restoring().insert(journal.clone(), restoring);
        }
        Ok(())
    }
}

/// What the engine will know about the journal.
fn header(info: &JournalInfo, restoring: &Restoring) -> JournalHeader {
    let newest = info.epochs.last().map_or(0, |start| start.epoch);
    let (epoch, hold) = match info {
        JournalInfo { tail, goes, .. } if tail.closed => {
            (newest, JournalHold::Closed { goes: goes.map(|goes| goes.0) })
        }
        // Its driver has a lease of another store, and cannot write here: it has died.
        JournalInfo { driven: true, .. } => (0, JournalHold::Leased { owner: "".into(), expires: 0 }),
        _ => (newest, JournalHold::Free),
    };
    JournalHeader {
        number: restoring.number,
        epoch,
        hold,
        first: info.first,
        last: info.tail.last,
        total: restoring.bytes,
        trimmed: 0,
        epochs: info.epochs.clone(),
        now: 0,
    }
}
