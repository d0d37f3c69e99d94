//! What one process of the bench does: a node with a store, or a writer or reader of the bare engine.

use std::{
    io::BufRead as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use headwater_store::{
    Class, JournalId, Lease, PostgresStore, ReadLimit, RedisStore, Store, remote::Options,
};
use tokio::task::JoinSet;

use crate::{
    EACH, LEASE, PACED_RECORDS, PACED_RUNS, READERS, RECORD, RUNS, SECONDS, on_postgres, on_redis,
    samples::{Samples, record, text},
};

pub(crate) const FLAG: &str = "--node";

/// Does what a role says, and waits for the end of its input.
pub(crate) fn run(role: &[&str]) {
    // As many threads as the machine has cores, as in the server.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        match *role {
            ["append", url, node] => append(&open(url).await, node).await,
            ["follow", url] => follow(&open(url).await).await,
            ["pace", url, class] => pace(&open(url).await, class).await,
            ["read", url] => read(&open(url).await).await,
            ["one", url] => one(&open(url).await).await,
            ["wait", url] => wait(&open(url).await).await,
            ["bare", url, node] if is_redis(url) => on_redis::bare(url, node).await,
            ["naive", url, _] if is_redis(url) => on_redis::naive(url).await,
            ["bare-pace", url, _] if is_redis(url) => on_redis::pace(url).await,
            ["bare-read", url] if is_redis(url) => on_redis::read(url).await,
            ["bare", url, node] => on_postgres::bare(url, node).await,
            ["naive", url, _] => on_postgres::naive(url).await,
            ["bare-pace", url, _] => on_postgres::pace(url).await,
            ["bare-read", url] => on_postgres::read(url).await,
            _ => panic!("unknown role {role:?}"),
        }
    });
    line();
}

fn is_redis(url: &str) -> bool {
    url.starts_with("redis")
}

fn line() {
    let _ = std::io::stdin().lock().read_line(&mut String::new());
}

/// Reports that this process is ready, and waits for the signal to begin.
pub(crate) async fn ready() {
    println!("ready");
    tokio::task::spawn_blocking(line).await.unwrap();
}

/// Prints how many records were written or read, and in how long a time.
pub(crate) fn print(records: u64, since: Instant) {
    println!("records={records} seconds={}", since.elapsed().as_secs_f64());
}

/// Lets something happen again and again for as long as a pass takes, and prints how many records that made.
pub(crate) async fn repeat(mut batch: impl AsyncFnMut() -> u64) {
    ready().await;
    let (begun, mut records) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(SECONDS) {
        records += batch().await;
    }
    print(records, begun);
}

async fn open(url: &str) -> Arc<dyn Store> {
    if is_redis(url) {
        Arc::new(RedisStore::connect(url, Options::default()).await.unwrap())
    } else {
        Arc::new(PostgresStore::connect(url, Options::default()).await.unwrap())
    }
}

fn name(node: &str, run: usize) -> JournalId {
    format!("{node}/{run}").into()
}

async fn claim(store: &Arc<dyn Store>, node: &str, runs: usize) -> Vec<Lease> {
    let claims =
        (0..runs).map(|run| async move { store.claim(&name(node, run), "bench", LEASE).await.unwrap() });
    join_all(claims).await
}

/// Each run appends some deltas and a fact, and waits until the fact is durable.
async fn append(store: &Arc<dyn Store>, node: &str) {
    let leases = claim(store, node, RUNS).await;
    ready().await;
    let begun = Instant::now();
    let mut runs = JoinSet::new();
    for lease in leases {
        // The same bytes as in the batches of the bare engine.
        let (store, text) = (store.clone(), bytes::Bytes::from(text(RECORD * EACH)));
        let bodies: Vec<_> = (0..EACH).map(|at| text.slice(at * RECORD..(at + 1) * RECORD)).collect();
        runs.spawn(async move {
            let mut records = 0;
            let (fact, deltas) = bodies.split_last().unwrap();
            while begun.elapsed() < Duration::from_secs(SECONDS) {
                for delta in deltas {
                    drop(store.append(&lease, Class::Delta, std::slice::from_ref(delta)).unwrap());
                }
                store.append(&lease, Class::Fact, std::slice::from_ref(fact)).unwrap().await.unwrap();
                records += EACH as u64;
            }
            records
        });
    }
    print(runs.join_all().await.iter().sum(), begun);
}

/// Reads all runs of another node for as long as they are appended to.
async fn follow(store: &Arc<dyn Store>) {
    ready().await;
    let (begun, records) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let mut readers = JoinSet::new();
    for run in 0..RUNS {
        let (store, records) = (store.clone(), records.clone());
        readers.spawn(each_record(store, name("0", run), move |_| {
            records.fetch_add(1, Ordering::Relaxed);
        }));
    }
    tokio::time::sleep(Duration::from_secs(SECONDS)).await;
    print(records.load(Ordering::Relaxed), begun);
}

/// Reads a journal forever, as a stream does.
async fn each_record(store: Arc<dyn Store>, journal: JournalId, note: impl Fn(&[u8])) {
    let mut after = 0;
    loop {
        store.wait(&journal, after).await.unwrap();
        let page = store.read(&journal, after, ReadLimit::default()).await.unwrap();
        for record in page.records {
            note(&record.body);
            after = record.seq;
        }
    }
}

/// Appends one record after the other, at moments that do not depend on the store.
async fn pace(store: &Arc<dyn Store>, class: &str) {
    let class = if class == "fact" { Class::Fact } else { Class::Delta };
    let leases = claim(store, "0", PACED_RUNS).await;
    ready().await;
    let mut tick = tokio::time::interval(Duration::from_millis(1));
    for place in 0..PACED_RECORDS {
        tick.tick().await;
        drop(store.append(&leases[place % PACED_RUNS], class, &[record()]).unwrap());
    }
    store.flush().await.unwrap();
    println!("records={PACED_RECORDS}");
}

/// Reads all that another node paces.
async fn read(store: &Arc<dyn Store>) {
    let samples = Arc::new(Samples::default());
    let (done, all) = tokio::sync::oneshot::channel();
    let done = Arc::new(std::sync::Mutex::new(Some(done)));
    let mut readers = JoinSet::new();
    for run in 0..PACED_RUNS {
        let (samples, done) = (samples.clone(), done.clone());
        readers.spawn(each_record(store.clone(), name("0", run), move |record| {
            if samples.note(record) == PACED_RECORDS {
                done.lock().unwrap().take().unwrap().send(()).unwrap();
            }
        }));
    }
    ready().await;
    all.await.unwrap();
    samples.print();
}

/// Appends one fact to each run.
async fn one(store: &Arc<dyn Store>) {
    let leases = claim(store, "0", RUNS).await;
    ready().await;
    for lease in &leases {
        drop(store.append(lease, Class::Fact, &[record()]).unwrap());
    }
    store.flush().await.unwrap();
    println!("records={RUNS}");
}

/// Waits with many readers for the first record of each run.
async fn wait(store: &Arc<dyn Store>) {
    let samples = Arc::new(Samples::default());
    let mut readers = JoinSet::new();
    for reader in 0..READERS {
        let (store, journal, samples) = (store.clone(), name("0", reader % RUNS), samples.clone());
        readers.spawn(async move {
            store.wait(&journal, 0).await.unwrap();
            let page = store.read(&journal, 0, ReadLimit::default()).await.unwrap();
            samples.note(&page.records[0].body);
        });
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    ready().await;
    readers.join_all().await;
    samples.print();
}
