//! The number of cases and the row about them.

use std::env;

use crate::table::{assert_documented, row};

/// The number of cases to try: all of them in the long run, otherwise a few.
pub(crate) fn cases(long: usize, short: usize) -> usize {
    if is_long() { long } else { short }
}

pub(crate) fn is_long() -> bool {
    env::var_os("HEADWATER_ENDURE").is_some()
}

/// Reports that this many cases passed. The document must have the same row.
pub(crate) fn held(what: &str, long: usize, result: &str) {
    let row = row(what, long, result);
    if is_long() {
        println!("figure: {row}");
    }
    if env::var_os("HEADWATER_ENDURE_WRITE").is_none() {
        assert_documented("docs/reliability.md", &row, "cargo xtask endure --write");
    }
}
