//! Opens sealed segments on demand, so that there can be more of them than open files.

use std::{
    collections::{HashMap, VecDeque},
    io,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    files::{File, Files, is_out_of_descriptors},
    format::segment_name,
};

/// A bounded number of open files of sealed segments.
#[derive(Debug)]
pub(super) struct Handles {
    files: Arc<dyn Files>,
    limit: usize,
    last_id: AtomicU64,
    open: Mutex<OpenFiles>,
}

#[derive(Debug, Default)]
struct OpenFiles {
    by_id: HashMap<u64, Arc<dyn File>>,
    /// The oldest first.
    order: VecDeque<u64>,
}

impl Handles {
    pub(super) fn new(files: Arc<dyn Files>, limit: usize) -> Arc<Self> {
        Arc::new(Self { files, limit: limit.max(1), last_id: AtomicU64::new(0), open: Mutex::default() })
    }

    pub(super) fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }

    fn open(&self) -> MutexGuard<'_, OpenFiles> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, id: u64, segment: u64) -> io::Result<Arc<dyn File>> {
        if let Some(file) = self.open().by_id.get(&id) {
            return Ok(file.clone());
        }
        let name = segment_name(segment);
        let opened = match self.files.open(&name) {
            // Close an open one to free its descriptor.
            Err(error) if is_out_of_descriptors(&error) && self.forget_oldest() => self.files.open(&name),
            opened => opened,
        };
        let file: Arc<dyn File> = opened?.into();
        let mut open = self.open();
        if open.by_id.insert(id, file.clone()).is_none() {
            open.order.push_back(id);
        }
        while open.order.len() > self.limit {
            if let Some(oldest) = open.order.pop_front() {
                open.by_id.remove(&oldest);
            }
        }
        Ok(file)
    }

    fn forget_oldest(&self) -> bool {
        let mut open = self.open();
        let oldest = open.order.pop_front();
        oldest.is_some_and(|oldest| open.by_id.remove(&oldest).is_some())
    }

    fn forget(&self, id: u64) {
        let mut open = self.open();
        if open.by_id.remove(&id).is_some() {
            open.order.retain(|other| *other != id);
        }
    }
}

/// The file of a sealed segment, open or not.
#[derive(Debug)]
pub(super) struct SegmentFile {
    /// Changes when the segment is rewritten.
    id: u64,
    segment: u64,
    handles: Arc<Handles>,
    /// The file itself, once its name belongs to another file or was removed.
    pinned: OnceLock<Arc<dyn File>>,
}

impl SegmentFile {
    pub(super) fn new(segment: u64, handles: &Arc<Handles>) -> Arc<Self> {
        let id = handles.last_id.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self { id, segment, handles: handles.clone(), pinned: OnceLock::new() })
    }

    fn file(&self) -> io::Result<Arc<dyn File>> {
        if let Some(file) = self.pinned.get() {
            return Ok(file.clone());
        }
        let opened = self.handles.get(self.id, self.segment);
        // If the name was reassigned in the meantime, this may be the wrong file; but then the right one was
        // pinned before.
        self.pinned.get().cloned().map_or(opened, Ok)
    }

    /// Keeps the file open for current readers before its name is reassigned or removed.
    pub(super) fn pin(&self) -> io::Result<()> {
        let file = self.file()?;
        // Pinning twice keeps the same file.
        let _ = self.pinned.set(file);
        self.handles.forget(self.id);
        Ok(())
    }
}

impl File for SegmentFile {
    fn size(&self) -> io::Result<u64> {
        self.file()?.size()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file()?.read_at(offset, into)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file()?.sync()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.file()?.truncate(len)
    }
}
