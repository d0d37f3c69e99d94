//! `cargo xtask bench models`: reading recorded streams of the providers, beside SSE with serde_json alone and beside the
//! AI SDK's provider packages on the same bytes.

use std::path::Path;
use std::process::ExitCode;

use super::StreamFolder;
use super::measurement::{number, text};
use crate::command::{Failure, cargo, command, output_of};
use crate::{Optional, models, vendors};

/// How many times as fast as the vendor's package we want to be.
const AIM: f64 = 15.0;

/// The wires do no I/O, so neither HTTP nor TLS is built for them.
const ARGUMENTS: [&str; 6] = ["bench", "-p", "headwater-models", "--no-default-features", "--bench", "wires"];

/// One thing measured on the stream of one provider.
#[derive(Clone, Debug, PartialEq)]
struct ModelRow {
    provider: String,
    what: String,
    bytes: f64,
    events: f64,
    seconds: f64,
}

impl ModelRow {
    fn parse(line: &str) -> Option<Self> {
        Some(Self {
            provider: text(line, "provider")?,
            what: text(line, "what")?,
            bytes: number(line, "bytes")?,
            events: number(line, "events")?,
            seconds: number(line, "seconds").filter(|seconds| *seconds > 0.0)?,
        })
    }
}

pub(super) fn run(root: &Path, without: &[Optional]) -> Result<ExitCode, Failure> {
    let streams = StreamFolder::create()?;
    anstream::println!("== ours");
    let mut ours = cargo(root, &ARGUMENTS);
    ours.env(StreamFolder::VARIABLE, &streams.folder);
    let mut rows: Vec<ModelRow> = output_of(ours)?.lines().filter_map(ModelRow::parse).collect();
    if rows.is_empty() {
        return Err(Failure::new(
            "there are no recorded streams to measure: HEADWATER_VECTORS names their folder",
        ));
    }
    if without.contains(&Optional::Vendors) {
        anstream::println!("== vendors: skipped, --without vendors");
    } else {
        anstream::println!("== vendors");
        let folder = root.join(models::FOLDER);
        vendors::install(&folder)?;
        let mut node = command(&folder, "node", &["bench.mjs"]);
        node.env(StreamFolder::VARIABLE, &streams.folder).env("NODE_ENV", "production");
        rows.extend(output_of(node)?.lines().filter_map(ModelRow::parse));
    }
    anstream::println!("\n{}", table(&rows));
    let missed = rows
        .iter()
        .filter(|row| row.what == "vendor")
        .filter(|vendor| ours_of(&rows, &vendor.provider).is_some_and(|ours| ratio(vendor, ours) < AIM))
        .count();
    anstream::println!(
        "\n{missed} providers are read less than {AIM} times as fast as by the vendor's package"
    );
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn find<'a>(rows: &'a [ModelRow], provider: &str, what: &str) -> Option<&'a ModelRow> {
    rows.iter().find(|row| row.provider == provider && row.what == what)
}

fn ours_of<'a>(rows: &'a [ModelRow], provider: &str) -> Option<&'a ModelRow> {
    find(rows, provider, "ours")
}

/// How many times longer one takes than the other.
fn ratio(slow: &ModelRow, fast: &ModelRow) -> f64 {
    slow.seconds / fast.seconds
}

fn table(rows: &[ModelRow]) -> String {
    let mut lines = vec![
        "| provider | bytes | events | MB/s | events/s | of SSE and serde_json alone | times the AI SDK's package |"
            .to_owned(),
        "|---|---|---|---|---|---|---|".to_owned(),
    ];
    for ours in rows.iter().filter(|row| row.what == "ours") {
        let ModelRow { provider, bytes, events, seconds, .. } = ours;
        let floor = find(rows, provider, "serde_json")
            .map_or("–".to_owned(), |floor| format!("{:.2} of its speed", floor.seconds / seconds));
        let vendor = find(rows, provider, "vendor")
            .map_or("–".to_owned(), |vendor| format!("{:.1}", ratio(vendor, ours)));
        lines.push(format!(
            "| {provider} | {bytes} | {events} | {:.0} | {:.0} | {floor} | {vendor} |",
            bytes / seconds / 1e6,
            events / seconds,
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_a_line_for_each_provider() {
        let line = |what: &str, seconds: f64| {
            let line = format!(
                "{{\"provider\":\"groq\",\"what\":\"{what}\",\"bytes\":2000000,\"events\":1000,\"seconds\":{seconds}}}"
            );
            ModelRow::parse(&line).unwrap()
        };
        let rows = [line("ours", 0.01), line("serde_json", 0.005), line("vendor", 0.2)];
        let table = table(&rows);
        assert!(
            table.ends_with("| groq | 2000000 | 1000 | 200 | 100000 | 0.50 of its speed | 20.0 |"),
            "{table}"
        );
    }
}
