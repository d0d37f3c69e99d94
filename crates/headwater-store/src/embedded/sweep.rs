//! Deletes expired data and frees its space.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::{Arc, PoisonError, atomic::Ordering},
    thread,
};

use tokio::sync::oneshot;

use super::{
    Embedded, EmbeddedState, Files, Options, Writer,
    format::segment_name,
    handles::Handles,
    index::{SegmentIndex, ValuePart, footer::Footer},
    recover,
    segment::{Lists, SealedSegment},
};
use crate::{Error, ErrorKind, Result, Swept};

mod rewrite;

/// The live contents of a segment.
#[derive(Debug, Default)]
struct LiveData {
    /// Journals with their first kept sequence and newest epoch.
    journals: HashMap<u64, (u64, u64)>,
    /// Keys with their current version.
    values: HashMap<Arc<str>, u64>,
    /// Deletions and removals that an older segment still needs.
    deleted: HashSet<u64>,
    removed: HashMap<Arc<str>, u64>,
    /// The approximate number of dead bytes.
    dead: u64,
}

impl LiveData {
    fn join(&mut self, other: Self) {
        self.journals.extend(other.journals);
        self.values.extend(other.values);
        self.deleted.extend(other.deleted);
        // Segments come in order, so the later version wins.
        self.removed.extend(other.removed);
        self.dead += other.dead;
    }

    fn is_empty(&self) -> bool {
        self.journals.is_empty()
            && self.values.is_empty()
            && self.deleted.is_empty()
            && self.removed.is_empty()
    }
}

/// Number of small neighbours merged into one segment, so that each byte is copied only a few times.
const JOINED: usize = 4;

/// When a segment is rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// When most of it is dead.
    Most,
    /// When anything is dead.
    Anything,
}

impl Embedded {
    /// Deletes expired data and rewrites mostly dead segments in a separate thread, so that no task is
    /// blocked.
    pub(super) async fn sweep_all(&self) -> Result<Swept> {
        let mut swept = Swept::default();
        let now = self.shared.retention.now();
        let over = {
            let mut core = self.shared.core();
            core.running()?;
            core.let_go(now)
        };
        if let Some((journals, values, batch)) = over {
            self.shared.wake.notify_one();
            batch.wait().await?;
            (swept.journals, swept.values) = (journals, values);
        }
        swept.bytes = match self.shared.options.writer {
            Writer::Manual => self.shared.reclaim(Worth::Most)?,
            Writer::Thread => self.reclaim_apart().await?,
        };
        Ok(swept)
    }

    async fn reclaim_apart(&self) -> Result<u64> {
        let stopped = || Error::new(ErrorKind::Stopped, "the store was closed during a sweep");
        let permit = self.sweeping.clone().acquire_owned().await.map_err(|_| stopped())?;
        let (tell, told) = oneshot::channel();
        let shared = self.shared.clone();
        let sweep = move || {
            let _permit = permit;
            // The caller may be gone; the space is freed anyway.
            let _ = tell.send(shared.reclaim(Worth::Most));
        };
        let thread = thread::Builder::new()
            .name("headwater-sweep".to_owned())
            .spawn(sweep)
            .map_err(|error| Error::io("starting a sweep", error))?;
        // The last sweep's thread has released its permit and is about to end.
        let last = self.sweeper.lock().unwrap_or_else(PoisonError::into_inner).replace(thread);
        if let Some(last) = last {
            let _ = last.join();
        }
        told.await.map_err(|_| stopped())?
    }
}

impl EmbeddedState {
    /// Checks all segments with dead data, and merges small ones. Returns the freed bytes.
    fn reclaim(&self, worth: Worth) -> Result<u64> {
        let mut stale = {
            let mut core = self.core();
            let sealed: BTreeSet<u64> = core.sealed.keys().copied().collect();
            let stale: BTreeSet<u64> = core.stale_segments.intersection(&sealed).copied().collect();
            core.stale_segments.retain(|segment| !sealed.contains(segment));
            stale
        };
        let freed = self.reclaim_stale(&mut stale, worth);
        // Retry the failed ones next time.
        self.core().stale_segments.extend(stale);
        Ok(freed? + self.join_small_segments()?)
    }

    fn reclaim_stale(&self, stale: &mut BTreeSet<u64>, worth: Worth) -> Result<u64> {
        let mut freed = 0;
        // Oldest first: deleted data goes before its deletion.
        while let Some(number) = stale.first().copied() {
            if self.quit.load(Ordering::SeqCst) {
                break;
            }
            let sealed = self.core().sealed.get(&number).cloned();
            let bytes = sealed.map_or(Ok(0), |sealed| self.reclaim_segment(&sealed, worth));
            let bytes = set_aside(bytes)?;
            stale.remove(&number);
            if bytes > 0 {
                freed += bytes;
                let core = self.core();
                let newer = core.sealed.range(number + 1..).filter(|(_, sealed)| sealed.tombstones);
                stale.extend(newer.map(|(number, _)| *number));
            }
        }
        Ok(freed)
    }

    /// Merges several small neighbours into one segment: long-lived data would otherwise leave a small file
    /// for each former segment.
    fn join_small_segments(&self) -> Result<u64> {
        let mut freed = 0;
        while !self.quit.load(Ordering::SeqCst) {
            let Some(neighbours) = self.small_neighbours() else { break };
            freed += set_aside(self.join(&neighbours))?;
        }
        Ok(freed)
    }

    fn join(&self, neighbours: &[Arc<SealedSegment>]) -> Result<u64> {
        // Deletions between the merged segments are kept: the deleted data may survive a crash.
        let mut all = LiveData::default();
        for sealed in neighbours {
            all.join(self.wanted(sealed, &read_index(sealed)?)?);
        }
        rewrite::rewrite(self, neighbours, &all)
    }

    fn small_neighbours(&self) -> Option<Vec<Arc<SealedSegment>>> {
        let whole = self.options.segment_bytes;
        let mut run: Vec<Arc<SealedSegment>> = Vec::new();
        for sealed in self.core().sealed.values() {
            let size: u64 = run.iter().map(|sealed| sealed.size).sum();
            let joins = sealed.size <= whole / JOINED as u64
                && size + sealed.size <= whole
                && !sealed.is_damaged()
                && matches!(sealed.lists, Lists::Footer(_));
            if joins {
                run.push(sealed.clone());
            } else if run.len() >= JOINED {
                break;
            } else {
                run.clear();
            }
        }
        (run.len() >= JOINED).then_some(run)
    }

    fn reclaim_segment(&self, sealed: &Arc<SealedSegment>, worth: Worth) -> Result<u64> {
        if sealed.is_damaged() {
            return Ok(0);
        }
        let read;
        let index = match &sealed.lists {
            Lists::Memory(index) => index,
            Lists::Footer(_) => {
                read = read_index(sealed)?;
                &read
            }
        };
        let wanted = self.wanted(sealed, index)?;
        if wanted.is_empty() {
            return self.remove_segment(sealed);
        }
        let no_footer = matches!(sealed.lists, Lists::Memory(_));
        let worth_it = match worth {
            Worth::Most => wanted.dead > sealed.size / 2,
            Worth::Anything => wanted.dead > 0,
        };
        if worth_it || no_footer {
            rewrite::rewrite(self, std::slice::from_ref(sealed), &wanted)
        } else {
            Ok(0)
        }
    }

    fn remove_segment(&self, sealed: &Arc<SealedSegment>) -> Result<u64> {
        self.make_deaths_durable()?;
        let name = segment_name(sealed.number);
        sealed.file.pin().map_err(|error| Error::io(format_args!("opening {name}"), error))?;
        self.core().sealed.remove(&sealed.number);
        self.lists.forget(sealed.number);
        let removed = self.files.remove(&name).and_then(|()| self.files.sync_names());
        removed.map_err(|error| self.fail(Error::io(format_args!("removing {name}"), error)))?;
        Ok(sealed.size)
    }

    /// Makes deletions durable, regardless of the policy. Otherwise a power cut could bring back a journal
    /// whose records are gone.
    fn make_deaths_durable(&self) -> Result<()> {
        let synced = self.log().sync(self.options.clock.monotonic());
        synced.map_err(|cause| self.fail(cause))
    }

    /// Stops the store with a cause.
    fn fail(&self, cause: Error) -> Error {
        self.core().stop(cause.clone());
        cause
    }

    fn wanted(&self, sealed: &SealedSegment, index: &SegmentIndex) -> Result<LiveData> {
        let mut wanted = LiveData::default();
        let mut older: BTreeMap<u64, Arc<SealedSegment>>;
        {
            let core = self.core();
            older = core
                .sealed
                .range(..sealed.number)
                .map(|(number, sealed)| (*number, sealed.clone()))
                .collect();
            for (number, part) in &index.journals {
                let bytes = part.list.bytes + 24 * u64::from(part.list.frames);
                let Some(journal) = core.journals.get(number) else {
                    wanted.dead += bytes + 32;
                    if part.deleted {
                        wanted.deleted.insert(*number);
                    }
                    continue;
                };
                let newest = journal.epochs.last().map_or(0, |start| start.epoch);
                if part.list.frames > 0 && part.list.first < journal.first {
                    let gone = journal.first.min(part.list.last + 1) - part.list.first;
                    wanted.dead += bytes * gone / (part.list.last - part.list.first + 1);
                }
                let is_spoken_of = !part.epochs.is_empty()
                    || (part.restoring && newest == 0)
                    || part.closed.is_some()
                    || (part.released > 0 && part.released >= newest)
                    || (part.trimmed > 0 && part.trimmed >= journal.first)
                    || (part.list.frames > 0 && part.list.last >= journal.first);
                if is_spoken_of {
                    wanted.journals.insert(*number, (journal.first, newest));
                }
            }
            for (key, part) in &index.values {
                match *part {
                    ValuePart::Put { version, .. } if core.values.is_newest(key, version) => {
                        wanted.values.insert(key.clone(), version);
                    }
                    ValuePart::Put { length, .. } => wanted.dead += u64::from(length),
                    ValuePart::Removed { version } => {
                        wanted.removed.insert(key.clone(), version);
                    }
                }
            }
        }
        self.keep_needed_tombstones(&mut wanted, &mut older)?;
        Ok(wanted)
    }

    /// Keeps only deletions and removals that an older segment still needs.
    fn keep_needed_tombstones(
        &self,
        wanted: &mut LiveData,
        older: &mut BTreeMap<u64, Arc<SealedSegment>>,
    ) -> Result<()> {
        let deleted = std::mem::take(&mut wanted.deleted);
        let removed = std::mem::take(&mut wanted.removed);
        wanted.dead += 24 * (deleted.len() + removed.len()) as u64;
        if deleted.is_empty() && removed.is_empty() {
            return Ok(());
        }
        while let Some((_, sealed)) = older.pop_first() {
            let read;
            let index = match &sealed.lists {
                Lists::Memory(index) => index,
                Lists::Footer(_) => {
                    read = read_index(&sealed)?;
                    &read
                }
            };
            wanted.deleted.extend(deleted.iter().filter(|number| index.journals.contains_key(number)));
            let needed = removed.iter().filter(|(key, _)| index.values.contains_key(*key));
            wanted.removed.extend(needed.map(|(key, version)| (key.clone(), *version)));
            // A damaged segment may hide the deleted data.
            if sealed.is_damaged() {
                wanted.deleted.extend(&deleted);
                wanted.removed.extend(removed.iter().map(|(key, version)| (key.clone(), *version)));
            }
        }
        wanted.dead -= 24 * (wanted.deleted.len() + wanted.removed.len()) as u64;
        Ok(())
    }
}

/// A segment found damaged is left alone and does not stop the sweep of others.
fn set_aside(reclaimed: Result<u64>) -> Result<u64> {
    match reclaimed {
        Err(error) if *error.kind() == ErrorKind::Corrupt => Ok(0),
        reclaimed => reclaimed,
    }
}

fn read_index(sealed: &SealedSegment) -> Result<SegmentIndex> {
    let name = segment_name(sealed.number);
    let footer = Footer::read(&*sealed.file, sealed.number)
        .map_err(|error| Error::io(format_args!("reading the footer of {name}"), error))?;
    footer.map(|(_, index)| index).ok_or_else(|| {
        sealed.damaged.store(true, Ordering::SeqCst);
        super::segment::corrupt(format_args!("the footer of {name} was good and is damaged now"))
    })
}

/// Rewrites all segments of a folder with any dead data, and deletes expired data. The folder must not be in
/// use. Returns the deleted files.
///
/// # Errors
/// Like [`Embedded::open`], and the failure that stopped the store.
pub fn compact(files: Arc<dyn Files>) -> Result<Swept> {
    let options = Options { writer: Writer::Manual, ..Options::default() };
    let guard = recover::lock(&*files, "of the store")?;
    let handles = Handles::new(files.clone(), options.max_open_files);
    let (core, log) = recover::recover(&files, handles, &options)?;
    let shared = EmbeddedState::new(core, log, options, files, guard);
    let over = shared.core().let_go(shared.retention.now());
    let mut swept = Swept::default();
    if let Some((journals, values, _)) = over {
        (swept.journals, swept.values) = (journals, values);
    }
    while shared.commit()? {}
    // Dead data in the active segment can only be dropped once it is sealed.
    let size = shared.log().offset;
    if size > super::format::SEGMENT_HEADER as u64 {
        shared.log().rotate(&shared.core, shared.options.clock.monotonic())?;
    }
    let everything: Vec<u64> = shared.core().sealed.keys().copied().collect();
    shared.core().stale_segments.extend(everything);
    swept.bytes = shared.reclaim(Worth::Anything)?;
    Ok(swept)
}
