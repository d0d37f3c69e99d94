//! The report of a test run: a heading per part while it goes, then a table, and the counts as the very last line.

use std::fmt;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};

use crate::command::Failure;

const HEADING: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const QUIET: Style = Style::new().dimmed();

/// How many tests there were, and how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    pub(crate) const PASSED: Self = Self { passed: 1, failed: 0, skipped: 0 };
    pub(crate) const FAILED: Self = Self { passed: 0, failed: 1, skipped: 0 };
    pub(crate) const SKIPPED: Self = Self { passed: 0, failed: 0, skipped: 1 };

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// What a part gives back: its counts, and what there is to show.
#[derive(Debug)]
pub(crate) struct SuiteOutcome {
    pub(crate) counts: Counts,
    /// Lines that are worth reading even when all is well.
    pub(crate) notes: Vec<String>,
    /// Everything the part printed, shown when something failed.
    pub(crate) output: String,
}

#[derive(Debug)]
struct Line {
    name: &'static str,
    seconds: Option<Duration>,
    counts: Counts,
    remark: String,
}

/// The parts so far.
#[derive(Debug, Default)]
pub(crate) struct SuiteReport {
    lines: Vec<Line>,
}

impl SuiteReport {
    /// Runs one part and reports its result. A part that cannot run has failed, and the next one is run all the same.
    pub(crate) fn part(&mut self, name: &'static str, run: impl FnOnce() -> Result<SuiteOutcome, Failure>) {
        anstream::println!("\n{HEADING}== {name}{HEADING:#}");
        let start = Instant::now();
        let outcome = run().unwrap_or_else(|failure| SuiteOutcome {
            counts: Counts::FAILED,
            notes: Vec::new(),
            output: failure.to_string(),
        });
        let seconds = start.elapsed();
        for note in &outcome.notes {
            anstream::println!("   {note}");
        }
        if outcome.counts.failed > 0 {
            anstream::println!("{}", outcome.output.trim_end());
        }
        let (style, word) = verdict(outcome.counts);
        anstream::println!("   {style}{word}{style:#} in {:.1} s", seconds.as_secs_f64());
        let remark = String::new();
        self.lines.push(Line { name, seconds: Some(seconds), counts: outcome.counts, remark });
    }

    /// Runs one part, unless there is a reason not to.
    pub(crate) fn part_unless(
        &mut self,
        reason: Option<&str>,
        name: &'static str,
        run: impl FnOnce() -> Result<SuiteOutcome, Failure>,
    ) {
        match reason {
            Some(why) => self.skip(name, why),
            None => self.part(name, run),
        }
    }

    fn skip(&mut self, name: &'static str, why: &str) {
        anstream::println!("\n{HEADING}== {name}{HEADING:#}\n   {QUIET}skipped: {why}{QUIET:#}");
        self.lines.push(Line { name, seconds: None, counts: Counts::SKIPPED, remark: why.to_owned() });
    }

    /// Prints the table and the closing line, and gives the counts of all parts. The closing line names the programs that
    /// rust tests went without: those that need them count as passed, and did nothing.
    pub(crate) fn close(self, notes: &[String], left_out: &str) -> Counts {
        let mut total = Counts::default();
        anstream::println!("\n{HEADING}{:<14} {:>8}  result{HEADING:#}", "part", "seconds");
        for Line { name, seconds, counts, remark } in &self.lines {
            let (style, word) = verdict(*counts);
            match seconds {
                Some(seconds) => {
                    let seconds = seconds.as_secs_f64();
                    anstream::println!("{name:<14} {seconds:>8.1}  {style}{word}{style:#}: {counts}");
                }
                None => {
                    anstream::println!("{name:<14} {:>8}  {QUIET}{word}: {remark}{QUIET:#}", "-");
                }
            }
            total.add(*counts);
        }
        for note in notes {
            anstream::println!("{note}");
        }
        if left_out.is_empty() {
            anstream::println!("{total}");
        } else {
            anstream::println!("{total}, without {left_out}");
        }
        total
    }
}

fn verdict(counts: Counts) -> (Style, &'static str) {
    match counts {
        Counts { failed: 1.., .. } => (BAD, "FAILED"),
        Counts { passed: 0, skipped: 1.., .. } => (QUIET, "skipped"),
        _ => (GOOD, "ok"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_line_names_skipped_tests_only_when_there_are_any() {
        let mut counts = Counts { passed: 122, ..Counts::default() };
        counts.add(Counts::PASSED);
        assert_eq!(counts.to_string(), "123 passed, 0 failed");
        counts.add(Counts::SKIPPED);
        counts.add(Counts::SKIPPED);
        assert_eq!(counts.to_string(), "123 passed, 0 failed, 2 skipped");
    }
}
