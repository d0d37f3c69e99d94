//! Engines without room: out of memory, or out of disk. Readers continue, writers wait or get an error that may be tried
//! again, nothing that was acknowledged is lost, and everything continues when there is room.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use headwater_store::{Class, Expect, Lease, Store};
use headwater_testkit::{
    engines::{PostgresServer, RedisServer, SmallDisk},
    random::Random,
};

use crate::engine::{Engine, bodies, fact, never_polls, soon, until};

const MINUTE: Duration = Duration::from_secs(60);

/// A text that no engine can compress much, larger than the room that a page or a buffer has left.
fn large(seed: u64) -> String {
    let mut random = Random::new(seed);
    (0..400_000).map(|_| char::from(b'a' + u8::try_from(random.below(26)).unwrap())).collect()
}

/// Two processes on an engine that still has room, and the lease of a journal with one fact.
struct FilledEngine {
    store: Arc<dyn Store>,
    /// Does not wait for room.
    impatient: Arc<dyn Store>,
    lease: Lease,
}

impl FilledEngine {
    async fn on<E: Engine>(url: &str) -> Self {
        let store = E::connect(url.to_owned(), never_polls()).await.unwrap();
        let mut options = never_polls();
        options.patience = Duration::from_millis(500);
        let impatient = E::connect(url.to_owned(), options).await.unwrap();
        let lease = store.claim(&"run".into(), "driver", MINUTE).await.unwrap();
        fact(&*store, &lease, "one").await.unwrap();
        Self { store, impatient, lease }
    }

    /// The engine has no room: what is there can be read, and what is written is not acknowledged until there is room. The
    /// other process gets the reason, in an error that may pass.
    async fn wait_for_room<E: Engine>(self, url: &str, reason: &str, make_room: impl FnOnce()) {
        let Self { store, impatient, lease } = self;
        let before = bodies(&*store, &lease.journal).await;
        let late = large(before.len() as u64);
        let mut waiting = Box::pin(store.append(&lease, Class::Fact, &[late.clone().into()]).unwrap());
        let refused = impatient.put("key", large(99).into(), Expect::Any, None).await.unwrap_err();
        assert!(refused.is_retryable() && refused.to_string().contains(reason), "{refused}");
        assert!(futures_util::poll!(&mut waiting).is_pending(), "a fact without room is acknowledged");
        for store in [&store, &impatient] {
            assert_eq!(bodies(&**store, &lease.journal).await, before);
        }
        make_room();
        let last = before.len() as u64 + 1;
        assert_eq!(soon("the fact", waiting).await.unwrap(), last);
        until("the other process may write", || async {
            impatient.put("key", "small".into(), Expect::Any, None).await.is_ok()
        })
        .await;
        let fresh = E::connect(url.to_owned(), never_polls()).await.unwrap();
        for store in [store, impatient, fresh] {
            assert_eq!(
                bodies(&*store, &lease.journal).await,
                [&*before, std::slice::from_ref(&late)].concat()
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_without_memory_loses_nothing_that_was_acknowledged() {
    let Some(server) = RedisServer::start() else { return };
    let begun = FilledEngine::on::<RedisServer>(&server.url()).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    begun
        .wait_for_room::<RedisServer>(&server.url(), "maxmemory", || {
            server.command(&["CONFIG", "SET", "maxmemory", "0"]);
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_that_cannot_save_loses_nothing_that_was_acknowledged() {
    let Some(server) = RedisServer::options().config("save 3600 1000000").start() else { return };
    let begun = FilledEngine::on::<RedisServer>(&server.url()).await;
    // A folder in the place of the file makes every snapshot fail, for root too.
    let folder = server.command(&["CONFIG", "GET", "dir"]);
    let snapshot = PathBuf::from(folder.lines().nth(1).unwrap()).join("dump.rdb");
    fs::create_dir(&snapshot).unwrap();
    server.command(&["BGSAVE"]);
    until("the snapshot fails", || async {
        let state = server.command(&["INFO", "persistence"]);
        state.contains("rdb_bgsave_in_progress:0") && state.contains("rdb_last_bgsave_status:err")
    })
    .await;
    // One that starts now says so.
    let refused = RedisServer::connect(server.url(), never_polls()).await.err().unwrap();
    assert!(refused.is_retryable() && refused.to_string().contains("give it disk space"), "{refused}");
    begun
        .wait_for_room::<RedisServer>(&server.url(), "give it disk space", || {
            fs::remove_dir(&snapshot).unwrap();
            server.command(&["BGSAVE"]);
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_on_a_full_disk_loses_nothing_that_was_acknowledged() {
    let Some(disk) = SmallDisk::mount(8) else { return };
    let folder = format!("dir {}", disk.path().display());
    let Some(mut server) = RedisServer::options().config(&folder).start() else { return };
    let begun = FilledEngine::on::<RedisServer>(&server.url()).await;
    let journal = begun.lease.journal.clone();
    disk.fill();
    // The server notices when it writes its file. What it has acknowledged by then, it writes when there is room.
    fact(&*begun.store, &begun.lease, &large(0)).await.unwrap();
    begun.wait_for_room::<RedisServer>(&server.url(), "give it disk space", || disk.make_room()).await;
    let last = large(2);
    server.kill();
    server.restart();
    let reopened = RedisServer::connect(server.url(), never_polls()).await.unwrap();
    assert_eq!(bodies(&*reopened, &journal).await, ["one".to_owned(), large(0), last]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_on_a_full_disk_loses_nothing_that_was_acknowledged() {
    let Some(disk) = SmallDisk::mount(32) else { return };
    let Some(mut server) = PostgresServer::start() else { return };
    let space = format!("CREATE TABLESPACE small LOCATION '{}'", disk.path().display());
    server.query("postgres", &space);
    server.query("postgres", "CREATE DATABASE small OWNER headwater TABLESPACE small");
    let url = server.url_as("headwater", "headwater", "small");
    let begun = FilledEngine::on::<PostgresServer>(&url).await;
    let journal = begun.lease.journal.clone();
    disk.fill();
    begun
        .wait_for_room::<PostgresServer>(&url, "give the database more disk space", || disk.make_room())
        .await;
    server.kill();
    server.restart();
    let reopened = PostgresServer::connect(url, never_polls()).await.unwrap();
    assert_eq!(bodies(&*reopened, &journal).await, ["one".to_owned(), large(1)]);
}
