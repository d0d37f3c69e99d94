//! Postgres without the store: the limit of what can be had, and one row per record.

use std::{sync::Arc, time::Duration};

use futures_util::future::{join_all, poll_fn};
use headwater_testkit::engines::PostgresServer;
use tokio::{sync::mpsc, task::JoinSet};
use tokio_postgres::{AsyncMessage, Client, NoTls, types::Type};

use crate::{
    EACH, PACED_RECORDS, PACED_RUNS, RECORD, RUNS, SECONDS,
    engine::Engine,
    node::{print, ready, repeat},
    samples::{Samples, record, text},
};

const DATABASE: &str = "headwater";

impl Engine for PostgresServer {
    const HAS_RESUMABLE_STREAM: bool = false;

    fn url(&self) -> String {
        self.url()
    }

    fn clear(&self) {
        self.query(DATABASE, "DROP SCHEMA IF EXISTS headwater, bare CASCADE");
        // So that all passes begin with the same distance to the next one.
        self.query(DATABASE, "CHECKPOINT");
    }

    fn connections(&self) -> usize {
        let count = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'headwater'";
        self.query(DATABASE, count).trim().parse().unwrap()
    }

    fn process(&self) -> u32 {
        self.pid().unwrap()
    }

    fn bytes(&self) -> (f64, f64) {
        let number = |statement: &str| self.query(DATABASE, statement).trim().parse().unwrap();
        let kept = number("SELECT pg_database_size('headwater')");
        (kept, number("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"))
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Makes a table. Two that make it at the same time may meet: then it is there.
async fn make(client: &Client, table: &str) {
    let _ = client.batch_execute("CREATE SCHEMA IF NOT EXISTS bare").await;
    let _ = client.batch_execute(&format!("CREATE TABLE IF NOT EXISTS bare.{table}")).await;
}

/// Writes batches of packed entries, one per run, each batch in one statement.
pub(crate) async fn bare(url: &str, node: &str) {
    let client = connect(url).await;
    make(&client, "entries (run int8, last int8, packed bytea, PRIMARY KEY (run, last))").await;
    let packed = text(RECORD * EACH);
    let packed: Vec<&[u8]> = vec![&packed; RUNS];
    let node: usize = node.parse().unwrap();
    let runs: Vec<i64> = (0..RUNS).map(|run| (node * RUNS + run) as i64).collect();
    let mut batches = 0_i64;
    repeat(async || {
        let lasts = vec![batches; RUNS];
        let insert = "INSERT INTO bare.entries SELECT * FROM unnest($1::int8[], $2::int8[], $3::bytea[])";
        let parameters = [
            (&runs as _, Type::INT8_ARRAY),
            (&lasts as _, Type::INT8_ARRAY),
            (&packed as _, Type::BYTEA_ARRAY),
        ];
        client.query_typed(insert, &parameters).await.unwrap();
        batches += 1;
        (RUNS * EACH) as u64
    })
    .await;
}

/// Writes one row per record, over 64 connections.
pub(crate) async fn naive(url: &str) {
    let clients = join_all((0..64).map(|_| connect(url))).await;
    make(&clients[0], "chunks (run int8, seq int8, chunk bytea, PRIMARY KEY (run, seq))").await;
    ready().await;
    let begun = std::time::Instant::now();
    let mut writers = JoinSet::new();
    for (writer, client) in (0_i64..).zip(clients) {
        writers.spawn(async move {
            let (record, mut records) = (text(RECORD), 0_i64);
            let insert = client.prepare("INSERT INTO bare.chunks VALUES ($1, $2, $3)").await.unwrap();
            while begun.elapsed() < Duration::from_secs(SECONDS) {
                client.execute(&insert, &[&writer, &records, &record]).await.unwrap();
                records += 1;
            }
            records as u64
        });
    }
    print(writers.join_all().await.iter().sum(), begun);
}

const CHANNEL: &str = "bare_paced";

/// Writes records at the same pace as a node does. What comes while a statement is under way is the next one.
pub(crate) async fn pace(url: &str) {
    let client = connect(url).await;
    make(&client, "paced (id bigserial PRIMARY KEY, run int8, packed bytea)").await;
    let (send, mut receive) = mpsc::unbounded_channel();
    ready().await;
    let writing = tokio::spawn(async move {
        let mut batch: Vec<(i64, bytes::Bytes)> = Vec::new();
        while receive.recv_many(&mut batch, PACED_RECORDS).await > 0 {
            let runs: Vec<i64> = batch.iter().map(|(run, _)| *run).collect();
            let packed: Vec<&[u8]> = batch.iter().map(|(_, record)| &record[..]).collect();
            let insert = "INSERT INTO bare.paced (run, packed) SELECT * FROM unnest($1::int8[], $2::bytea[])";
            let parameters = [(&runs as _, Type::INT8_ARRAY), (&packed as _, Type::BYTEA_ARRAY)];
            let announce = format!("NOTIFY {CHANNEL}");
            let (written, announced) =
                tokio::join!(client.query_typed(insert, &parameters), client.batch_execute(&announce));
            written.unwrap();
            announced.unwrap();
            batch.clear();
        }
    });
    let mut tick = tokio::time::interval(Duration::from_millis(1));
    for place in 0..PACED_RECORDS {
        tick.tick().await;
        send.send(((place % PACED_RUNS) as i64, record())).unwrap();
    }
    drop(send);
    writing.await.unwrap();
    println!("records={PACED_RECORDS}");
}

/// Reads all runs whenever something was announced.
pub(crate) async fn read(url: &str) {
    let client = connect(url).await;
    let (listener, mut connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let (announce, mut announced) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(_) = message {
                let _ = announce.send(());
            }
        }
    });
    listener.batch_execute(&format!("LISTEN {CHANNEL}")).await.unwrap();
    let samples = Arc::new(Samples::default());
    let mut after = 0_i64;
    ready().await;
    loop {
        announced.recv().await.unwrap();
        let select = "SELECT id, packed FROM bare.paced WHERE id > $1 ORDER BY id";
        for row in client.query_typed(select, &[(&after, Type::INT8)]).await.unwrap() {
            after = row.get(0);
            if samples.note(row.get(1)) == PACED_RECORDS {
                return samples.print();
            }
        }
    }
}
