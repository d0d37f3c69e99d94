//! Values: compare-and-set, time to live, versions, listing.

use std::time::Duration;

use bytes::Bytes;
use headwater_store::{Class, ErrorKind, Expect, Value, WriteOp};
use tokio::task::JoinSet;

use super::super::{
    Case, StoreUnderTest,
    check::{CheckFailure, Outcome, TTL, holds, refused, same},
};

pub(super) const CASES: &[Case] = &[
    Case { name: "a read returns the last put value", run: |s| Box::pin(last(s)) },
    Case { name: "a removed value is absent", run: |s| Box::pin(removed(s)) },
    Case { name: "a put that expects something else changes nothing", run: |s| Box::pin(puts(s)) },
    Case { name: "a removal that expects something else changes nothing", run: |s| Box::pin(removes(s)) },
    Case { name: "a version is never used twice", run: |s| Box::pin(versions(s)) },
    Case { name: "the winner of a conflict can be read", run: |s| Box::pin(conflicts(s)) },
    Case { name: "one of many writers that expect the same version wins", run: |s| Box::pin(counter(s)) },
    Case { name: "a value expires after its time to live", run: |s| Box::pin(expires(s)) },
    Case { name: "nothing expires early, however the wall clock is set", run: |s| Box::pin(wall_steps(s)) },
    Case { name: "a put resets the time to live", run: |s| Box::pin(time_anew(s)) },
    Case { name: "a sweep removes expired values and no others", run: |s| Box::pin(swept(s)) },
    Case { name: "values are listed by prefix, in order", run: |s| Box::pin(listed(s)) },
    Case { name: "pages of any size list the same values", run: |s| Box::pin(pages(s)) },
    Case { name: "several changes are applied in order, until one fails", run: |s| Box::pin(in_order(s)) },
    Case { name: "values and journals may share a name", run: |s| Box::pin(apart(s)) },
];

async fn put(s: &StoreUnderTest, key: &str, text: &str, expect: Expect) -> Outcome<u64> {
    Ok(s.store.put(key, text.to_owned().into(), expect, None).await?)
}

async fn text(s: &StoreUnderTest, key: &str) -> Outcome<Option<String>> {
    let value = s.store.get(key).await?;
    Ok(value.map(|value| String::from_utf8_lossy(&value.bytes).into_owned()))
}

async fn last(s: StoreUnderTest) -> Outcome {
    same("a value that never was", s.store.get("key").await?, None)?;
    for bytes in [Bytes::from("one"), Bytes::from("two"), Bytes::new(), vec![0xff; 10_000].into()] {
        let version = s.store.put("key", bytes.clone(), Expect::Any, None).await?;
        same(
            "the value",
            s.store.get("key").await?,
            Some(Value { bytes, version, expires: None, damaged: false }),
        )?;
    }
    same("another key", s.store.get("ke").await?, None)?;
    same("yet another key", s.store.get("key2").await?, None)
}

async fn removed(s: StoreUnderTest) -> Outcome {
    same("a removal of nothing", s.store.remove("key", Expect::Any).await?, false)?;
    put(&s, "key", "x", Expect::Any).await?;
    put(&s, "other", "y", Expect::Any).await?;
    same("a removal", s.store.remove("key", Expect::Any).await?, true)?;
    same("the value", s.store.get("key").await?, None)?;
    same("a second removal", s.store.remove("key", Expect::Any).await?, false)?;
    same("the other value", text(&s, "other").await?, Some("y".to_owned()))
}

async fn in_order(s: StoreUnderTest) -> Outcome {
    let put = |key: &str, expect| WriteOp::Put { key: key.to_owned(), bytes: "x".into(), expect, ttl: None };
    let lease = s.claim("run").await?;
    let end = s.store.append(&lease, Class::Fact, &["end".into()])?;
    let changes = vec![
        put("one", Expect::Absent),
        put("two", Expect::Absent),
        WriteOp::Remove { key: "one".to_owned(), expect: Expect::Any },
        WriteOp::Close { lease: lease.clone(), keep: None },
    ];
    let versions = s.store.write(Some(end), changes).await?;
    same("the number of versions", versions.len(), 4)?;
    let two = versions.get(1).copied().unwrap_or_default();
    same("the value that was removed", s.store.get("one").await?, None)?;
    same("the version", s.store.get("two").await?.map(|value| value.version), Some(two))?;
    same("the records", s.bodies(&lease.journal).await?, vec!["end".to_owned()])?;
    let info = s.store.info(&lease.journal).await?;
    holds("the journal is closed", info.is_some_and(|info| info.tail.closed))?;

    let changes = vec![put("three", Expect::Absent), put("two", Expect::Absent), put("four", Expect::Absent)];
    let conflict = ErrorKind::Conflict { current: Some(two) };
    refused("a change that expects something else", s.store.write(None, changes).await, &conflict)?;
    same("the change before it", text(&s, "three").await?, Some("x".to_owned()))?;
    same("the change after it", text(&s, "four").await?, None)
}

async fn puts(s: StoreUnderTest) -> Outcome {
    let attempt = async |expect| s.store.put("key", "no".into(), expect, None).await;
    let absent = ErrorKind::Conflict { current: None };
    refused("a version of nothing", attempt(Expect::Version(1)).await, &absent)?;
    same("the value", s.store.get("key").await?, None)?;
    let first = put(&s, "key", "one", Expect::Absent).await?;
    let at = |version| ErrorKind::Conflict { current: Some(version) };
    refused("absence of what is there", attempt(Expect::Absent).await, &at(first))?;
    let second = put(&s, "key", "two", Expect::Version(first)).await?;
    refused("an old version", attempt(Expect::Version(first)).await, &at(second))?;
    refused("a version that never was", attempt(Expect::Version(second + 1)).await, &at(second))?;
    same("the value", text(&s, "key").await?, Some("two".to_owned()))?;
    same("the version", s.store.get("key").await?.map(|value| value.version), Some(second))?;
    s.store.remove("key", Expect::Any).await?;
    refused("a removed version", attempt(Expect::Version(second)).await, &absent)?;
    put(&s, "key", "three", Expect::Absent).await?;
    same("the value in the end", text(&s, "key").await?, Some("three".to_owned()))
}

async fn removes(s: StoreUnderTest) -> Outcome {
    let absent = ErrorKind::Conflict { current: None };
    refused("a version of nothing", s.store.remove("key", Expect::Version(1)).await, &absent)?;
    same("absence of nothing", s.store.remove("key", Expect::Absent).await?, false)?;
    let first = put(&s, "key", "one", Expect::Any).await?;
    let second = put(&s, "key", "two", Expect::Any).await?;
    let there = ErrorKind::Conflict { current: Some(second) };
    refused("an old version", s.store.remove("key", Expect::Version(first)).await, &there)?;
    refused("absence", s.store.remove("key", Expect::Absent).await, &there)?;
    same("the value", text(&s, "key").await?, Some("two".to_owned()))?;
    same("the right version", s.store.remove("key", Expect::Version(second)).await?, true)?;
    same("the value in the end", s.store.get("key").await?, None)
}

async fn versions(s: StoreUnderTest) -> Outcome {
    let mut highest = 0;
    for _ in 0..3 {
        for key in ["a", "b"] {
            for expect in [Expect::Absent, Expect::Any] {
                let version = put(&s, key, "x", expect).await?;
                holds("the version is higher than all before", version > highest)?;
                highest = version;
            }
        }
        s.store.remove("a", Expect::Any).await?;
        s.store.remove("b", Expect::Version(highest)).await?;
    }
    let lives = s.store.put("c", "x".into(), Expect::Any, Some(TTL)).await?;
    s.advance(TTL);
    s.store.sweep().await?;
    holds("the version after an expired one is higher", put(&s, "c", "x", Expect::Absent).await? > lives)
}

async fn conflicts(s: StoreUnderTest) -> Outcome {
    for round in 0..50 {
        let key = format!("key/{round}");
        let first = s.store.put(&key, "first".into(), Expect::Absent, None);
        let second = async {
            let put = s.store.put(&key, "second".into(), Expect::Absent, None).await;
            (put, s.store.get(&key).await)
        };
        let (first, (second, seen)) = tokio::join!(first, second);
        let at = ErrorKind::Conflict { current: Some(first?) };
        refused("the second put", second, &at)?;
        let seen = seen?.map(|value| value.bytes);
        same("what the loser of a conflict reads", seen, Some("first".into()))?;
        let (removed, (put, seen)) = tokio::join!(s.store.remove(&key, Expect::Any), async {
            let put = s.store.put(&key, "late".into(), Expect::Version(1), None).await;
            (put, s.store.get(&key).await)
        });
        same("the removal", removed?, true)?;
        refused("a put on what is being removed", put, &ErrorKind::Conflict { current: None })?;
        same("what the loser of a removal reads", seen?, None)?;
    }
    Ok(())
}

async fn counter(s: StoreUnderTest) -> Outcome {
    let mut tasks = JoinSet::new();
    for _ in 0..10 {
        let store = s.store.clone();
        tasks.spawn(async move {
            let mut added = 0;
            while added < 10 {
                let (number, expect) = match store.get("counter").await? {
                    None => (0, Expect::Absent),
                    Some(value) => {
                        let text = String::from_utf8_lossy(&value.bytes).into_owned();
                        (text.parse().unwrap_or(0), Expect::Version(value.version))
                    }
                };
                tokio::task::yield_now().await;
                match store.put("counter", (number + 1_u64).to_string().into(), expect, None).await {
                    Ok(_) => added += 1,
                    Err(error) if matches!(error.kind(), ErrorKind::Conflict { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok::<_, CheckFailure>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    same("the counter", text(&s, "counter").await?, Some("100".to_owned()))
}

async fn expires(s: StoreUnderTest) -> Outcome {
    let version = s.store.put("key", "x".into(), Expect::Any, Some(TTL)).await?;
    let expires = s.now().after(TTL);
    s.advance(TTL - Duration::from_millis(1));
    let value = Value { bytes: "x".into(), version, expires: Some(expires), damaged: false };
    same("the value in its last moment", s.store.get("key").await?, Some(value.clone()))?;
    same("its listing", s.store.list("", None, 10).await?, vec![("key".to_owned(), value)])?;
    s.advance(Duration::from_millis(1));
    same("the value after its time", s.store.get("key").await?, None)?;
    same("its listing after its time", s.store.list("", None, 10).await?, vec![])?;
    let absent = ErrorKind::Conflict { current: None };
    let put_there = s.store.put("key", "y".into(), Expect::Version(version), None).await;
    refused("a put at its version", put_there, &absent)?;
    let removed = s.store.remove("key", Expect::Version(version)).await;
    refused("a removal at its version", removed, &absent)?;
    same("a removal", s.store.remove("key", Expect::Any).await?, false)?;
    put(&s, "key", "anew", Expect::Absent).await?;
    same("the value put anew", text(&s, "key").await?, Some("anew".to_owned()))
}

async fn wall_steps(s: StoreUnderTest) -> Outcome {
    for (before, after) in [(0, 40), (0, 86_400), (-40, 40), (-86_400, 86_400), (86_400, -86_400), (0, -40)] {
        s.step_wall(before);
        s.store.put("key", "x".into(), Expect::Any, Some(TTL)).await?;
        let journal = s.claim("run").await?;
        s.store.close(&journal, Some(TTL)).await?;
        s.step_wall(after);
        s.advance(TTL - Duration::from_millis(1));
        let swept = s.store.sweep().await?;
        same("what a sweep lets go after a step", (swept.journals, swept.values), (0, 0))?;
        same("the value in its last moment", text(&s, "key").await?, Some("x".to_owned()))?;
        holds("the journal in its last moment", s.store.info(&journal.journal).await?.is_some())?;
        // Values delayed by an uncorrected clock step expire when the clock is right again.
        s.step_wall(-before - after);
        s.advance(Duration::from_secs(86_400) + TTL);
        let swept = s.store.sweep().await?;
        same("what a sweep lets go in the end", (swept.journals, swept.values), (1, 1))?;
        same("the value in the end", text(&s, "key").await?, None)?;
    }
    Ok(())
}

async fn time_anew(s: StoreUnderTest) -> Outcome {
    s.store.put("longer", "x".into(), Expect::Any, Some(TTL)).await?;
    s.store.put("for ever", "x".into(), Expect::Any, Some(TTL)).await?;
    s.store.put("shorter", "x".into(), Expect::Any, None).await?;
    s.advance(TTL / 2);
    s.store.put("longer", "y".into(), Expect::Any, Some(TTL)).await?;
    s.store.put("for ever", "y".into(), Expect::Any, None).await?;
    s.store.put("shorter", "y".into(), Expect::Any, Some(TTL / 4)).await?;
    s.advance(TTL / 2);
    s.store.sweep().await?;
    same("one with a longer time", text(&s, "longer").await?, Some("y".to_owned()))?;
    same("one without a time", text(&s, "for ever").await?, Some("y".to_owned()))?;
    same("one with a shorter time", text(&s, "shorter").await?, None)
}

async fn swept(s: StoreUnderTest) -> Outcome {
    for n in 0..5 {
        s.store.put(&format!("goes {n}"), "x".into(), Expect::Any, Some(TTL)).await?;
        s.store.put(&format!("later {n}"), "x".into(), Expect::Any, Some(TTL * 2)).await?;
        put(&s, &format!("stays {n}"), "x", Expect::Any).await?;
    }
    same("the values that went early", s.store.sweep().await?.values, 0)?;
    s.advance(TTL);
    same("the values that went", s.store.sweep().await?.values, 5)?;
    same("the values that went twice", s.store.sweep().await?.values, 0)?;
    same("the values that stay", s.store.list("", None, 100).await?.len(), 10)
}

const KEYS: [&str; 14] = [
    "a",
    "a/",
    "a/\0",
    "a/b",
    "a/b/c",
    "a/bb",
    "a/ü",
    "a/🦀",
    "a/🦀🦀",
    "a/\u{10ffff}",
    "a/\u{10ffff}\u{10ffff}",
    "a0",
    "b",
    "ü",
];

async fn fill(s: &StoreUnderTest) -> Outcome {
    let mut keys = KEYS;
    // Not in listing order.
    keys.reverse();
    keys.rotate_left(5);
    for key in keys {
        put(s, key, key, Expect::Absent).await?;
    }
    Ok(())
}

async fn keys(s: &StoreUnderTest, prefix: &str, after: Option<&str>, limit: usize) -> Outcome<Vec<String>> {
    let listed = s.store.list(prefix, after, limit).await?;
    for (key, value) in &listed {
        same("a listed value's bytes", &*value.bytes, key.as_bytes())?;
    }
    Ok(listed.into_iter().map(|(key, _)| key).collect())
}

fn expected(prefix: &str, after: Option<&str>) -> Vec<String> {
    let mut keys: Vec<String> = KEYS
        .iter()
        .filter(|key| key.starts_with(prefix) && after.is_none_or(|after| **key > after))
        .map(|key| (*key).to_owned())
        .collect();
    keys.sort();
    keys
}

async fn listed(s: StoreUnderTest) -> Outcome {
    fill(&s).await?;
    for prefix in ["", "a", "a/", "a/b", "a/🦀", "a/\u{10ffff}", "b", "ü", "c", "a/nothing"] {
        same(&format!("the keys of {prefix:?}"), keys(&s, prefix, None, 100).await?, expected(prefix, None))?;
        for after in KEYS.into_iter().chain(["", "a/a", "a/z", "zzz", "A"]) {
            let what = format!("the keys of {prefix:?} after {after:?}");
            same(&what, keys(&s, prefix, Some(after), 100).await?, expected(prefix, Some(after)))?;
        }
    }
    Ok(())
}

async fn pages(s: StoreUnderTest) -> Outcome {
    fill(&s).await?;
    for limit in 1..=KEYS.len() + 1 {
        let mut all: Vec<String> = Vec::new();
        loop {
            let page = keys(&s, "a", all.last().map(String::as_str), limit).await?;
            holds("a page is no longer than asked for", page.len() <= limit)?;
            if page.is_empty() {
                break;
            }
            all.extend(page);
            holds("no key is listed twice", all.len() <= KEYS.len())?;
        }
        same(&format!("all pages of {limit}"), all, expected("a", None))?;
    }
    same("a page of nothing", keys(&s, "a", None, 0).await?, vec![])
}

async fn apart(s: StoreUnderTest) -> Outcome {
    let lease = s.claim("name").await?;
    same("the value", s.store.get("name").await?, None)?;
    put(&s, "name", "value", Expect::Absent).await?;
    s.store.release(&lease).await?;
    s.store.delete(&lease.journal).await?;
    same("the value after the journal", text(&s, "name").await?, Some("value".to_owned()))
}
