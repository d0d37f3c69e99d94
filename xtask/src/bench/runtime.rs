//! `cargo xtask bench runtime` and `sessions`: what runs, deltas, waiting, replay and checkpoints cost, beside their
//! aims.

use std::path::Path;
use std::process::ExitCode;

use super::measurement::{number, text};
use crate::command::{Failure, cargo, output_of};

/// One thing measured on one store.
#[derive(Clone, Debug, PartialEq)]
struct RuntimeRow {
    what: String,
    store: String,
    value: f64,
    unit: String,
}

impl RuntimeRow {
    fn parse(line: &str) -> Option<Self> {
        Some(Self {
            what: text(line, "what")?,
            store: text(line, "store")?,
            value: number(line, "value")?,
            unit: text(line, "unit")?,
        })
    }

    /// The targets, and whether they are met.
    fn aim(&self) -> Option<(String, bool)> {
        let at_most = |limit: f64| (format!("at most {limit} {}", self.unit), self.value <= limit);
        match (self.what.as_str(), self.store.as_str()) {
            ("runs of 1 nodes, per second of this thread", "memory") => {
                Some(("at least 30000 runs/s".to_owned(), self.value >= 30_000.0))
            }
            ("added per delta, p50" | "added per delta, p99", _) => Some(at_most(20.0)),
            ("memory per waiting run", _) => Some(at_most(4096.0)),
            ("answer and replay of 1,000 effects", _) => Some(at_most(5.0)),
            ("fork of 1,000 turns" | "roll back of 1,000 turns to turn 10", _) => Some(at_most(5.0)),
            (what, _) if what.starts_with("growth of ") => Some(at_most(1.5)),
            _ => None,
        }
    }
}

pub(super) fn run(root: &Path, bench: &str) -> Result<ExitCode, Failure> {
    let output = output_of(cargo(root, &["bench", "-p", "headwater-runtime", "--bench", bench]))?;
    let mut rows: Vec<RuntimeRow> = output.lines().filter_map(RuntimeRow::parse).collect();
    if rows.is_empty() {
        return Err(Failure::new(format!("the {bench} bench printed no measurements")));
    }
    rows.extend(growth(&rows));
    anstream::println!("{}", table(&rows));
    let missed = rows.iter().filter_map(RuntimeRow::aim).filter(|(_, met)| !met).count();
    anstream::println!("\n{} measurements, {missed} miss their aim", rows.len());
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What should stay the same however long a session is: the longest beside the shortest.
const FLAT: &[(&str, &str)] = &[
    ("a turn with its checkpoint, turn 10", "a turn with its checkpoint, turn 1000"),
    ("checkpoint of turn 10", "checkpoint of turn 1000"),
    ("storage per turn, of 100 turns", "storage per turn, of 1000 turns"),
];

fn growth(rows: &[RuntimeRow]) -> Vec<RuntimeRow> {
    let found = |what: &str, store: &str| rows.iter().find(|row| row.what == what && row.store == store);
    let mut growth = Vec::new();
    for (short, long) in FLAT {
        for row in rows.iter().filter(|row| row.what == *short) {
            if let Some(last) = found(long, &row.store).filter(|_| row.value > 0.0) {
                growth.push(RuntimeRow {
                    what: format!("growth of {long}"),
                    store: row.store.clone(),
                    value: last.value / row.value,
                    unit: "times".to_owned(),
                });
            }
        }
    }
    growth
}

fn table(rows: &[RuntimeRow]) -> String {
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
    fn measurement_is_printed_beside_its_aim() {
        let line = r#"{"what":"added per delta, p50","store":"memory","value":21.5,"unit":"µs"}"#;
        let row = RuntimeRow::parse(line).unwrap();
        let table = table(&[row]);
        let last = table.lines().last().unwrap();
        assert_eq!(last, "| added per delta, p50 | memory | 21.50 µs | at most 20 µs | miss |");
    }

    #[test]
    fn growth_with_a_session_misses_its_aim() {
        let row = |what: &str, value| RuntimeRow {
            what: what.to_owned(),
            store: "memory".to_owned(),
            value,
            unit: "bytes".to_owned(),
        };
        let rows = [row("checkpoint of turn 10", 100.0), row("checkpoint of turn 1000", 160.0)];
        let growth = growth(&rows);
        assert_eq!(growth.len(), 1);
        assert_eq!(growth[0].aim(), Some(("at most 1.5 times".to_owned(), false)));
    }
}
