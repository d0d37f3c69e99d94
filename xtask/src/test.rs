//! `cargo xtask test`: all that must hold before a change goes in. A failing part does not stop the others.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::command::{Failure, cargo, run as finish};
use crate::recorded::RecordedData;
use crate::report::{Counts, SuiteOutcome, SuiteReport};
use crate::suite::{Suite, count, leave_out, left_out, long};
use crate::{
    Optional, attack, browser, clients, cluster, docs, durable_streams, endure, garbage, mcp, models, native,
    network, packages, pages, responses, root, servers, shape, sizes, tools, vendors, web,
};

/// The target for which the dialects and what they are built on must build: they have no I/O and no clock.
const WASM: &str = "wasm32-unknown-unknown";

/// The seed of generated cases.
const SEED: &str = "PROPTEST_RNG_SEED";

pub(crate) fn run(without: &[Optional], filter: Option<&str>) -> Result<ExitCode, Failure> {
    let root = root();
    let recorded = RecordedData::from_environment(&root)?;
    let mut report = SuiteReport::default();
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
    let examples = ["check", "--manifest-path", "examples/rust/Cargo.toml", "--target-dir", "target"];
    report.part_unless(unnamed, "examples", || check(cargo(&root, &examples)));
    report.part_unless(unnamed, "shape", || shape::test(&root));
    report.part_unless(unnamed, "clippy", || check(cargo(&root, &clippy)));
    report.part_unless(unnamed, "docs", || docs::test(&root));
    report.part_unless(unnamed, "packages", || packages::test(&root));
    report.part("rust tests", || {
        tools::ensure(tools::CURL)?;
        tools::ensure_systemd(without)?;
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
    report.part_unless(unnamed, "documentation", || {
        let mut docs = cargo(&root, &["doc", "--workspace", "--no-deps"]);
        docs.env("RUSTDOCFLAGS", "-D warnings");
        check(docs)
    });
    report.part_unless(unnamed, "sizes", || sizes::test(&root));
    let refused = without.contains(&Optional::Vendors).then_some("--without vendors");
    report.part_unless(refused, "vendors", || vendors::test(&root, &generated, filter));
    report.part_unless(refused, "clients", || clients::test(&root, filter));
    report.part_unless(refused.or(unnamed), "servers", || servers::test(&root));
    report.part_unless(refused, "responses", || responses::test(&root, filter));
    report.part_unless(refused, "durable streams", || durable_streams::test(&root, filter));
    report.part_unless(refused.or(unnamed), "native", || native::test(&root));
    report.part_unless(refused.or(unnamed), "network", || network::test(&root));
    let unseen = without.contains(&Optional::Browser).then_some("--without browser");
    report.part_unless(refused.or(unnamed), "web", || web::test(&root, &recorded, unseen.is_none()));
    report.part_unless(unseen.or(refused), "browser", || {
        let outcome = browser::test(&root, filter)?;
        if filter.is_none() && outcome.counts.failed == 0 {
            attack::check_rows(&root, &outcome.output)?;
        }
        Ok(outcome)
    });
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
    ])?
    .settle(None)
}

/// The laws of the dialects on so many runs that no test run has seen.
pub(crate) fn laws(runs: u64) -> Result<ExitCode, Failure> {
    anstream::println!("{runs} runs for each law; a thousand take a minute or two");
    let settings = [("HEADWATER_CASES", &*runs.to_string())];
    long(&[Suite { name: "laws", package: "headwater-dialects", filter: "laws::", settings: &settings }])?
        .settle(None)
}

/// The embedded store on a faulty disk: so many random histories.
pub(crate) fn faults(seeds: u64, write: bool) -> Result<ExitCode, Failure> {
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
    ])?
    .settle(write.then_some(&*format!("cargo xtask faults {seeds}")))
}

/// The process of a run stops at each of its writes, and the disk fails there.
pub(crate) fn crashes(write: bool) -> Result<ExitCode, Failure> {
    anstream::println!("every write of sixteen workflows; it takes some minutes");
    long(&[Suite { name: "runs", package: "headwater-runtime", filter: "crashes::", settings: &[] }])?
        .settle(write.then_some("cargo xtask crashes"))
}

/// A process that appends, and one that drives runs, is killed so many times.
pub(crate) fn kills(times: u64, write: bool) -> Result<ExitCode, Failure> {
    anstream::println!("{times} kills; a hundred take less than a minute");
    let settings = [("HEADWATER_KILLS", &*times.to_string())];
    long(&[
        Suite { name: "a store", package: "headwater-store", filter: "kills::", settings: &settings },
        Suite { name: "runs", package: "headwater-runtime", filter: "kills::", settings: &settings },
    ])?
    .settle(write.then_some(&*format!("cargo xtask kills {times}")))
}

/// A part that either holds or does not.
fn check(command: Command) -> Result<SuiteOutcome, Failure> {
    let finished = finish(command)?;
    let counts = if finished.ok { Counts::PASSED } else { Counts::FAILED };
    Ok(SuiteOutcome { counts, notes: Vec::new(), output: finished.output })
}

fn rust_tests(
    root: &Path,
    generated: &Path,
    filter: Option<&str>,
    recorded: &RecordedData,
    without: &[Optional],
) -> Result<SuiteOutcome, Failure> {
    let mut tests = cargo(root, &["test", "--workspace", "--no-fail-fast"]);
    tests.args(filter).env(vendors::GENERATED, generated);
    // Generated cases are the same in every run, so that a change is judged by what it changed. `cargo xtask laws`
    // looks for new ones.
    if std::env::var_os(SEED).is_none() {
        tests.env(SEED, "1");
    }
    leave_out(&mut tests, without);
    recorded.pass_to(&mut tests);
    let finished = finish(tests)?;
    let mut counts = count(&finished.output);
    // A crate that does not compile has no result line.
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    Ok(SuiteOutcome { counts, notes: Vec::new(), output: finished.output })
}
