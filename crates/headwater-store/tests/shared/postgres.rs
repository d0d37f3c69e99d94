//! The store on Postgres.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use headwater_store::PostgresStore;
use headwater_testkit::{
    engines::PostgresServer,
    store::{Opening, Setup, behaviour, reopening},
};

use crate::engine::{options, shared};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_shows_the_behaviour_of_every_store() {
    // No case crashes the server, and each makes a schema of its own.
    let Some(server) = PostgresServer::options().config("fsync = off").start() else { return };
    let cases = AtomicUsize::new(0);
    behaviour(async |setup: Setup| {
        let case = cases.fetch_add(1, Ordering::Relaxed);
        let url = format!("{}?schema=case_{case}", server.url());
        shared(PostgresStore::connect(&url, options(&setup)).await.unwrap())
    })
    .await
    .unwrap_or_else(|failures| panic!("{failures}"));
}

#[tokio::test]
async fn postgres_keeps_everything_when_it_is_opened_again() {
    // No case crashes the server, and each makes a schema of its own.
    let Some(server) = PostgresServer::options().config("fsync = off").start() else { return };
    let url: Arc<str> = server.url().into();
    let cases = AtomicUsize::new(0);
    reopening(|setup| {
        let case = cases.fetch_add(1, Ordering::Relaxed);
        let url = url.clone();
        move || -> Opening<'static> {
            let (url, options) = (format!("{url}?schema=case_{case}"), options(&setup));
            Box::pin(async move { shared(PostgresStore::connect(&url, options).await.unwrap()) })
        }
    })
    .await
    .unwrap_or_else(|failures| panic!("{failures}"));
}
