//! What the tests of every engine share.

use std::{fmt::Debug, future::Future, sync::Arc, time::Duration};

use headwater_store::{
    Class, JournalId, Lease, PostgresStore, ReadLimit, Record, RedisStore, Result, Store,
    remote::{EngineTime, Options},
};
use headwater_testkit::{
    balancer::Balancer,
    engines::{PostgresServer, RedisServer},
    store::Setup,
};

/// How long something may take that must come by itself. No test depends on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A real server, and stores on it.
pub(crate) trait Engine: Sized + 'static {
    fn start() -> Option<Self>;
    fn url(&self) -> String;
    fn address(&self) -> std::net::SocketAddr;
    /// Kills the server.
    fn kill(&mut self);
    /// Starts it again.
    fn restart(&mut self);
    /// Ends the connections that listen to announcements.
    fn cut_listeners(&self);
    /// How many connections the stores have.
    fn connections(&self) -> usize;
    fn connect(
        url: String,
        options: Options,
    ) -> impl Future<Output = Result<Arc<dyn Store>>> + Send + 'static;

    async fn open(&self) -> Arc<dyn Store> {
        self.open_with(never_polls()).await
    }

    async fn open_with(&self, options: Options) -> Arc<dyn Store> {
        Self::connect(self.url(), options).await.unwrap()
    }
}

impl Engine for PostgresServer {
    fn start() -> Option<Self> {
        Self::start()
    }
    fn url(&self) -> String {
        self.url()
    }
    fn address(&self) -> std::net::SocketAddr {
        self.address()
    }
    fn kill(&mut self) {
        self.kill();
    }
    fn restart(&mut self) {
        self.restart();
    }
    fn cut_listeners(&self) {
        let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
        assert_ne!(self.query("headwater", cut).trim(), "0");
    }
    fn connections(&self) -> usize {
        let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'headwater'";
        self.query("headwater", count).trim().parse().unwrap()
    }
    async fn connect(url: String, options: Options) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(PostgresStore::connect(&url, options).await?))
    }
}

impl Engine for RedisServer {
    fn start() -> Option<Self> {
        // Otherwise a server that is killed may lose what it has acknowledged.
        Self::options().config("appendfsync always").start()
    }
    fn url(&self) -> String {
        self.url()
    }
    fn address(&self) -> std::net::SocketAddr {
        self.address()
    }
    fn kill(&mut self) {
        self.kill();
    }
    fn restart(&mut self) {
        self.restart();
    }
    fn cut_listeners(&self) {
        assert_ne!(self.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).trim(), "0");
    }
    fn connections(&self) -> usize {
        self.command(&["CLIENT", "LIST"]).lines().filter(|line| line.contains(" addr=127.0.0.1:")).count()
    }
    async fn connect(url: String, options: Options) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(RedisStore::connect(&url, options).await?))
    }
}

/// Options with the limits of a case, and its clock instead of the engine's.
pub(crate) fn simulated(setup: &Setup) -> Options {
    let mut options = never_polls();
    options.clock = setup.clock.clone();
    options.engine_time = EngineTime::Simulated;
    options.max_record_bytes = setup.limits.record_bytes;
    options.max_value_bytes = setup.limits.value_bytes;
    options.max_journal_bytes = setup.limits.journal_bytes;
    options
}

/// Options with which only announcements wake a reader or a watch.
pub(crate) fn never_polls() -> Options {
    let mut options = Options::default();
    options.poll = Duration::from_secs(600);
    options
}

/// Waits for something that must come by itself.
pub(crate) async fn soon<T>(what: &str, coming: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, coming).await.unwrap_or_else(|_| panic!("{what}: nothing came"))
}

/// Asks again and again until it is so.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut ask: impl FnMut() -> F) {
    soon(what, async {
        while !ask().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

pub(crate) async fn fact(store: &dyn Store, lease: &Lease, body: &str) -> Result<u64> {
    store.append(lease, Class::Fact, &[body.to_owned().into()])?.await
}

/// A balancer in front of a server, and the server's URL through it.
pub(crate) fn balanced(server: &impl Engine) -> (Balancer, String) {
    let address = server.address();
    let balancer = tokio::task::block_in_place(|| Balancer::start(&[address])).unwrap();
    let url = server.url().replace(&address.to_string(), &balancer.address().to_string());
    (balancer, url)
}

/// All records of a journal; and that they have no gaps.
pub(crate) async fn records(store: &dyn Store, journal: &JournalId) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let after = records.last().map_or(0, |record| record.seq);
        let page = store.read(journal, after, ReadLimit::default()).await.unwrap();
        if page.records.is_empty() {
            assert_eq!(after, page.tail.last);
            return records;
        }
        for (seq, record) in (after + 1..).zip(&page.records) {
            assert_eq!(record.seq, seq);
        }
        records.extend(page.records);
    }
}

pub(crate) async fn bodies(store: &dyn Store, journal: &JournalId) -> Vec<String> {
    let text = |record: Record| String::from_utf8(record.body.to_vec()).unwrap();
    records(store, journal).await.into_iter().map(text).collect()
}

pub(crate) fn code<T: Debug>(result: Result<T>) -> &'static str {
    result.map_err(|error| error.code()).unwrap_err()
}

/// A test for each engine of a function that takes one.
macro_rules! on_every_engine {
    ($($test:ident),* $(,)?) => {
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let Some(server) = <headwater_testkit::engines::PostgresServer as $crate::engine::Engine>::start() else { return };
                super::$test(server).await;
            })*
        }
        mod redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let Some(server) = <headwater_testkit::engines::RedisServer as $crate::engine::Engine>::start() else { return };
                super::$test(server).await;
            })*
        }
    };
}
pub(crate) use on_every_engine;
