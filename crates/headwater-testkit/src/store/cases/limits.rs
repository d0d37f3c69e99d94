//! Size limits and full journals.

use bytes::Bytes;
use headwater_store::{Class, ErrorKind, Expect};

use super::super::{
    Case, StoreUnderTest,
    check::{Outcome, TTL, holds, refused, same},
};

pub(super) const CASES: &[Case] = &[
    Case { name: "a record above the limit is refused with its whole batch", run: |s| Box::pin(record(s)) },
    Case { name: "a value above the limit is refused and the old one stays", run: |s| Box::pin(value(s)) },
    Case { name: "a name above the limit is refused", run: |s| Box::pin(name(s)) },
    Case { name: "a full journal accepts records again after a trim", run: |s| Box::pin(full(s)) },
];

async fn record(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let limit = s.setup.limits.record_bytes;
    let (fits, too_large) = (Bytes::from(vec![1; limit]), Bytes::from(vec![2; limit + 1]));
    for class in [Class::Fact, Class::Delta] {
        for batch in [&[too_large.clone()][..], &["x".into(), too_large.clone()]] {
            refused("a record of one byte more", s.store.append(&lease, class, batch), &ErrorKind::TooLarge)?;
        }
        s.store.append(&lease, class, std::slice::from_ref(&fits))?.await?;
    }
    let sizes: Vec<usize> = s.all(&lease.journal).await?.iter().map(|record| record.body.len()).collect();
    same("the sizes of the records", sizes, vec![limit, limit])
}

async fn value(s: StoreUnderTest) -> Outcome {
    let limit = s.setup.limits.value_bytes;
    s.store.put("key", vec![1; limit].into(), Expect::Any, None).await?;
    let put = s.store.put("key", vec![2; limit + 1].into(), Expect::Any, None).await;
    refused("a value of one byte more", put, &ErrorKind::TooLarge)?;
    let kept = s.store.get("key").await?.map(|value| value.bytes);
    holds("the old value stays", kept == Some(vec![1; limit].into()))
}

async fn name(s: StoreUnderTest) -> Outcome {
    let long = "x".repeat(1 << 20);
    let claimed = s.store.claim(&long.as_str().into(), "driver", TTL).await;
    refused("a journal's name", claimed, &ErrorKind::TooLarge)?;
    let put = s.store.put(&long, "x".into(), Expect::Any, None).await;
    refused("a key", put, &ErrorKind::TooLarge)?;
    same("the values", s.store.list("", None, 10).await?, vec![])
}

async fn full(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("run").await?;
    let limit = s.setup.limits.journal_bytes;
    let body = Bytes::from(vec![7; s.setup.limits.record_bytes]);
    let size = body.len() as u64;
    let mut last = 0;
    let refusal = loop {
        match s.store.append(&lease, Class::Fact, std::slice::from_ref(&body)) {
            Ok(receipt) => last = receipt.await?,
            Err(error) => break error,
        }
        holds("a journal does not grow beyond its limit", last * size <= limit)?;
    };
    same("what refused another record", refusal.kind(), &ErrorKind::Full)?;
    holds("nearly the whole limit could be used", (last + 1) * size + limit / 8 > limit)?;
    same("the records", s.all(&lease.journal).await?.len() as u64, last)?;
    let other = s.claim("other").await?;
    s.append(&other, Class::Fact, &["another journal has room"]).await?;
    s.store.trim(&lease, last).await?;
    s.store.append(&lease, Class::Delta, std::slice::from_ref(&body))?.await?;
    same("the records after the trim", s.all(&lease.journal).await?.len(), 2)?;
    s.store.close(&lease, None).await?;
    Ok(())
}
