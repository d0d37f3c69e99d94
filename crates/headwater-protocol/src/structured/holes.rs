//! Array elements that were skipped and never written.
//!
//! JSON shows such a hole as `null`, but the reducer must distinguish it from a `null` that the producer
//! wrote: a hole may still become a string, an array or an object. Holes are rare, so they are stored beside
//! the data; a stream without any pays for one emptiness check.

use std::collections::BTreeMap;
use std::ops::Range;

/// The holes of one stream, as index ranges keyed by the path of their array.
///
/// Paths are canonical (no leading zeros in an index); the root array has the empty path. Ranges are disjoint
/// and never adjacent, so equal sets of holes compare equal.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Holes {
    arrays: BTreeMap<String, BTreeMap<usize, usize>>,
    count: usize,
}

impl Holes {
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn contains(&self, array: &str, index: usize) -> bool {
        self.arrays.get(array).is_some_and(|ranges| range_around(ranges, index).is_some())
    }

    /// Adds a range without existing holes.
    pub(super) fn add(&mut self, array: &str, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.count += range.len();
        let Range { mut start, mut end } = range;
        let ranges = match self.arrays.get_mut(array) {
            Some(ranges) => ranges,
            None => self.arrays.entry(array.to_owned()).or_default(),
        };
        if let Some(further) = ranges.remove(&end) {
            end = further;
        }
        if let Some((&before, &before_end)) = ranges.range(..start).next_back()
            && before_end == start
        {
            start = before;
        }
        ranges.insert(start, end);
    }

    /// Removes a hole whose element is written.
    pub(super) fn fill(&mut self, array: &str, index: usize) {
        let Some(ranges) = self.arrays.get_mut(array) else {
            return;
        };
        let Some(Range { start, end }) = range_around(ranges, index) else {
            return;
        };
        ranges.remove(&start);
        if start < index {
            ranges.insert(start, index);
        }
        if index + 1 < end {
            ranges.insert(index + 1, end);
        }
        if ranges.is_empty() {
            self.arrays.remove(array);
        }
        self.count -= 1;
    }

    /// Whether the value at `path`, or anything below it, has a hole.
    pub(super) fn any_within(&self, path: &str) -> bool {
        !self.arrays.is_empty()
            && (self.arrays.contains_key(path) || self.arrays.range(below(path)).next().is_some())
    }

    /// Removes the holes at and below `path`, because the value is replaced.
    pub(super) fn forget(&mut self, path: &str) {
        if self.arrays.is_empty() {
            return;
        }
        let gone = self.arrays.range(below(path)).map(|(array, _)| array.clone());
        for array in gone.chain([path.to_owned()]).collect::<Vec<_>>() {
            if let Some(ranges) = self.arrays.remove(&array) {
                self.count -= ranges.iter().map(|(start, end)| end - start).sum::<usize>();
            }
        }
    }

    /// The paths of all holes.
    pub(super) fn paths(&self) -> impl Iterator<Item = String> + '_ {
        self.arrays.iter().flat_map(|(array, ranges)| {
            ranges.iter().flat_map(|(&start, &end)| start..end).map(move |index| join(array, index))
        })
    }
}

fn range_around(ranges: &BTreeMap<usize, usize>, index: usize) -> Option<Range<usize>> {
    let (&start, &end) = ranges.range(..=index).next_back()?;
    (index < end).then_some(start..end)
}

/// The range of paths that begin with `path.`, since `/` follows `.` in ASCII.
fn below(path: &str) -> Range<String> {
    format!("{path}.")..format!("{path}/")
}

fn join(array: &str, index: usize) -> String {
    if array.is_empty() { index.to_string() } else { format!("{array}.{index}") }
}

#[cfg(test)]
mod tests;
