//! How many cases an attack has, and whether one of them got through.

use std::{env, fs, path::Path};

/// The most cases of an attack in the usual run.
const SHORT: usize = 150;

/// Tries the cases of an attack, and fails if one of them gets through.
pub(crate) fn attack<C>(name: &str, cases: &[C], try_case: impl FnMut(&C) -> Result<(), String>) {
    let long = env::var_os("HEADWATER_ATTACK").is_some();
    let step = if long { 1 } else { cases.len().div_ceil(SHORT) };
    let through: Vec<_> = cases.iter().step_by(step).map(try_case).filter_map(Result::err).collect();
    let (count, shown) = (grouped(cases.len()), through.join("\n"));
    assert!(through.is_empty(), "{name}: {} got through:\n{shown}", through.len());
    if long {
        println!("told: {name} | {count} | 0 through");
    }
    if env::var_os("HEADWATER_ATTACK_WRITE").is_none() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
        let row = format!("| {name} | {count} | 0 through |");
        let text = fs::read_to_string(page).unwrap();
        assert!(
            text.lines().any(|line| line == row),
            "docs/security.md has no `{row}`: run `cargo xtask attack --write`"
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
