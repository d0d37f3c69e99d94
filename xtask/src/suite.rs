//! Runs suites of Rust tests: counts their results, and passes on which parts to leave out.

use std::process::{Command, ExitCode};

use crate::command::{Failure, cargo, run as finish};
use crate::report::Counts;
use crate::{Optional, figures, root};

/// The parts that the Rust tests leave out, in the form of `HEADWATER_WITHOUT`.
pub(crate) fn left_out(without: &[Optional]) -> String {
    let parts = [
        (Optional::Redis, "redis"),
        (Optional::Postgres, "postgres"),
        (Optional::Clocks, "clocks"),
        (Optional::Systemd, "systemd"),
    ];
    let left_out = parts.iter().filter(|(part, _)| without.contains(part)).map(|(_, name)| *name);
    left_out.collect::<Vec<_>>().join(",")
}

/// Makes tests skip the parts that need a program which this machine lacks.
pub(crate) fn leave_out(tests: &mut Command, without: &[Optional]) {
    let parts = left_out(without);
    if !parts.is_empty() {
        tests.env("HEADWATER_WITHOUT", parts);
    }
}

/// Tests of one crate that take a number from the environment.
pub(crate) struct Suite<'a> {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    pub(crate) filter: &'static str,
    pub(crate) settings: &'a [(&'static str, &'a str)],
}

/// Set to run suites with the build of `cargo xtask test`, where an optimised one would take longer than it saves.
const UNOPTIMISED: &str = "HEADWATER_UNOPTIMISED";

impl Suite<'_> {
    /// The arguments of cargo that build it.
    fn build(&self) -> Vec<&'static str> {
        if std::env::var_os(UNOPTIMISED).is_none() {
            return vec!["test", "--release", "-p", self.package, "--test", "*"];
        }
        // The test of a crate has its name, but for that of the command line.
        let test = self.package.trim_start_matches("headwater-");
        vec!["test", "--workspace", "--test", if test == "command" { "cli" } else { test }]
    }
}

/// The marker of lines by which a test reports its results.
pub(crate) const FIGURE: &str = "figure: ";

/// How suites ended, and what their tests reported.
#[derive(Debug)]
pub(crate) struct LongRun {
    pub(crate) ok: bool,
    pub(crate) printed: Vec<String>,
}

impl LongRun {
    /// The exit code. With a command, records the output under it.
    pub(crate) fn settle(self, command: Option<&str>) -> Result<ExitCode, Failure> {
        if let (true, Some(command)) = (self.ok, command) {
            figures::record(&root(), command, self.printed)?;
        }
        Ok(if self.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

pub(crate) fn long(suites: &[Suite<'_>]) -> Result<LongRun, Failure> {
    let mut printed = Vec::new();
    let mut counts = Counts::default();
    let mut ok = true;
    for suite in suites {
        anstream::println!("== {}", suite.name);
        let start = std::time::Instant::now();
        let mut tests = cargo(&root(), &suite.build());
        tests.args([suite.filter, "--", "--nocapture"]);
        tests.envs(suite.settings.iter().copied());
        let finished = finish(tests)?;
        if !finished.ok {
            anstream::print!("{}", finished.output);
        }
        for line in finished.output.lines().filter_map(|line| Some(line.split_once(FIGURE)?.1)) {
            anstream::println!("   {line}");
            printed.push(line.to_owned());
        }
        let verdict = if finished.ok { "ok" } else { "FAILED" };
        anstream::println!("   {verdict} in {:.1} s", start.elapsed().as_secs_f64());
        ok &= finished.ok;
        counts.add(count(&finished.output));
    }
    anstream::println!("{} passed, {} failed", counts.passed, counts.failed);
    Ok(LongRun { ok, printed })
}

/// Sums the lines `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
pub(crate) fn count(output: &str) -> Counts {
    let mut counts = Counts::default();
    for line in output.lines() {
        let Some((_, results)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            continue;
        };
        for result in results.split("; ") {
            let Some((number, what)) = result.split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => counts.passed += number,
                "failed" => counts.failed += number,
                "ignored" => counts.skipped += number,
                _ => {}
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_of_all_crates_are_summed() {
        let output = "\
running 3 tests
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
test result: FAILED. 5 passed; 2 failed; 0 ignored; 0 measured; 7 filtered out; finished in 1.20s
error: test failed, to rerun pass `-p x --lib`
";
        assert_eq!(count(output), Counts { passed: 8, failed: 2, skipped: 1 });
    }

    #[test]
    fn output_without_result_lines_counts_nothing() {
        assert_eq!(count("error: could not compile `x`"), Counts::default());
    }
}
