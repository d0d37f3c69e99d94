//! Reading and waiting.

use std::sync::Arc;

use bytes::Bytes;
use headwater_store::{Class, ErrorKind, JournalId, Lease, Monotonic, ReadLimit, Record, Store, Tail};
use tokio::task::JoinSet;

use super::super::{
    Case, StoreUnderTest,
    check::{CheckFailure, Outcome, TTL, append, holds, refused, refused_with, same, sleeps, soon, texts},
};

pub(super) const CASES: &[Case] = &[
    Case { name: "a read returns the records after a sequence", run: |s| Box::pin(follows(s)) },
    Case { name: "a read returns at most the requested records", run: |s| Box::pin(few_records(s)) },
    Case {
        name: "a read returns at most the requested bytes, but at least one record",
        run: |s| Box::pin(few_bytes(s)),
    },
    Case { name: "a missing journal is unknown", run: |s| Box::pin(unknown(s)) },
    Case { name: "a wait ends immediately if there is more to read", run: |s| Box::pin(no_wait(s)) },
    Case { name: "a wait ends when a record is appended", run: |s| Box::pin(woken(s)) },
    Case { name: "a wait ends when the journal is closed", run: |s| Box::pin(closed(s)) },
    Case { name: "a wait ends when the journal is deleted", run: |s| Box::pin(deleted(s)) },
    Case { name: "a wait lasts until its sequence is reached", run: |s| Box::pin(later(s)) },
    Case { name: "a dropped wait does not affect others", run: |s| Box::pin(given_up(s)) },
    Case { name: "a reader that waits and reads misses no record", run: |s| Box::pin(misses_nothing(s)) },
    Case { name: "a thousand readers of one journal see the same records", run: |s| Box::pin(thousand(s)) },
];

async fn follows(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=9).await?;
    for after in 0..=12 {
        let page = s.store.read(&lease.journal, after, ReadLimit::default()).await?;
        let expected: Vec<String> = (after + 1..=9).map(|number| number.to_string()).collect();
        same("the bodies", texts(&page.records), expected)?;
        same("the tail", page.tail, Tail { last: 9, closed: false })?;
    }
    Ok(())
}

async fn few_records(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=9).await?;
    for records in 1..=10 {
        let page = s.store.read(&lease.journal, 2, ReadLimit { records, bytes: 1 << 20 }).await?;
        let expected: Vec<String> = (3..=9).take(records).map(|number: u64| number.to_string()).collect();
        same("the bodies", texts(&page.records), expected)?;
        same("the tail", page.tail.last, 9)?;
    }
    Ok(())
}

async fn few_bytes(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let bodies: Vec<Bytes> = [10, 20, 30, 5_000, 10].map(|size| Bytes::from(vec![b'x'; size])).into();
    s.store.append(&lease, Class::Fact, &bodies)?.await?;
    for (bytes, expected) in [(1, 1), (10, 1), (29, 1), (30, 2), (60, 3), (5_059, 3), (5_060, 4), (9_999, 5)]
    {
        let page = s.store.read(&lease.journal, 0, ReadLimit { records: 100, bytes }).await?;
        same(&format!("the records in {bytes} bytes"), page.records.len(), expected)?;
    }
    let page = s.store.read(&lease.journal, 3, ReadLimit { records: 100, bytes: 100 }).await?;
    same("the size of the one large record", page.records.iter().map(|r| r.body.len()).collect(), vec![5_000])
}

async fn unknown(s: StoreUnderTest) -> Outcome {
    let journal: JournalId = "nowhere".into();
    refused("a read", s.store.read(&journal, 0, ReadLimit::default()).await, &ErrorKind::Unknown)?;
    refused("a wait", soon("the wait", s.store.wait(&journal, 0)).await?, &ErrorKind::Unknown)?;
    same("the info", s.store.info(&journal).await?, None)?;
    s.store.delete(&journal).await?;
    let made_up =
        Lease { journal: journal.clone(), epoch: 1, owner: "x".into(), expires: Monotonic(0), first: 1 };
    let fenced = |kind: &ErrorKind| matches!(kind, ErrorKind::Unknown | ErrorKind::Stale { .. });
    let store = &s.store;
    let appended = store.append(&made_up, Class::Fact, &["x".into()]);
    refused_with("an append", appended, fenced, "Unknown")?;
    refused_with("a renewal", store.renew(&made_up, TTL).await, fenced, "Unknown")?;
    refused_with("a release", store.release(&made_up).await, fenced, "Unknown")?;
    refused_with("a trim", store.trim(&made_up, 1).await, fenced, "Unknown")?;
    refused_with("a close", store.close(&made_up, None).await, fenced, "Unknown")?;
    same("the info after all that", store.info(&journal).await?, None)
}

async fn no_wait(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=3).await?;
    for after in 0..3 {
        let tail = soon("the wait", s.store.wait(&lease.journal, after)).await??;
        same("the tail", tail, Tail { last: 3, closed: false })?;
    }
    s.store.close(&lease, None).await?;
    for after in [0, 3, 7] {
        let tail = soon("the wait after the end", s.store.wait(&lease.journal, after)).await??;
        same("the tail", tail, Tail { last: 3, closed: true })?;
    }
    Ok(())
}

async fn woken(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    for (after, class) in [(0, Class::Fact), (1, Class::Delta), (2, Class::Fact), (3, Class::Delta)] {
        let mut waits: Vec<_> = (0..3).map(|_| s.store.wait(&lease.journal, after)).collect();
        for wait in &mut waits {
            sleeps("a wait at the end", wait.as_mut()).await?;
        }
        s.append(&lease, class, &["x"]).await?;
        for wait in waits {
            let tail = soon("a wait for an append", wait).await??;
            same("the tail", tail, Tail { last: after + 1, closed: false })?;
        }
    }
    Ok(())
}

async fn closed(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let mut early = s.store.wait(&lease.journal, 0);
    sleeps("a wait in an empty journal", early.as_mut()).await?;
    s.store.close(&lease, None).await?;
    let tail = soon("a wait for the end", early).await??;
    same("the tail", tail, Tail { last: 0, closed: true })
}

async fn deleted(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.store.release(&lease).await?;
    let mut wait = s.store.wait(&lease.journal, 0);
    sleeps("a wait in an empty journal", wait.as_mut()).await?;
    s.store.delete(&lease.journal).await?;
    refused("the wait", soon("a wait for a deleted journal", wait).await?, &ErrorKind::Unknown)
}

async fn later(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let mut wait = s.store.wait(&lease.journal, 3);
    for body in ["1", "2", "3"] {
        sleeps("a wait for the fourth record", wait.as_mut()).await?;
        s.append(&lease, Class::Fact, &[body]).await?;
    }
    sleeps("a wait for the fourth record", wait.as_mut()).await?;
    s.append(&lease, Class::Delta, &["4"]).await?;
    same("the tail", soon("the wait", wait).await??.last, 4)
}

async fn given_up(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    for after in 0..5 {
        let (mut stays, mut goes) =
            (s.store.wait(&lease.journal, after), s.store.wait(&lease.journal, after));
        sleeps("a wait", goes.as_mut()).await?;
        sleeps("another wait", stays.as_mut()).await?;
        drop(goes);
        sleeps("the other wait", stays.as_mut()).await?;
        s.append(&lease, Class::Delta, &["x"]).await?;
        same("the tail", soon("the wait that stayed", stays).await??.last, after + 1)?;
    }
    Ok(())
}

/// Reads to the end, as a server does for a client.
async fn follow(store: Arc<dyn Store>, journal: JournalId) -> Outcome<Vec<Record>> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let after = records.last().map_or(0, |record| record.seq);
        let tail = soon("a reader's wait", store.wait(&journal, after)).await??;
        holds("a wait ends with something to read, or at the end", tail.last > after || tail.closed)?;
        let page = store.read(&journal, after, ReadLimit { records: 32, bytes: 4_096 }).await?;
        holds("the awaited record can be read", tail.last <= after || !page.records.is_empty())?;
        let follows = page.records.first().is_none_or(|record| record.seq == after + 1);
        holds("a page begins after the last read record", follows)?;
        records.extend(page.records);
        if page.tail.closed && records.last().map_or(0, |record| record.seq) == page.tail.last {
            return Ok(records);
        }
    }
}

async fn misses_nothing(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let reader = tokio::spawn(follow(s.store.clone(), lease.journal.clone()));
    let mut expected = Vec::new();
    for n in 0..300_usize {
        let class = if n.is_multiple_of(9) { Class::Fact } else { Class::Delta };
        let receipt = s.store.append(&lease, class, &[n.to_string().into()])?;
        expected.push(n.to_string());
        if n.is_multiple_of(3) {
            receipt.await?;
        }
        if n.is_multiple_of(4) {
            tokio::task::yield_now().await;
        }
    }
    s.store.close(&lease, None).await?;
    same("the records that the reader saw", texts(&reader.await??), expected)
}

async fn thousand(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let mut readers = JoinSet::new();
    for _ in 0..1_000 {
        readers.spawn(follow(s.store.clone(), lease.journal.clone()));
    }
    let (store, driver) = (s.store.clone(), lease.clone());
    let writer = tokio::spawn(async move {
        for n in 0..50 {
            let class = if n % 10 == 9 { Class::Fact } else { Class::Delta };
            append(&*store, &driver, class, &[&n.to_string()]).await?;
            tokio::task::yield_now().await;
        }
        Ok::<_, CheckFailure>(store.close(&driver, None).await?)
    });
    writer.await??;
    let expected = s.all(&lease.journal).await?;
    same("how many there are", expected.len(), 50)?;
    while let Some(seen) = readers.join_next().await {
        same("the records that a reader saw", seen??, expected.clone())?;
    }
    Ok(())
}
