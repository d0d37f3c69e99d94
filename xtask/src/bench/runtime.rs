//! `cargo xtask bench runtime`: what runs, deltas, waiting and replay cost, beside what was aimed at.

use std::path::Path;
use std::process::ExitCode;

use super::measurement::{number, text};
use crate::command::{Failure, cargo, output_of};

/// One thing measured on one store.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    what: String,
    store: String,
    value: f64,
    unit: String,
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        Some(Self {
            what: text(line, "what")?,
            store: text(line, "store")?,
            value: number(line, "value")?,
            unit: text(line, "unit")?,
        })
    }

    /// What is aimed at, and whether it was reached.
    fn aim(&self) -> Option<(String, bool)> {
        let at_most = |limit: f64| (format!("at most {limit} {}", self.unit), self.value <= limit);
        match (self.what.as_str(), self.store.as_str()) {
            ("runs of 1 nodes, per second of this thread", "memory") => {
                Some(("at least 20000 runs/s".to_owned(), self.value >= 20_000.0))
            }
            ("added per delta, p50" | "added per delta, p99", _) => Some(at_most(20.0)),
            ("memory per waiting run", _) => Some(at_most(4096.0)),
            ("answer and replay of 1,000 effects", _) => Some(at_most(5.0)),
            _ => None,
        }
    }
}

pub(super) fn run(root: &Path) -> Result<ExitCode, Failure> {
    let output = output_of(cargo(root, &["bench", "-p", "headwater-runtime", "--bench", "runtime"]))?;
    let rows: Vec<Row> = output.lines().filter_map(Row::parse).collect();
    if rows.is_empty() {
        return Err(Failure::new("the runtime bench printed no measurements"));
    }
    anstream::println!("{}", table(&rows));
    let missed = rows.iter().filter_map(Row::aim).filter(|(_, met)| !met).count();
    anstream::println!("\n{} measurements, {missed} miss their aim", rows.len());
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn table(rows: &[Row]) -> String {
    let mut lines = vec!["| what | store | found | aim | |".to_owned(), "|---|---|---|---|---|".to_owned()];
    for row in rows {
        let value =
            if row.value >= 100.0 { format!("{:.0}", row.value) } else { format!("{:.2}", row.value) };
        let (aim, verdict) = match row.aim() {
            Some((aim, met)) => (aim, if met { "ok" } else { "miss" }),
            None => ("-".to_owned(), "-"),
        };
        lines.push(format!("| {} | {} | {value} {} | {aim} | {verdict} |", row.what, row.store, row.unit));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_stands_beside_its_aim() {
        let line = r#"{"what":"added per delta, p50","store":"memory","value":21.5,"unit":"µs"}"#;
        let row = Row::parse(line).unwrap();
        let table = table(&[row]);
        let last = table.lines().last().unwrap();
        assert_eq!(last, "| added per delta, p50 | memory | 21.50 µs | at most 20 µs | miss |");
    }
}
