//! A store that was copied into another is the same, however often it was copied and whatever interrupted that.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use headwater_store::{
    Class, Clock, Cursor, Embedded, Expect, JournalId, JournalInfo, Lease, ManualClock, Memory,
    MemoryOptions, Place as CursorPlace, ReadLimit, Record, Secret, Store,
    copy::{CopyOptions, CopyReport, copy},
    embedded::Options,
    survey::{Depth, JournalCounts, Survey, ValueCounts},
};
use headwater_testkit::store::crash::CrashingStore;

use crate::support::MINUTE;

/// Stores of one test, which all have the same clock.
struct Stores {
    clock: Arc<ManualClock>,
    folders: Vec<tempfile::TempDir>,
}

impl Stores {
    fn new() -> Self {
        Self { clock: Arc::new(ManualClock::at(1_700_000_000_000)), folders: Vec::new() }
    }

    fn memory(&self) -> Memory {
        Memory::with(MemoryOptions { clock: self.clock.clone(), ..MemoryOptions::default() })
    }

    fn embedded(&mut self) -> Embedded {
        let folder = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.clock = self.clock.clone();
        options.segment_bytes = 100_000;
        let store = Embedded::open_folder(folder.path(), options).unwrap();
        self.folders.push(folder);
        store
    }

    fn options(&self, update: bool) -> CopyOptions {
        CopyOptions { update, clock: self.clock.clone(), ..CopyOptions::default() }
    }

    async fn copy(&self, from: &dyn Store, to: &dyn Store, update: bool) -> CopyReport {
        copy(from, to, &self.options(update), |_| {}).await.unwrap()
    }
}

async fn append(store: &dyn Store, lease: &Lease, numbers: std::ops::Range<u64>) {
    for n in numbers {
        let class = if n % 3 == 0 { Class::Fact } else { Class::Delta };
        let body = Bytes::from(vec![n as u8; (n as usize * 37) % 400]);
        store.append(lease, class, &[body]).unwrap().await.unwrap();
    }
    store.flush().await.unwrap();
}

/// Journals in every state, one of them with more records than one piece has, and values with and without a time.
async fn fill(store: &dyn Store, clock: &ManualClock) {
    Secret::of(store).await.unwrap();
    for run in 0..30_u64 {
        let name: JournalId = format!("run/{run}").into();
        let lease = store.claim(&name, "driver", MINUTE).await.unwrap();
        append(store, &lease, 0..run * 2).await;
        clock.advance(Duration::from_millis(3));
        match run % 5 {
            0 => {}
            1 => store.release(&lease).await.unwrap(),
            2 => store.close(&lease, None).await.unwrap(),
            3 => store.close(&lease, Some(MINUTE * 10)).await.unwrap(),
            _ => {
                store.release(&lease).await.unwrap();
                let next = store.claim(&name, "another", MINUTE).await.unwrap();
                append(store, &next, 0..5).await;
                store.trim(&next, run).await.unwrap();
                store.release(&next).await.unwrap();
            }
        }
    }
    let long = store.claim(&"long".into(), "driver", MINUTE).await.unwrap();
    let body = Bytes::from(vec![9; 10_000]);
    for _ in 0..30 {
        store.append(&long, Class::Fact, &vec![body.clone(); 10]).unwrap().await.unwrap();
    }
    for n in 0..300_usize {
        let ttl = (n % 3 == 0).then_some(MINUTE * 5);
        let key = format!("{}/{n}", ["session", "question"][n % 2]);
        store.put(&key, vec![n as u8; n * 3].into(), Expect::Any, ttl).await.unwrap();
    }
}

type Contents = (Vec<(JournalId, JournalInfo, Vec<Record>)>, Vec<(String, Bytes, Option<u64>)>);

/// All that a store has, as far as a copy keeps it: the times of values to the minute.
async fn contents(store: &dyn Store) -> Contents {
    let mut journals = Vec::new();
    for name in store.journals(None, usize::MAX).await.unwrap() {
        let info = store.info(&name).await.unwrap().unwrap();
        let all = ReadLimit { records: usize::MAX, bytes: usize::MAX };
        let records = store.read(&name, info.first - 1, all).await.unwrap().records;
        journals.push((name, info, records));
    }
    let values = store.list("", None, usize::MAX).await.unwrap();
    let values = values.into_iter();
    let values = values.map(|(key, value)| (key, value.bytes, value.expires.map(|time| time.0 / 60_000)));
    (journals, values.collect())
}

#[tokio::test]
async fn copies_of_copies_are_the_same() {
    let mut stores = Stores::new();
    let (first, second, third) = (stores.embedded(), stores.memory(), stores.embedded());
    fill(&first, &stores.clock).await;
    let one = stores.copy(&first, &second, false).await;
    let two = stores.copy(&second, &third, false).await;
    assert!(one.is_good() && two.is_good(), "{one:?} {two:?}");
    assert_eq!(one, two);
    assert_eq!((one.journals.copied, one.values.copied, one.active), (31, 301, 7));
    assert!(one.bytes > 3_000_000, "{}", one.bytes);
    let expected = contents(&first).await;
    assert!(contents(&second).await == expected);
    assert!(contents(&third).await == expected);

    // What it does not need is not copied again, and nothing changes.
    let again = stores.copy(&second, &third, true).await;
    assert_eq!((again.journals.unchanged, again.values.unchanged, again.records), (31, 301, 0));
    assert!(contents(&third).await == expected);
}

#[tokio::test]
async fn progress_counts_up_to_the_whole() {
    let stores = Stores::new();
    let (from, to) = (stores.memory(), stores.memory());
    fill(&from, &stores.clock).await;
    let seen = std::sync::Mutex::new(Vec::new());
    let report =
        copy(&from, &to, &stores.options(false), |progress| seen.lock().unwrap().push(progress)).await;
    let seen = seen.into_inner().unwrap();
    assert!(seen.is_sorted_by_key(|progress| (progress.journals, progress.values, progress.bytes)));
    let last = seen.last().unwrap();
    assert_eq!((last.journals, last.journals_total, last.values), (31, 31, 301));
    assert_eq!(last.bytes, report.unwrap().bytes);
}

#[tokio::test]
async fn cursors_lead_to_the_same_records_in_a_copy() {
    let mut stores = Stores::new();
    let (from, to) = (stores.embedded(), stores.embedded());
    let secret = Secret::of(&from).await.unwrap();
    let lease = from.claim(&"run".into(), "driver", MINUTE).await.unwrap();
    append(&from, &lease, 0..9).await;
    let cursor = |seq| Cursor { journal: "run".into(), epoch: lease.epoch, seq, frame: 0, count: seq };
    let sealed: Vec<String> = (1..=9).map(|seq| cursor(seq).seal(&secret)).collect();
    stores.copy(&from, &to, false).await;

    let secret = Secret::of(&to).await.unwrap();
    let next = to.claim(&"run".into(), "another", MINUTE).await.unwrap();
    assert!(next.epoch > lease.epoch);
    append(&to, &next, 0..3).await;
    let info = to.info(&"run".into()).await.unwrap().unwrap();
    for (seq, text) in (1..).zip(&sealed) {
        let place = Cursor::open(text, &secret).unwrap().place(&"run".into(), &info).unwrap();
        assert_eq!(place, CursorPlace::After(seq));
    }
    // A record that the old driver wrote after the copy never was in the target.
    assert_eq!(cursor(10).place(&"run".into(), &info).unwrap(), CursorPlace::Moved(9));
}

#[tokio::test]
async fn second_pass_brings_what_changed_and_removes_what_is_gone() {
    let mut stores = Stores::new();
    let (from, to) = (stores.embedded(), stores.embedded());
    fill(&from, &stores.clock).await;
    stores.copy(&from, &to, false).await;

    stores.clock.advance(MINUTE);
    let grown = from.claim(&"run/5".into(), "another", MINUTE).await.unwrap();
    append(&from, &grown, 0..4).await;
    from.close(&from.claim(&"run/6".into(), "another", MINUTE).await.unwrap(), Some(MINUTE)).await.unwrap();
    append(&from, &from.claim(&"new".into(), "driver", MINUTE).await.unwrap(), 0..2).await;
    for name in ["run/0", "run/29"] {
        from.delete(&name.into()).await.unwrap();
    }
    from.put("session/2", "changed".into(), Expect::Any, None).await.unwrap();
    from.put("session/4", Bytes::from(vec![4; 12]), Expect::Any, Some(MINUTE)).await.unwrap();
    for key in ["question/1", "question/3", "session/298", "session/98"] {
        from.remove(key, Expect::Any).await.unwrap();
    }
    for key in ["a", "session/5", "zz"] {
        from.put(key, "new".into(), Expect::Absent, None).await.unwrap();
    }

    let report = stores.copy(&from, &to, true).await;
    assert!(report.is_good(), "{report:?}");
    let journals = report.journals;
    assert_eq!((journals.copied, journals.unchanged, journals.removed), (3, 27, 2));
    let values = report.values;
    assert_eq!((values.copied, values.unchanged, values.removed), (5, 295, 4));
    assert!(contents(&to).await == contents(&from).await);
}

#[tokio::test]
async fn target_that_is_not_a_copy_of_the_source_is_refused_and_unchanged() {
    let stores = Stores::new();
    let (from, copied, other) = (stores.memory(), stores.memory(), stores.memory());
    for store in [&from, &other] {
        fill(store, &stores.clock).await;
    }
    stores.copy(&from, &copied, false).await;
    let refused = async |to: &Memory, update: bool| {
        let before = contents(to).await;
        let error = copy(&from, to, &stores.options(update), |_| {}).await.unwrap_err();
        assert!(contents(to).await == before);
        assert_eq!(error.code(), "store.exists");
        error.to_string()
    };
    assert!(refused(&copied, false).await.contains("is not empty"));
    assert!(refused(&other, true).await.contains("has another secret"));
    let only_values = stores.memory();
    only_values.put("x", "y".into(), Expect::Any, None).await.unwrap();
    assert!(refused(&only_values, true).await.contains("has another secret"));

    // Both continued the same run.
    for store in [&from, &copied] {
        append(store, &store.claim(&"run/1".into(), "another", MINUTE).await.unwrap(), 0..1).await;
    }
    assert!(refused(&copied, true).await.contains("run/1 was written in the target"));
}

#[tokio::test]
async fn interrupted_copy_is_continued_by_an_update() {
    let mut stores = Stores::new();
    let from = stores.memory();
    fill(&from, &stores.clock).await;
    let expected = contents(&from).await;
    for writes in [1, 2, 20, 35, 60, 200] {
        let to: Arc<dyn Store> = Arc::new(stores.embedded());
        let dying = CrashingStore::new(to.clone(), writes);
        let error = copy(&from, &dying, &stores.options(false), |_| {}).await.unwrap_err();
        assert_eq!(error.code(), "store.stopped");
        let report = stores.copy(&from, &*to, true).await;
        assert!(report.is_good(), "after {writes} writes: {report:?}");
        assert!(contents(&*to).await == expected, "after {writes} writes");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn source_in_use_is_copied_up_to_what_was_visible() {
    let stores = Stores::new();
    let (from, to) = (Arc::new(stores.memory()), stores.memory());
    fill(&*from, &stores.clock).await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let busy = from.clone();
    let writer = tokio::spawn(async move {
        let mut n = 0_u64;
        while !*stopped.borrow() {
            n += 1;
            let name: JournalId = format!("live/{}", n % 7).into();
            match busy.claim(&name, "driver", MINUTE).await {
                Ok(lease) => {
                    append(&*busy, &lease, 0..n % 9).await;
                    let end = busy.info(&name).await.unwrap().unwrap().tail.last;
                    match n % 4 {
                        0 => busy.close(&lease, None).await.unwrap(),
                        1 => busy.trim(&lease, end).await.unwrap(),
                        _ => {}
                    }
                    if !n.is_multiple_of(4) {
                        busy.release(&lease).await.unwrap();
                    }
                }
                Err(_) => busy.delete(&name).await.unwrap(),
            }
            busy.put(&format!("live/{}", n % 5), n.to_string().into(), Expect::Any, None).await.unwrap();
            tokio::task::yield_now().await;
        }
        n
    });
    let mut passes = 0;
    while passes < 20 {
        let report = stores.copy(&*from, &to, passes > 0).await;
        assert!(report.is_good(), "{report:?}");
        passes += 1;
        tokio::task::yield_now().await;
    }
    stop.send_replace(true);
    assert!(writer.await.unwrap() > 0);
    stores.copy(&*from, &to, true).await;
    assert!(contents(&to).await == contents(&*from).await);
}

#[tokio::test]
async fn damaged_journals_are_named_and_all_others_are_copied() {
    let mut stores = Stores::new();
    let from = stores.embedded();
    let folder = stores.folders[0].path().to_owned();
    for (name, byte) in [("bad", b'b'), ("good", b'g')] {
        let lease = from.claim(&name.into(), "driver", MINUTE).await.unwrap();
        from.append(&lease, Class::Fact, &[Bytes::from(vec![byte; 500])]).unwrap().await.unwrap();
        from.close(&lease, None).await.unwrap();
    }
    from.put("bad", vec![b'v'; 500].into(), Expect::Any, None).await.unwrap();
    from.put("good", "x".into(), Expect::Any, None).await.unwrap();
    drop(from);
    let segment = folder.join("0000000000000001.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    for byte in [b'b', b'v'] {
        let at = bytes.windows(50).position(|window| window == [byte; 50]).unwrap();
        bytes[at + 20] ^= 1;
    }
    std::fs::write(&segment, bytes).unwrap();

    let from = Embedded::open(&folder).unwrap();
    let survey = Survey::of(&from, Depth::Everything).await.unwrap();
    assert!(!survey.is_good());
    let to = stores.memory();
    let report = copy(&from, &to, &stores.options(false), |_| {}).await.unwrap();
    assert!(!report.is_good());
    assert_eq!((report.journals.copied, report.journals.failed), (1, 1), "{report:?}");
    assert_eq!(report.problems[0].what, "journal bad");
    assert_eq!(report.problems[0].code, "store.corrupt");
    assert_eq!(to.journals(None, 9).await.unwrap(), ["good".into()]);
    assert_eq!(to.get("good").await.unwrap().unwrap().bytes, "x");
}

#[tokio::test]
async fn survey_counts_what_is_there() {
    let mut stores = Stores::new();
    let store = stores.embedded();
    assert_eq!(Survey::of(&store, Depth::Everything).await.unwrap(), Survey::default());
    let began = stores.clock.now();
    fill(&store, &stores.clock).await;
    for depth in [Depth::Counts, Depth::Everything] {
        let survey = Survey::of(&store, depth).await.unwrap();
        assert!(survey.is_good(), "{:?}", survey.problems);
        assert_eq!(survey.journals, JournalCounts { active: 7, waiting: 12, closed: 12, kept: 6 });
        assert_eq!(survey.journals.total(), 31);
        assert_eq!(survey.largest_journal, 3_000_000);
        let all = contents(&store).await.0;
        assert_eq!(survey.records, all.iter().map(|(_, _, records)| records.len() as u64).sum::<u64>());
        assert_eq!(survey.record_bytes, all.iter().map(|(_, info, _)| info.bytes).sum::<u64>());
        assert!(survey.oldest.is_some_and(|oldest| oldest > began) && survey.oldest < survey.newest);
        let session = survey.values["session"];
        assert_eq!(session, ValueCounts { count: 150, bytes: 67_050, expiring: 50 });
        assert_eq!(survey.values["secret"], ValueCounts { count: 1, bytes: 32, expiring: 0 });
        assert_eq!(survey.values.len(), 3);
    }
}
