//! Rewrites one segment: what is wanted is copied with its checksums into a new file, which then takes the old one's place.

use std::{io, sync::Arc};

use super::Wanted;
use crate::{
    Error, Result,
    embedded::{
        Shared,
        disk::{Window, read_exact, write_all},
        files::File,
        format::{COMMIT_HEADER, CommitHeader, SEGMENT_HEADER, rewrite_name, segment_name},
        frame::{Frame, Records},
        index::{SegmentIndex, footer::Footer},
        log::write_error,
        segment::{Lists, Sealed, corrupt},
    },
};

/// The bytes that are gathered before they are written.
const PIECE: usize = 1 << 20;

/// Gives the bytes that became free.
pub(super) fn rewrite(shared: &Shared, sealed: &Arc<Sealed>, wanted: &Wanted) -> Result<u64> {
    let (name, new) = (segment_name(sealed.number), rewrite_name(sealed.number));
    let failed = |error| write_error(format_args!("rewriting {name} as {new}"), error);
    let file: Arc<dyn File> = shared.files.create(&new).map(Arc::from).map_err(failed)?;
    let mut copy = Copy {
        segment: sealed.number,
        file: file.clone(),
        offset: SEGMENT_HEADER as u64,
        pending: vec![0; COMMIT_HEADER],
        frames: 0,
        commit: 0,
        generation: 0,
        index: SegmentIndex::default(),
        moved: Vec::new(),
    };
    let copied = copy.run(shared, sealed, wanted);
    let (footer, size) = match copied {
        Ok(done) => done,
        Err(error) => {
            // The old segment is untouched. What is left of the new one goes when the store is opened, if not now.
            let _ = shared.files.remove(&new);
            return Err(error);
        }
    };
    let swapped =
        file.sync().and_then(|()| shared.files.rename(&new, &name)).and_then(|()| shared.files.sync_names());
    swapped.map_err(|error| shared.fail(failed(error)))?;
    let tombstones = copy.index.has_tombstones();
    let rewritten = Sealed {
        number: sealed.number,
        file,
        size,
        lists: Lists::Footer(footer),
        tombstones,
        damaged: false,
    };
    shared.core().replace_segment(Arc::new(rewritten), &copy.moved);
    shared.lists.forget(sealed.number);
    Ok(sealed.size.saturating_sub(size))
}

/// The new file while it is written.
struct Copy {
    segment: u64,
    file: Arc<dyn File>,
    /// Where the next commit goes.
    offset: u64,
    /// Room for a commit's header, and frames.
    pending: Vec<u8>,
    frames: u32,
    commit: u64,
    generation: u32,
    index: SegmentIndex,
    /// Values: key, version, new offset.
    moved: Vec<(Arc<str>, u64, u32)>,
}

impl Copy {
    fn run(&mut self, shared: &Shared, sealed: &Sealed, wanted: &Wanted) -> Result<(Footer, u64)> {
        let name = segment_name(self.segment);
        let reading = |error| Error::io(format_args!("reading {name}"), error);
        let writing = |error| write_error(format_args!("rewriting {name}"), error);
        let header = read_exact(&*sealed.file, 0, SEGMENT_HEADER).map_err(reading)?;
        write_all(&*self.file, 0, &header).map_err(writing)?;
        let end = match &sealed.lists {
            Lists::Footer(footer) => u64::from(footer.lists),
            Lists::Memory(_) => sealed.size,
        };
        let mut window = Window::new(&*sealed.file);
        let mut at = SEGMENT_HEADER as u64;
        let mut after_marker = false;
        while at < end {
            let header =
                CommitHeader::decode(window.get(at, COMMIT_HEADER).map_err(reading)?, self.segment, at);
            let Some(header) = header else {
                // Without a footer, the last commit is a marker and what follows it is the footer's remains.
                if matches!(sealed.lists, Lists::Memory(_)) && after_marker {
                    break;
                }
                return Err(corrupt(format_args!(
                    "{name} is damaged at offset {at} and cannot be rewritten"
                )));
            };
            let start = at + COMMIT_HEADER as u64;
            let body = window.get(start, header.body as usize).map_err(reading)?;
            let mut rest = body;
            while !rest.is_empty() {
                let offset = start + (body.len() - rest.len()) as u64;
                let Some((frame, length)) = Frame::decode(rest) else {
                    return Err(corrupt(format_args!(
                        "{name} is damaged at offset {offset} and cannot be rewritten"
                    )));
                };
                if wanted.wants(&frame) {
                    self.add(&frame, rest.get(..length).unwrap_or_default());
                }
                rest = rest.get(length..).unwrap_or_default();
            }
            self.commit = header.number;
            self.generation = header.generation;
            after_marker = header.frames == 0;
            if self.pending.len() > PIECE {
                self.write_commit().map_err(writing)?;
            }
            at = start + u64::from(header.body);
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

    fn add(&mut self, frame: &Frame<'_>, bytes: &[u8]) {
        let offset = u32::try_from(self.offset + self.pending.len() as u64).unwrap_or(u32::MAX);
        self.index.add(frame, offset, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        if let Frame::Put { key, version, .. } = *frame {
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

    fn name_journals(&mut self, shared: &Shared) {
        let core = shared.core();
        for (number, part) in &mut self.index.journals {
            if part.name.is_none() {
                part.name = core.journals.get(number).map(|journal| journal.name.clone());
            }
        }
    }
}

impl Wanted {
    fn wants(&self, frame: &Frame<'_>) -> bool {
        match *frame {
            Frame::Records(Records { journal, first, count, .. }) => {
                self.journals.get(&journal).is_some_and(|(kept, _)| first + count > *kept)
            }
            Frame::Claimed { journal, .. } | Frame::Closed { journal, .. } => {
                self.journals.contains_key(&journal)
            }
            Frame::Released { journal, epoch } => {
                self.journals.get(&journal).is_some_and(|(_, newest)| epoch >= *newest)
            }
            Frame::Trimmed { journal, before } => {
                self.journals.get(&journal).is_some_and(|(kept, _)| before >= *kept)
            }
            Frame::Deleted { journal } => self.deleted.contains(&journal),
            Frame::Put { key, version, .. } => self.values.get(key) == Some(&version),
            Frame::Removed { key, version } => self.removed.get(key) == Some(&version),
        }
    }
}
