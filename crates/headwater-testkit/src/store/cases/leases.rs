//! Leases: one driver at a time, and epochs that fence out earlier drivers.

use std::time::Duration;

use headwater_store::{
    Class, Cursor, CursorFault, EpochStart, ErrorKind, JournalId, JournalInfo, Lease, Place, Tail,
};
use tokio::task::JoinSet;

use super::super::{
    Case, StoreUnderTest,
    check::{CheckFailure, Outcome, TTL, holds, refused, refused_with, same},
};

pub(super) const CASES: &[Case] = &[
    Case { name: "a claim begins a journal", run: |s| Box::pin(begins(s)) },
    Case { name: "a held journal cannot be claimed, not even by its owner", run: |s| Box::pin(held(s)) },
    Case { name: "an expired lease can be claimed by another owner", run: |s| Box::pin(runs_out(s)) },
    Case {
        name: "an expired lease can write until another owner claims it",
        run: |s| Box::pin(still_writes(s)),
    },
    Case { name: "a renewed lease is held for longer", run: |s| Box::pin(renewed(s)) },
    Case { name: "an old epoch has no power", run: |s| Box::pin(fenced(s)) },
    Case { name: "a released lease has no power", run: |s| Box::pin(released(s)) },
    Case { name: "a closed journal refuses writes and has no driver", run: |s| Box::pin(closed(s)) },
    Case { name: "only journals whose drivers died are listed as expired", run: |s| Box::pin(expired(s)) },
    Case {
        name: "a lease expires after its duration, however the wall clock is set",
        run: |s| Box::pin(wall_steps(s)),
    },
    Case { name: "epochs increase across the whole store", run: |s| Box::pin(epochs_grow(s)) },
    Case { name: "one of many concurrent claims succeeds", run: |s| Box::pin(one_wins(s)) },
    Case { name: "a journal lists where each of its epochs begins", run: |s| Box::pin(listed(s)) },
    Case { name: "a cursor leads to the same record after a takeover", run: |s| Box::pin(cursors(s)) },
    Case { name: "a lease of a deleted journal has no power over its successor", run: |s| Box::pin(anew(s)) },
];

async fn begins(s: StoreUnderTest) -> Outcome {
    let lease = s.store.claim(&"run".into(), "driver", TTL).await?;
    same("the lease's journal", lease.journal.as_str(), "run")?;
    same("the lease's owner", &*lease.owner, "driver")?;
    same("the lease's end", lease.expires, s.monotonic().after(TTL))?;
    same("the first sequence", lease.first, 1)?;
    let expected = JournalInfo {
        first: 1,
        tail: Tail { last: 0, closed: false },
        epochs: vec![EpochStart { epoch: lease.epoch, first: 1 }],
        bytes: 0,
        goes: None,
        driven: true,
    };
    same("the info", s.store.info(&lease.journal).await?, Some(expected))
}

async fn held(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.advance(TTL - Duration::from_millis(1));
    let wanted = ErrorKind::Held { owner: lease.owner.clone(), expires: lease.expires };
    for owner in ["driver", "another"] {
        refused("a claim", s.store.claim(&lease.journal, owner, TTL).await, &wanted)?;
    }
    s.append(&lease, Class::Fact, &["x"]).await?;
    let epochs = s.store.info(&lease.journal).await?.map_or(0, |info| info.epochs.len());
    same("the epochs after refused claims", epochs, 1)
}

async fn runs_out(s: StoreUnderTest) -> Outcome {
    let first = s.claim("run").await?;
    s.append(&first, Class::Fact, &["one", "two"]).await?;
    s.advance(TTL);
    let second = s.store.claim(&first.journal, "another", TTL * 2).await?;
    holds("the second epoch is higher", second.epoch > first.epoch)?;
    same("where the second begins", second.first, 3)?;
    same("when the second ends", second.expires, s.monotonic().after(TTL * 2))?;
    same("its first record", s.append(&second, Class::Fact, &["three"]).await?, 3)?;
    let epochs: Vec<u64> = s.all(&first.journal).await?.iter().map(|record| record.epoch).collect();
    same("the epochs of the records", epochs, vec![first.epoch, first.epoch, second.epoch])
}

async fn still_writes(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.advance(TTL * 3);
    s.append(&lease, Class::Fact, &["late"]).await?;
    let renewed = s.store.renew(&lease, TTL).await?;
    same("the renewed lease's end", renewed.expires, s.monotonic().after(TTL))?;
    let claimed = s.store.claim(&lease.journal, "another", TTL).await;
    refused_with(
        "a claim after the renewal",
        claimed,
        |kind| matches!(kind, ErrorKind::Held { .. }),
        "Held",
    )?;
    s.append(&renewed, Class::Fact, &["later"]).await?;
    let expected: Vec<String> = ["late", "later"].map(str::to_owned).into();
    same("the bodies", s.bodies(&lease.journal).await?, expected)
}

async fn renewed(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.advance(TTL / 2);
    let renewed = s.store.renew(&lease, TTL).await?;
    same("the renewed lease", &renewed, &Lease { expires: s.monotonic().after(TTL), ..lease.clone() })?;
    s.advance(TTL - Duration::from_millis(1));
    let wanted = ErrorKind::Held { owner: lease.owner.clone(), expires: renewed.expires };
    refused("a claim", s.store.claim(&lease.journal, "another", TTL).await, &wanted)?;
    same("the expired journals", s.store.expired(10).await?, vec![])?;
    s.advance(Duration::from_millis(1));
    same("the expired journals in the end", s.store.expired(10).await?, vec![lease.journal])
}

/// Checks that a lease has no power: every write with it is refused, and nothing changes.
async fn powerless(s: &StoreUnderTest, lease: &Lease, wanted: &ErrorKind) -> Outcome {
    let before = (s.store.info(&lease.journal).await?, s.all(&lease.journal).await?);
    for class in [Class::Fact, Class::Delta] {
        refused("an append", s.store.append(lease, class, &["stale".into()]), wanted)?;
    }
    refused("a renewal", s.store.renew(lease, TTL * 9).await, wanted)?;
    refused("a trim", s.store.trim(lease, 2).await, wanted)?;
    refused("a close", s.store.close(lease, None).await, wanted)?;
    refused("a release", s.store.release(lease).await, wanted)?;
    let after = (s.store.info(&lease.journal).await?, s.all(&lease.journal).await?);
    same("the journal", after, before)
}

async fn fenced(s: StoreUnderTest) -> Outcome {
    let old = s.claim("run").await?;
    s.append(&old, Class::Fact, &["one", "two"]).await?;
    s.advance(TTL);
    let new = s.store.claim(&old.journal, "another", TTL).await?;
    let wanted = ErrorKind::Stale { current: Some(new.epoch) };
    powerless(&s, &old, &wanted).await?;
    s.append(&new, Class::Fact, &["three"]).await?;
    powerless(&s, &old, &wanted).await?;
    // The new driver is unaffected.
    let held = s.store.claim(&old.journal, "third", TTL).await;
    refused("a claim", held, &ErrorKind::Held { owner: "another".into(), expires: new.expires })?;
    same("the next sequence", s.append(&new, Class::Delta, &["four"]).await?, 4)
}

async fn released(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.append(&lease, Class::Fact, &["one", "two"]).await?;
    s.store.release(&lease).await?;
    powerless(&s, &lease, &ErrorKind::Stale { current: None }).await?;
    let next = s.store.claim(&lease.journal, "another", TTL).await?;
    same("where the next epoch begins", next.first, 3)?;
    holds("the next epoch is higher", next.epoch > lease.epoch)?;
    powerless(&s, &lease, &ErrorKind::Stale { current: Some(next.epoch) }).await
}

async fn closed(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.append(&lease, Class::Fact, &["one", "two"]).await?;
    s.store.close(&lease, None).await?;
    let before = s.all(&lease.journal).await?;
    for class in [Class::Fact, Class::Delta] {
        refused("an append", s.store.append(&lease, class, &["x".into()]), &ErrorKind::Closed)?;
    }
    refused("a renewal", s.store.renew(&lease, TTL).await, &ErrorKind::Closed)?;
    refused("a claim", s.store.claim(&lease.journal, "driver", TTL).await, &ErrorKind::Closed)?;
    s.advance(TTL * 2);
    refused("a later claim", s.store.claim(&lease.journal, "another", TTL).await, &ErrorKind::Closed)?;
    same("the expired journals", s.store.expired(10).await?, vec![])?;
    same("the records", s.all(&lease.journal).await?, before)?;
    let tail = s.store.info(&lease.journal).await?.map(|info| info.tail);
    same("the tail", tail, Some(Tail { last: 2, closed: true }))
}

async fn expired(s: StoreUnderTest) -> Outcome {
    let mut dead = Vec::new();
    for n in 0..5 {
        dead.push(s.claim(&format!("dead {n}")).await?.journal);
    }
    s.store.release(&s.claim("given back").await?).await?;
    s.store.close(&s.claim("closed").await?, None).await?;
    s.store.claim(&"alive".into(), "driver", TTL * 3).await?;
    same("the expired journals while all live", s.store.expired(10).await?, vec![])?;
    s.advance(TTL);
    let mut listed = s.store.expired(10).await?;
    listed.sort();
    same("the expired journals", listed, dead.clone())?;
    same("how many are listed at most", s.store.expired(2).await?.len(), 2)?;
    let [first, ..] = &*dead else { return Ok(()) };
    s.store.claim(first, "another", TTL).await?;
    same("how many are left after a claim", s.store.expired(10).await?.len(), 4)?;
    holds("the claimed one is not among them", !s.store.expired(10).await?.contains(first))
}

async fn wall_steps(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let wanted = ErrorKind::Held { owner: lease.owner.clone(), expires: lease.expires };
    for step in [40, -40, 86_400, -86_400, -86_400, 86_400] {
        s.step_wall(step);
        same("the expired journals after a step", s.store.expired(10).await?, vec![])?;
        refused("a claim after a step", s.store.claim(&lease.journal, "another", TTL).await, &wanted)?;
        refused("a delete after a step", s.store.delete(&lease.journal).await, &wanted)?;
        s.append(&lease, Class::Fact, &["x"]).await?;
    }
    s.step_wall(-86_400);
    let renewed = s.store.renew(&lease, TTL).await?;
    same("the renewed lease's end", renewed.expires, s.monotonic().after(TTL))?;
    s.advance(TTL - Duration::from_millis(1));
    same("the expired journals just before the end", s.store.expired(10).await?, vec![])?;
    // A clock set back does not extend a dead driver's lease either.
    s.step_wall(-86_400);
    s.advance(Duration::from_millis(1));
    same("the expired journals at the end", s.store.expired(10).await?, vec![lease.journal])
}

async fn epochs_grow(s: StoreUnderTest) -> Outcome {
    let mut highest = 0;
    for round in 0..4 {
        for name in ["a", "b", "c"] {
            let lease = s.claim(name).await?;
            holds("the epoch is higher than all before", lease.epoch > highest)?;
            highest = lease.epoch;
            s.store.release(&lease).await?;
            if round % 2 == 1 {
                s.store.delete(&lease.journal).await?;
            }
        }
    }
    Ok(())
}

async fn one_wins(s: StoreUnderTest) -> Outcome {
    for round in 0..5 {
        let journal: JournalId = format!("run {round}").into();
        if round % 2 == 1 {
            s.store.release(&s.claim(journal.as_str()).await?).await?;
        }
        let mut claims = JoinSet::new();
        for n in 0..30 {
            let (store, journal) = (s.store.clone(), journal.clone());
            claims.spawn(async move {
                tokio::task::yield_now().await;
                store.claim(&journal, &format!("driver {n}"), TTL).await
            });
        }
        let mut won = Vec::new();
        while let Some(claim) = claims.join_next().await {
            match claim? {
                Ok(lease) => won.push(lease),
                Err(error) if matches!(error.kind(), ErrorKind::Held { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        same("the successful claims", won.len(), 1)?;
        for lease in won {
            s.append(&lease, Class::Fact, &["x"]).await?;
        }
    }
    Ok(())
}

async fn listed(s: StoreUnderTest) -> Outcome {
    let mut expected = Vec::new();
    let mut first = 1;
    // The third epoch writes nothing.
    for records in [2, 3, 0, 1] {
        let lease = s.claim("run").await?;
        expected.push(EpochStart { epoch: lease.epoch, first });
        for _ in 0..records {
            s.append(&lease, Class::Delta, &["x"]).await?;
        }
        first += records;
        s.advance(TTL);
    }
    let info = s.store.info(&"run".into()).await?.ok_or_else(|| CheckFailure::new("no info"))?;
    same("the epochs", info.epochs, expected)
}

async fn cursors(s: StoreUnderTest) -> Outcome {
    let first = s.claim("run").await?;
    s.append(&first, Class::Fact, &["1", "2"]).await?;
    s.store.release(&first).await?;
    let second = s.claim("run").await?;
    s.append(&second, Class::Delta, &["3"]).await?;
    let info = s.store.info(&first.journal).await?.ok_or_else(|| CheckFailure::new("no info"))?;
    for record in s.all(&first.journal).await? {
        let cursor = Cursor {
            journal: first.journal.clone(),
            epoch: record.epoch,
            seq: record.seq,
            frame: 0,
            count: 0,
        };
        same("where the cursor leads", cursor.place(&first.journal, &info)?, Place::After(record.seq))?;
    }
    let cursor = |epoch, seq| Cursor { journal: first.journal.clone(), epoch, seq, frame: 0, count: 0 };
    // A record of the first epoch that was lost before it was durable would have had this number.
    let dead = cursor(first.epoch, 3).place(&first.journal, &info)?;
    same("where a dead record's cursor leads", dead, Place::Moved(2))?;
    let future = cursor(second.epoch, 4).place(&first.journal, &info);
    refused("a cursor from the future", future, &ErrorKind::Cursor(CursorFault::Future))
}

async fn anew(s: StoreUnderTest) -> Outcome {
    let old = s.claim("run").await?;
    s.append(&old, Class::Fact, &["old", "old"]).await?;
    s.store.release(&old).await?;
    s.store.delete(&old.journal).await?;
    let gone = |kind: &ErrorKind| matches!(kind, ErrorKind::Unknown | ErrorKind::Stale { .. });
    let appended = s.store.append(&old, Class::Fact, &["x".into()]);
    refused_with("an append to what is gone", appended, gone, "Unknown")?;
    let new = s.claim("run").await?;
    holds("the new epoch is higher", new.epoch > old.epoch)?;
    same("where the new one begins", new.first, 1)?;
    s.append(&new, Class::Fact, &["new", "new", "new"]).await?;
    powerless(&s, &old, &ErrorKind::Stale { current: Some(new.epoch) }).await?;
    same("the bodies", s.bodies(&new.journal).await?, vec!["new".to_owned(); 3])?;
    let info = s.store.info(&new.journal).await?.ok_or_else(|| CheckFailure::new("no info"))?;
    let cursor = Cursor { journal: new.journal.clone(), epoch: old.epoch, seq: 2, frame: 0, count: 0 };
    let wanted = ErrorKind::Cursor(CursorFault::UnknownEpoch);
    refused("a cursor to the deleted content", cursor.place(&new.journal, &info), &wanted)
}
