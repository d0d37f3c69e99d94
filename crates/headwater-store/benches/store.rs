//! How fast the stores are, beside a plain file with the same fsync, which is the limit. `cargo xtask bench store`.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench stops at the first thing that goes wrong"
)]

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use headwater_store::{
    Class, JournalId, Lease, Memory, ReadLimit, Store,
    embedded::{Embedded, Fsync, Options, Writer},
};

const RECORD: usize = 200;
const TTL: Duration = Duration::from_secs(600);
/// So many records are appended before they are waited for: what the drivers of a busy server do together.
const ROUND: usize = 1_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let missed = runtime.block_on(measure());
    std::process::exit(i32::from(missed > 0));
}

async fn measure() -> usize {
    let mut aims = Aims::default();
    // The figures for `cargo xtask bench engine`.
    if std::env::args().any(|argument| argument == "many-runs") {
        appends(&mut aims, &[10_000]).await;
        return aims.print();
    }
    appends(&mut aims, &[1, 100, 10_000]).await;
    read_back(&mut aims).await;
    wake_ups(&mut aims).await;
    aims.print()
}

/// The target and the result.
#[derive(Default)]
struct Aims(Vec<(String, f64, bool)>);

impl Aims {
    fn at_least(&mut self, what: impl Into<String>, value: f64, aim: f64) {
        self.0.push((format!("{} ≥ {aim}", what.into()), value, value >= aim));
    }

    fn at_most(&mut self, what: impl Into<String>, value: f64, aim: f64) {
        self.0.push((format!("{} ≤ {aim}", what.into()), value, value <= aim));
    }

    fn print(&self) -> usize {
        println!();
        for (what, value, met) in &self.0 {
            println!("{} {what}: {value:.2}", if *met { "met   " } else { "MISSED" });
        }
        let missed = self.0.iter().filter(|(_, _, met)| !met).count();
        println!("\n{} aims, {missed} missed", self.0.len());
        missed
    }
}

fn folder(name: &str) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-store-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn options(fsync: Fsync, writer: Writer) -> Options {
    let mut options = Options::default();
    options.fsync = fsync;
    options.writer = writer;
    options
}

fn body() -> Bytes {
    Bytes::from(vec![b'x'; RECORD])
}

async fn claim(store: &dyn Store, step: impl Fn(), runs: usize) -> Vec<Lease> {
    let mut leases = Vec::with_capacity(runs);
    for block in (0..runs).collect::<Vec<_>>().chunks(1_000) {
        let ids: Vec<JournalId> = block.iter().map(|run| format!("run_{run}").into()).collect();
        let claims = ids.iter().map(|id| store.claim(id, "bench", TTL));
        let claiming = futures_util::future::join_all(claims);
        let mut claiming = std::pin::pin!(claiming);
        let claimed = std::future::poll_fn(|cx| {
            let polled = claiming.as_mut().poll(cx);
            if polled.is_pending() {
                step();
                return claiming.as_mut().poll(cx);
            }
            polled
        })
        .await;
        leases.extend(claimed.into_iter().map(Result::unwrap));
    }
    leases
}

/// Appends facts in rounds. While one round is made durable the next is appended, as by drivers that do not know of each
/// other.
async fn append_rounds(store: &dyn Store, step: impl Fn(), leases: &[Lease], records: usize) -> f64 {
    let body = body();
    let mut lease = leases.iter().cycle();
    let begun = Instant::now();
    let mut before = Vec::new();
    for _ in 0..records / ROUND {
        let mut receipts = Vec::with_capacity(ROUND);
        for _ in 0..ROUND {
            receipts
                .push(store.append(lease.next().unwrap(), Class::Fact, std::slice::from_ref(&body)).unwrap());
        }
        step();
        for receipt in std::mem::replace(&mut before, receipts) {
            receipt.await.unwrap();
        }
    }
    for receipt in before {
        receipt.await.unwrap();
    }
    records as f64 / begun.elapsed().as_secs_f64()
}

/// A file with a length before each record: a round in one write and one fsync; or, without waiting for the disk,
/// each record as it comes.
fn plain_file(folder: &Path, fsync: Fsync, records: usize) -> f64 {
    let mut file = fs::File::create(folder.join("plain")).unwrap();
    let record = [b'x'; RECORD + 8];
    let (begun, mut synced) = (Instant::now(), Instant::now());
    let mut buffer = Vec::with_capacity(ROUND * record.len());
    for _ in 0..records / ROUND {
        if fsync == Fsync::Commit {
            buffer.clear();
            (0..ROUND).for_each(|_| buffer.extend_from_slice(&record));
            file.write_all(&buffer).unwrap();
        } else {
            (0..ROUND).for_each(|_| file.write_all(&record).unwrap());
        }
        let due = match fsync {
            Fsync::Commit => true,
            Fsync::Interval(interval) => synced.elapsed() >= interval,
            Fsync::Never => false,
        };
        if due {
            file.sync_data().unwrap();
            synced = Instant::now();
        }
    }
    records as f64 / begun.elapsed().as_secs_f64()
}

fn redb(folder: &Path, runs: usize, records: usize) -> f64 {
    const TABLE: redb::TableDefinition<'_, (u64, u64), &[u8]> = redb::TableDefinition::new("records");
    let database = redb::Database::create(folder.join("redb")).unwrap();
    let record = [b'x'; RECORD];
    let begun = Instant::now();
    for round in 0..records / ROUND {
        let transaction = database.begin_write().unwrap();
        let mut table = transaction.open_table(TABLE).unwrap();
        for at in 0..ROUND {
            let number = round * ROUND + at;
            table.insert(((number % runs) as u64, (number / runs) as u64), &record[..]).unwrap();
        }
        drop(table);
        transaction.commit().unwrap();
    }
    records as f64 / begun.elapsed().as_secs_f64()
}

async fn appends(aims: &mut Aims, journals: &[usize]) {
    println!("Appends of {RECORD}-byte records per second, {ROUND} at a time, in thousands\n");
    println!("| fsync | runs | plain file | embedded | ratio | without its thread | redb | memory |");
    println!("|---|---|---|---|---|---|---|---|");
    let policies = [
        ("commit", Fsync::Commit),
        ("interval", Fsync::Interval(Duration::from_millis(100))),
        ("never", Fsync::Never),
    ];
    for (name, fsync) in policies {
        let records = if fsync == Fsync::Commit { 200_000 } else { 400_000 };
        for &runs in journals {
            // The speed of the disk varies from second to second, so the compared runs alternate.
            let (mut plain, mut ours, mut bare) = (Vec::new(), Vec::new(), Vec::new());
            let mut disk = 0.0;
            for _ in 0..3 {
                let place = folder("appends");
                plain.push(plain_file(&place, fsync, records));
                let data = place.join("data");
                let store = Embedded::open_folder(&data, options(fsync, Writer::Thread)).unwrap();
                let leases = claim(&store, || (), runs).await;
                let before = size_of(&data);
                ours.push(append_rounds(&store, || (), &leases, records).await);
                store.flush().await.unwrap();
                disk = (size_of(&data) - before) as f64 / (records * RECORD) as f64;
                drop(store);
                let store =
                    Embedded::open_folder(place.join("bare"), options(fsync, Writer::Manual)).unwrap();
                let step = || {
                    store.step().unwrap();
                };
                let leases = claim(&store, step, runs).await;
                bare.push(append_rounds(&store, step, &leases, records).await);
                drop(store);
                fs::remove_dir_all(&place).unwrap();
            }
            let place = folder("others");
            let redb = (fsync == Fsync::Commit).then(|| redb(&place, runs, 50_000) / 1e3);
            fs::remove_dir_all(&place).unwrap();
            let memory = Memory::new();
            let leases = claim(&memory, || (), runs).await;
            let memory = append_rounds(&memory, || (), &leases, records).await / 1e3;
            let (plain, ours, bare) = (middle(plain) / 1e3, middle(ours) / 1e3, middle(bare) / 1e3);
            let redb = redb.map_or_else(String::new, |redb| format!("{redb:.0}"));
            let ratio = ours / plain;
            println!(
                "| {name} | {runs} | {plain:.0} | {ours:.0} | {ratio:.2} | {bare:.0} | {redb} | {memory:.0} |"
            );
            if runs == 10_000 {
                println!(r#"{{"figure":"appends ÷ plain file","of":"{name}","value":{ratio:.4}}}"#);
            }
            aims.at_least(format!("appends, {name}, {runs} runs, × the plain file"), ratio, 0.5);
            aims.at_most(format!("bytes on disk per byte of record, {name}, {runs} runs"), disk, 1.5);
        }
    }
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn size_of(folder: &Path) -> u64 {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

async fn read_back(_aims: &mut Aims) {
    let place = folder("read");
    let records = 400_000;
    {
        let store = Embedded::open_folder(&place, options(Fsync::Never, Writer::Thread)).unwrap();
        let leases = claim(&store, || (), 100).await;
        append_rounds(&store, || (), &leases, records).await;
    }
    let store = Embedded::open_folder(&place, options(Fsync::Never, Writer::Thread)).unwrap();
    let (mut read, begun) = (0, Instant::now());
    for run in 0..100 {
        let (id, mut after) = (JournalId::from(format!("run_{run}")), 0);
        loop {
            let page = store.read(&id, after, ReadLimit::default()).await.unwrap();
            let Some(last) = page.records.last() else { break };
            after = last.seq;
            read += page.records.len();
        }
    }
    assert_eq!(read, records);
    let speed = (records * RECORD) as f64 / begun.elapsed().as_secs_f64() / 1e6;
    println!("\nread back after a restart, 100 runs: {speed:.0} MB/s");
    drop(store);
    fs::remove_dir_all(&place).unwrap();
}

async fn wake_ups(aims: &mut Aims) {
    println!("\nFrom an append to a waiting reader, in µs\n");
    println!("| store | class | p50 | p99 |");
    println!("|---|---|---|---|");
    let place = folder("wake");
    let memory: Arc<dyn Store> = Arc::new(Memory::new());
    let never = Embedded::open_folder(place.join("never"), options(Fsync::Never, Writer::Thread)).unwrap();
    let commit = Embedded::open_folder(place.join("commit"), options(Fsync::Commit, Writer::Thread)).unwrap();
    let (never, commit): (Arc<dyn Store>, Arc<dyn Store>) = (Arc::new(never), Arc::new(commit));
    let cases = [
        ("memory", &memory, Class::Delta, true),
        ("embedded, never", &never, Class::Delta, true),
        ("embedded, never", &never, Class::Fact, true),
        ("embedded, commit", &commit, Class::Delta, true),
        ("embedded, commit", &commit, Class::Fact, false),
    ];
    for (at, (name, store, class, aimed)) in cases.into_iter().enumerate() {
        let (p50, p99) = wake_up(store, at, class).await;
        println!("| {name} | {class} | {p50:.1} | {p99:.1} |");
        if aimed {
            aims.at_most(format!("wake-up p99 in µs, {name}, {class}"), p99, 1_000.0);
        }
    }
    drop((never, commit));
    fs::remove_dir_all(&place).unwrap();
}

async fn wake_up(store: &Arc<dyn Store>, at: usize, class: Class) -> (f64, f64) {
    const SAMPLES: u64 = 5_000;
    let id = JournalId::from(format!("wake_{at}"));
    let lease = store.claim(&id, "bench", TTL).await.unwrap();
    let start = Instant::now();
    let appended = Arc::new(AtomicU64::new(0));
    let reader = tokio::spawn({
        let (store, id, appended) = (store.clone(), id.clone(), appended.clone());
        async move {
            let mut waits = Vec::with_capacity(SAMPLES as usize);
            let mut after = 0;
            while after < SAMPLES {
                store.wait(&id, after).await.unwrap();
                let page = store.read(&id, after, ReadLimit::default()).await.unwrap();
                let now = start.elapsed().as_nanos() as u64;
                after = page.records.last().map_or(after, |record| record.seq);
                waits.push((now - appended.load(Ordering::SeqCst)) as f64 / 1e3);
            }
            waits
        }
    });
    for _ in 0..SAMPLES {
        // The reader is asleep again before the next one.
        tokio::time::sleep(Duration::from_micros(200)).await;
        appended.store(start.elapsed().as_nanos() as u64, Ordering::SeqCst);
        store.append(&lease, class, &[body()]).unwrap().await.unwrap();
    }
    let mut waits = reader.await.unwrap();
    waits.sort_by(f64::total_cmp);
    (waits[waits.len() / 2], waits[waits.len() * 99 / 100])
}
