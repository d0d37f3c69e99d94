//! A store in a temporary folder whose commits the test makes.

use std::{
    future::Future,
    path::PathBuf,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use headwater_store::{
    Class, Embedded, Error, JournalId, Lease, ManualClock, Page, ReadLimit, Record, Result, Store,
    embedded::{Files, Folder, Fsync, Options, Report, Writer, check},
};

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// A folder, and the clock of all stores that are opened in it.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) clock: Arc<ManualClock>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: Arc::new(ManualClock::at(1_000_000)) }
    }

    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        options.writer = Writer::Manual;
        options.clock = self.clock.clone();
        options.max_open_files = 3;
        options
    }

    pub(crate) fn open(&self) -> SteppedStore {
        self.open_with(self.options())
    }

    /// With segments so small that a few records fill one, each of which is made durable when it is full.
    pub(crate) fn open_small(&self) -> SteppedStore {
        let mut options = self.options();
        options.segment_bytes = 2_000;
        options.fsync = Fsync::Never;
        self.open_with(options)
    }

    pub(crate) fn open_with(&self, options: Options) -> SteppedStore {
        SteppedStore(Embedded::open_folder(self.folder.path(), options).unwrap())
    }

    pub(crate) fn files(&self) -> Arc<dyn Files> {
        Arc::new(Folder::new(self.folder.path()).unwrap())
    }

    pub(crate) fn check(&self) -> Report {
        check(self.files()).unwrap()
    }

    /// The segments, in order.
    pub(crate) fn segments(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let mut segments: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|it| it == "seg")).collect();
        segments.sort();
        segments
    }

    pub(crate) fn last_segment(&self) -> PathBuf {
        self.segments().pop().unwrap()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.segments().iter().map(|path| path.metadata().unwrap().len()).sum()
    }
}

/// A store that writes when the test steps.
pub(crate) struct SteppedStore(pub Embedded);

impl SteppedStore {
    /// Steps the store until a future is ready.
    pub(crate) fn drive<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..100 {
            if let Poll::Ready(given) = future.as_mut().poll(&mut context) {
                return given;
            }
            let _ = self.0.step();
        }
        panic!("not ready, however often the store writes");
    }

    pub(crate) fn claim(&self, journal: &str) -> Lease {
        self.drive(self.0.claim(&journal.into(), "a driver", MINUTE)).unwrap()
    }

    /// Appends one fact and makes it durable.
    pub(crate) fn fact(&self, lease: &Lease, body: impl Into<Bytes>) -> u64 {
        let receipt = self.0.append(lease, Class::Fact, &[body.into()]).unwrap();
        self.drive(receipt).unwrap()
    }

    pub(crate) fn delta(&self, lease: &Lease, body: impl Into<Bytes>) {
        drop(self.0.append(lease, Class::Delta, &[body.into()]).unwrap());
    }

    pub(crate) fn page(&self, journal: &str, after: u64) -> Result<Page> {
        self.drive(self.0.read(&journal.into(), after, ReadLimit::default()))
    }

    /// All bodies after a sequence, read page by page with a small limit.
    pub(crate) fn bodies(&self, journal: &str, after: u64) -> Vec<String> {
        let mut bodies = Vec::new();
        let mut after = after;
        loop {
            let limit = ReadLimit { records: 3, bytes: 1_000 };
            let page = self.drive(self.0.read(&journal.into(), after, limit)).unwrap();
            let Some(last) = page.records.last() else { return bodies };
            assert_eq!(page.records[0].seq, after + 1);
            after = last.seq;
            bodies.extend(page.records.iter().map(text));
        }
    }

    pub(crate) fn info(&self, journal: &str) -> Option<headwater_store::JournalInfo> {
        self.drive(self.0.info(&journal.into())).unwrap()
    }

    pub(crate) fn expired(&self) -> Vec<JournalId> {
        self.drive(self.0.expired(100)).unwrap()
    }

    pub(crate) fn get(&self, key: &str) -> Option<String> {
        let value = self.drive(self.0.get(key)).unwrap()?;
        Some(String::from_utf8(value.bytes.to_vec()).unwrap())
    }

    pub(crate) fn put(&self, key: &str, value: &str) -> u64 {
        let value = Bytes::copy_from_slice(value.as_bytes());
        self.drive(self.0.put(key, value, headwater_store::Expect::Any, None)).unwrap()
    }
}

pub(crate) fn text(record: &Record) -> String {
    String::from_utf8(record.body.to_vec()).unwrap()
}

pub(crate) fn bodies(page: &Page) -> Vec<String> {
    page.records.iter().map(text).collect()
}

pub(crate) fn code<T: std::fmt::Debug>(result: Result<T>) -> &'static str {
    result.map_err(|error: Error| error.code()).unwrap_err()
}
