//! Reads a segment from front to back and distinguishes a torn end from damage.

use std::{
    collections::{BTreeSet, VecDeque},
    io,
};

use super::{
    disk::Window,
    files::File,
    format::{COMMIT_HEADER, COMMIT_MAGIC, CommitHeader, Counters, SEGMENT_HEADER},
    frame::{FRAME_HEADER, LogFrame, frame_length},
    index::SegmentIndex,
};

/// The contents of a segment.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) index: SegmentIndex,
    /// End of the last valid commit.
    pub(super) end: u64,
    /// The offset of the first commit that no later one records as durable; 0 if this includes all of them
    /// and the header.
    pub(super) unsure: u64,
    /// The number of the last commit.
    pub(super) commit: u64,
    pub(super) generation: u32,
    /// The highest counters named by a frame.
    pub(super) counters: Counters,
    /// Whether the last valid commit has no frames.
    pub(super) ends_with_marker: bool,
    pub(super) commits: u64,
    pub(super) frames: u64,
    pub(super) records: u64,
    pub(super) faults: Vec<SegmentFault>,
    /// Journals that may have lost their end.
    pub(super) suspects: Suspects,
}

/// Journals whose last records may be among the damaged ones.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// Journals with damaged records and no later valid frame.
    named: BTreeSet<u64>,
    /// If the damaged journal is unknown, every journal without a later good frame is suspect.
    cleared: Option<BTreeSet<u64>>,
}

impl Suspects {
    /// A valid frame of a journal shows that nothing before it is missing at its end.
    pub(super) fn clear(&mut self, journal: u64) {
        self.named.remove(&journal);
        if let Some(cleared) = &mut self.cleared {
            cleared.insert(journal);
        }
    }

    /// Merges the suspects of a later segment.
    pub(super) fn join(&mut self, later: Self) {
        self.named.extend(later.named);
        if later.cleared.is_some() {
            self.cleared = later.cleared;
        }
    }

    pub(super) fn contains(&self, journal: u64) -> bool {
        self.named.contains(&journal)
            || self.cleared.as_ref().is_some_and(|cleared| !cleared.contains(&journal))
    }
}

/// A place where a segment is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SegmentFault {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) what: &'static str,
    /// The journal that the bytes seem to belong to.
    pub(super) journal: Option<u64>,
}

/// Facts about a segment from before its commits are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanStart {
    pub(super) segment: u64,
    /// The last commit before it, if its header has it.
    pub(super) commit_before: Option<u64>,
    pub(super) generation: u32,
    /// The latest offset at which the commits end.
    pub(super) until: u64,
    pub(super) sealed: bool,
}

/// Reads the commits of a segment.
pub(super) fn scan(file: &dyn File, expected: ScanStart) -> io::Result<Scan> {
    let mut scan = Scan {
        end: SEGMENT_HEADER as u64,
        commit: expected.commit_before.unwrap_or_default(),
        generation: expected.generation,
        ..Scan::default()
    };
    let mut window = Window::new(file);
    let mut unsure = VecDeque::new();
    let mut started = expected.commit_before.is_some();
    let mut at = SEGMENT_HEADER as u64;
    while at < expected.until {
        if let Some(header) = header_at(&mut window, &expected, at)? {
            let next = at + COMMIT_HEADER as u64 + u64::from(header.body);
            let follows = if !started {
                true
            } else if expected.sealed {
                header.number >= scan.commit
            } else {
                header.number == scan.commit + 1 && header.generation >= scan.generation
            };
            if follows && next <= expected.until && scan.take_commit(&mut window, at, &header)? {
                unsure.push_back((header.number, at));
                while unsure.front().is_some_and(|(number, _)| *number <= header.durable) {
                    unsure.pop_front();
                }
                started = true;
                at = next;
                scan.end = at;
                continue;
            }
        }
        let later = LaterCommits::search(&mut window, &expected, at + 1, &scan, started)?;
        let was_durable = later.durable > scan.commit || (!started && later.first.is_some());
        if !expected.sealed && !was_durable {
            break;
        }
        let next = later.first.map_or(expected.until, |(offset, _)| offset);
        if expected.sealed && later.first.is_none() && scan.ends_with_marker {
            // The marker was the last commit: the rest is an unreadable footer.
            break;
        }
        scan.salvage(&mut window, at, next)?;
        if let Some((_, header)) = later.first {
            scan.commit = header.number.saturating_sub(1);
        }
        started = true;
        at = next;
        scan.end = at;
    }
    scan.unsure = unsure.front().map_or(scan.end, |(_, at)| *at);
    if scan.unsure == SEGMENT_HEADER as u64 {
        scan.unsure = 0;
    }
    Ok(scan)
}

fn header_at(window: &mut Window<'_>, expected: &ScanStart, at: u64) -> io::Result<Option<CommitHeader>> {
    Ok(CommitHeader::decode(window.get(at, COMMIT_HEADER)?, expected.segment, at))
}

impl Scan {
    /// Adds a whole commit; `false`, with nothing added, if it is invalid.
    fn take_commit(&mut self, window: &mut Window<'_>, at: u64, header: &CommitHeader) -> io::Result<bool> {
        let start = at + COMMIT_HEADER as u64;
        let body = window.get(start, header.body as usize)?;
        if body.len() != header.body as usize || crc32c::crc32c(body) != header.body_sum {
            return Ok(false);
        }
        let mut rest = body;
        let mut frames = Vec::with_capacity(header.frames.min(1 << 16) as usize);
        while !rest.is_empty() {
            let Some((frame, length)) = LogFrame::decode(rest) else { return Ok(false) };
            frames.push((frame, start + (body.len() - rest.len()) as u64, length));
            rest = rest.get(length..).unwrap_or_default();
        }
        for (frame, offset, length) in frames {
            self.take_frame(&frame, offset, length);
        }
        self.commit = header.number;
        self.generation = self.generation.max(header.generation);
        self.commits += 1;
        self.ends_with_marker = header.frames == 0;
        Ok(true)
    }

    fn take_frame(&mut self, frame: &LogFrame<'_>, offset: u64, length: usize) {
        self.frames += 1;
        match *frame {
            LogFrame::Records(records) => self.records += records.count,
            LogFrame::Claimed { epoch, .. } => self.counters.epoch = self.counters.epoch.max(epoch),
            LogFrame::Put { version, .. } | LogFrame::Removed { version, .. } => {
                self.counters.version = self.counters.version.max(version);
            }
            _ => {}
        }
        if let Some(journal) = frame.journal() {
            self.counters.journal = self.counters.journal.max(journal);
            // A trim contains the new start of the journal, but nothing about earlier records in the log.
            if !matches!(frame, LogFrame::Trimmed { .. }) {
                self.suspects.clear(journal);
            }
        }
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        self.index.add(frame, offset, u32::try_from(length).unwrap_or(u32::MAX));
    }

    /// Keeps the valid frames of a damaged commit and records the damage.
    fn salvage(&mut self, window: &mut Window<'_>, at: u64, next: u64) -> io::Result<()> {
        let whole = usize::try_from(next - at).unwrap_or(usize::MAX);
        let bytes = window.get(at, whole)?.to_vec();
        let before = self.faults.len();
        let mut skip = COMMIT_HEADER;
        while let Some(rest) = bytes.get(skip..).filter(|rest| rest.len() > FRAME_HEADER) {
            let offset = at + skip as u64;
            if let Some((frame, length)) = LogFrame::decode(rest) {
                self.take_frame(&frame, offset, length);
                skip += length;
                continue;
            }
            let length = frame_length(rest);
            let guess = length.and_then(|length| LogFrame::guess(rest.get(..length)?));
            match guess {
                Some(LogFrame::Records(records)) if self.index.goes_on_with(&records) => {
                    self.suspects.named.insert(records.journal);
                }
                Some(LogFrame::Records(_)) | None => self.suspects.cleared = Some(BTreeSet::new()),
                Some(_) => {}
            }
            let journal = guess.and_then(|frame| frame.journal());
            let bytes = length.unwrap_or(rest.len()) as u64;
            self.faults.push(SegmentFault { offset, bytes, what: "a frame is damaged", journal });
            let Some(length) = length else { break };
            skip += length;
        }
        if self.faults.len() == before {
            let what = "the header of a commit is damaged";
            self.faults.push(SegmentFault { offset: at, bytes: COMMIT_HEADER as u64, what, journal: None });
        }
        self.ends_with_marker = false;
        Ok(())
    }
}

/// The valid commits after a damaged place.
struct LaterCommits {
    first: Option<(u64, CommitHeader)>,
    /// The highest commit that one of them records as durable.
    durable: u64,
}

impl LaterCommits {
    fn search(
        window: &mut Window<'_>,
        expected: &ScanStart,
        mut at: u64,
        scan: &Scan,
        started: bool,
    ) -> io::Result<Self> {
        let mut later = Self { first: None, durable: 0 };
        while at < expected.until {
            let piece = window.get(at, 64 << 10)?;
            let Some(found) = piece.windows(COMMIT_MAGIC.len()).position(|bytes| bytes == COMMIT_MAGIC)
            else {
                if piece.len() < COMMIT_HEADER {
                    break;
                }
                at += (piece.len() - COMMIT_MAGIC.len() + 1) as u64;
                continue;
            };
            at += found as u64;
            if let Some(header) = header_at(window, expected, at)? {
                let newer = header.number > scan.commit || !started || expected.sealed;
                if newer && header.generation >= scan.generation {
                    later.first.get_or_insert((at, header));
                    later.durable = later.durable.max(header.durable);
                    at += COMMIT_HEADER as u64 + u64::from(header.body);
                    continue;
                }
            }
            at += 1;
        }
        Ok(later)
    }
}
