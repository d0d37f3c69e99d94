//! Rewrites segments: copies live frames with their checksums into a new file, which replaces the old ones.

use std::{
    io,
    sync::{Arc, atomic::Ordering},
};

use super::LiveData;
use crate::{
    Error, Result,
    embedded::{
        EmbeddedState,
        disk::{Window, read_exact, write_all},
        files::File,
        format::{COMMIT_HEADER, CommitHeader, SEGMENT_HEADER, SegmentHeader, rewrite_name, segment_name},
        frame::{LogFrame, RecordsFrame},
        handles::SegmentFile,
        index::{SegmentIndex, footer::Footer},
        log::write_error,
        segment::{Lists, SealedSegment, corrupt},
    },
};

/// The number of bytes gathered per write.
const PIECE: usize = 1 << 20;

/// Rewrites neighbours as one segment with the number of the last one. Returns the freed bytes.
pub(super) fn rewrite(
    shared: &EmbeddedState,
    sources: &[Arc<SealedSegment>],
    wanted: &LiveData,
) -> Result<u64> {
    shared.make_deaths_durable()?;
    let Some((last, others)) = sources.split_last() else { return Ok(0) };
    let (name, new) = (segment_name(last.number), rewrite_name(last.number));
    let failed = |error| write_error(format_args!("rewriting {name} as {new}"), error);
    // Readers may still use these files, whose names are about to be reassigned.
    sources.iter().try_for_each(|sealed| sealed.file.pin()).map_err(failed)?;
    let file: Arc<dyn File> = create(shared, &new).map(Arc::from).map_err(failed)?;
    let mut copy = SegmentCopy {
        segment: last.number,
        file: file.clone(),
        offset: SEGMENT_HEADER as u64,
        pending: vec![0; COMMIT_HEADER],
        frames: 0,
        commit: 0,
        generation: 0,
        index: SegmentIndex::default(),
        moved: Vec::new(),
    };
    let (footer, size) = match copy.run(shared, sources, wanted) {
        Ok(done) => done,
        Err(error) => {
            // The old segments are untouched. The new file is removed now or at the next open.
            let _ = shared.files.remove(&new);
            return Err(error);
        }
    };
    let swapped =
        file.sync().and_then(|()| shared.files.rename(&new, &name)).and_then(|()| shared.files.sync_names());
    swapped.map_err(|error| shared.fail(failed(error)))?;
    let tombstones = copy.index.has_tombstones();
    let rewritten = SealedSegment {
        number: last.number,
        file: SegmentFile::new(last.number, &shared.handles),
        size,
        lists: Lists::Footer(footer),
        tombstones,
        damaged: false.into(),
    };
    let journals = copy.index.journals.keys().copied();
    let gone: Vec<u64> = others.iter().map(|sealed| sealed.number).collect();
    shared.core().replace_segments(Arc::new(rewritten), &gone, journals, &copy.moved);
    for sealed in sources {
        shared.lists.forget(sealed.number);
    }
    // A crash before these are removed leaves duplicate frames, which is harmless.
    for number in gone {
        let name = segment_name(number);
        let removed = shared.files.remove(&name).and_then(|()| shared.files.sync_names());
        removed.map_err(|error| shared.fail(write_error(format_args!("removing {name}"), error)))?;
    }
    let before: u64 = sources.iter().map(|sealed| sealed.size).sum();
    Ok(before.saturating_sub(size))
}

fn create(shared: &EmbeddedState, name: &str) -> io::Result<Box<dyn File>> {
    match shared.files.create(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            shared.files.remove(name)?;
            shared.files.create(name)
        }
        created => created,
    }
}

/// The new file while it is written.
struct SegmentCopy {
    segment: u64,
    file: Arc<dyn File>,
    /// The offset of the next commit.
    offset: u64,
    /// Space for a commit's header, then frames.
    pending: Vec<u8>,
    frames: u32,
    commit: u64,
    generation: u32,
    index: SegmentIndex,
    /// Values: key, version, new offset.
    moved: Vec<(Arc<str>, u64, u32)>,
}

impl SegmentCopy {
    fn run(
        &mut self,
        shared: &EmbeddedState,
        sources: &[Arc<SealedSegment>],
        wanted: &LiveData,
    ) -> Result<(Footer, u64)> {
        let name = segment_name(self.segment);
        let writing = |error| write_error(format_args!("rewriting {name}"), error);
        if let Some(last) = sources.last() {
            let header = read_exact(&*last.file, 0, SEGMENT_HEADER)
                .map_err(|error| Error::io(format_args!("reading {name}"), error))?;
            // Take the number from its header, so that the commits of merged segments are valid after it.
            if let Some(header) = SegmentHeader::decode(&header, &name)? {
                (self.commit, self.generation) = (header.commit_before + 1, header.generation);
            }
            write_all(&*self.file, 0, &header).map_err(writing)?;
        }
        for sealed in sources {
            self.copy(sealed, wanted)?;
        }
        if self.frames > 0 {
            self.write_commit().map_err(writing)?;
        }
        // The marker before the footer.
        self.write_commit().map_err(writing)?;
        self.name_journals(shared);
        let lists = u32::try_from(self.offset).unwrap_or(u32::MAX);
        let (footer, bytes) = Footer::encode(&self.index, self.segment, lists);
        write_all(&*self.file, self.offset, &bytes).map_err(writing)?;
        Ok((footer, self.offset + bytes.len() as u64))
    }

    /// Copies the live contents of one segment.
    fn copy(&mut self, sealed: &SealedSegment, wanted: &LiveData) -> Result<()> {
        let name = segment_name(sealed.number);
        let reading = |error| Error::io(format_args!("reading {name}"), error);
        let damaged = |at: u64| {
            sealed.damaged.store(true, Ordering::SeqCst);
            corrupt(format_args!("{name} is damaged at offset {at} and cannot be rewritten"))
        };
        let end = match &sealed.lists {
            Lists::Footer(footer) => u64::from(footer.lists),
            Lists::Memory(_) => sealed.size,
        };
        let mut window = Window::new(&*sealed.file);
        let mut at = SEGMENT_HEADER as u64;
        let mut after_marker = false;
        while at < end {
            let header =
                CommitHeader::decode(window.get(at, COMMIT_HEADER).map_err(reading)?, sealed.number, at);
            let Some(header) = header else {
                // Without a footer, the last commit is a marker and the rest is a damaged footer.
                if matches!(sealed.lists, Lists::Memory(_)) && after_marker {
                    break;
                }
                return Err(damaged(at));
            };
            let start = at + COMMIT_HEADER as u64;
            let body = window.get(start, header.body as usize).map_err(reading)?;
            let mut rest = body;
            while !rest.is_empty() {
                let offset = start + (body.len() - rest.len()) as u64;
                let (frame, length) = LogFrame::decode(rest).ok_or_else(|| damaged(offset))?;
                if wanted.wants(&frame) {
                    self.add(&frame, rest.get(..length).unwrap_or_default());
                }
                rest = rest.get(length..).unwrap_or_default();
            }
            self.commit = self.commit.max(header.number);
            self.generation = self.generation.max(header.generation);
            after_marker = header.frames == 0;
            if self.pending.len() > PIECE {
                self.write_commit().map_err(|error| write_error(format_args!("rewriting {name}"), error))?;
            }
            at = start + u64::from(header.body);
        }
        Ok(())
    }

    fn add(&mut self, frame: &LogFrame<'_>, bytes: &[u8]) {
        let offset = u32::try_from(self.offset + self.pending.len() as u64).unwrap_or(u32::MAX);
        self.index.add(frame, offset, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        if let LogFrame::Put { key, version, .. } = *frame {
            self.moved.push((key.into(), version, offset));
        }
        self.pending.extend_from_slice(bytes);
        self.frames += 1;
    }

    fn write_commit(&mut self) -> io::Result<()> {
        let (room, body) = self.pending.split_at_mut_checked(COMMIT_HEADER).unwrap_or_default();
        let header = CommitHeader {
            body: u32::try_from(body.len()).unwrap_or(u32::MAX),
            body_sum: crc32c::crc32c(body),
            frames: self.frames,
            generation: self.generation,
            number: self.commit,
            durable: self.commit,
        };
        header.encode_into(room, self.segment, self.offset);
        write_all(&*self.file, self.offset, &self.pending)?;
        self.offset += self.pending.len() as u64;
        self.pending.truncate(COMMIT_HEADER);
        self.frames = 0;
        Ok(())
    }

    fn name_journals(&mut self, shared: &EmbeddedState) {
        let core = shared.core();
        for (number, part) in &mut self.index.journals {
            if part.name.is_none() {
                part.name = core.journals.get(number).map(|journal| journal.name.clone());
            }
        }
    }
}

impl LiveData {
    fn wants(&self, frame: &LogFrame<'_>) -> bool {
        match *frame {
            LogFrame::Records(RecordsFrame { journal, first, count, .. }) => {
                self.journals.get(&journal).is_some_and(|(kept, _)| first + count > *kept)
            }
            LogFrame::Claimed { journal, .. }
            | LogFrame::Closed { journal, .. }
            | LogFrame::Restoring { journal, .. } => self.journals.contains_key(&journal),
            LogFrame::Released { journal, epoch, .. } => {
                self.journals.get(&journal).is_some_and(|(_, newest)| epoch >= *newest)
            }
            LogFrame::Trimmed { journal, before } => {
                self.journals.get(&journal).is_some_and(|(kept, _)| before >= *kept)
            }
            LogFrame::Deleted { journal } => self.deleted.contains(&journal),
            LogFrame::Put { key, version, .. } => self.values.get(key) == Some(&version),
            LogFrame::Removed { key, version } => self.removed.get(key) == Some(&version),
        }
    }
}
