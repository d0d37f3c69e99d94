//! Servers and URLs that do not fit: each is refused with a message that says what to do.

use std::time::Duration;

use headwater_store::{PostgresStore, RedisStore, Store, remote::Options};
use headwater_testkit::engines::{PostgresServer, RedisServer};

use crate::engine::{fact, never_polls, soon};

const MINUTE: Duration = Duration::from_secs(60);

async fn redis(url: &str) -> String {
    let refused = RedisStore::connect(url, Options::default()).await.err();
    refused.map_or_else(|| panic!("{url} is accepted"), |error| format!("{}: {error}", error.code()))
}

async fn postgres(url: &str) -> String {
    let refused = PostgresStore::connect(url, Options::default()).await.err();
    refused.map_or_else(|| panic!("{url} is accepted"), |error| format!("{}: {error}", error.code()))
}

#[track_caller]
fn says(message: &str, code: &str, advice: &str) {
    assert!(message.starts_with(&format!("{code}: ")) && message.contains(advice), "{message}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_that_does_not_fit_is_refused() {
    let Some(server) = RedisServer::options().password("right").start() else { return };
    says(&redis("redis://127.0.0.1:1").await, "store.unavailable", "check that the server runs");
    says(&redis("redis://:x@").await, "store.rejected", "cannot read the store's URL");
    let wrong = server.url().replace("right", "wrong");
    says(&redis(&wrong).await, "store.rejected", "check user and password");
    assert!(!redis(&wrong).await.contains("wrong"), "the password is shown");
    let none = server.url().replace(":right@", "");
    says(&redis(&none).await, "store.rejected", "check user and password");

    // Rights: all but one of the commands, and all but the right keys.
    server.command(&["ACL", "SETUSER", "few", "on", ">few", "~*", "&*", "+@all", "-xadd"]);
    says(&redis(&server.url_as("few", "few")).await, "store.rejected", "docs/store-redis.md");
    server.command(&["ACL", "SETUSER", "other", "on", ">other", "~other:*", "&*", "+@all"]);
    says(&redis(&server.url_as("other", "other")).await, "store.rejected", "docs/store-redis.md");
    let rights = "~{headwater}:* &{headwater}:* +info +exists +scan +eval +evalsha +script|load +subscribe +time +get +set \
                  +incr +type +unlink +rename +hset +hmget +hstrlen +zadd +zrem +zrangebyscore +zrangebylex +xadd \
                  +xrange +xrevrange +xtrim +publish +wait +waitaof +hello +select +ping";
    let mut words = vec!["ACL", "SETUSER", "enough", "on", ">enough", "resetkeys", "resetchannels", "-@all"];
    // WAITAOF is no command of every server.
    words.extend(rights.split_whitespace().filter(|word| *word != "+waitaof"));
    server.command(&words);
    let store = RedisStore::connect(&server.url_as("enough", "enough"), never_polls()).await.unwrap();
    let lease = store.claim(&"run".into(), "driver", MINUTE).await.unwrap();
    fact(&store, &lease, "one").await.unwrap();
    store.close(&lease, Some(Duration::ZERO)).await.unwrap();
    store.sweep().await.unwrap();

    // Other keys under the prefix, a newer format, and durability that the server does not have.
    server.command(&["SET", "{foreign}:x", "1"]);
    says(
        &redis(&format!("{}?prefix=foreign", server.url())).await,
        "store.rejected",
        "choose another prefix",
    );
    server.command(&["RPUSH", "{list}:format", "1"]);
    says(&redis(&format!("{}?prefix=list", server.url())).await, "store.rejected", "choose another prefix");
    server.command(&["SET", "{newer}:format", "headwater 999"]);
    says(&redis(&format!("{}?prefix=newer", server.url())).await, "store.format", "install a newer program");
    says(&redis(&format!("{}?wait=1", server.url())).await, "store.rejected", "has 0 replicas");
    let version = server.command(&["INFO", "server"]);
    if version.contains("redis_version:7.0") || version.contains("redis_version:6") {
        says(&redis(&format!("{}?waitaof=1", server.url())).await, "store.rejected", "no WAITAOF");
    }

    let primary = server.address();
    let Some(replica) = RedisServer::options()
        .config(&format!("replicaof {} {}", primary.ip(), primary.port()))
        .config("masterauth right")
        .start()
    else {
        return;
    };
    says(&redis(&replica.url()).await, "store.rejected", "read-only replica");
    // One replica is enough for `wait=1`, as soon as it is connected.
    let url = format!("{}?prefix=waits&wait=1", server.url());
    let store = soon("the replica is connected", async {
        loop {
            match RedisStore::connect(&url, never_polls()).await {
                Ok(store) => return store,
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    })
    .await;
    let lease = store.claim(&"run".into(), "driver", MINUTE).await.unwrap();
    fact(&store, &lease, "one").await.unwrap();
    assert_eq!(replica.command(&["XLEN", "{waits}:s:run"]).trim(), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_accepts_and_says_nothing_is_given_up() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let holding = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((connection, _)) = silent.accept().await {
            held.push(connection);
        }
    });
    let url = format!("postgres://ann:x@{address}/app?connect_timeout=1");
    says(
        &soon("Postgres is given up", postgres(&url)).await,
        "store.unavailable",
        "check that the server runs",
    );
    let url = format!("redis://{address}");
    says(&soon("Redis is given up", redis(&url)).await, "store.unavailable", "check that the server runs");
    holding.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_is_reached_with_tls() {
    let Some(server) = RedisServer::options().tls().start() else { return };
    says(&redis(&server.url()).await, "store.rejected", "tls_ca=FILE");
    let url = format!("{}?tls_ca={}", server.url(), server.authority().unwrap().display());
    let store = RedisStore::connect(&url, never_polls()).await.unwrap();
    let lease = store.claim(&"run".into(), "driver", MINUTE).await.unwrap();
    assert_eq!(fact(&store, &lease, "one").await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_that_does_not_fit_is_refused() {
    let Some(server) = PostgresServer::start() else { return };
    says(&postgres("postgres://127.0.0.1:1/x").await, "store.unavailable", "check that the server runs");
    says(&postgres("postgres://ann:secret@db:x/y").await, "store.rejected", "cannot read the store's URL");
    let wrong = server.url_as("headwater", "wrong", "headwater");
    says(&postgres(&wrong).await, "store.rejected", "check user and password");
    says(
        &postgres(&server.url_as("headwater", "headwater", "nowhere")).await,
        "store.rejected",
        "create the database",
    );
    server.query("headwater", "CREATE ROLE few LOGIN PASSWORD 'few'");
    says(
        &postgres(&server.url_as("few", "few", "headwater")).await,
        "store.rejected",
        "docs/store-postgres.md",
    );

    // Enough rights: the schema is there, and its tables may be used.
    let store = PostgresStore::connect(&server.url(), never_polls()).await.unwrap();
    drop(store);
    server.query("headwater", "GRANT USAGE ON SCHEMA headwater TO few");
    server
        .query("headwater", "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA headwater TO few");
    server.query("headwater", "GRANT SELECT, UPDATE ON SEQUENCE headwater.numbers TO few");
    let url = server.url_as("few", "few", "headwater");
    let store = PostgresStore::connect(&url, never_polls()).await.unwrap();
    let lease = store.claim(&"run".into(), "driver", MINUTE).await.unwrap();
    fact(&store, &lease, "one").await.unwrap();
    store.close(&lease, Some(Duration::ZERO)).await.unwrap();
    store.sweep().await.unwrap();

    server.query("headwater", "CREATE SCHEMA foreign_app; CREATE TABLE foreign_app.journals (a int)");
    server.query("headwater", "GRANT ALL ON SCHEMA foreign_app TO headwater");
    let url = format!("{}?schema=foreign_app", server.url());
    says(&postgres(&url).await, "store.rejected", "choose another with ?schema=");
    server.query("headwater", "UPDATE headwater.schema_version SET version = 999");
    says(&postgres(&server.url()).await, "store.format", "install a newer program");
    server.query("headwater", "ALTER DATABASE headwater SET default_transaction_read_only = on");
    says(&postgres(&server.url()).await, "store.rejected", "read-only");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_is_reached_with_tls() {
    let Some(server) = PostgresServer::options().tls().start() else { return };
    says(&postgres(&server.url()).await, "store.unavailable", "sslrootcert=FILE");
    let url = format!("{}&sslrootcert={}", server.url(), server.authority().unwrap().display());
    let store = PostgresStore::connect(&url, never_polls()).await.unwrap();
    let lease = store.claim(&"run".into(), "driver", MINUTE).await.unwrap();
    assert_eq!(fact(&store, &lease, "one").await.unwrap(), 1);
}
