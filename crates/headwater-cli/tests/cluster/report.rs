//! How much is tried, and the rows about it.
//!
//! `cargo xtask cluster --write` keeps the rows that the tests printed in `recorded.txt`, and writes the tables of the
//! document from it: no figure in the document can be one that the command did not print.

use std::{env, time::Duration};

use crate::{
    engine::Kind,
    table::{assert_documented, row},
};

const DOCUMENT: &str = "docs/reliability.md";

/// A number that `cargo xtask cluster` sets; otherwise the short form's.
pub(crate) fn setting(name: &str, short: usize) -> usize {
    env::var(name)
        .map_or(short, |text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// Notes that a scenario held so many times. The document must have the row that the long form writes.
pub(crate) fn held(what: &str, count: usize, long: usize, result: &str) {
    println!("figure: {}", row(what, count, result));
    if env::var_os("HEADWATER_CLUSTER_WRITE").is_none() {
        assert_documented(DOCUMENT, &row(what, long, result), "cargo xtask cluster --write");
    }
}

/// Figures of this machine and this run. They are printed; `cargo xtask cluster --write` records them.
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

#[test]
fn tables_in_the_document_are_what_the_command_printed() {
    let recorded = include_str!("recorded.txt");
    let rows: Vec<_> =
        recorded.lines().filter_map(|line| line.split_once(": ")).map(|(_, row)| row).collect();
    assert!(rows.len() >= 16, "recorded.txt is not whole: {rows:#?}");
    for row in rows {
        assert_documented(DOCUMENT, row, "cargo xtask cluster --write");
    }
    for engine in ["Redis", "Postgres"] {
        for amount in ["takeover after a kill | 1000 kills", "half load | 600 s"] {
            let figures = format!("measured: {engine}: {amount}");
            assert!(recorded.contains(&figures), "recorded.txt has no `{figures}`");
        }
    }
}
