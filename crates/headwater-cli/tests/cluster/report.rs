//! How much is tried, and the rows about it.

use std::{env, time::Duration};

use crate::{
    engine::Kind,
    table::{assert_documented, row},
};

/// A number that `cargo xtask cluster` sets; otherwise the short form's.
pub(crate) fn setting(name: &str, short: usize) -> usize {
    env::var(name)
        .map_or(short, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// Notes that a scenario held so many times in its long form. The document must have the same row, which is about each
/// engine.
pub(crate) fn held(what: &str, count: usize, result: &str) {
    let row = row(what, count, result);
    println!("told: {row}");
    if env::var_os("HEADWATER_CLUSTER_WRITE").is_none() {
        assert_documented("docs/reliability.md", &row, "cargo xtask cluster --write");
    }
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
