//! How much is tried, and the rows about it.

use std::{env, fs, path::Path, time::Duration};

use crate::{engine::Kind, table::row};

const DOCUMENT: &str = "docs/reliability.md";

/// A number that `cargo xtask cluster` sets; otherwise the short form's.
pub(crate) fn setting(name: &str, short: usize) -> usize {
    env::var(name)
        .map_or(short, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// Notes that a scenario held so many times. The document must have a row that says the same, maybe about more times: the long
/// command writes it.
pub(crate) fn held(what: &str, count: usize, result: &str) {
    println!("told: {}", row(what, count, result));
    if env::var_os("HEADWATER_CLUSTER_WRITE").is_some() {
        return;
    }
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(DOCUMENT)).unwrap();
    let (begin, end) = (format!("| {what} | "), format!(" | {result} |"));
    let found = text.lines().any(|line| line.starts_with(&begin) && line.ends_with(&end));
    assert!(found, "{DOCUMENT} has no row `{begin}…{end}`: run `cargo xtask cluster --write`");
}

/// Figures of this machine and this run: they are printed and never compared.
pub(crate) fn measured(kind: Kind, what: &str, figures: &str) {
    println!("measured: {}: {what} | {figures}", kind.name());
}

/// The middle, the 99th percentile and the longest of some times.
pub(crate) fn percentiles(times: &mut [Duration]) -> Option<(Duration, Duration, Duration)> {
    times.sort_unstable();
    let at =
        |share: usize| times.get((times.len() * share / 100).min(times.len().saturating_sub(1))).copied();
    Some((at(50)?, at(99)?, at(100)?))
}
