//! Behaviour after a store was closed and reopened.

use std::{future::Future, pin::Pin, time::Duration};

use bytes::Bytes;
use headwater_store::{Class, Cursor, ErrorKind, Expect, JournalId, Place, ReadLimit, Secret};

use super::super::{
    ReopenableStore, StoreUnderTest,
    check::{CheckFailure, Outcome, TTL, holds, refused, refused_with, same, texts},
};
use super::restoring::ForeignJournal;

pub(in super::super) struct ReopeningCase {
    pub(in super::super) name: &'static str,
    pub(in super::super) run:
        for<'a> fn(&'a ReopenableStore<'a>) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>,
}

pub(in super::super) const CASES: &[ReopeningCase] = &[
    ReopeningCase { name: "records are unchanged after reopening", run: |h| Box::pin(records(h)) },
    ReopeningCase { name: "a journal continues after reopening", run: |h| Box::pin(goes_on(h)) },
    ReopeningCase { name: "closes, trims and deletes hold after reopening", run: |h| Box::pin(retention(h)) },
    ReopeningCase { name: "a journal that expired meanwhile is swept", run: |h| Box::pin(swept(h)) },
    ReopeningCase { name: "values are unchanged after reopening", run: |h| Box::pin(values(h)) },
    ReopeningCase {
        name: "versions and epochs continue, even if everything was deleted",
        run: |h| Box::pin(counters(h)),
    },
    ReopeningCase {
        name: "the journal of a dead driver is listed, a released one is not",
        run: |h| Box::pin(expired(h)),
    },
    ReopeningCase { name: "an old epoch is refused after reopening", run: |h| Box::pin(fenced(h)) },
    ReopeningCase { name: "cursors lead to the same records after reopening", run: |h| Box::pin(cursors(h)) },
    ReopeningCase { name: "many and long journals are complete after reopening", run: |h| Box::pin(many(h)) },
    ReopeningCase { name: "restored journals are unchanged after reopening", run: |h| Box::pin(restored(h)) },
    ReopeningCase { name: "reopening repeatedly changes nothing", run: |h| Box::pin(again(h)) },
];

impl ReopenableStore<'_> {
    async fn open(&self) -> StoreUnderTest {
        StoreUnderTest { store: (self.open)().await, setup: self.setup.clone() }
    }
}

async fn records(h: &ReopenableStore<'_>) -> Outcome {
    let s = h.open().await;
    let lease = s.claim("läuft 🦀").await?;
    for n in 0..50_usize {
        let class = if n.is_multiple_of(4) { Class::Fact } else { Class::Delta };
        let body = Bytes::from(vec![n as u8; n * 37 % 900]);
        drop(s.store.append(&lease, class, &[body.clone(), body])?);
        s.advance(Duration::from_millis(7));
    }
    s.store.flush().await?;
    let before = (s.all(&lease.journal).await?, s.store.info(&lease.journal).await?);
    drop(s);
    let s = h.open().await;
    same("the journal", (s.all(&lease.journal).await?, s.store.info(&lease.journal).await?), before)
}

async fn goes_on(h: &ReopenableStore<'_>) -> Outcome {
    let s = h.open().await;
    let first = s.claim("run").await?;
    s.number(&first, 1..=5).await?;
    s.store.release(&first).await?;
    drop(s);
    let s = h.open().await;
    let second = s.claim("run").await?;
    same("where it goes on", second.first, 6)?;
    holds("its epoch is higher", second.epoch > first.epoch)?;
    s.number(&second, 6..=8).await?;
    let expected: Vec<String> = (1..=8).map(|number| number.to_string()).collect();
    same("the bodies", s.bodies(&first.journal).await?, expected)
}

async fn retention(h: &ReopenableStore<'_>) -> Outcome {
    let s = h.open().await;
    let (closed, trimmed) = (s.claim("closed").await?, s.claim("trimmed").await?);
    let (deleted, anew) = (s.claim("deleted").await?, s.claim("anew").await?);
    for lease in [&closed, &trimmed, &deleted, &anew] {
        s.number(lease, 1..=9).await?;
    }
    s.store.close(&closed, Some(TTL)).await?;
    let goes = Some(s.now().after(TTL));
    s.store.trim(&trimmed, 6).await?;
    for lease in [&deleted, &anew] {
        s.store.release(lease).await?;
        s.store.delete(&lease.journal).await?;
    }
    let new = s.claim("anew").await?;
    s.number(&new, 100..=101).await?;
    drop(s);

    let s = h.open().await;
    let info =
        s.store.info(&closed.journal).await?.ok_or_else(|| CheckFailure::new("the closed one is gone"))?;
    same("the closed one's end", (info.tail.closed, info.goes), (true, goes))?;
    refused("a claim of the closed one", s.store.claim(&closed.journal, "x", TTL).await, &ErrorKind::Closed)?;
    same("the closed one's records", s.bodies(&closed.journal).await?.len(), 9)?;
    let read = s.store.read(&trimmed.journal, 0, ReadLimit::default()).await;
    refused("a read of what was trimmed", read, &ErrorKind::Trimmed { first: 6 })?;
    let expected: Vec<String> = (6..=9).map(|number| number.to_string()).collect();
    same("what was not trimmed", s.bodies(&trimmed.journal).await?, expected)?;
    same("the deleted one", s.store.info(&deleted.journal).await?, None)?;
    same("the one begun anew", s.bodies(&anew.journal).await?, vec!["100".to_owned(), "101".to_owned()])
}

async fn swept(h: &ReopenableStore<'_>) -> Outcome {
    let s = h.open().await;
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=9).await?;
    s.store.close(&lease, Some(TTL)).await?;
    drop(s);
    h.setup.clock.advance(TTL);
    let s = h.open().await;
    s.store.sweep().await?;
    same("the journal", s.store.info(&lease.journal).await?, None)?;
    drop(s);
    let s = h.open().await;
    same("the journal after yet another opening", s.store.info(&lease.journal).await?, None)
}

async fn values(h: &ReopenableStore<'_>) -> Outcome {
    let s = h.open().await;
    for n in 0..40 {
        let ttl = (n % 4 == 0).then_some(TTL * 2);
        let bytes = Bytes::from(vec![n as u8; n * 100]);
        s.store.put(&format!("key/{n:02}/ü"), bytes, Expect::Absent, ttl).await?;
    }
    s.store.put("goes", "x".into(), Expect::Any, Some(TTL)).await?;
    for n in [3, 5, 8] {
        s.store.remove(&format!("key/{n:02}/ü"), Expect::Any).await?;
    }
    s.store.put("key/07/ü", "changed".into(), Expect::Any, None).await?;
    let before = s.store.list("key/", None, 100).await?;
    same("how many there are", before.len(), 37)?;
    drop(s);
    h.setup.clock.advance(TTL);
    let s = h.open().await;
    same("the values", s.store.list("key/", None, 100).await?, before.clone())?;
    for (key, value) in &before {
        same("one value", s.store.get(key).await?.as_ref(), Some(value))?;
    }
    same("one whose time ended meanwhile", s.store.get("goes").await?, None)?;
    s.advance(TTL);
    same("how many are left when their time is over", s.store.list("key/", None, 100).await?.len(), 28)
}

async fn counters(h: &ReopenableStore<'_>) -> Outcome {
    let (mut epoch, mut version) = (0, 0);
    for _ in 0..4 {
        let s = h.open().await;
        let lease = s.claim("run").await?;
        holds("the epoch is higher than all before", lease.epoch > epoch)?;
        epoch = lease.epoch;
        let put = s.store.put("key", "x".into(), Expect::Absent, None).await?;
        holds("the version is higher than all before", put > version)?;
        version = put;
        s.store.remove("key", Expect::Any).await?;
        s.store.release(&lease).await?;
        s.store.delete(&lease.journal).await?;
        s.store.sweep().await?;
    }
    Ok(())
}

async fn expired(h: &ReopenableStore<'_>) -> Outcome {
    let s = h.open().await;
    let dead = s.claim("dead").await?;
    s.store.release(&s.claim("given back").await?).await?;
    s.store.close(&s.claim("closed").await?, None).await?;
    drop(s);
    h.setup.clock.advance(TTL);
    let s = h.open().await;
    same("the expired journals", s.store.expired(10).await?, vec![dead.journal.clone()])?;
    s.store.claim(&dead.journal, "another", TTL).await?;
    same("the expired journals after a claim", s.store.expired(10).await?, vec![])
}

async fn fenced(h: &ReopenableStore<'_>) -> Outcome {
    let s = h.open().await;
    let old = s.claim("run").await?;
    s.number(&old, 1..=3).await?;
    drop(s);
    h.setup.clock.advance(TTL);
    let s = h.open().await;
    let new = s.store.claim(&old.journal, "another", TTL).await?;
    let stale = |kind: &ErrorKind| *kind == ErrorKind::Stale { current: Some(new.epoch) };
    refused_with("an append", s.store.append(&old, Class::Fact, &["x".into()]), stale, "Stale")?;
    drop(s);
    h.setup.clock.advance(TTL);
    let s = h.open().await;
    let fenced = |kind: &ErrorKind| matches!(kind, ErrorKind::Stale { .. });
    refused_with("a later append", s.store.append(&old, Class::Fact, &["x".into()]), fenced, "Stale")?;
    refused_with("a later renewal", s.store.renew(&old, TTL).await, fenced, "Stale")?;
    same("the records", s.bodies(&old.journal).await?.len(), 3)
}

async fn cursors(h: &ReopenableStore<'_>) -> Outcome {
    let s = h.open().await;
    let secret = Secret::of(&*s.store).await?;
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=5).await?;
    let cursor =
        |seq| Cursor { journal: lease.journal.clone(), epoch: lease.epoch, seq, frame: 0, count: seq };
    let sealed: Vec<String> = (1..=5).map(|seq| cursor(seq).seal(&secret)).collect();
    drop(s);
    h.setup.clock.advance(TTL);
    let s = h.open().await;
    let secret = Secret::of(&*s.store).await?;
    let next = s.claim("run").await?;
    s.number(&next, 6..=7).await?;
    let info = s.store.info(&lease.journal).await?.ok_or_else(|| CheckFailure::new("no info"))?;
    for (seq, text) in (1..).zip(&sealed) {
        let place = Cursor::open(text, &secret)?.place(&lease.journal, &info)?;
        same("where a cursor leads", place, Place::After(seq))?;
    }
    same("where a dead record's cursor leads", cursor(6).place(&lease.journal, &info)?, Place::Moved(5))
}

async fn many(h: &ReopenableStore<'_>) -> Outcome {
    let s = h.open().await;
    let body = |run: usize, n: usize| format!("{run}/{n}/{}", "x".repeat((run * 31 + n * 17) % 400));
    for run in 0..300 {
        let lease = s.claim(&format!("run {run}")).await?;
        for n in 0..run % 7 {
            drop(s.store.append(&lease, Class::Fact, &[body(run, n).into()])?);
        }
    }
    let long = s.claim("long").await?;
    for n in 0..3_000 {
        drop(s.store.append(&long, Class::Delta, &[body(9_999, n).into()])?);
    }
    s.store.flush().await?;
    drop(s);
    let s = h.open().await;
    for run in 0..300 {
        let expected: Vec<String> = (0..run % 7).map(|n| body(run, n)).collect();
        same("a journal's bodies", s.bodies(&format!("run {run}").into()).await?, expected)?;
    }
    let expected: Vec<String> = (0..3_000).map(|n| body(9_999, n)).collect();
    same("the long one's bodies", s.bodies(&long.journal).await?, expected.clone())?;
    let page = s.store.read(&long.journal, 1_500, ReadLimit { records: 2, bytes: 1 << 20 }).await?;
    same("its middle", texts(&page.records), expected.into_iter().skip(1_500).take(2).collect())
}

async fn restored(h: &ReopenableStore<'_>) -> Outcome {
    let s = h.open().await;
    let lease = s.claim("another").await?;
    s.store.release(&lease).await?;
    let driven = ForeignJournal::new(lease.epoch + 1_000);
    let mut closed = ForeignJournal::new(lease.epoch + 5_000);
    (closed.info.driven, closed.info.tail.closed) = (false, true);
    closed.info.goes = Some(s.now().after(TTL * 2));
    let mut waiting = ForeignJournal::new(lease.epoch + 3_000);
    waiting.info.driven = false;
    driven.restore(&*s.store, &"driven".into(), 3).await?;
    closed.restore(&*s.store, &"closed".into(), 100).await?;
    waiting.restore(&*s.store, &"waiting".into(), 1).await?;
    let piece = driven.records.get(..5).unwrap_or_default();
    s.store.restore(&"unfinished".into(), &driven.info, piece).await?;
    drop(s);
    for _ in 0..2 {
        let s = h.open().await;
        driven.is_in(&*s.store, &"driven".into()).await?;
        closed.is_in(&*s.store, &"closed".into()).await?;
        waiting.is_in(&*s.store, &"waiting".into()).await?;
        same("the expired journals", s.store.expired(10).await?, vec!["driven".into()])?;
        same("an unfinished one", s.store.info(&"unfinished".into()).await?, None)?;
        s.store.sweep().await?;
    }
    let s = h.open().await;
    driven.restore(&*s.store, &"unfinished".into(), 4).await?;
    driven.is_in(&*s.store, &"unfinished".into()).await?;
    let next = s.claim("waiting").await?;
    holds("the next epoch is higher than all", next.epoch > lease.epoch + 5_011)?;
    same("where it goes on", next.first, 11)
}

async fn again(h: &ReopenableStore<'_>) -> Outcome {
    let journal: JournalId = "run".into();
    let s = h.open().await;
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=20).await?;
    s.store.trim(&lease, 4).await?;
    s.store.release(&lease).await?;
    s.store.put("key", "value".into(), Expect::Any, None).await?;
    let before = (s.all(&journal).await?, s.store.info(&journal).await?, s.store.get("key").await?);
    drop(s);
    for _ in 0..5 {
        let s = h.open().await;
        let now = (s.all(&journal).await?, s.store.info(&journal).await?, s.store.get("key").await?);
        same("what is there", &now, &before)?;
        s.store.sweep().await?;
    }
    Ok(())
}
