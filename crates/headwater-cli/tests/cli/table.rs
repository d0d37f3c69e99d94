//! Table rows in the documentation that commands generate.

use std::{fs, path::Path};

/// A row of three cells: the attempt, the number of cases, and the result.
pub(crate) fn row(what: &str, count: usize, result: &str) -> String {
    format!("{what} | {} | {result}", grouped(count))
}

/// Fails unless a document contains the row; the command writes it.
pub(crate) fn assert_documented(document: &str, row: &str, command: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    let row = format!("| {row} |");
    let text = fs::read_to_string(page).unwrap();
    assert!(text.lines().any(|line| line == row), "{document} has no `{row}`: run `{command}`");
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
