//! Opens a folder: reads the footers of sealed segments, scans the active one, and cuts off a torn end.

use std::{io, sync::Arc};

use super::{
    Damage, Options,
    core::{ActiveSegment, Core},
    disk::{read_exact, read_up_to, write_all},
    files::{File, Files, Guard},
    format::{
        COMMIT_HEADER, CommitHeader, Counters, SEGMENT_HEADER, SegmentHeader, rewrite_name, segment_name,
        segment_number,
    },
    handles::{Handles, SegmentFile},
    index::{SegmentIndex, footer::Footer},
    log::{Log, write_error},
    scan::{Scan, ScanStart, SegmentFault, scan},
    segment::{Lists, SealedSegment},
};
use crate::{Error, ErrorKind, Result};

mod rebuild;

pub(super) use rebuild::Rebuild;

/// Locks the folder for this process.
pub(super) fn lock(files: &dyn Files, place: &str) -> Result<Box<dyn Guard>> {
    files.lock().map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => {
            let message = format!(
                "the folder {place} is in use by another process: stop that process, or use another folder"
            );
            Error::new(ErrorKind::Locked, message)
        }
        _ => Error::io(format_args!("locking the folder {place}"), error),
    })
}

/// The numbers of all segments, in order.
pub(super) fn segments(files: &dyn Files) -> Result<Vec<u64>> {
    let names = files.list().map_err(|error| Error::io("listing the folder's files", error))?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| segment_number(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// One segment's file and header.
#[derive(Debug)]
pub(super) struct OpenedSegment {
    pub(super) number: u64,
    pub(super) file: Arc<dyn File>,
    pub(super) size: u64,
    pub(super) header: Option<SegmentHeader>,
}

impl OpenedSegment {
    pub(super) fn open(files: &dyn Files, number: u64) -> Result<Self> {
        let name = segment_name(number);
        let failed = |error| Error::io(format_args!("opening {name}"), error);
        let file: Arc<dyn File> = files.open(&name).map(Arc::from).map_err(failed)?;
        let size = file.size().map_err(failed)?;
        let bytes = read_up_to(&*file, 0, SEGMENT_HEADER).map_err(failed)?;
        let header = SegmentHeader::decode(&bytes, &name)?.filter(|header| header.number == number);
        Ok(Self { number, file, size, header })
    }

    pub(super) fn footer(&self) -> Result<Option<(Footer, SegmentIndex)>> {
        Footer::read(&*self.file, self.number).map_err(|error| self.failed(error))
    }

    /// The footer of the last segment, only if it is complete: it may not have been made durable.
    pub(super) fn whole_footer(&self) -> Result<Option<(Footer, SegmentIndex)>> {
        let Some((footer, index)) = self.footer()? else { return Ok(None) };
        let whole = footer.is_whole(&*self.file, self.number).map_err(|error| self.failed(error))?;
        Ok(whole.then_some((footer, index)))
    }

    /// Reads all commits up to an offset.
    pub(super) fn scan(&self, until: u64, sealed: bool) -> Result<Scan> {
        let expected = ScanStart {
            segment: self.number,
            commit_before: self.header.map(|header| header.commit_before),
            generation: self.header.map_or(0, |header| header.generation),
            until,
            sealed,
        };
        let mut scan = scan(&*self.file, expected).map_err(|error| self.failed(error))?;
        if self.header.is_none() {
            let what = "the header of the segment is damaged";
            let fault = SegmentFault { offset: 0, bytes: SEGMENT_HEADER as u64, what, journal: None };
            scan.faults.insert(0, fault);
        }
        Ok(scan)
    }

    pub(super) fn failed(&self, error: io::Error) -> Error {
        Error::io(format_args!("reading {}", segment_name(self.number)), error)
    }
}

/// Opens the store in a folder that this process has locked.
pub(super) fn recover(
    files: &Arc<dyn Files>,
    handles: Arc<Handles>,
    options: &Options,
) -> Result<(Core, Log)> {
    remove_leftovers(&**files)?;
    // The name of the last segment may not be durable yet.
    files.sync_names().map_err(|error| Error::io("making the folder's names durable", error))?;
    let mut numbers = segments(&**files)?;
    let mut last = None;
    if let Some(number) = numbers.pop() {
        last = Some(open_last(&**files, number)?);
    }
    let mut rebuild = Rebuild::default();
    for number in numbers {
        read_sealed(&OpenedSegment::open(&**files, number)?, &handles, &mut rebuild)?;
    }
    let generation = |rebuild: &Rebuild| rebuild.generation.saturating_add(1);
    let place = match last {
        Some(Last::Active(opened, scan)) => {
            let scan = *scan;
            rebuild.header(opened.header.as_ref());
            rebuild.generation = rebuild.generation.max(scan.generation);
            rebuild.counters.raise(&scan.counters);
            rebuild.faults(opened.number, &scan.faults);
            cut_off(&opened, scan.unsure, scan.end)?;
            rebuild.apply(opened.number, &scan.index);
            rebuild.suspects.join(scan.suspects);
            let active =
                ActiveSegment { number: opened.number, file: opened.file.clone(), index: scan.index };
            (active, scan.end, scan.commit)
        }
        last => {
            let (mut number, mut commit) = (1, 0);
            if let Some(Last::Sealed(opened)) = last {
                commit = make_footer_durable(&opened)?;
                if opened.whole_footer()?.is_some() {
                    note_missing_segment(&**files, opened.number, &mut rebuild)?;
                }
                read_sealed(&opened, &handles, &mut rebuild)?;
                number = opened.number + 1;
            }
            rebuild.leap_if_damaged();
            let file = Log::create(&**files, number, commit, rebuild.counters, generation(&rebuild))?;
            (ActiveSegment { number, file, index: SegmentIndex::default() }, SEGMENT_HEADER as u64, commit)
        }
    };
    let (active, offset, commit) = place;
    let at = (active.number, active.file.clone(), offset);
    let generation = generation(&rebuild);
    rebuild.counters.begin(generation);
    let mut core = rebuild.finish(Core::new(options, active));
    let mut log = Log::resume(handles, options, at, commit, generation);
    if let Err(cause) = log.begin_generation(options.clock.monotonic()) {
        // On a full disk, existing data can still be read.
        core.stop(cause);
    }
    Ok((core, log))
}

/// Removes files of an unfinished rewrite. The file prepared for the next segment stays: see
/// [`note_missing_segment`].
fn remove_leftovers(files: &dyn Files) -> Result<()> {
    let failed = |error| Error::io("removing what an interrupted rewriting left", error);
    let names = files.list().map_err(failed)?;
    let next = segments(files)?.last().map(|newest| rewrite_name(newest + 1));
    for name in names.iter().filter(|name| name.ends_with(".seg.new") && Some(*name) != next.as_ref()) {
        files.remove(name).map_err(failed)?;
    }
    Ok(())
}

/// Records the loss of the segment after a sealed last one. A segment is only sealed once the file of the
/// next one durably exists, under a temporary name.
pub(super) fn note_missing_segment(files: &dyn Files, sealed: u64, rebuild: &mut Rebuild) -> Result<()> {
    let names = files.list().map_err(|error| Error::io("listing the folder's files", error))?;
    if !names.contains(&rewrite_name(sealed + 1)) {
        let what = format!("the segment is missing: what was written after {} is lost", segment_name(sealed));
        rebuild.lost(sealed + 1, what, None);
    }
    Ok(())
}

enum Last {
    /// To be continued.
    Active(OpenedSegment, Box<Scan>),
    /// Complete, or damaged from its beginning.
    Sealed(OpenedSegment),
}

/// Opens the last segment.
fn open_last(files: &dyn Files, number: u64) -> Result<Last> {
    let opened = OpenedSegment::open(files, number)?;
    if opened.whole_footer()?.is_some() {
        return Ok(Last::Sealed(opened));
    }
    let scan = opened.scan(opened.size, false)?;
    if opened.header.is_none() && scan.commits == 0 {
        // A segment gets its name after its header is durable, so this is damage and nothing can be
        // recovered.
        return Ok(Last::Sealed(opened));
    }
    Ok(Last::Active(opened, Box::new(scan)))
}

/// Truncates after the last valid commit and makes the rest durable.
///
/// Bytes read as valid may only have been in the page cache when the last process died. They are written
/// again, because after a failed fsync the system may consider pages clean that are not durable.
fn cut_off(opened: &OpenedSegment, unsure: u64, end: u64) -> Result<()> {
    const PIECE: u64 = 1 << 20;
    let cut = || -> io::Result<()> {
        if opened.size > end {
            opened.file.truncate(end)?;
        }
        let mut at = unsure;
        while at < end {
            let bytes = read_exact(&*opened.file, at, usize::try_from((end - at).min(PIECE)).unwrap_or(0))?;
            write_all(&*opened.file, at, &bytes)?;
            at += bytes.len() as u64;
        }
        opened.file.sync()
    };
    let name = segment_name(opened.number);
    cut().map_err(|error| write_error(format_args!("making {name} durable up to offset {end}"), error))
}

/// Makes a footer and the marker before it durable. Returns the number of the marker.
fn make_footer_durable(opened: &OpenedSegment) -> Result<u64> {
    let before = opened.header.map_or(0, |header| header.commit_before);
    let Some((footer, _)) = opened.footer()? else { return Ok(before) };
    let at = u64::from(footer.lists).saturating_sub(COMMIT_HEADER as u64);
    cut_off(opened, at, opened.size)?;
    Ok(marker_before(opened, &footer)?.map_or(before, |marker| marker.number))
}

/// The marker before a footer, if it is valid.
fn marker_before(opened: &OpenedSegment, footer: &Footer) -> Result<Option<CommitHeader>> {
    let at = u64::from(footer.lists).saturating_sub(COMMIT_HEADER as u64);
    let bytes = read_up_to(&*opened.file, at, COMMIT_HEADER).map_err(|error| opened.failed(error))?;
    Ok(CommitHeader::decode(&bytes, opened.number, at))
}

fn read_sealed(opened: &OpenedSegment, handles: &Arc<Handles>, rebuild: &mut Rebuild) -> Result<()> {
    rebuild.header(opened.header.as_ref());
    let number = opened.number;
    let (lists, tombstones, damaged) = match opened.footer()? {
        Some((footer, index)) => {
            if opened.header.is_none() {
                let what = "the header of the segment is damaged";
                let fault = SegmentFault { offset: 0, bytes: SEGMENT_HEADER as u64, what, journal: None };
                rebuild.faults(number, &[fault]);
            }
            // The segment may have been started by one process and sealed by another, whose next segment may
            // never have started.
            let sealed_by = marker_before(opened, &footer)?.map_or(0, |marker| marker.generation);
            rebuild.generation = rebuild.generation.max(sealed_by);
            rebuild.apply(number, &index);
            (Lists::Footer(footer), index.has_tombstones(), opened.header.is_none())
        }
        None => {
            let scan = opened.scan(opened.size, true)?;
            rebuild.generation = rebuild.generation.max(scan.generation);
            rebuild.counters.raise(&scan.counters);
            rebuild.faults(number, &scan.faults);
            rebuild.apply(number, &scan.index);
            rebuild.suspects.join(scan.suspects);
            // Rewriting adds the missing footer.
            rebuild.core_stale.push(number);
            let tombstones = scan.index.has_tombstones();
            (Lists::Memory(scan.index), tombstones, !scan.faults.is_empty())
        }
    };
    let file = SegmentFile::new(number, handles);
    rebuild.sealed.push(SealedSegment {
        number,
        file,
        size: opened.size,
        lists,
        tombstones,
        damaged: damaged.into(),
    });
    Ok(())
}

/// Counters that a damaged header may have hidden are recovered from the frames.
pub(super) fn counters_of(index: &SegmentIndex) -> Counters {
    Counters {
        epoch: index
            .journals
            .values()
            .flat_map(|part| &part.epochs)
            .map(|start| start.epoch)
            .max()
            .unwrap_or(0),
        version: index.values.values().map(super::index::ValuePart::version).max().unwrap_or(0),
        journal: index.journals.keys().last().copied().unwrap_or(0),
    }
}

/// The public description of a fault.
pub(super) fn damage(segment: u64, fault: &SegmentFault) -> Damage {
    Damage {
        file: segment_name(segment),
        offset: fault.offset,
        bytes: fault.bytes,
        what: fault.what.to_owned(),
        journal: None,
    }
}
