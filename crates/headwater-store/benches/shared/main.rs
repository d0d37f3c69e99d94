//! How fast the stores on Redis and Postgres are, beside the bare engine with the same batching, which is the limit, and
//! beside one write per record, which is what most programs do. `cargo xtask bench redis`, `cargo xtask bench postgres`.
//!
//! A node is a store of its own with its own connections; all nodes are in this process.
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
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::future::join_all;
use headwater_store::{Class, JournalId, PostgresStore, ReadLimit, RedisStore, Store, remote::Options};
use headwater_testkit::engines::{PostgresServer, RedisServer};
use tokio_postgres::types::Type;

const RECORD: usize = 200;
const TTL: Duration = Duration::from_secs(3_600);
/// Runs of each node, and what each appends before its last record, a fact, is waited for.
const RUNS: usize = 100;
const EACH: usize = 10;
const SECONDS: u64 = 4;
const READERS: usize = 5_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let wanted = |name: &str| {
        let named: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
        named.is_empty() || named.iter().any(|engine| engine == name)
    };
    let mut missed = 0;
    let redis = || RedisServer::options().config("appendfsync always").start();
    if let Some(server) = wanted("redis").then(redis).flatten() {
        println!("== Redis, appendfsync always");
        missed += runtime.block_on(measure(&server));
    }
    if let Some(server) = wanted("postgres").then(PostgresServer::start).flatten() {
        println!("== Postgres, fsync on");
        missed += runtime.block_on(measure(&server));
    }
    std::process::exit(i32::from(missed > 0));
}

/// A server, and what it takes to write to it without a store.
trait Engine: Sync {
    /// The aim for the 99th percentile of a wake-up, in milliseconds.
    const WAKE_UP: f64;

    async fn open(&self) -> Arc<dyn Store>;
    /// Writes batches of packed entries, one per run, each batch in one request, until a moment. Gives how many.
    fn bare(&self, writer: usize, until: Instant) -> impl Future<Output = u64> + Send;
    /// Writes one record in each request until a moment. Gives how many.
    fn naive(&self, writer: usize, until: Instant) -> impl Future<Output = u64> + Send;
    fn connections(&self) -> usize;
    /// The processes of the server.
    fn pids(&self) -> Vec<u32>;
    /// What the server keeps.
    fn bytes(&self) -> u64;
}

impl Engine for RedisServer {
    const WAKE_UP: f64 = 5.0;

    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(RedisStore::connect(&self.url(), Options::default()).await.unwrap())
    }

    async fn bare(&self, writer: usize, until: Instant) -> u64 {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let packed = text(RECORD * EACH);
        let mut batches = 0;
        while Instant::now() < until {
            // As a transaction: a server reads a long pipeline in pieces, and would fsync after each of them.
            let mut pipeline = redis::pipe();
            pipeline.atomic();
            for run in 0..RUNS {
                pipeline
                    .cmd("XADD")
                    .arg(format!("bare:{writer}:{run}"))
                    .arg("*")
                    .arg("p")
                    .arg(&packed)
                    .ignore();
            }
            let () = pipeline.query_async(&mut connection).await.unwrap();
            batches += 1;
        }
        batches
    }

    async fn naive(&self, writer: usize, until: Instant) -> u64 {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let (record, mut records) = (text(RECORD), 0);
        while Instant::now() < until {
            let mut add = redis::cmd("XADD");
            add.arg(format!("naive:{writer}")).arg("*").arg("p").arg(&record);
            let _: String = add.query_async(&mut connection).await.unwrap();
            records += 1;
        }
        records
    }

    fn connections(&self) -> usize {
        self.command(&["CLIENT", "LIST"]).lines().filter(|line| line.contains(" addr=127.0.0.1:")).count()
    }

    fn pids(&self) -> Vec<u32> {
        self.pid().into_iter().collect()
    }

    fn bytes(&self) -> u64 {
        let info = self.command(&["INFO", "memory"]);
        info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap().trim().parse().unwrap()
    }
}

impl Engine for PostgresServer {
    const WAKE_UP: f64 = 15.0;

    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(PostgresStore::connect(&self.url(), Options::default()).await.unwrap())
    }

    async fn bare(&self, writer: usize, until: Instant) -> u64 {
        let client = connect(&self.url()).await;
        let make =
            "CREATE TABLE IF NOT EXISTS bare (run int8, last int8, packed bytea, PRIMARY KEY (run, last))";
        // Two that make it at the same time may meet: then it is there.
        let _ = client.batch_execute(make).await;
        let packed = text(RECORD * EACH);
        let packed: Vec<&[u8]> = vec![&packed; RUNS];
        let runs: Vec<i64> = (0..RUNS).map(|run| (writer * RUNS + run) as i64).collect();
        let mut batches = 0;
        while Instant::now() < until {
            let lasts = vec![batches as i64; RUNS];
            let insert = "INSERT INTO bare SELECT * FROM unnest($1::int8[], $2::int8[], $3::bytea[])";
            let parameters = [
                (&runs as _, Type::INT8_ARRAY),
                (&lasts as _, Type::INT8_ARRAY),
                (&packed as _, Type::BYTEA_ARRAY),
            ];
            client.query_typed(insert, &parameters).await.unwrap();
            batches += 1;
        }
        batches
    }

    async fn naive(&self, writer: usize, until: Instant) -> u64 {
        let client = connect(&self.url()).await;
        let make =
            "CREATE TABLE IF NOT EXISTS chunks (run int8, seq int8, chunk bytea, PRIMARY KEY (run, seq))";
        let _ = client.batch_execute(make).await;
        let (record, mut records) = (text(RECORD), 0_i64);
        let insert = client.prepare("INSERT INTO chunks VALUES ($1, $2, $3)").await.unwrap();
        while Instant::now() < until {
            client.execute(&insert, &[&(writer as i64), &records, &record]).await.unwrap();
            records += 1;
        }
        records as u64
    }

    fn connections(&self) -> usize {
        let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'headwater'";
        self.query("headwater", count).trim().parse().unwrap()
    }

    fn pids(&self) -> Vec<u32> {
        let pids = self.query("headwater", "SELECT pid FROM pg_stat_activity");
        pids.lines().filter_map(|line| line.trim().parse().ok()).chain(self.pid()).collect()
    }

    fn bytes(&self) -> u64 {
        let size = "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
                    WHERE nspname = 'headwater' AND relname IN ('journals', 'entries')";
        self.query("headwater", size).trim().parse().unwrap()
    }
}

/// Letters that no engine compresses to nothing.
fn text(length: usize) -> Vec<u8> {
    let next = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(b'a' + ((*state >> 33) % 26) as u8)
    };
    (0..length).scan(7_u64, |state, _| next(state)).collect()
}

async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The time of the processor that processes have used.
fn processor_time(pids: &[u32]) -> Duration {
    let ticks = |pid: &u32| -> u64 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
    };
    // A tick is 10 ms on every Linux.
    Duration::from_millis(pids.iter().map(ticks).sum::<u64>() * 10)
}

async fn measure<E: Engine>(server: &E) -> usize {
    let mut missed = 0;
    let mut aim = |what: &str, value: f64, met: bool| {
        println!("{} {what}: {value:.2}", if met { "met   " } else { "MISSED" });
        missed += usize::from(!met);
    };
    let stores = join_all((0..3).map(|_| server.open())).await;
    for nodes in 1..=3 {
        let until = Instant::now() + Duration::from_secs(SECONDS);
        let writers = (0..nodes).map(|node| server.bare(nodes * 10 + node, until));
        let batches: u64 = join_all(writers).await.iter().sum();
        let bare = batches as f64 * (RUNS * EACH) as f64 / SECONDS as f64;

        let (size, pids) = (server.bytes(), server.pids());
        let (busy, begun) = (processor_time(&pids), Instant::now());
        let until = begun + Duration::from_secs(SECONDS);
        let appended = AtomicU64::new(0);
        join_all(
            stores[..nodes]
                .iter()
                .enumerate()
                .map(|(node, store)| append(store, node, nodes, until, &appended)),
        )
        .await;
        let (seconds, records) = (begun.elapsed().as_secs_f64(), appended.load(Ordering::Relaxed) as f64);
        let busy = (processor_time(&pids).saturating_sub(busy)).as_secs_f64();
        let ours = records / seconds;
        println!(
            "{nodes} nodes: {ours:.0} records/s ({:.1} MB/s), bare {bare:.0}; engine {:.1} ms and {:.0} KB per 1,000 records",
            ours * RECORD as f64 / 1e6,
            busy * 1e6 / records,
            (server.bytes().saturating_sub(size)) as f64 / records,
        );
        aim(&format!("appends over {nodes} nodes, share of bare ≥ 0.6"), ours / bare, ours / bare >= 0.6);
    }
    let until = Instant::now() + Duration::from_secs(SECONDS);
    let naive: u64 = join_all((0..64).map(|writer| server.naive(writer, until))).await.iter().sum();
    println!("one write per record, 64 writers: {:.0} records/s", naive as f64 / SECONDS as f64);

    for class in [Class::Fact, Class::Delta] {
        let mut delays = wake_ups(&stores[0], &stores[1], class).await;
        delays.sort_by(f64::total_cmp);
        let (half, most) = (delays[delays.len() / 2], delays[delays.len() * 99 / 100]);
        println!("append to reader on another node, {class}: p50 {half:.2} ms, p99 {most:.2} ms");
        if class == Class::Fact {
            aim(&format!("wake-up p99 ≤ {} ms", E::WAKE_UP), most, most <= E::WAKE_UP);
        }
    }
    let connections = readers(server, &stores[2]).await;
    aim(&format!("connections of a node with {READERS} readers ≤ 8"), connections as f64, connections <= 8);
    missed
}

/// Appends rounds of records to all runs of a node until a moment.
async fn append(store: &Arc<dyn Store>, node: usize, nodes: usize, until: Instant, appended: &AtomicU64) {
    let body = Bytes::from(text(RECORD));
    let claims = (0..RUNS).map(|run| {
        let journal: JournalId = format!("{nodes}/{node}/{run}").into();
        async move { store.claim(&journal, "bench", TTL).await.unwrap() }
    });
    let leases = join_all(claims).await;
    while Instant::now() < until {
        let mut receipts = Vec::with_capacity(RUNS);
        for lease in &leases {
            for _ in 1..EACH {
                drop(store.append(lease, Class::Delta, std::slice::from_ref(&body)).unwrap());
            }
            receipts.push(store.append(lease, Class::Fact, std::slice::from_ref(&body)).unwrap());
        }
        for receipt in receipts {
            receipt.await.unwrap();
        }
        appended.fetch_add((RUNS * EACH) as u64, Ordering::Relaxed);
    }
    for lease in &leases {
        store.close(lease, None).await.unwrap();
    }
}

/// The milliseconds from an append on one node until a reader on another has the record.
async fn wake_ups(writer: &Arc<dyn Store>, reader: &Arc<dyn Store>, class: Class) -> Vec<f64> {
    let journal: JournalId = format!("wake-ups {class}").into();
    let lease = writer.claim(&journal, "bench", TTL).await.unwrap();
    let mut delays = Vec::new();
    for seq in 1..=1_000 {
        let reading = tokio::spawn({
            let (reader, journal) = (reader.clone(), journal.clone());
            async move {
                reader.wait(&journal, seq - 1).await.unwrap();
                let page = reader.read(&journal, seq - 1, ReadLimit::default()).await.unwrap();
                assert_eq!(page.records.len(), 1);
                Instant::now()
            }
        });
        tokio::time::sleep(Duration::from_millis(1)).await;
        let appended = Instant::now();
        drop(writer.append(&lease, class, &[Bytes::from_static(b"x")]).unwrap());
        delays.push(reading.await.unwrap().duration_since(appended).as_secs_f64() * 1e3);
    }
    delays
}

/// The connections of a node with many readers of many runs.
async fn readers<E: Engine>(server: &E, store: &Arc<dyn Store>) -> usize {
    // The other two nodes are idle, but connected.
    let others = server.connections() * 2 / 3;
    let mut leases = Vec::new();
    let mut waiting = tokio::task::JoinSet::new();
    for run in 0..RUNS {
        let lease = store.claim(&format!("readers {run}").into(), "bench", TTL).await.unwrap();
        for _ in 0..READERS / RUNS {
            let (store, journal) = (store.clone(), lease.journal.clone());
            waiting.spawn(async move { store.wait(&journal, 0).await.unwrap() });
        }
        leases.push(lease);
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let connections = server.connections() - others;
    for lease in &leases {
        store.append(lease, Class::Fact, &["x".into()]).unwrap().await.unwrap();
    }
    while let Some(woken) = waiting.join_next().await {
        assert_eq!(woken.unwrap().last, 1);
    }
    connections
}
