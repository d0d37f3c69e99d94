//! Listing journals, and restoring them from another store.

use std::time::Duration;

use bytes::Bytes;
use headwater_store::{
    Class, EpochStart, ErrorKind, JournalId, JournalInfo, ReadLimit, Record, Store, Tail, Time,
};

use super::super::{
    Case, StoreUnderTest,
    check::{CheckFailure, Outcome, TTL, holds, read_all, refused, same},
};

pub(super) const CASES: &[Case] = &[
    Case { name: "journals are listed by name, page by page", run: |s| Box::pin(pages(s)) },
    Case { name: "a journal is listed from its claim until it is removed", run: |s| Box::pin(listed(s)) },
    Case { name: "a restored journal equals the original", run: |s| Box::pin(the_same(s)) },
    Case { name: "a journal restored in pieces appears with the last piece", run: |s| Box::pin(pieces(s)) },
    Case { name: "a journal without records is restored", run: |s| Box::pin(empty(s)) },
    Case { name: "a restored journal continues with a higher epoch", run: |s| Box::pin(goes_on(s)) },
    Case { name: "restored epochs are not assigned again", run: |s| Box::pin(epochs(s)) },
    Case { name: "a restored journal without a driver is listed as expired", run: |s| Box::pin(driven(s)) },
    Case { name: "a restored closed journal stays closed and expires on time", run: |s| Box::pin(closed(s)) },
    Case { name: "a restore does not overwrite a journal", run: |s| Box::pin(over_another(s)) },
    Case { name: "an unfinished restore can be restarted, deleted or claimed", run: |s| Box::pin(again(s)) },
    Case { name: "records out of sequence are not restored", run: |s| Box::pin(not_next(s)) },
    Case { name: "an inconsistent journal is not restored", run: |s| Box::pin(impossible(s)) },
    Case { name: "a restore respects the limits", run: |s| Box::pin(limits(s)) },
];

/// A journal of another store.
pub(super) struct ForeignJournal {
    pub(super) info: JournalInfo,
    pub(super) records: Vec<Record>,
}

impl ForeignJournal {
    /// A trimmed journal whose driver has changed three times: one epoch wrote nothing, and its clock went
    /// back once.
    pub(super) fn new(epoch: u64) -> Self {
        let starts = [(0, 1), (3, 5), (4, 9), (11, 9)];
        let epochs: Vec<_> = starts.map(|(more, first)| EpochStart { epoch: epoch + more, first }).into();
        let times = [5_000, 5_000, 5_250, 4_000, 4_001, 9_000, 9_000, 9_500];
        let records: Vec<Record> = (3..)
            .zip(times)
            .map(|(seq, time)| Record {
                seq,
                epoch: epochs.iter().rev().find(|start| start.first <= seq).map_or(0, |start| start.epoch),
                time: Time(1_600_000_000_000 + time),
                class: if seq % 3 == 0 { Class::Delta } else { Class::Fact },
                body: Bytes::from(vec![seq as u8; (seq as usize % 4) * 50]),
            })
            .collect();
        let bytes = records.iter().map(|record| record.body.len() as u64).sum();
        let tail = Tail { last: 10, closed: false };
        Self { info: JournalInfo { first: 3, tail, epochs, bytes, goes: None, driven: true }, records }
    }

    /// Restores it in batches of this many records.
    pub(super) async fn restore(&self, store: &dyn Store, journal: &JournalId, records: usize) -> Outcome {
        for piece in self.records.chunks(records) {
            store.restore(journal, &self.info, piece).await?;
        }
        Ok(())
    }

    pub(super) async fn is_in(&self, store: &dyn Store, journal: &JournalId) -> Outcome {
        same("the info", store.info(journal).await?.as_ref(), Some(&self.info))?;
        same("the records", read_all(store, journal).await?, self.records.clone())
    }
}

/// A journal with epochs that this store has not assigned yet.
async fn foreign(s: &StoreUnderTest) -> Outcome<ForeignJournal> {
    let lease = s.claim("another").await?;
    s.store.release(&lease).await?;
    Ok(ForeignJournal::new(lease.epoch + 1_000))
}

async fn pages(s: StoreUnderTest) -> Outcome {
    let mut names: Vec<JournalId> = (0..40).map(|n| format!("run {}", n * 7 % 40).into()).collect();
    names.extend(["", "A", "a", "a/b", "é", "🦀", "\u{0}"].map(JournalId::from));
    for name in &names {
        s.store.claim(name, "driver", TTL).await?;
    }
    names.sort();
    for limit in [1, 7, 46, 47, 48, 1_000] {
        let mut listed = Vec::new();
        loop {
            let page = s.store.journals(listed.last(), limit).await?;
            let expected: Vec<JournalId> = names.iter().skip(listed.len()).take(limit).cloned().collect();
            same("a page of names", &page, &expected)?;
            if page.is_empty() {
                break;
            }
            listed.extend(page);
        }
        same("all names", &listed, &names)?;
    }
    let after = s.store.journals(Some(&"run 1~".into()), 2).await?;
    same("the names after one that is not there", after, vec!["run 2".into(), "run 20".into()])?;
    same("a page of none", s.store.journals(None, 0).await?, vec![])
}

async fn listed(s: StoreUnderTest) -> Outcome {
    same("the journals of an empty store", s.store.journals(None, 10).await?, vec![])?;
    let (deleted, swept) = (s.claim("deleted").await?, s.claim("swept").await?);
    let (closed, kept) = (s.claim("closed").await?, s.claim("kept").await?);
    s.store.put("a value", "is no journal".into(), headwater_store::Expect::Any, None).await?;
    let names = ["closed", "deleted", "kept", "swept"].map(JournalId::from);
    same("the journals", s.store.journals(None, 10).await?, names.into())?;
    s.store.release(&deleted).await?;
    s.store.delete(&deleted.journal).await?;
    s.store.close(&swept, Some(Duration::ZERO)).await?;
    s.store.close(&closed, None).await?;
    s.store.release(&kept).await?;
    s.store.sweep().await?;
    same(
        "the journals that are left",
        s.store.journals(None, 10).await?,
        ["closed", "kept"].map(JournalId::from).into(),
    )
}

async fn the_same(s: StoreUnderTest) -> Outcome {
    let journal = foreign(&s).await?;
    journal.restore(&*s.store, &"run".into(), 100).await?;
    journal.is_in(&*s.store, &"run".into()).await?;
    let read = s.store.read(&"run".into(), 1, ReadLimit::default()).await;
    refused("a read of what was trimmed", read, &ErrorKind::Trimmed { first: 3 })?;
    let tail = s.store.wait(&"run".into(), 9).await?;
    same("the tail that a wait gives", tail, journal.info.tail)?;
    // Epochs that this store passed long ago.
    let old = ForeignJournal::new(1);
    old.restore(&*s.store, &"old".into(), 100).await?;
    old.is_in(&*s.store, &"old".into()).await?;
    journal.is_in(&*s.store, &"run".into()).await
}

async fn pieces(s: StoreUnderTest) -> Outcome {
    let journal = foreign(&s).await?;
    for size in [1, 3, 5] {
        let name: JournalId = format!("run {size}").into();
        let last = journal.records.chunks(size).count() - 1;
        for (n, piece) in journal.records.chunks(size).enumerate() {
            same("what is known before the last piece", s.store.info(&name).await?, None)?;
            let read = s.store.read(&name, 2, ReadLimit::default()).await;
            refused("a read before the last piece", read, &ErrorKind::Unknown)?;
            holds("it is not listed before", !s.store.journals(None, 10).await?.contains(&name))?;
            holds("it is not expired before", !s.store.expired(10).await?.contains(&name))?;
            s.store.restore(&name, &journal.info, piece).await?;
            holds(
                "it is listed with the last piece",
                (n == last) == s.store.journals(None, 10).await?.contains(&name),
            )?;
        }
        journal.is_in(&*s.store, &name).await?;
    }
    Ok(())
}

async fn empty(s: StoreUnderTest) -> Outcome {
    let ForeignJournal { info, .. } = foreign(&s).await?;
    let epochs = vec![EpochStart { epoch: 7, first: 1 }];
    let begun =
        JournalInfo { first: 1, tail: Tail { last: 0, closed: false }, epochs, bytes: 0, ..info.clone() };
    let trimmed = JournalInfo { first: 11, bytes: 0, ..info };
    for (name, info) in [("begun", begun), ("trimmed", trimmed)] {
        s.store.restore(&name.into(), &info, &[]).await?;
        same("the info", s.store.info(&name.into()).await?, Some(info.clone()))?;
        same("the records", s.all(&name.into()).await?, vec![])?;
        let lease = s.claim(name).await?;
        same("where it goes on", lease.first, info.tail.last + 1)?;
        same("the next record", s.append(&lease, Class::Fact, &["next"]).await?, info.tail.last + 1)?;
    }
    Ok(())
}

async fn goes_on(s: StoreUnderTest) -> Outcome {
    let journal = foreign(&s).await?;
    let name: JournalId = "run".into();
    journal.restore(&*s.store, &name, 4).await?;
    let lease = s.claim("run").await?;
    holds("its epoch is higher", journal.info.epochs.iter().all(|start| start.epoch < lease.epoch))?;
    same("where it goes on", lease.first, 11)?;
    s.append(&lease, Class::Delta, &["eleven"]).await?;
    s.append(&lease, Class::Fact, &["twelve"]).await?;
    let records = s.all(&name).await?;
    let (before, after) =
        records.split_at_checked(8).ok_or_else(|| CheckFailure::new("records are missing"))?;
    same("what was restored", before, &journal.records)?;
    let after: Vec<_> = after.iter().map(|record| (record.seq, record.epoch)).collect();
    same("what was appended", after, vec![(11, lease.epoch), (12, lease.epoch)])?;
    s.store.trim(&lease, 6).await?;
    same("the records after a trim", s.all(&name).await?.first().map(|record| record.seq), Some(6))
}

async fn epochs(s: StoreUnderTest) -> Outcome {
    let journal = foreign(&s).await?;
    let name: JournalId = "run".into();
    journal.restore(&*s.store, &name, 100).await?;
    let newest = journal.info.epochs.iter().map(|start| start.epoch).max();
    let other = s.claim("other").await?;
    holds("the epoch of another journal is higher", Some(other.epoch) > newest)?;
    s.store.delete(&name).await?;
    let anew = s.claim("run").await?;
    holds("the epoch of the journal begun anew is higher", anew.epoch > other.epoch)?;
    // An old journal does not reset them.
    ForeignJournal::new(1).restore(&*s.store, &"old".into(), 100).await?;
    holds("the next epoch is higher", s.claim("next").await?.epoch > anew.epoch)
}

async fn driven(s: StoreUnderTest) -> Outcome {
    let mut journal = foreign(&s).await?;
    journal.restore(&*s.store, &"driven".into(), 100).await?;
    journal.info.driven = false;
    journal.restore(&*s.store, &"given back".into(), 100).await?;
    journal.info.tail.closed = true;
    journal.restore(&*s.store, &"closed".into(), 100).await?;
    same("the expired journals", s.store.expired(10).await?, vec!["driven".into()])?;
    let stale = headwater_store::Lease {
        journal: "driven".into(),
        epoch: journal.info.epochs.last().map_or(0, |start| start.epoch),
        owner: "driver".into(),
        expires: s.monotonic().after(TTL),
        first: 9,
    };
    // Its driver has a lease of the other store.
    let wanted = ErrorKind::Stale { current: None };
    refused("an append of its old driver", s.store.append(&stale, Class::Fact, &["x".into()]), &wanted)?;
    refused("a renewal by its old driver", s.store.renew(&stale, TTL).await, &wanted)?;
    s.claim("driven").await?;
    s.claim("given back").await?;
    same("the expired journals after claims", s.store.expired(10).await?, vec![])?;
    same("the records", s.all(&"driven".into()).await?.len(), 8)
}

async fn closed(s: StoreUnderTest) -> Outcome {
    let mut journal = foreign(&s).await?;
    (journal.info.driven, journal.info.tail.closed) = (false, true);
    journal.restore(&*s.store, &"for ever".into(), 2).await?;
    journal.info.goes = Some(s.now().after(TTL));
    journal.restore(&*s.store, &"for a while".into(), 2).await?;
    journal.is_in(&*s.store, &"for a while".into()).await?;
    for name in ["for ever", "for a while"] {
        refused("a claim", s.store.claim(&name.into(), "driver", TTL).await, &ErrorKind::Closed)?;
        same("the tail that a wait gives", s.store.wait(&name.into(), 10).await?, journal.info.tail)?;
    }
    s.advance(TTL - Duration::from_millis(1));
    s.store.sweep().await?;
    same("how many there are before that time", s.store.journals(None, 10).await?.len(), 3)?;
    s.advance(Duration::from_millis(1));
    s.store.sweep().await?;
    let left = s.store.journals(None, 10).await?;
    same("which are left", left, vec!["another".into(), "for ever".into()])
}

async fn over_another(s: StoreUnderTest) -> Outcome {
    let journal = foreign(&s).await?;
    let lease = s.claim("held").await?;
    s.append(&lease, Class::Fact, &["mine"]).await?;
    s.store.close(&s.claim("closed").await?, None).await?;
    journal.restore(&*s.store, &"restored".into(), 3).await?;
    for name in ["held", "closed", "restored", "another"] {
        let restored = s.store.restore(&name.into(), &journal.info, &journal.records).await;
        refused("a restore of a name that is there", restored, &ErrorKind::Exists)?;
        let piece = journal.records.get(..3).unwrap_or_default();
        let restored = s.store.restore(&name.into(), &journal.info, piece).await;
        refused("a piece for a name that is there", restored, &ErrorKind::Exists)?;
    }
    same("the journal that is held", s.bodies(&lease.journal).await?, vec!["mine".to_owned()])?;
    journal.is_in(&*s.store, &"restored".into()).await?;
    s.store.delete(&"restored".into()).await?;
    journal.restore(&*s.store, &"restored".into(), 3).await?;
    journal.is_in(&*s.store, &"restored".into()).await
}

async fn again(s: StoreUnderTest) -> Outcome {
    let journal = foreign(&s).await?;
    let piece = journal.records.get(..3).unwrap_or_default();
    let rest = journal.records.get(3..).unwrap_or_default();
    let run: JournalId = "run".into();
    for _ in 0..3 {
        s.store.restore(&run, &journal.info, piece).await?;
    }
    s.store.restore(&run, &journal.info, rest).await?;
    journal.is_in(&*s.store, &run).await?;

    let deleted: JournalId = "deleted".into();
    s.store.restore(&deleted, &journal.info, piece).await?;
    s.store.delete(&deleted).await?;
    let next = s.store.restore(&deleted, &journal.info, rest).await;
    refused("the next piece of what was deleted", next, &ErrorKind::Corrupt)?;
    s.store.restore(&deleted, &journal.info, &journal.records).await?;
    journal.is_in(&*s.store, &deleted).await?;

    let claimed: JournalId = "claimed".into();
    s.store.restore(&claimed, &journal.info, piece).await?;
    let lease = s.claim("claimed").await?;
    same("where the claimed one begins", lease.first, 1)?;
    s.append(&lease, Class::Fact, &["mine"]).await?;
    refused("the next piece", s.store.restore(&claimed, &journal.info, rest).await, &ErrorKind::Exists)?;
    same("the claimed one's records", s.bodies(&claimed).await?, vec!["mine".to_owned()])
}

async fn not_next(s: StoreUnderTest) -> Outcome {
    let journal = foreign(&s).await?;
    let part = |range: std::ops::Range<usize>| journal.records.get(range).unwrap_or_default();
    let run: JournalId = "run".into();
    refused(
        "a piece from the middle",
        s.store.restore(&run, &journal.info, part(2..4)).await,
        &ErrorKind::Corrupt,
    )?;
    refused("no records", s.store.restore(&run, &journal.info, &[]).await, &ErrorKind::Corrupt)?;
    for (what, next) in [("after a gap", 4..8), ("that was there", 2..5)] {
        s.store.restore(&run, &journal.info, part(0..3)).await?;
        let restored = s.store.restore(&run, &journal.info, part(next)).await;
        refused(&format!("a piece {what}"), restored, &ErrorKind::Corrupt)?;
        same("what is known", s.store.info(&run).await?, None)?;
    }
    let mut gap = journal.records.clone();
    gap.remove(4);
    let mut turned = journal.records.clone();
    turned.swap(2, 3);
    for records in [gap, turned] {
        let restored = s.store.restore(&run, &journal.info, &records).await;
        refused("records with a gap", restored, &ErrorKind::Corrupt)?;
    }
    journal.restore(&*s.store, &run, 3).await?;
    journal.is_in(&*s.store, &run).await
}

async fn impossible(s: StoreUnderTest) -> Outcome {
    let ForeignJournal { info, mut records } = foreign(&s).await?;
    let epochs = |change: fn(&mut Vec<EpochStart>)| {
        let mut epochs = info.epochs.clone();
        change(&mut epochs);
        JournalInfo { epochs, ..info.clone() }
    };
    let closed = Tail { last: 10, closed: true };
    let wrong = [
        ("without epochs", epochs(Vec::clear)),
        ("with epochs that go back", epochs(|epochs| epochs.reverse())),
        ("with an epoch twice", epochs(|epochs| epochs.extend(epochs.last().copied()))),
        (
            "with an epoch that begins after its end",
            epochs(|epochs| epochs.iter_mut().for_each(|start| start.first += 20)),
        ),
        (
            "with the highest of all epochs",
            epochs(|epochs| epochs.iter_mut().for_each(|start| start.epoch = u64::MAX)),
        ),
        ("that begins after its end", JournalInfo { first: 12, ..info.clone() }),
        ("that begins with record 0", JournalInfo { first: 0, ..info.clone() }),
        ("with records after its end", JournalInfo { tail: Tail { last: 9, closed: false }, ..info.clone() }),
        ("that goes and is not closed", JournalInfo { goes: Some(s.now()), ..info.clone() }),
        ("that is closed and driven", JournalInfo { tail: closed, ..info.clone() }),
    ];
    for (what, info) in wrong {
        let restored = s.store.restore(&"run".into(), &info, &records).await;
        refused(&format!("a journal {what}"), restored, &ErrorKind::Corrupt)?;
    }
    records.iter_mut().skip(3).for_each(|record| record.epoch += 1);
    let restored = s.store.restore(&"run".into(), &info, &records).await;
    refused("records of epochs that it does not have", restored, &ErrorKind::Corrupt)?;
    same("the journals", s.store.journals(None, 10).await?, vec!["another".into()])
}

async fn limits(s: StoreUnderTest) -> Outcome {
    let limit = s.setup.limits;
    let record = |seq, bytes| Record {
        seq,
        epoch: 5,
        time: Time(seq),
        class: Class::Fact,
        body: Bytes::from(vec![7; bytes]),
    };
    let info = |last, bytes| JournalInfo {
        first: 1,
        tail: Tail { last, closed: false },
        epochs: vec![EpochStart { epoch: 5, first: 1 }],
        bytes,
        goes: None,
        driven: false,
    };
    let (fits, too_large) = (record(1, limit.record_bytes), record(1, limit.record_bytes + 1));
    let restored =
        s.store.restore(&"large".into(), &info(1, limit.record_bytes as u64 + 1), &[too_large]).await;
    refused("a record of one byte more", restored, &ErrorKind::TooLarge)?;
    s.store.restore(&"large".into(), &info(1, limit.record_bytes as u64), &[fits]).await?;
    let most = limit.journal_bytes / limit.record_bytes as u64 + 2;
    let long = info(most, most * limit.record_bytes as u64);
    let mut refusal = Ok(());
    for seq in 1..=most {
        refusal = s.store.restore(&"long".into(), &long, &[record(seq, limit.record_bytes)]).await;
        if refusal.is_err() {
            break;
        }
    }
    refused("a journal that is too long", refusal, &ErrorKind::Full)?;
    let name = "x".repeat(1 << 20);
    let restored = s.store.restore(&name.into(), &info(1, 1), &[record(1, 1)]).await;
    refused("a name that is too long", restored, &ErrorKind::TooLarge)?;
    same("the journals", s.store.journals(None, 10).await?, vec!["large".into()])
}
