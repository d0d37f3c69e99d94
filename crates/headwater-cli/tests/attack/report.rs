//! Counts the cases of an attack and reports those that got through.

use std::env;

use crate::table::{assert_documented, row};

/// The maximum number of cases per attack in the normal test run.
const SHORT: usize = 150;

/// Tries the cases of an attack and fails if one gets through.
pub(crate) fn attack<C>(name: &str, cases: &[C], try_case: impl FnMut(&C) -> Result<(), String>) {
    let long = env::var_os("HEADWATER_ATTACK").is_some();
    let step = if long { 1 } else { cases.len().div_ceil(SHORT) };
    let through: Vec<_> = cases.iter().step_by(step).map(try_case).filter_map(Result::err).collect();
    let shown = through.join("\n");
    assert!(through.is_empty(), "{name}: {} got through:\n{shown}", through.len());
    let row = row(name, cases.len(), "0 through");
    if long {
        println!("figure: {row}");
    }
    if env::var_os("HEADWATER_ATTACK_WRITE").is_none() {
        assert_documented("docs/security.md", &row, "cargo xtask attack --write");
    }
}
