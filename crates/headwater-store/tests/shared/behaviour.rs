//! The behaviour of every store, on each engine.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use headwater_store::{Store, remote::Options};
use headwater_testkit::{
    engines::{PgBouncer, PostgresServer, RedisServer},
    store::{Opening, Setup, behaviour, reopening},
};

use crate::engine::{Engine, simulated};

/// Each case has keys or tables of its own on one server.
async fn behaves<E: Engine>(url: impl Fn(usize) -> String) {
    let cases = AtomicUsize::new(0);
    behaviour(async |setup: Setup| {
        let url = url(cases.fetch_add(1, Ordering::Relaxed));
        E::connect(url, simulated(&setup)).await.unwrap()
    })
    .await
    .unwrap_or_else(|failures| panic!("{failures}"));
}

async fn keeps_everything<E: Engine>(url: impl Fn(usize) -> String) {
    let cases = AtomicUsize::new(0);
    reopening(|setup| {
        let url: Arc<str> = url(cases.fetch_add(1, Ordering::Relaxed)).into();
        move || -> Opening<'static> {
            let opening = E::connect(url.to_string(), simulated(&setup));
            Box::pin(async move { opening.await.unwrap() as Arc<dyn Store> })
        }
    })
    .await
    .unwrap_or_else(|failures| panic!("{failures}"));
}

fn postgres() -> Option<PostgresServer> {
    // No case crashes the server, and each makes a schema of its own.
    PostgresServer::options().config("fsync = off").start()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_shows_the_behaviour_of_every_store() {
    let Some(server) = postgres() else { return };
    behaves::<PostgresServer>(|case| format!("{}?schema=case_{case}", server.url())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_behind_pgbouncer_shows_the_behaviour_of_every_store() {
    let Some(server) = postgres() else { return };
    let pooler = PgBouncer::start(&server);
    let direct = server.url();
    let pooled = direct.replace(&server.address().to_string(), &pooler.address().to_string());
    let refused = PostgresServer::connect(pooled.clone(), Options::default()).await.err().unwrap();
    assert!(refused.to_string().contains("a pooler is in between"), "{refused}");
    let listen = direct.replace(':', "%3A").replace('/', "%2F").replace('@', "%40").replace('?', "%3F");
    behaves::<PostgresServer>(|case| {
        format!("{pooled}?schema=case_{case}&statement_timeout=0&listen_url={listen}")
    })
    .await;
}

#[tokio::test]
async fn postgres_keeps_everything_when_it_is_opened_again() {
    let Some(server) = postgres() else { return };
    keeps_everything::<PostgresServer>(|case| format!("{}?schema=case_{case}", server.url())).await;
}

/// With TLS, and the URL of a case on it.
fn postgres_with_tls() -> Option<(PostgresServer, impl Fn(usize) -> String)> {
    let server = PostgresServer::options().tls().config("fsync = off").start()?;
    let (url, authority) = (server.url(), server.authority()?.display().to_string());
    Some((server, move |case| format!("{url}&schema=case_{case}&sslrootcert={authority}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_with_tls_shows_the_behaviour_of_every_store() {
    let Some((_server, url)) = postgres_with_tls() else { return };
    behaves::<PostgresServer>(url).await;
}

#[tokio::test]
async fn postgres_with_tls_keeps_everything_when_it_is_opened_again() {
    let Some((_server, url)) = postgres_with_tls() else { return };
    keeps_everything::<PostgresServer>(url).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_shows_the_behaviour_of_every_store() {
    let Some(server) = RedisServer::start() else { return };
    behaves::<RedisServer>(|case| format!("{}?prefix=case-{case}", server.url())).await;
}

#[tokio::test]
async fn redis_keeps_everything_when_it_is_opened_again() {
    let Some(server) = RedisServer::start() else { return };
    keeps_everything::<RedisServer>(|case| format!("{}?prefix=case-{case}", server.url())).await;
}

/// With TLS, and the URL of a case on it.
fn redis_with_tls() -> Option<(RedisServer, impl Fn(usize) -> String)> {
    let server = RedisServer::options().tls().start()?;
    let (url, authority) = (server.url(), server.authority()?.display().to_string());
    Some((server, move |case| format!("{url}?prefix=case-{case}&tls_ca={authority}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_with_tls_shows_the_behaviour_of_every_store() {
    let Some((_server, url)) = redis_with_tls() else { return };
    behaves::<RedisServer>(url).await;
}

#[tokio::test]
async fn redis_with_tls_keeps_everything_when_it_is_opened_again() {
    let Some((_server, url)) = redis_with_tls() else { return };
    keeps_everything::<RedisServer>(url).await;
}
