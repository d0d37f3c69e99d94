//! `cargo xtask test`: all that must hold before a change goes in. A failing part does not stop the others.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::command::{Failure, cargo, run as finish};
use crate::recorded::Recorded;
use crate::report::{Counts, Outcome, Report};
use crate::{
    Optional, attack, browser, clients, cluster, endure, garbage, mcp, models, native, pages, responses,
    root, tools, vendors, web,
};

/// The target for which the dialects and what they are built on must build: they have no I/O and no clock.
const WASM: &str = "wasm32-unknown-unknown";

/// The seed of generated cases.
const SEED: &str = "PROPTEST_RNG_SEED";

pub(crate) fn run(without: &[Optional], filter: Option<&str>) -> Result<ExitCode, Failure> {
    let root = root();
    let recorded = Recorded::from_environment(&root)?;
    let mut report = Report::default();
    let generated = root.join("target/generated-cases");
    // What an earlier run left would be judged again.
    let _ = std::fs::remove_dir_all(&generated);

    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    let unnamed = filter.is_some().then_some("only the named tests run");
    report.part_unless(unnamed, "format", || check(cargo(&root, &["fmt", "--all", "--check"])));
    // Outside the workspace, and so not among all.
    let fuzz = ["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"];
    report.part_unless(unnamed, "format of fuzz", || check(cargo(&root, &fuzz)));
    let fuzz = ["check", "--manifest-path", "fuzz/Cargo.toml", "--all-targets", "--target-dir", "target"];
    report.part_unless(unnamed, "fuzz targets", || check(cargo(&root, &fuzz)));
    report.part_unless(unnamed, "clippy", || check(cargo(&root, &clippy)));
    report.part("rust tests", || {
        tools::ensure(tools::CURL)?;
        tools::ensure_engines(without)?;
        rust_tests(&root, &generated, filter, &recorded, without)
    });
    report.part_unless(unnamed, "attacks", || attack::test(&root));
    report.part_unless(unnamed, "endurance", || endure::test(&root));
    let engineless = [Optional::Redis, Optional::Postgres].iter().all(|engine| without.contains(engine));
    let engineless = engineless.then_some("--without redis,postgres");
    report.part_unless(unnamed.or(engineless), "cluster", || cluster::test(&root, without));
    report.part_unless(unnamed, "wasm", || {
        tools::ensure_target(&root, WASM)?;
        check(cargo(&root, &["build", "-p", "headwater-dialects", "--target", WASM]))
    });
    let refused = without.contains(&Optional::Vendors).then_some("--without vendors");
    report.part_unless(refused, "vendors", || vendors::test(&root, &generated, filter));
    report.part_unless(refused, "clients", || clients::test(&root, filter));
    report.part_unless(refused, "responses", || responses::test(&root, filter));
    report.part_unless(refused.or(unnamed), "native", || native::test(&root));
    let unseen = without.contains(&Optional::Browser).then_some("--without browser");
    report.part_unless(refused.or(unnamed), "web", || web::test(&root, &recorded, unseen.is_none()));
    report.part_unless(unseen.or(refused), "browser", || browser::test(&root, filter));
    report.part_unless(unseen.or(refused), "pages", || pages::test(&root, filter));
    let only = filter.is_some().then_some("only the named tests run");
    report.part_unless(refused.or(only), "requests to models", || models::test(&root));
    let unnamed =
        filter.is_some_and(|filter| !mcp::TESTS.contains(filter)).then_some("only the named tests run");
    report.part_unless(refused.or(unnamed), "mcp", || mcp::test(&root));
    report.part_unless(only, "http garbage", || garbage::test(&root, without));

    // A filter leaves files unread on purpose.
    let reading = if filter.is_none() { recorded.close() } else { recorded.close_unchecked() };
    if let Some(why) = reading.failure {
        report.part("recorded data", || Err(Failure::new(why)));
    }
    let counts = report.close(&reading.notes, &left_out(without));
    Ok(if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the rust tests leave out, as `HEADWATER_WITHOUT` has it.
pub(crate) fn left_out(without: &[Optional]) -> String {
    let parts = [(Optional::Redis, "redis"), (Optional::Postgres, "postgres"), (Optional::Clocks, "clocks")];
    let left_out = parts.iter().filter(|(part, _)| without.contains(part)).map(|(_, name)| *name);
    left_out.collect::<Vec<_>>().join(",")
}

/// Has tests skip what needs a program that this machine lacks.
pub(crate) fn leave_out(tests: &mut Command, without: &[Optional]) {
    let parts = left_out(without);
    if !parts.is_empty() {
        tests.env("HEADWATER_WITHOUT", parts);
    }
}

/// The long form of one test: so many generated inputs for each decoder.
pub(crate) fn garbage(inputs: u64) -> Result<ExitCode, Failure> {
    anstream::println!("{inputs} inputs each; a million take some minutes");
    // A document is cut in some seventy ways, so a tenth of them is about as much.
    let (inputs, documents) = (inputs.to_string(), (inputs / 10).to_string());
    let counts = [("HEADWATER_GARBAGE", &*inputs), ("HEADWATER_DOCUMENTS", &*documents)];
    long(&[
        Suite { name: "decoders", package: "headwater-dialects", filter: "garbage::", settings: &counts },
        Suite { name: "JSON reader", package: "headwater-json", filter: "garbage::", settings: &counts },
        Suite { name: "JSON documents", package: "headwater-json", filter: "laws::", settings: &counts },
    ])
}

/// The laws of the dialects on so many runs that no test run has seen.
pub(crate) fn laws(runs: u64) -> Result<ExitCode, Failure> {
    anstream::println!("{runs} runs for each law; a thousand take a minute or two");
    let settings = [("HEADWATER_CASES", &*runs.to_string())];
    long(&[Suite { name: "laws", package: "headwater-dialects", filter: "laws::", settings: &settings }])
}

/// The embedded store on a faulty disk: so many random histories.
pub(crate) fn faults(seeds: u64) -> Result<ExitCode, Failure> {
    anstream::println!("{seeds} histories; ten thousand take some minutes");
    let settings = [("HEADWATER_SEEDS", &*seeds.to_string())];
    long(&[
        Suite { name: "faults", package: "headwater-store", filter: "simulation::", settings: &settings },
        Suite {
            name: "the judge of faults",
            package: "headwater-testkit",
            filter: "oracle::",
            settings: &[],
        },
    ])
}

/// A process that appends, and one that drives runs, is killed so many times.
pub(crate) fn kills(times: u64) -> Result<ExitCode, Failure> {
    anstream::println!("{times} kills; a hundred take less than a minute");
    let settings = [("HEADWATER_KILLS", &*times.to_string())];
    long(&[
        Suite { name: "a store", package: "headwater-store", filter: "kills::", settings: &settings },
        Suite { name: "runs", package: "headwater-runtime", filter: "kills::", settings: &settings },
    ])
}

/// Tests of one crate that take a number from the environment.
pub(crate) struct Suite<'a> {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    pub(crate) filter: &'static str,
    pub(crate) settings: &'a [(&'static str, &'a str)],
}

/// What comes before the words with which a test tells what it did.
pub(crate) const TOLD: &str = "told: ";

pub(crate) fn long(suites: &[Suite<'_>]) -> Result<ExitCode, Failure> {
    let mut counts = Counts::default();
    let mut ok = true;
    for suite in suites {
        anstream::println!("== {}", suite.name);
        let start = std::time::Instant::now();
        let arguments =
            ["test", "--release", "-p", suite.package, "--test", "*", suite.filter, "--", "--nocapture"];
        let mut tests = cargo(&root(), &arguments);
        tests.envs(suite.settings.iter().copied());
        let finished = finish(tests)?;
        if !finished.ok {
            anstream::print!("{}", finished.output);
        }
        for line in finished.output.lines().filter_map(|line| Some(line.split_once(TOLD)?.1)) {
            anstream::println!("   {line}");
        }
        let verdict = if finished.ok { "ok" } else { "FAILED" };
        anstream::println!("   {verdict} in {:.1} s", start.elapsed().as_secs_f64());
        ok &= finished.ok;
        counts.add(count(&finished.output));
    }
    anstream::println!("{} passed, {} failed", counts.passed, counts.failed);
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A part that either holds or does not.
fn check(command: Command) -> Result<Outcome, Failure> {
    let finished = finish(command)?;
    let counts = if finished.ok { Counts::PASSED } else { Counts::FAILED };
    Ok(Outcome { counts, notes: Vec::new(), output: finished.output })
}

fn rust_tests(
    root: &Path,
    generated: &Path,
    filter: Option<&str>,
    recorded: &Recorded,
    without: &[Optional],
) -> Result<Outcome, Failure> {
    let mut tests = cargo(root, &["test", "--workspace", "--no-fail-fast"]);
    tests.args(filter).env(vendors::GENERATED, generated);
    // Generated cases are the same in every run, so that a change is judged by what it changed. `cargo xtask laws`
    // looks for new ones.
    if std::env::var_os(SEED).is_none() {
        tests.env(SEED, "1");
    }
    leave_out(&mut tests, without);
    recorded.tell(&mut tests);
    let finished = finish(tests)?;
    let mut counts = count(&finished.output);
    // A crate that does not compile has no result line.
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    Ok(Outcome { counts, notes: Vec::new(), output: finished.output })
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
    fn the_result_lines_of_all_crates_are_summed() {
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
