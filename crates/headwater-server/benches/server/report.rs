//! The measured figures beside their targets.

use std::process::ExitCode;

/// All aims so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    aims: Vec<(String, String, String, bool)>,
}

impl Report {
    pub(crate) fn at_least(&mut self, what: &str, found: f64, aim: f64, unit: &str) {
        self.aim(what, found, format!("at least {aim} {unit}"), unit, found >= aim);
    }

    pub(crate) fn below(&mut self, what: &str, found: f64, aim: f64, unit: &str) {
        self.aim(what, found, format!("under {aim} {unit}"), unit, found < aim);
    }

    /// A figure for the table of `cargo xtask bench engine`: what it is, of which variant, and its value.
    pub(crate) fn figure(&mut self, figure: &str, of: &str, value: f64) {
        println!(r#"{{"figure":"{figure}","of":"{of}","value":{value:.4}}}"#);
    }

    fn aim(&mut self, what: &str, found: f64, aim: String, unit: &str, met: bool) {
        self.aims.push((what.to_owned(), format!("{} {unit}", number(found)), aim, met));
    }

    /// Prints all aims, and says by its code whether they were met.
    pub(crate) fn end(self) -> ExitCode {
        println!();
        table(
            &["aim", "found", "wanted", ""],
            self.aims.iter().map(|(what, found, aim, met)| {
                [what.clone(), found.clone(), aim.clone(), if *met { "met" } else { "**missed**" }.to_owned()]
            }),
        );
        if self.aims.iter().all(|(.., met)| *met) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// Prints a table.
pub(crate) fn table<const N: usize>(head: &[&str; N], rows: impl IntoIterator<Item = [String; N]>) {
    println!("| {} |\n|{}", head.join(" | "), "---|".repeat(N));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
}

/// A number with as many digits as mean something.
pub(crate) fn number(value: f64) -> String {
    match value {
        value if value >= 1_000.0 => {
            let whole = format!("{value:.0}");
            let groups: Vec<_> = whole.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
            groups.join(",")
        }
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// The value below which so large a share of sorted values lies, in microseconds.
pub(crate) fn percentile(sorted: &[u64], share: f64) -> f64 {
    let at = ((sorted.len().saturating_sub(1)) as f64 * share) as usize;
    sorted.get(at).map_or(f64::NAN, |nanos| *nanos as f64 / 1e3)
}
