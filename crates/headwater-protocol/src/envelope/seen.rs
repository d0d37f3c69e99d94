//! The event ids that were seen.
//!
//! Servers number their events, `m1:0`, `m1:1`, …, so that most ids need no memory of their own: a run of
//! ids that count up is kept as its first and its last.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

const DEFAULT_MAX: usize = 65_536;
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The event ids seen, in the order in which they came.
#[derive(Debug)]
pub(super) struct Seen {
    run: Option<Run>,
    others: BTreeSet<Arc<str>>,
    order: VecDeque<Entry>,
    len: usize,
    bytes: usize,
    max: usize,
}

/// Ids that count up by one.
#[derive(Debug)]
struct Run {
    prefix: String,
    from: u64,
    end: u64,
}

#[derive(Debug)]
enum Entry {
    /// So many of the run, after those that stand before.
    Run(u64),
    Other(Arc<str>),
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            run: None,
            others: BTreeSet::new(),
            order: VecDeque::new(),
            len: 0,
            bytes: 0,
            max: DEFAULT_MAX,
        }
    }
}

impl Seen {
    /// How many ids are remembered.
    pub(super) fn keep(&mut self, max: usize) {
        self.max = max;
        self.forget();
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.in_run(id) || self.others.contains(id)
    }

    fn in_run(&self, id: &str) -> bool {
        let (Some(run), Some((prefix, number))) = (&self.run, split(id)) else {
            return false;
        };
        (run.from..run.end).contains(&number) && run.prefix == prefix
    }

    /// Remembers an id; `false` if it was seen before.
    pub(super) fn insert(&mut self, id: &str) -> bool {
        let numbered = split(id);
        if let (Some(run), Some((prefix, number))) = (&mut self.run, numbered)
            && number == run.end
            && prefix == run.prefix
        {
            if self.others.contains(id) {
                return false;
            }
            run.end += 1;
            match self.order.back_mut() {
                Some(Entry::Run(count)) => *count += 1,
                _ => self.order.push_back(Entry::Run(1)),
            }
        } else if self.contains(id) {
            return false;
        } else if let Some((prefix, number)) = numbered
            && self.may_begin()
        {
            self.begin(prefix, number);
        } else {
            self.remember(id);
        }
        self.len += 1;
        self.forget();
        true
    }

    /// Whether a new run may begin. One id is no run yet: the newer one has as good a chance to become one.
    fn may_begin(&mut self) -> bool {
        let Some(run) = &self.run else {
            return true;
        };
        if run.end - run.from > 1 || !matches!(self.order.back(), Some(Entry::Run(1))) {
            return false;
        }
        let single = format!("{}{}", run.prefix, run.from);
        self.order.pop_back();
        self.bytes -= run.prefix.len();
        self.run = None;
        self.remember(&single);
        true
    }

    fn begin(&mut self, prefix: &str, number: u64) {
        self.bytes += prefix.len();
        self.run = Some(Run { prefix: prefix.to_owned(), from: number, end: number.saturating_add(1) });
        self.order.push_back(Entry::Run(1));
    }

    fn remember(&mut self, id: &str) {
        let id: Arc<str> = id.into();
        self.bytes += id.len();
        self.others.insert(Arc::clone(&id));
        self.order.push_back(Entry::Other(id));
    }

    fn forget(&mut self) {
        while self.len > self.max || self.bytes > MAX_BYTES {
            match self.order.front_mut() {
                None => return,
                Some(Entry::Run(count)) => {
                    *count -= 1;
                    let spent = *count == 0;
                    if let Some(run) = &mut self.run {
                        run.from += 1;
                        if run.from == run.end {
                            self.bytes -= run.prefix.len();
                            self.run = None;
                        }
                    }
                    if spent {
                        self.order.pop_front();
                    }
                }
                Some(Entry::Other(id)) => {
                    self.others.remove(id);
                    self.bytes -= id.len();
                    self.order.pop_front();
                }
            }
            self.len -= 1;
        }
    }

    /// The ids, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let mut number = self.run.as_ref().map_or(0, |run| run.from);
        self.order.iter().flat_map(move |entry| {
            let (numbers, other) = match entry {
                Entry::Run(count) => {
                    let from = number;
                    number += count;
                    (from..number, None)
                }
                Entry::Other(id) => (0..0, Some(Cow::Borrowed(&**id))),
            };
            let prefix = self.run.as_ref().map_or("", |run| run.prefix.as_str());
            numbers.map(move |number| Cow::Owned(format!("{prefix}{number}"))).chain(other)
        })
    }
}

/// What an id counts: its text before the number at its end, and that number, if it is written as we
/// would write it.
fn split(id: &str) -> Option<(&str, u64)> {
    let prefix = id.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let digits = id.get(prefix.len()..)?;
    if digits.len() > 18 || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((prefix, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_remembered_as_they_came_whether_they_count_or_not() {
        let given =
            ["x", "7", "m:0", "m:1", "y", "m:2", "m:4", "m:03", "", "m:3", "n:4", "18446744073709551616"];
        let mut seen = Seen::default();
        for (index, id) in given.iter().enumerate() {
            assert!(!seen.contains(id), "{id}");
            assert!(seen.insert(id), "{id}");
            assert!(given[..=index].iter().all(|id| seen.contains(id) && !seen.insert(id)));
        }
        assert_eq!(seen.iter().collect::<Vec<_>>(), given);
        assert!(!seen.contains("m:5") && !seen.contains("m:00") && !seen.contains("m:"));
    }

    #[test]
    fn the_oldest_are_forgotten_first() {
        let mut seen = Seen::default();
        seen.keep(3);
        for id in ["m:0", "a", "m:1", "m:2", "b"] {
            assert!(seen.insert(id));
        }
        assert_eq!(seen.iter().collect::<Vec<_>>(), ["m:1", "m:2", "b"]);
        assert!(!seen.contains("m:0") && !seen.contains("a"));
        seen.keep(0);
        assert_eq!((seen.iter().count(), seen.bytes), (0, 0));
    }
}
