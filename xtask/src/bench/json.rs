//! `cargo xtask bench json`: extraction and partial values beside `serde_json`, other crates and the vendors.

use std::path::Path;
use std::process::ExitCode;

use super::StreamFolder;
use super::measurement::{number, text};
use crate::command::{Failure, cargo, command, output_of};
use crate::{Optional, vendors};

/// One thing measured on one document in pieces of one size; no size is the whole document.
#[derive(Clone, Debug, PartialEq)]
struct JsonRow {
    document: String,
    size: u64,
    piece: u64,
    what: String,
    bytes: f64,
    seconds: f64,
}

impl JsonRow {
    fn parse(line: &str) -> Option<Self> {
        let whole = |name| number(line, name).map(|number| number as u64);
        Some(Self {
            document: text(line, "document")?,
            size: whole("size")?,
            piece: whole("piece")?,
            what: text(line, "what")?,
            bytes: number(line, "bytes")?,
            seconds: number(line, "seconds").filter(|seconds| *seconds > 0.0)?,
        })
    }

    fn megabytes_per_second(&self) -> f64 {
        self.bytes / self.seconds / 1e6
    }
}

pub(super) fn run(root: &Path, without: &[Optional]) -> Result<ExitCode, Failure> {
    let streams = StreamFolder::create()?;
    anstream::println!("== ours");
    let mut ours = cargo(root, &["bench", "-p", "headwater-json", "--bench", "json"]);
    ours.env(StreamFolder::VARIABLE, &streams.folder);
    let mut rows: Vec<JsonRow> = output_of(ours)?.lines().filter_map(JsonRow::parse).collect();
    if rows.is_empty() {
        return Err(Failure::new("the JSON bench printed no measurements"));
    }
    let counted = output_of(cargo(root, &["bench", "-p", "headwater-json", "--bench", "allocations"]))?;
    if without.contains(&Optional::Vendors) {
        anstream::println!("== vendors: skipped, --without vendors");
    } else {
        anstream::println!("== vendors, a few minutes");
        let folder = root.join(vendors::FOLDER);
        vendors::install(&folder)?;
        let mut node = command(&folder, "node", &["bench-json.mjs"]);
        node.env(StreamFolder::VARIABLE, &streams.folder).env("NODE_ENV", "production");
        rows.extend(output_of(node)?.lines().filter_map(JsonRow::parse));
    }

    anstream::println!("\nMB/s, and times the speed of serde_json on the whole document\n");
    anstream::println!("{}", speeds(&rows));
    anstream::println!(
        "\nGrowth of the time with the size, 10 KB to 10 MB, in pieces of 16 bytes (1 is flat per byte)\n"
    );
    anstream::println!("{}", growth(&rows));
    anstream::println!(
        "\n100 KB in pieces of 16 bytes: others, and how many times longer they take than `extract`\n"
    );
    anstream::println!("{}", others(&rows));
    anstream::println!("\nAllocations of `extract` in the second half of 100 KB in pieces of 16 bytes\n");
    anstream::println!("{}", allocations(&counted));
    let aims = aims(&rows);
    anstream::println!("\n{}", aims.iter().map(JsonAim::line).collect::<Vec<_>>().join("\n"));
    let missed = aims.iter().filter(|aim| !aim.is_met()).count();
    anstream::println!("\n{} aims, {missed} missed", aims.len());
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn find<'a>(rows: &'a [JsonRow], document: &str, size: u64, piece: u64, what: &str) -> Option<&'a JsonRow> {
    rows.iter()
        .find(|row| row.document == document && row.size == size && row.piece == piece && row.what == what)
}

/// The names of the documents, in the order in which they were measured.
fn documents(rows: &[JsonRow]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for row in rows {
        if !names.contains(&row.document.as_str()) {
            names.push(&row.document);
        }
    }
    names
}

fn sizes(rows: &[JsonRow]) -> Vec<u64> {
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn speeds(rows: &[JsonRow]) -> String {
    let mut lines = vec![
        "| document | size | serde_json | extract 1 | 16 | 256 | whole | partial 1 | 16 | 256 | whole | 16, looked at |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    for document in documents(rows) {
        for size in sizes(rows) {
            let Some(serde) = find(rows, document, size, 0, "serde_json") else { continue };
            let serde = serde.megabytes_per_second();
            let mut line = format!("| {document} | {} | {serde:.0}", name_of(size));
            let cells = ["extract", "partial"]
                .into_iter()
                .flat_map(|what| [1, 16, 256, 0].map(|piece| (what, piece)));
            for (what, piece) in cells.chain([("partial, looked at", 16)]) {
                line.push_str(&match find(rows, document, size, piece, what) {
                    Some(row) => {
                        let speed = row.megabytes_per_second();
                        format!(" | {speed:.0} ({:.2})", speed / serde)
                    }
                    None => " | –".to_owned(),
                });
            }
            lines.push(line + " |");
        }
    }
    lines.join("\n")
}

fn name_of(size: u64) -> String {
    if size >= 1_000_000 { format!("{} MB", size / 1_000_000) } else { format!("{} KB", size / 1_000) }
}

fn growth(rows: &[JsonRow]) -> String {
    let mut lines = vec![
        "| document | extract | partial | serde_json, whole |".to_owned(),
        "|---|---|---|---|".to_owned(),
    ];
    for document in documents(rows) {
        let cell = |what| {
            exponent(rows, document, what).map_or("–".to_owned(), |exponent| format!("{exponent:.3}"))
        };
        lines.push(format!(
            "| {document} | {} | {} | {} |",
            cell("extract"),
            cell("partial"),
            cell("serde_json")
        ));
    }
    lines.join("\n")
}

/// The slope of the line through the logarithms of bytes and seconds.
fn exponent(rows: &[JsonRow], document: &str, what: &str) -> Option<f64> {
    let piece = if what == "serde_json" { 0 } else { 16 };
    let measured =
        rows.iter().filter(|row| row.document == document && row.piece == piece && row.what == what);
    let points: Vec<(f64, f64)> = measured.map(|row| (row.bytes.ln(), row.seconds.ln())).collect();
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let (top, bottom) = points.iter().fold((0.0, 0.0), |(top, bottom), point| {
        (top + (point.0 - x) * (point.1 - y), bottom + (point.0 - x).powi(2))
    });
    Some(top / bottom)
}

fn others(rows: &[JsonRow]) -> String {
    let mut lines =
        vec!["| document | what | seconds | times longer |".to_owned(), "|---|---|---|---|".to_owned()];
    for document in documents(rows) {
        let Some(ours) = find(rows, document, 100_000, 16, "extract") else { continue };
        let known = ["extract", "partial", "partial, looked at", "serde_json"];
        let others = rows.iter().filter(|row| {
            row.document == document && row.size == 100_000 && (row.piece == 16 || row.what == "jiter")
        });
        lines.push(format!("| {document} | **extract** | {:.6} | 1 |", ours.seconds));
        for row in others.filter(|row| !known.contains(&row.what.as_str())) {
            let times = row.seconds / ours.seconds;
            let what = if row.piece == 0 { format!("{}, whole", row.what) } else { row.what.clone() };
            lines.push(format!("| {document} | {what} | {:.6} | {times:.1} |", row.seconds));
        }
    }
    lines.join("\n")
}

fn allocations(output: &str) -> String {
    let mut lines = vec![
        "| document | pieces | texts emitted | values emitted | allocations |".to_owned(),
        "|---|---|---|---|---|".to_owned(),
    ];
    for line in output.lines() {
        let count = |name| number(line, name);
        let (Some(document), Some(pieces), Some(texts), Some(values), Some(counted)) =
            (text(line, "document"), count("pieces"), count("texts"), count("values"), count("allocations"))
        else {
            continue;
        };
        lines.push(format!("| {document} | {pieces} | {texts} | {values} | {counted} |"));
    }
    lines.join("\n")
}

/// Something that was aimed at.
#[derive(Debug)]
struct JsonAim {
    what: String,
    found: f64,
    wanted: f64,
    /// Whether less is better.
    at_most: bool,
}

impl JsonAim {
    fn is_met(&self) -> bool {
        if self.at_most { self.found <= self.wanted } else { self.found >= self.wanted }
    }

    fn line(&self) -> String {
        let verdict = if self.is_met() { "met   " } else { "MISSED" };
        let bound = if self.at_most { "at most" } else { "at least" };
        format!("{verdict} {}: {:.3}, {bound} {}", self.what, self.found, self.wanted)
    }
}

fn aims(rows: &[JsonRow]) -> Vec<JsonAim> {
    let mut aims = Vec::new();
    for document in documents(rows) {
        for what in ["extract", "partial"] {
            if let Some(found) = exponent(rows, document, what) {
                let what = format!("growth of {what}, {document}");
                aims.push(JsonAim { what, found, wanted: 1.03, at_most: true });
            }
        }
        let ratio = |what| {
            let ours = find(rows, document, 1_000_000, 16, what)?.megabytes_per_second();
            Some(ours / find(rows, document, 1_000_000, 0, "serde_json")?.megabytes_per_second())
        };
        let wanted = [("records", "extract", 2.5), ("string", "extract", 0.5), (document, "partial", 0.7)];
        for (named, what, wanted) in wanted.into_iter().filter(|(named, ..)| *named == document) {
            if let Some(found) = ratio(what) {
                let what = format!("{what} in pieces of 16 against serde_json, {named}, 1 MB");
                aims.push(JsonAim { what, found, wanted, at_most: false });
            }
        }
        let Some(ours) = find(rows, document, 100_000, 16, "extract") else { continue };
        for row in rows.iter().filter(|row| row.document == document && row.what.starts_with("vendor")) {
            let what = format!("{} against extract, {document}", row.what);
            aims.push(JsonAim { what, found: row.seconds / ours.seconds, wanted: 1_000.0, at_most: false });
        }
    }
    aims
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(size: u64, seconds: f64) -> JsonRow {
        let line = format!(
            r#"{{"document":"list","size":{size},"piece":16,"what":"extract","bytes":{size},"seconds":{seconds}}}"#
        );
        JsonRow::parse(&line).unwrap()
    }

    #[test]
    fn exponent_is_fitted() {
        let flat: Vec<JsonRow> = [1_000, 10_000, 100_000].map(|size| row(size, size as f64 / 1e9)).to_vec();
        assert!((exponent(&flat, "list", "extract").unwrap() - 1.0).abs() < 1e-9);
        let square: Vec<JsonRow> =
            [1_000, 10_000, 100_000].map(|size| row(size, (size as f64).powi(2))).to_vec();
        assert!((exponent(&square, "list", "extract").unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(exponent(&flat, "list", "partial"), None);
    }

    #[test]
    fn aim_is_met_from_its_side() {
        let aim = |found, at_most| JsonAim { what: String::new(), found, wanted: 1.0, at_most }.is_met();
        assert!(aim(0.9, true) && !aim(1.1, true) && aim(1.1, false) && !aim(0.9, false));
    }
}
