//! Appending: order, classes, batches and concurrency.

use std::collections::BTreeMap;

use bytes::Bytes;
use headwater_store::{Class, JournalId, ReadLimit};
use tokio::task::JoinSet;

use super::super::{
    Case, StoreUnderTest,
    check::{CheckFailure, Outcome, TTL, holds, same, texts},
};

pub(super) const CASES: &[Case] = &[
    Case { name: "records are numbered from 1 without gaps", run: |s| Box::pin(numbers(s)) },
    Case { name: "a record keeps its body, class, epoch and time", run: |s| Box::pin(keeps(s)) },
    Case { name: "a body may be empty and may hold any bytes", run: |s| Box::pin(any_bytes(s)) },
    Case { name: "an empty append adds no records", run: |s| Box::pin(nothing(s)) },
    Case { name: "a batch of thousands is appended whole and in order", run: |s| Box::pin(huge(s)) },
    Case { name: "facts and deltas become visible in append order", run: |s| Box::pin(mixed(s)) },
    Case { name: "a record is kept although its receipt was dropped", run: |s| Box::pin(dropped(s)) },
    Case { name: "a flush makes every record visible", run: |s| Box::pin(flushed(s)) },
    Case { name: "a receipt may be awaited after later ones", run: |s| Box::pin(late(s)) },
    Case { name: "journals written concurrently do not mix", run: |s| Box::pin(apart(s)) },
    Case { name: "concurrent appends to one journal are each contiguous", run: |s| Box::pin(pieces(s)) },
    Case { name: "a journal and its owner may have any name", run: |s| Box::pin(names(s)) },
];

async fn numbers(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    for expected in 1..=20 {
        let class = if expected % 3 == 0 { Class::Fact } else { Class::Delta };
        let receipt = s.store.append(&lease, class, &["x".into()])?;
        same("the receipt's sequences", (receipt.first(), receipt.last()), (expected, expected))?;
        same("the result of the receipt", receipt.await?, expected)?;
    }
    let receipt = s.store.append(&lease, Class::Fact, &["x".into(), "y".into(), "z".into()])?;
    same("a batch's sequences", (receipt.first(), receipt.last()), (21, 23))?;
    same("the result of a batch's receipt", receipt.await?, 23)?;
    let seqs: Vec<u64> = s.all(&lease.journal).await?.iter().map(|record| record.seq).collect();
    same("the sequences", seqs, (1..=23).collect())
}

async fn keeps(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let mut times = Vec::new();
    for (class, body) in [(Class::Fact, "a fact"), (Class::Delta, "a delta"), (Class::Fact, "another")] {
        times.push(s.now());
        s.append(&lease, class, &[body]).await?;
        s.advance(std::time::Duration::from_millis(250));
    }
    let records = s.all(&lease.journal).await?;
    same("the bodies", texts(&records), ["a fact", "a delta", "another"].map(str::to_owned).into())?;
    let classes: Vec<Class> = records.iter().map(|record| record.class).collect();
    same("the classes", classes, vec![Class::Fact, Class::Delta, Class::Fact])?;
    same("the times", records.iter().map(|record| record.time).collect(), times)?;
    holds("every record has the lease's epoch", records.iter().all(|record| record.epoch == lease.epoch))
}

async fn any_bytes(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let every: Vec<u8> = (0..=255).collect();
    let bodies = [Bytes::new(), every.into(), vec![0; 4096].into(), vec![0xff; 513].into(), Bytes::new()];
    for class in [Class::Fact, Class::Delta] {
        s.store.append(&lease, class, &bodies)?.await?;
    }
    let got: Vec<Bytes> = s.all(&lease.journal).await?.into_iter().map(|record| record.body).collect();
    same("the bodies", got, [&bodies[..], &bodies[..]].concat())
}

async fn nothing(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    for class in [Class::Fact, Class::Delta] {
        s.store.append(&lease, class, &[])?.await?;
    }
    same("the records", s.bodies(&lease.journal).await?, vec![])?;
    same("the next sequence", s.append(&lease, Class::Fact, &["x"]).await?, 1)?;
    s.store.append(&lease, Class::Delta, &[])?.await?;
    same("the records", s.bodies(&lease.journal).await?, vec!["x".to_owned()])
}

async fn huge(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let bodies: Vec<String> = (0..10_000).map(|n| format!("{n}:{}", "x".repeat(n % 150))).collect();
    let batch: Vec<Bytes> = bodies.iter().map(|body| body.clone().into()).collect();
    let receipt = s.store.append(&lease, Class::Fact, &batch)?;
    same("the batch's sequences", (receipt.first(), receipt.last()), (1, 10_000))?;
    receipt.await?;
    let deltas = s.store.append(&lease, Class::Delta, &batch)?;
    same("the second batch's sequences", (deltas.first(), deltas.last()), (10_001, 20_000))?;
    deltas.await?;
    same("the bodies", s.bodies(&lease.journal).await?, [bodies.clone(), bodies].concat())
}

async fn mixed(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let mut receipts = Vec::new();
    let mut bodies = Vec::new();
    for n in 0..150_usize {
        let class = if n % 7 < 2 { Class::Fact } else { Class::Delta };
        let batch: Vec<String> = (0..=n % 3).map(|part| format!("{n}.{part}")).collect();
        let given: Vec<Bytes> = batch.iter().map(|body| body.clone().into()).collect();
        bodies.extend(batch);
        receipts.push(s.store.append(&lease, class, &given)?);
        // At any moment, the visible records are a prefix of the appended ones.
        let page =
            s.store.read(&lease.journal, 0, ReadLimit { records: usize::MAX, bytes: usize::MAX }).await?;
        let seen = texts(&page.records);
        holds("the visible records are a prefix of the appended ones", bodies.starts_with(&seen))?;
    }
    for receipt in receipts {
        let last = receipt.await?;
        let info = s.store.info(&lease.journal).await?;
        holds("records of a completed receipt are visible", info.is_some_and(|info| info.tail.last >= last))?;
    }
    same("the bodies", s.bodies(&lease.journal).await?, bodies)
}

async fn dropped(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    drop(s.store.append(&lease, Class::Fact, &["first".into()])?);
    drop(s.store.append(&lease, Class::Delta, &["second".into()])?);
    s.append(&lease, Class::Fact, &["third"]).await?;
    let expected: Vec<String> = ["first", "second", "third"].map(str::to_owned).into();
    same("the bodies", s.bodies(&lease.journal).await?, expected)
}

async fn flushed(s: StoreUnderTest) -> Outcome {
    let mut leases = Vec::new();
    for n in 0..5 {
        let lease = s.claim(&format!("run {n}")).await?;
        drop(s.store.append(&lease, Class::Delta, &["delta".into()])?);
        drop(s.store.append(&lease, Class::Fact, &["fact".into()])?);
        leases.push(lease);
    }
    s.store.flush().await?;
    for lease in leases {
        let expected: Vec<String> = ["delta", "fact"].map(str::to_owned).into();
        same("the bodies", s.bodies(&lease.journal).await?, expected)?;
    }
    Ok(())
}

async fn late(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let first = s.store.append(&lease, Class::Fact, &["first".into()])?;
    let second = s.store.append(&lease, Class::Fact, &["second".into()])?;
    same("the second receipt", second.await?, 2)?;
    same("the first receipt", first.await?, 1)?;
    same("the bodies", s.bodies(&lease.journal).await?, ["first", "second"].map(str::to_owned).into())
}

async fn apart(s: StoreUnderTest) -> Outcome {
    let mut tasks = JoinSet::new();
    for run in 0..40 {
        let store = s.store.clone();
        tasks.spawn(async move {
            let journal: JournalId = format!("run {run}").into();
            let lease = store.claim(&journal, "driver", TTL).await?;
            for n in 0..60 {
                let class = if n % 10 == 0 { Class::Fact } else { Class::Delta };
                let receipt = store.append(&lease, class, &[format!("{run}/{n}").into()])?;
                if n % 20 == 0 {
                    receipt.await?;
                }
                tokio::task::yield_now().await;
            }
            Ok::<_, CheckFailure>((run, journal))
        });
    }
    while let Some(done) = tasks.join_next().await {
        let (run, journal) = done??;
        s.store.flush().await?;
        let expected: Vec<String> = (0..60).map(|n| format!("{run}/{n}")).collect();
        same("the bodies of a journal", s.bodies(&journal).await?, expected)?;
    }
    Ok(())
}

async fn pieces(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let mut tasks = JoinSet::new();
    for task in 0..20 {
        let (store, lease) = (s.store.clone(), lease.clone());
        tasks.spawn(async move {
            let mut pieces = Vec::new();
            for n in 0..20 {
                let body = |part| Bytes::from(format!("{task}/{n}/{part}"));
                let class = if n % 2 == 0 { Class::Fact } else { Class::Delta };
                let receipt = store.append(&lease, class, &[body(0), body(1), body(2)])?;
                let first = receipt.first();
                same("the last of three", receipt.await?, first + 2)?;
                pieces.extend((0..3).map(|part| (first + part, format!("{task}/{n}/{part}"))));
            }
            Ok::<_, CheckFailure>(pieces)
        });
    }
    let mut expected = BTreeMap::new();
    while let Some(done) = tasks.join_next().await {
        for (seq, body) in done?? {
            let taken = expected.insert(seq, body);
            same("another append with the same sequence", taken, None)?;
        }
    }
    let records = s.all(&lease.journal).await?;
    let got = records.iter().map(|record| record.seq).zip(texts(&records)).collect();
    same("the records", got, expected)
}

async fn names(s: StoreUnderTest) -> Outcome {
    let names =
        ["läuft", "🦀/🦀", " ", "a\0b", "a\nb", "..", "/", "a/b/c", "A", "a", "\u{10ffff}", "%2F", "lock"];
    for name in names {
        let lease = s.store.claim(&name.into(), name, TTL).await?;
        same("the lease's owner", &*lease.owner, name)?;
        s.append(&lease, Class::Fact, &[name]).await?;
    }
    for name in names {
        same("the bodies", s.bodies(&name.into()).await?, vec![name.to_owned()])?;
    }
    Ok(())
}
