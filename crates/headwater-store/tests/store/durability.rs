//! Which commits survive what, and what a failed write does.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

use headwater_store::{
    Class, Embedded, Expect, ReadLimit, Store,
    embedded::{Files, Folder, Fsync, Guard, StoreFile, Writer},
};

use crate::support::{MINUTE, Place, SteppedStore, bodies, code};

/// A folder whose file operations fail from the n-th write or sync on, and that counts the bytes that are read.
#[derive(Debug)]
struct Failing {
    inner: Folder,
    left: Arc<AtomicUsize>,
    read: Arc<AtomicUsize>,
    error: io::ErrorKind,
    writes: bool,
}

#[derive(Debug)]
struct FailingFile {
    inner: Box<dyn StoreFile>,
    left: Arc<AtomicUsize>,
    read: Arc<AtomicUsize>,
    error: io::ErrorKind,
    writes: bool,
}

fn spend(left: &AtomicUsize, error: io::ErrorKind) -> io::Result<()> {
    let spent = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    spent.map(drop).map_err(|_| error.into())
}

impl Failing {
    fn file(&self, inner: Box<dyn StoreFile>) -> Box<dyn StoreFile> {
        let (left, read) = (self.left.clone(), self.read.clone());
        Box::new(FailingFile { inner, left, read, error: self.error, writes: self.writes })
    }
}

impl Files for Failing {
    fn lock(&self) -> io::Result<Box<dyn Guard>> {
        self.inner.lock()
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        self.inner.open(name).map(|file| self.file(file))
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        self.inner.create(name).map(|file| self.file(file))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        self.inner.sync_names()
    }
}

impl StoreFile for FailingFile {
    fn size(&self) -> io::Result<u64> {
        self.inner.size()
    }
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read_at(offset, into)?;
        self.read.fetch_add(count, Ordering::SeqCst);
        Ok(count)
    }
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        if self.writes {
            spend(&self.left, self.error)?;
        }
        self.inner.write_at(offset, bytes)
    }
    fn sync(&self) -> io::Result<()> {
        if !self.writes {
            spend(&self.left, self.error)?;
        }
        self.inner.sync()
    }
    fn truncate(&self, len: u64) -> io::Result<()> {
        self.inner.truncate(len)
    }
}

fn open_failing(place: &Place, writes: bool, error: io::ErrorKind) -> (SteppedStore, Arc<AtomicUsize>) {
    let left = Arc::new(AtomicUsize::new(1_000));
    let inner = Folder::new(place.folder.path()).unwrap();
    let files = Failing { inner, left: left.clone(), read: Arc::default(), error, writes };
    (SteppedStore(Embedded::open_with(Arc::new(files), place.options()).unwrap()), left)
}

#[test]
fn failed_fsync_stops_the_store_and_shows_nothing_that_was_not_durable() {
    for (writes, error, cause) in
        [(false, io::ErrorKind::Other, "store.io"), (true, io::ErrorKind::StorageFull, "store.no-space")]
    {
        let place = Place::new();
        let (store, left) = open_failing(&place, writes, error);
        let lease = store.claim("run");
        store.fact(&lease, "durable");
        store.put("key", "durable");
        left.store(0, Ordering::SeqCst);
        let receipt = store.0.append(&lease, Class::Fact, &["lost".into()]).unwrap();
        let later = store.0.append(&lease, Class::Delta, &["lost too".into()]).unwrap();
        let put = store.0.put("key", "lost".into(), Expect::Any, None);
        let waiting = store.0.wait(&lease.journal, 1);
        assert_eq!(code(store.drive(put)), cause);
        assert_eq!(code(store.drive(receipt)), cause);
        assert_eq!(code(store.drive(later)), cause);
        left.store(1_000, Ordering::SeqCst);
        let again = store.0.append(&lease, Class::Fact, &["again".into()]).unwrap_err();
        assert_eq!(again.code(), "store.stopped");
        assert!(again.to_string().contains("0000000000000001.seg"), "{again}");
        assert_eq!(code(store.drive(store.0.flush())), "store.stopped");
        assert_eq!(code(store.drive(store.0.claim(&"other".into(), "b", MINUTE))), "store.stopped");
        assert_eq!(code(store.drive(waiting)), "store.stopped");
        assert_eq!(bodies(&store.page("run", 0).unwrap()), ["durable"]);
        assert_eq!(store.get("key").as_deref(), Some("durable"));
        drop(store);
        let store = place.open();
        assert_eq!(store.bodies("run", 0)[0], "durable");
        assert!(store.0.damages().is_empty());
        store.claim("run");
    }
}

#[test]
fn store_that_stopped_recovers_in_place_without_what_had_failed() {
    for (writes, error) in [(false, io::ErrorKind::Other), (true, io::ErrorKind::StorageFull)] {
        let place = Place::new();
        let (store, left) = open_failing(&place, writes, error);
        let says_stopped =
            || store.0.stopped().as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        let lease = store.claim("run");
        store.fact(&lease, "durable");
        assert!(!says_stopped());
        let mut watch = store.0.watch("key");
        left.store(0, Ordering::SeqCst);
        let receipt = store.0.append(&lease, Class::Fact, &["failed".into()]).unwrap();
        let put = store.0.put("key", "failed".into(), Expect::Any, None);
        store.drive(put).unwrap_err();
        store.drive(receipt).unwrap_err();
        assert!(says_stopped());
        // What stopped it is not over.
        store.drive(store.0.recover()).unwrap_err();
        assert_eq!(code(store.drive(store.0.flush())), "store.stopped");
        left.store(1_000, Ordering::SeqCst);
        store.drive(store.0.recover()).unwrap();
        assert!(!says_stopped());
        assert_eq!(store.bodies("run", 0), ["durable"]);
        assert_eq!(store.get("key"), None);
        assert_eq!(code(store.0.append(&lease, Class::Fact, &["stale".into()])), "store.stale");
        assert_eq!(store.expired(), ["run".into()]);
        let next = store.claim("run");
        assert_eq!((next.first, next.epoch > lease.epoch), (2, true));
        store.fact(&next, "continues");
        store.drive(watch.changed());
        store.put("key", "new");
        store.drive(watch.changed());
        drop(store);
        let store = place.open();
        assert_eq!(store.bodies("run", 0), ["durable", "continues"]);
        assert!(store.0.damages().is_empty());
    }
}

/// A folder in which nothing can be opened or made while there are no descriptors.
#[derive(Debug)]
struct NoDescriptors(Folder, Arc<AtomicBool>);

impl Files for NoDescriptors {
    fn lock(&self) -> io::Result<Box<dyn Guard>> {
        self.0.lock()
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        if self.1.load(Ordering::SeqCst) { Err(io::Error::from_raw_os_error(24)) } else { self.0.open(name) }
    }
    fn create(&self, name: &str) -> io::Result<Box<dyn StoreFile>> {
        if self.1.load(Ordering::SeqCst) {
            Err(io::Error::from_raw_os_error(24))
        } else {
            self.0.create(name)
        }
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        self.0.sync_names()
    }
}

#[test]
fn segment_continues_while_there_is_no_descriptor_for_the_next() {
    let place = Place::new();
    let none = Arc::new(AtomicBool::new(false));
    let files = NoDescriptors(Folder::new(place.folder.path()).unwrap(), none.clone());
    let mut options = place.options();
    options.segment_bytes = 1_000;
    let store = SteppedStore(Embedded::open_with(Arc::new(files), options).unwrap());
    let lease = store.claim("run");
    none.store(true, Ordering::SeqCst);
    for n in 0..30 {
        store.fact(&lease, format!("{n:0100}"));
    }
    assert_eq!(place.segments().len(), 1);
    none.store(false, Ordering::SeqCst);
    store.fact(&lease, "then");
    assert_eq!(place.segments().len(), 2);
    assert_eq!(store.bodies("run", 0).len(), 31);
    drop(store);
    assert!(place.check().is_good());
    assert_eq!(place.open().bodies("run", 0).len(), 31);
}

#[cfg(unix)]
#[test]
fn folder_and_files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let path = place.folder.path().join("data").join("store");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let modes = || {
        let files = std::fs::read_dir(&path).unwrap().map(|entry| mode(&entry.unwrap().path()));
        files.collect::<std::collections::BTreeSet<u32>>()
    };
    drop(Embedded::open(&path).unwrap());
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o700, 0o700));
    assert_eq!(modes(), [0o600].into());
    // A store that others can read is closed to them.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    for entry in std::fs::read_dir(&path).unwrap() {
        let wide = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(entry.unwrap().path(), wide).unwrap();
    }
    assert!(Folder::new(&path).unwrap().was_open_to_others());
    assert!(!Folder::new(&path).unwrap().was_open_to_others());
    assert_eq!((mode(&path), modes()), (0o700, [0o600].into()));
    // A folder with other files keeps its permissions.
    let shared = place.folder.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::write(shared.join("notes.txt"), "not ours").unwrap();
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(!Folder::new(&shared).unwrap().was_open_to_others());
    assert_eq!(mode(&shared), 0o755);
}

#[test]
fn store_that_is_dropped_writes_everything_and_stops_its_thread() {
    let place = Place::new();
    let mut options = place.options();
    options.writer = Writer::Thread;
    options.delta_window = Duration::from_secs(3_600);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = Embedded::open_folder(place.folder.path(), options).unwrap();
        let lease = store.claim(&"run".into(), "me", MINUTE).await.unwrap();
        store.append(&lease, Class::Delta, &["delta".into()]).unwrap().await.unwrap();
        drop(store);
        let store = Embedded::open(place.folder.path()).unwrap();
        let page = store.read(&"run".into(), 0, ReadLimit::default()).await.unwrap();
        assert_eq!(bodies(&page), ["delta"]);
    });
}

#[test]
fn many_writers_and_readers_at_once_see_every_record_once_and_in_order() {
    let place = Place::new();
    let mut options = headwater_store::embedded::Options::default();
    options.segment_bytes = 64 << 10;
    options.tail_bytes = 4 << 10;
    options.fsync = Fsync::Never;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let store = Arc::new(Embedded::open_folder(place.folder.path(), options).unwrap());
        let mut tasks = tokio::task::JoinSet::new();
        for run in 0..8 {
            let lease = store.claim(&format!("run {run}").into(), "me", MINUTE).await.unwrap();
            for _ in 0..3 {
                let (store, journal) = (store.clone(), lease.journal.clone());
                tasks.spawn(async move {
                    let mut seen = 0;
                    loop {
                        let tail = store.wait(&journal, seen).await.unwrap();
                        let page = store.read(&journal, seen, ReadLimit::default()).await.unwrap();
                        for record in page.records {
                            seen += 1;
                            assert_eq!((record.seq, &record.body[..]), (seen, &seen.to_be_bytes()[..]));
                        }
                        if tail.closed && seen == tail.last {
                            assert_eq!(seen, 2_000);
                            return;
                        }
                    }
                });
            }
            let store = store.clone();
            tasks.spawn(async move {
                for n in 1_u64..=2_000 {
                    let class = if n % 50 == 0 { Class::Fact } else { Class::Delta };
                    let body = bytes::Bytes::copy_from_slice(&n.to_be_bytes());
                    store.append(&lease, class, &[body]).unwrap().await.unwrap();
                }
                store.close(&lease, None).await.unwrap();
            });
        }
        while let Some(done) = tasks.join_next().await {
            done.unwrap();
        }
    });
    assert!(place.check().is_good());
}

#[test]
fn single_records_take_at_most_half_as_much_again_on_disk() {
    let place = Place::new();
    let mut options = place.options();
    options.segment_bytes = 64 << 10;
    options.fsync = Fsync::Never;
    let store = place.open_with(options);
    let lease = store.claim("run");
    let records = 2_000;
    for _ in 0..records {
        store.fact(&lease, vec![b'x'; 200]);
    }
    let ratio = place.bytes() as f64 / (records * 200) as f64;
    assert!(ratio < 1.5, "{ratio}");
}

#[test]
fn with_interval_a_fact_is_seen_when_written_and_flush_makes_it_durable() {
    let place = Place::new();
    let left = Arc::new(AtomicUsize::new(1_000));
    let inner = Folder::new(place.folder.path()).unwrap();
    let files = Failing {
        inner,
        left: left.clone(),
        read: Arc::default(),
        error: io::ErrorKind::Other,
        writes: false,
    };
    let mut options = place.options();
    options.fsync = Fsync::Interval(MINUTE);
    let store = SteppedStore(Embedded::open_with(Arc::new(files), options).unwrap());
    let lease = store.claim("run");
    left.store(0, Ordering::SeqCst);
    store.fact(&lease, "written");
    assert_eq!(bodies(&store.page("run", 0).unwrap()), ["written"]);
    assert_eq!(code(store.drive(store.0.flush())), "store.io");
}

#[test]
fn opening_reads_the_footers_and_not_the_records() {
    let place = Place::new();
    let mut options = place.options();
    options.segment_bytes = 256 << 10;
    options.fsync = Fsync::Never;
    let store = place.open_with(options.clone());
    let lease = store.claim("run");
    for _ in 0..5_000 {
        store.fact(&lease, vec![b'x'; 1_000]);
    }
    drop(store);
    let (read, left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(1_000)));
    let inner = Folder::new(place.folder.path()).unwrap();
    let files = Failing { inner, left, read: read.clone(), error: io::ErrorKind::Other, writes: false };
    let store = SteppedStore(Embedded::open_with(Arc::new(files), options).unwrap());
    // The active segment is read, and from it a window at a time.
    let (read, all) = (read.load(Ordering::SeqCst), place.bytes());
    assert!(read < 1 << 20 && all > 5 << 20, "{read} of {all} bytes were read");
    assert_eq!(store.info("run").unwrap().tail.last, 5_000);
}

#[test]
fn damaged_segment_is_left_alone_and_does_not_keep_others_from_being_swept() {
    let place = Place::new();
    let store = place.open_small();
    let keeper = store.claim("keeper");
    for run in 0..10 {
        store.fact(&keeper, format!("kept {run}"));
        let lease = store.claim(&format!("run {run}"));
        for n in 0..20 {
            store.fact(&lease, format!("{n:0100}"));
        }
        store.drive(store.0.close(&lease, Some(MINUTE))).unwrap();
    }
    let damaged = place.segments()[0].clone();
    let mut bytes = std::fs::read(&damaged).unwrap();
    bytes[500] ^= 1;
    std::fs::write(&damaged, &bytes).unwrap();
    place.clock.advance(MINUTE);
    let before = place.bytes();
    store.drive(store.0.sweep()).unwrap();
    assert!(place.bytes() < before / 2);
    assert_eq!(std::fs::read(&damaged).unwrap(), bytes);
}
