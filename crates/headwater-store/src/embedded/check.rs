//! Reads every byte of a folder and reports damage.

use std::{fmt, sync::Arc};

use super::{
    Damage, Options,
    core::{ActiveSegment, Core},
    files::Files,
    format::segment_name,
    handles::{Handles, SegmentFile},
    index::{SegmentIndex, ValuePart},
    recover::{self, OpenedSegment, Rebuild},
    segment::{Lists, SealedSegment},
};
use crate::Result;

/// The contents of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Report {
    /// The number of segments.
    pub segments: u64,
    /// Bytes of all segments.
    pub bytes: u64,
    /// The number of commits.
    pub commits: u64,
    /// The number of frames, each with a valid checksum.
    pub frames: u64,
    /// The number of records, including those of deleted journals.
    pub records: u64,
    /// The number of journals that are not deleted.
    pub journals: u64,
    /// The number of values that are not removed.
    pub values: u64,
    /// The bytes of a torn end, which opening cuts off. They were never durable.
    pub torn: u64,
    /// Journals with an incomplete restore. Opening removes them.
    pub unfinished: u64,
    /// Footers that opening rebuilds from the frames.
    pub footers: Vec<String>,
    /// The damage found.
    pub damages: Vec<Damage>,
}

impl Report {
    /// Whether nothing is damaged. A torn end or a broken footer is not damage: nothing is lost with them.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.damages.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} segments, {} bytes, {} commits, {} frames: {} journals with {} records, {} values",
            self.segments, self.bytes, self.commits, self.frames, self.journals, self.records, self.values
        )?;
        if self.torn > 0 {
            writeln!(f, "torn end of {} bytes: never durable, cut off when the store is opened", self.torn)?;
        }
        if self.unfinished > 0 {
            writeln!(
                f,
                "{} journals with an incomplete restore: removed when the store is opened",
                self.unfinished
            )?;
        }
        for file in &self.footers {
            writeln!(
                f,
                "{file}: the footer is damaged and will be rebuilt from the frames; nothing is lost"
            )?;
        }
        for damage in &self.damages {
            writeln!(f, "damaged: {damage}")?;
        }
        write!(f, "{}", if self.is_good() { "good" } else { "damaged: restore the folder from a copy" })
    }
}

/// Reads every byte of a folder that no process uses, without changing anything.
///
/// # Errors
/// [`Locked`](crate::ErrorKind::Locked) if another process uses the folder,
/// [`Format`](crate::ErrorKind::Format) if a program with another format wrote it,
/// [`Io`](crate::ErrorKind::Io). Damage is not an error; it is in the report.
pub fn check(files: Arc<dyn Files>) -> Result<Report> {
    let _guard = recover::lock(&*files, "of the store")?;
    let numbers = recover::segments(&*files)?;
    let mut report = Report::default();
    let mut all = Rebuild::default();
    let mut active = None;
    let options = Options::default();
    let handles = Handles::new(files.clone(), options.max_open_files);
    let last = numbers.last().copied();
    for number in numbers {
        let opened = OpenedSegment::open(&*files, number)?;
        let footer = if Some(number) == last { opened.whole_footer()? } else { opened.footer()? };
        let sealed = footer.is_some() || Some(number) != last;
        let until = footer.as_ref().map_or(opened.size, |(footer, _)| u64::from(footer.lists));
        let scan = opened.scan(until, sealed)?;
        report.segments += 1;
        report.bytes += opened.size;
        report.commits += scan.commits;
        report.frames += scan.frames;
        report.records += scan.records;
        if !sealed {
            report.torn += opened.size.saturating_sub(scan.end);
        }
        all.faults(number, &scan.faults);
        match &footer {
            Some((footer, summary)) => {
                // The marker before the footer belongs to it.
                let whole = scan.end == until && footer.lists_agree(&*opened.file, &scan.index);
                if scan.faults.is_empty() && !whole {
                    report.footers.push(segment_name(number));
                }
                name_what_is_missing(&mut all, number, summary, &scan.index);
            }
            None if sealed => report.footers.push(segment_name(number)),
            None => {}
        }
        all.apply(number, &scan.index);
        all.suspects.join(scan.suspects);
        if Some(number) == last && footer.is_some() {
            recover::record_missing_segment(&*files, number, &mut all)?;
        }
        let OpenedSegment { file, size, .. } = opened;
        active = Some(ActiveSegment { number: number + 1, file, index: SegmentIndex::default() });
        let (file, lists) = (SegmentFile::new(number, &handles), Lists::Memory(scan.index));
        all.sealed.push(SealedSegment {
            number,
            file,
            size,
            lists,
            tombstones: false,
            damaged: false.into(),
        });
    }
    if let Some(active) = active {
        let core = all.finish(Core::new(&options, active));
        let known = core.journals.values().filter(|journal| journal.is_known()).count();
        report.unfinished = (core.journals.len() - known) as u64;
        (report.journals, report.values) = (known as u64, core.values.len() as u64);
        report.damages = core.damages;
    }
    Ok(report)
}

/// Reports frames of a damaged segment that its footer lists and the scan did not find.
fn name_what_is_missing(all: &mut Rebuild, segment: u64, summary: &SegmentIndex, found: &SegmentIndex) {
    for (number, part) in &summary.journals {
        let left = found.journals.get(number).map_or(0, |part| part.list.frames);
        let lost = part.list.frames.saturating_sub(left);
        if lost > 0 {
            let what = format!("{lost} of {} frames of records are damaged", part.list.frames);
            all.lost(segment, what, part.name.clone());
        }
    }
    for (key, part) in &summary.values {
        if found.values.get(key).map(ValuePart::version) != Some(part.version()) {
            all.lost(segment, format!("value {key} at version {} is damaged", part.version()), None);
        }
    }
}
