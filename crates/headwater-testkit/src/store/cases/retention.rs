//! Trimming, closing, deleting and sweeping.

use std::time::Duration;

use headwater_store::{Class, ErrorKind, JournalId, JournalInfo, ReadLimit, Tail};

use super::super::{
    Case, StoreUnderTest,
    check::{CheckFailure, Outcome, TTL, refused, refused_with, same, soon, texts},
};

pub(super) const CASES: &[Case] = &[
    Case { name: "trimmed records are removed and the rest keep their numbers", run: |s| Box::pin(trims(s)) },
    Case { name: "a completely trimmed journal continues", run: |s| Box::pin(trims_all(s)) },
    Case { name: "a trim restores no records", run: |s| Box::pin(trims_less(s)) },
    Case { name: "a journal's size counts only kept records", run: |s| Box::pin(bytes(s)) },
    Case { name: "a closed journal can be read to its end", run: |s| Box::pin(reads_closed(s)) },
    Case { name: "a closed journal is swept after its retention time", run: |s| Box::pin(swept(s)) },
    Case { name: "a journal without a retention time is never swept", run: |s| Box::pin(kept(s)) },
    Case { name: "a held journal cannot be deleted", run: |s| Box::pin(held(s)) },
    Case { name: "a deleted journal is removed and may be deleted again", run: |s| Box::pin(deleted(s)) },
    Case { name: "a swept name can be reused", run: |s| Box::pin(anew(s)) },
];

async fn info(s: &StoreUnderTest, journal: &JournalId) -> Outcome<JournalInfo> {
    s.store.info(journal).await?.ok_or_else(|| CheckFailure::new(format!("no info of {journal}")))
}

async fn trims(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=10).await?;
    s.store.trim(&lease, 1).await?;
    same("the first kept after a trim of nothing", info(&s, &lease.journal).await?.first, 1)?;
    s.store.trim(&lease, 5).await?;
    same("the first kept", info(&s, &lease.journal).await?.first, 5)?;
    for after in 0..4 {
        let read = s.store.read(&lease.journal, after, ReadLimit::default()).await;
        refused("a read of what is gone", read, &ErrorKind::Trimmed { first: 5 })?;
    }
    for after in 4..=10 {
        let page = s.store.read(&lease.journal, after, ReadLimit::default()).await?;
        let expected: Vec<String> = (after + 1..=10).map(|number: u64| number.to_string()).collect();
        same("the bodies", texts(&page.records), expected)?;
    }
    same("the next sequence", s.append(&lease, Class::Fact, &["11"]).await?, 11)?;
    same("the tail that a wait gives", soon("the wait", s.store.wait(&lease.journal, 1)).await??.last, 11)
}

async fn trims_all(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=10).await?;
    s.store.trim(&lease, 11).await?;
    let trimmed = info(&s, &lease.journal).await?;
    same("the first kept", trimmed.first, 11)?;
    same("the tail", trimmed.tail, Tail { last: 10, closed: false })?;
    same("the bytes", trimmed.bytes, 0)?;
    same("the bodies", s.bodies(&lease.journal).await?, vec![])?;
    same("the next sequence", s.append(&lease, Class::Delta, &["11"]).await?, 11)?;
    same("the bodies", s.bodies(&lease.journal).await?, vec!["11".to_owned()])?;
    s.store.release(&lease).await?;
    let next = s.claim("run").await?;
    same("where the next epoch begins", next.first, 12)?;
    // There is nothing to trim beyond the end.
    s.store.trim(&next, 1_000).await?;
    same("the first kept after a trim beyond the end", info(&s, &lease.journal).await?.first, 12)?;
    same("the next sequence", s.append(&next, Class::Fact, &["12"]).await?, 12)
}

async fn trims_less(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=10).await?;
    for (before, first) in [(8, 8), (3, 8), (0, 8), (8, 8), (9, 9)] {
        s.store.trim(&lease, before).await?;
        same("the first kept", info(&s, &lease.journal).await?.first, first)?;
        same("the bodies", s.bodies(&lease.journal).await?.len() as u64, 11 - first)?;
    }
    Ok(())
}

async fn bytes(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.append(&lease, Class::Fact, &["a", "bb", "ccc"]).await?;
    s.append(&lease, Class::Delta, &["dddd"]).await?;
    same("the bytes", info(&s, &lease.journal).await?.bytes, 10)?;
    s.store.trim(&lease, 3).await?;
    same("the bytes that are kept", info(&s, &lease.journal).await?.bytes, 7)
}

async fn reads_closed(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=5).await?;
    drop(s.store.append(&lease, Class::Delta, &["6".into()])?);
    s.store.close(&lease, Some(TTL)).await?;
    let page = s.store.read(&lease.journal, 2, ReadLimit { records: 2, bytes: 100 }).await?;
    same("the bodies", texts(&page.records), vec!["3".to_owned(), "4".to_owned()])?;
    same("the tail", page.tail, Tail { last: 6, closed: true })?;
    let expected: Vec<String> = (1..=6).map(|number| number.to_string()).collect();
    same("all bodies", s.bodies(&lease.journal).await?, expected)?;
    same("when it goes", info(&s, &lease.journal).await?.goes, Some(s.now().after(TTL)))
}

async fn swept(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=5).await?;
    s.store.close(&lease, Some(TTL)).await?;
    s.advance(TTL - Duration::from_millis(1));
    same("the journals that went early", s.store.sweep().await?.journals, 0)?;
    same("how many are read until then", s.bodies(&lease.journal).await?.len(), 5)?;
    s.advance(Duration::from_millis(1));
    s.store.sweep().await?;
    same("the info after its time", s.store.info(&lease.journal).await?, None)?;
    let read = s.store.read(&lease.journal, 0, ReadLimit::default()).await;
    refused("a read after its time", read, &ErrorKind::Unknown)?;
    same("the journals of a second sweep", s.store.sweep().await?.journals, 0)
}

async fn kept(s: StoreUnderTest) -> Outcome {
    let closed = s.claim("closed").await?;
    s.store.close(&closed, None).await?;
    s.claim("expired").await?;
    s.store.release(&s.claim("given back").await?).await?;
    s.advance(Duration::from_secs(100 * 365 * 24 * 60 * 60));
    same("the journals that went", s.store.sweep().await?.journals, 0)?;
    for name in ["closed", "expired", "given back"] {
        info(&s, &name.into()).await?;
    }
    same("when the closed one goes", info(&s, &closed.journal).await?.goes, None)
}

async fn held(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    s.number(&lease, 1..=3).await?;
    let wanted = |kind: &ErrorKind| matches!(kind, ErrorKind::Held { .. });
    refused_with("a delete", s.store.delete(&lease.journal).await, wanted, "Held")?;
    s.number(&lease, 4..=4).await?;
    same("how many are left", s.bodies(&lease.journal).await?.len(), 4)?;
    s.advance(TTL);
    s.store.delete(&lease.journal).await?;
    same("the info after the lease ran out", s.store.info(&lease.journal).await?, None)?;
    same("the expired journals", s.store.expired(10).await?, vec![])
}

async fn deleted(s: StoreUnderTest) -> Outcome {
    for closes in [true, false] {
        let lease = s.claim("run").await?;
        s.number(&lease, 1..=3).await?;
        if closes {
            s.store.close(&lease, None).await?;
        } else {
            s.store.release(&lease).await?;
        }
        for _ in 0..2 {
            s.store.delete(&lease.journal).await?;
            same("the info", s.store.info(&lease.journal).await?, None)?;
            let read = s.store.read(&lease.journal, 0, ReadLimit::default()).await;
            refused("a read", read, &ErrorKind::Unknown)?;
        }
    }
    Ok(())
}

async fn anew(s: StoreUnderTest) -> Outcome {
    let old = s.claim("run").await?;
    s.number(&old, 1..=3).await?;
    s.store.close(&old, Some(Duration::ZERO)).await?;
    s.advance(Duration::from_millis(1));
    s.store.sweep().await?;
    let new = s.claim("run").await?;
    same("where it begins", new.first, 1)?;
    s.append(&new, Class::Fact, &["new"]).await?;
    same("the bodies", s.bodies(&new.journal).await?, vec!["new".to_owned()])?;
    s.advance(TTL / 2);
    s.store.sweep().await?;
    same("the bodies after another sweep", s.bodies(&new.journal).await?, vec!["new".to_owned()])
}
