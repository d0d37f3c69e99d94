//! `headwater serve --store` with a Redis or Postgres that cannot be used: it ends with a message that says what to do, and
//! an exit code from which a supervisor knows whether to try again.

use std::net::TcpListener;

use headwater_testkit::engines::{PostgresServer, RedisServer};

use crate::server::command;

/// The settings are wrong: trying again does not help.
const WRONG: i32 = 2;
/// It may pass.
const PASSES: i32 = 3;

#[track_caller]
fn assert_refused(store: &str, code: i32, advice: &str) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let output = command()
        .args(["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap(), "--store", store])
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{store}: {error}");
    assert!(error.contains(advice), "{store}: {error}");
    assert!(!error.contains("secret"), "the password is shown: {error}");
}

#[test]
fn redis_store_that_cannot_be_used_is_refused_with_a_remedy() {
    assert_refused("redis://ann:secret@cache:port", WRONG, "it should look like redis://");
    assert_refused("redis://cache?wait=all", WRONG, "give a number of replicas");
    assert_refused(
        "redis://:secret@127.0.0.1:1",
        PASSES,
        "check that the server runs and that the URL is right",
    );
    assert_refused("redis://:secret@headwater.invalid", PASSES, "check that the server runs");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://:secret@{}", silent.local_addr().unwrap());
    assert_refused(&url, PASSES, "check that the server runs");
    let Some(server) = RedisServer::options().password("right").start() else { return };
    let wrong = server.url().replace("right", "secret");
    assert_refused(&wrong, WRONG, "check user and password of the store's URL");
}

#[test]
fn postgres_store_that_cannot_be_used_is_refused_with_a_remedy() {
    assert_refused("postgres://ann:secret@db:port/app", WRONG, "it should look like postgres://");
    assert_refused("postgres://db/app?schema=Bad", WRONG, "use at most 48 lower-case letters");
    assert_refused("postgres://ann:secret@127.0.0.1:1/app", PASSES, "check that the server runs");
    assert_refused("postgres://ann:secret@headwater.invalid/app", PASSES, "check that the server runs");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://ann:secret@{}/app?connect_timeout=1", silent.local_addr().unwrap());
    assert_refused(&url, PASSES, "no answer within 1 s; check that the server runs");
    let Some(server) = PostgresServer::start() else { return };
    let wrong = server.url_as("headwater", "secret", "headwater");
    assert_refused(&wrong, WRONG, "check user and password in the URL");
    let nowhere = server.url_as("headwater", "headwater", "nowhere");
    assert_refused(&nowhere, WRONG, "create the database, or name another in the URL");
}
