//! Watching values.

use std::pin::pin;

use headwater_store::{ErrorKind, Expect};

use super::super::{
    Case, StoreUnderTest,
    check::{CheckFailure, Outcome, refused_with, same, sleeps, soon},
};

pub(super) const CASES: &[Case] = &[
    Case { name: "a watch reports a put and a removal", run: |s| Box::pin(tells(s)) },
    Case { name: "a watch ignores other prefixes", run: |s| Box::pin(others(s)) },
    Case { name: "a watch ignores a refused put", run: |s| Box::pin(conflicts(s)) },
    Case { name: "a change between read and wait ends the wait", run: |s| Box::pin(not_lost(s)) },
    Case {
        name: "every watch is notified, and dropping one does not affect others",
        run: |s| Box::pin(all(s)),
    },
    Case { name: "a reader that watches and reads sees the last value", run: |s| Box::pin(last_value(s)) },
];

async fn tells(s: StoreUnderTest) -> Outcome {
    for prefix in ["inbox/run", "inbox/", "", "inbox/run/1"] {
        let mut watch = s.store.watch(prefix);
        for changes in 0..4 {
            let mut changed = pin!(watch.changed());
            sleeps("a watch", changed.as_mut()).await?;
            if changes % 2 == 0 {
                s.store.put("inbox/run/1", "x".into(), Expect::Any, None).await?;
            } else {
                s.store.remove("inbox/run/1", Expect::Any).await?;
            }
            soon(&format!("a watch of {prefix:?}"), changed).await?;
        }
    }
    Ok(())
}

async fn others(s: StoreUnderTest) -> Outcome {
    let mut watch = s.store.watch("b/");
    let mut changed = pin!(watch.changed());
    for key in ["a", "a/b/", "b", "c", "B/"] {
        s.store.put(key, "x".into(), Expect::Any, None).await?;
        s.store.remove(key, Expect::Any).await?;
    }
    s.store.remove("b/not there", Expect::Any).await?;
    sleeps("a watch", changed.as_mut()).await?;
    s.store.put("b/", "x".into(), Expect::Any, None).await?;
    soon("a watch of a key that is the prefix", changed).await
}

async fn conflicts(s: StoreUnderTest) -> Outcome {
    s.store.put("key", "x".into(), Expect::Any, None).await?;
    let mut watch = s.store.watch("key");
    let mut changed = pin!(watch.changed());
    let wanted = |kind: &ErrorKind| matches!(kind, ErrorKind::Conflict { .. });
    let refused = s.store.put("key", "y".into(), Expect::Absent, None).await;
    refused_with("a put", refused, wanted, "Conflict")?;
    let refused = s.store.remove("key", Expect::Version(u64::MAX)).await;
    refused_with("a removal", refused, wanted, "Conflict")?;
    sleeps("a watch", changed.as_mut()).await
}

async fn not_lost(s: StoreUnderTest) -> Outcome {
    let mut watch = s.store.watch("key");
    same("the first look", s.store.get("key").await?, None)?;
    s.store.put("key", "x".into(), Expect::Any, None).await?;
    soon("a watch that had not waited yet", watch.changed()).await?;
    for text in ["y", "z"] {
        s.store.put("key", text.into(), Expect::Any, None).await?;
    }
    soon("a watch after two changes", watch.changed()).await
}

async fn all(s: StoreUnderTest) -> Outcome {
    let mut watches: Vec<_> = (0..20).map(|_| s.store.watch("key")).collect();
    for watch in watches.iter_mut().step_by(3) {
        sleeps("a watch", pin!(watch.changed())).await?;
    }
    for n in 0..10 {
        drop(watches.pop());
        s.store.put("key", format!("{n}").into(), Expect::Any, None).await?;
        for watch in &mut watches {
            soon("one of many watches", watch.changed()).await?;
        }
    }
    Ok(())
}

async fn last_value(s: StoreUnderTest) -> Outcome {
    let store = s.store.clone();
    let mut watch = store.watch("key");
    let reader = tokio::spawn(async move {
        loop {
            let value = store.get("key").await?;
            if value.is_some_and(|value| &*value.bytes == b"99") {
                return Ok::<_, CheckFailure>(());
            }
            soon("the watching reader", watch.changed()).await?;
        }
    });
    for n in 0..100 {
        s.store.put("key", n.to_string().into(), Expect::Any, None).await?;
        if n % 7 == 0 {
            tokio::task::yield_now().await;
        }
    }
    reader.await?
}
