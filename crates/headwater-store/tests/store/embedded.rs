//! The embedded store shows the behaviour of every store, with each way to fsync, in memory and in a real folder.

use std::{sync::Arc, time::Duration};

use headwater_store::{
    Store,
    embedded::{Embedded, Files, Folder, Fsync, Options},
};
use headwater_testkit::{
    disk::Disk,
    store::{Opening, Setup, behaviour, reopening},
};

const POLICIES: [Fsync; 3] = [Fsync::Commit, Fsync::Interval(Duration::from_millis(5)), Fsync::Never];

fn options(setup: &Setup, fsync: Fsync) -> Options {
    let mut options = Options::default();
    options.fsync = fsync;
    options.clock = setup.clock.clone();
    options.max_record_bytes = setup.limits.record_bytes;
    options.max_value_bytes = setup.limits.value_bytes;
    options.max_journal_bytes = setup.limits.journal_bytes;
    options
}

fn open(files: Arc<dyn Files>, options: Options) -> Arc<dyn Store> {
    Arc::new(Embedded::open_with(files, options).unwrap())
}

#[tokio::test]
async fn embedded_shows_the_behaviour_of_every_store_with_each_way_to_fsync() {
    for fsync in POLICIES {
        behaviour(async |setup| open(Arc::new(Disk::new(1)), options(&setup, fsync)))
            .await
            .unwrap_or_else(|failures| panic!("{fsync:?}: {failures}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn embedded_shows_the_behaviour_of_every_store_on_many_threads() {
    behaviour(async |setup| open(Arc::new(Disk::new(1)), options(&setup, Fsync::Commit)))
        .await
        .unwrap_or_else(|failures| panic!("{failures}"));
}

#[tokio::test]
async fn embedded_shows_the_behaviour_of_every_store_with_little_memory_and_small_segments() {
    behaviour(async |setup| open(Arc::new(Disk::new(1)), tight(options(&setup, Fsync::Commit))))
        .await
        .unwrap_or_else(|failures| panic!("{failures}"));
}

fn tight(mut options: Options) -> Options {
    options.segment_bytes = 4_096;
    options.tail_bytes = 512;
    options.cache_bytes = 2_048;
    options
}

#[tokio::test]
async fn embedded_is_the_same_after_opening_again_with_each_way_to_fsync() {
    for fsync in POLICIES {
        for small in [false, true] {
            reopening(|setup| {
                let folder = Arc::new(tempfile::tempdir().unwrap());
                move || {
                    let mut options = options(&setup, fsync);
                    if small {
                        options = tight(options);
                    }
                    let files = Folder::new(folder.path().to_owned()).unwrap();
                    Box::pin(std::future::ready(open(Arc::new(files), options))) as Opening<'static>
                }
            })
            .await
            .unwrap_or_else(|failures| panic!("{fsync:?}, small {small}: {failures}"));
        }
    }
}
