//! The store on Redis.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use headwater_store::RedisStore;
use headwater_testkit::{
    engines::RedisServer,
    store::{Opening, Setup, behaviour, reopening},
};

use crate::engine::{options, shared};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_shows_the_behaviour_of_every_store() {
    let Some(server) = RedisServer::start() else { return };
    let cases = AtomicUsize::new(0);
    behaviour(async |setup: Setup| {
        let case = cases.fetch_add(1, Ordering::Relaxed);
        let url = format!("{}?prefix=case-{case}", server.url());
        shared(RedisStore::connect(&url, options(&setup)).await.unwrap())
    })
    .await
    .unwrap_or_else(|failures| panic!("{failures}"));
}

#[tokio::test]
async fn redis_keeps_everything_when_it_is_opened_again() {
    let Some(server) = RedisServer::start() else { return };
    let url: Arc<str> = server.url().into();
    let cases = AtomicUsize::new(0);
    reopening(|setup| {
        let case = cases.fetch_add(1, Ordering::Relaxed);
        let url = url.clone();
        move || -> Opening<'static> {
            let (url, options) = (format!("{url}?prefix=case-{case}"), options(&setup));
            Box::pin(async move { shared(RedisStore::connect(&url, options).await.unwrap()) })
        }
    })
    .await
    .unwrap_or_else(|failures| panic!("{failures}"));
}
