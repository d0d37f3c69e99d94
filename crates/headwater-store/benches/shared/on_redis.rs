//! Redis without the store: the limit of what can be had, and one write per record.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use headwater_testkit::engines::RedisServer;
use redis::aio::MultiplexedConnection;
use tokio::{sync::mpsc, task::JoinSet};

use crate::{
    EACH, PACED_RECORDS, PACED_RUNS, RECORD, RUNS, SECONDS,
    engine::Engine,
    node::{print, ready, repeat},
    samples::{Samples, record, text},
};

impl Engine for RedisServer {
    const HAS_RESUMABLE_STREAM: bool = true;

    fn url(&self) -> String {
        self.url()
    }

    fn clear(&self) {
        self.command(&["FLUSHALL"]);
    }

    fn connections(&self) -> usize {
        self.command(&["CLIENT", "LIST"]).lines().filter(|line| line.contains(" addr=127.0.0.1:")).count()
    }

    fn process(&self) -> u32 {
        self.pid().unwrap()
    }

    fn bytes(&self) -> (f64, f64) {
        let info = self.command(&["INFO", "everything"]);
        let number = |name: &str| -> f64 {
            info.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().parse().unwrap()
        };
        // Without the buffers of connections, which come and go.
        (number("used_memory_dataset:"), number("aof_current_size:"))
    }
}

async fn connect(url: &str) -> MultiplexedConnection {
    redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}

/// Writes batches of packed entries, one per run, each batch in one request.
pub(crate) async fn bare(url: &str, node: &str) {
    let mut connection = connect(url).await;
    let packed = text(RECORD * EACH);
    repeat(async || {
        // As a transaction: a server reads a long pipeline in pieces, and would fsync after each of them.
        let mut pipeline = redis::pipe();
        pipeline.atomic();
        for run in 0..RUNS {
            pipeline.cmd("XADD").arg(format!("bare:{node}:{run}")).arg("*").arg("p").arg(&packed).ignore();
        }
        let () = pipeline.query_async(&mut connection).await.unwrap();
        (RUNS * EACH) as u64
    })
    .await;
}

/// Writes one record in each request, over 64 connections.
pub(crate) async fn naive(url: &str) {
    let connections = futures_util::future::join_all((0..64).map(|_| connect(url))).await;
    ready().await;
    let begun = std::time::Instant::now();
    let mut writers = JoinSet::new();
    for (writer, mut connection) in connections.into_iter().enumerate() {
        writers.spawn(async move {
            let (record, mut records) = (text(RECORD), 0);
            while begun.elapsed() < Duration::from_secs(SECONDS) {
                let mut add = redis::cmd("XADD");
                add.arg(format!("naive:{writer}")).arg("*").arg("p").arg(&record);
                let _: String = add.query_async(&mut connection).await.unwrap();
                records += 1;
            }
            records
        });
    }
    print(writers.join_all().await.iter().sum(), begun);
}

const CHANNEL: &str = "bare-paced";

/// Writes records at the same pace as a node does. What comes while a request is under way is the next one.
pub(crate) async fn pace(url: &str) {
    let mut connection = connect(url).await;
    let (send, mut receive) = mpsc::unbounded_channel();
    ready().await;
    let writing = tokio::spawn(async move {
        let mut batch = Vec::new();
        while receive.recv_many(&mut batch, PACED_RECORDS).await > 0 {
            let mut pipeline = redis::pipe();
            pipeline.atomic();
            for (run, record) in batch.drain(..) {
                let record: bytes::Bytes = record;
                pipeline.cmd("XADD").arg(format!("paced:{run}")).arg("*").arg("p").arg(&record[..]).ignore();
            }
            pipeline.cmd("PUBLISH").arg(CHANNEL).arg("").ignore();
            let () = pipeline.query_async(&mut connection).await.unwrap();
        }
    });
    let mut tick = tokio::time::interval(Duration::from_millis(1));
    for place in 0..PACED_RECORDS {
        tick.tick().await;
        send.send((place % PACED_RUNS, record())).unwrap();
    }
    drop(send);
    writing.await.unwrap();
    println!("records={PACED_RECORDS}");
}

/// The key of a stream and its entries: the id, and the name and content of its one field.
type Stream = (String, Vec<(String, (String, Vec<u8>))>);

/// Reads all runs whenever something was announced.
pub(crate) async fn read(url: &str) {
    let mut connection = connect(url).await;
    let mut listening = redis::Client::open(url).unwrap().get_async_pubsub().await.unwrap();
    listening.subscribe(CHANNEL).await.unwrap();
    let mut announced = listening.into_on_message();
    let samples = Arc::new(Samples::default());
    let mut after = vec!["0".to_owned(); PACED_RUNS];
    ready().await;
    loop {
        announced.next().await.unwrap();
        let mut read = redis::cmd("XREAD");
        read.arg("STREAMS");
        for run in 0..PACED_RUNS {
            read.arg(format!("paced:{run}"));
        }
        read.arg(&after);
        let found: Option<Vec<Stream>> = read.query_async(&mut connection).await.unwrap();
        for (stream, entries) in found.into_iter().flatten() {
            let run: usize = stream.strip_prefix("paced:").unwrap().parse().unwrap();
            for (id, (_, body)) in entries {
                after[run] = id;
                if samples.note(&body) == PACED_RECORDS {
                    return samples.print();
                }
            }
        }
    }
}
