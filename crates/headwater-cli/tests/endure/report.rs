//! How many cases there are, and the row about them.

use std::{env, fs, path::Path};

/// How many cases are tried: all of them in the long run, otherwise a few.
pub(crate) fn cases(long: usize, short: usize) -> usize {
    if is_long() { long } else { short }
}

pub(crate) fn is_long() -> bool {
    env::var_os("HEADWATER_ENDURE").is_some()
}

/// Tells that so many cases held, and what that means. The document must have the same row.
pub(crate) fn held(what: &str, long: usize, result: &str) {
    let count = grouped(long);
    if is_long() {
        println!("told: {what} | {count} | {result}");
    }
    if env::var_os("HEADWATER_ENDURE_WRITE").is_none() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reliability.md");
        let row = format!("| {what} | {count} | {result} |");
        let text = fs::read_to_string(page).unwrap();
        assert!(
            text.lines().any(|line| line == row),
            "docs/reliability.md has no `{row}`: run `cargo xtask endure --write`"
        );
    }
}

/// A number with commas.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
