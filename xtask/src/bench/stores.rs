//! `cargo xtask bench redis` and `postgres`: a shared store beside its bare engine, and the targets.
//!
//! The bench prints one figure per line, `{"name":"append.3.per_second","value":N}`. With `--write` they are kept in
//! [`MEASURED`], and the tables that they make are written into the documents. A test holds the documents to the figures.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::measurement::{number, text};
use crate::cluster::EngineChoice;
use crate::command::{Failure, cargo, output_of};
use crate::table::DocumentBlock;
use crate::{Optional, tools, vendors};

/// Where the figures of the last run of each engine are kept.
const MEASURED: &str = "docs/measured";

/// The npm package that is measured on Redis.
const RESUMABLE_STREAM: &str = "conformance/resumable-stream";

/// The bytes of each record that the bench appends.
const RECORD: f64 = 200.0;

/// The figures of both engines side by side, for those who size a cluster.
const SIZING: DocumentBlock = DocumentBlock {
    document: "docs/scaling.md",
    command: "cargo xtask bench redis --write, cargo xtask bench postgres --write",
};

type Figures = BTreeMap<String, f64>;

/// One aim, and what was found.
struct StoreAim {
    what: String,
    found: String,
    met: bool,
}

impl EngineChoice {
    fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Postgres => "postgres",
        }
    }

    /// The most milliseconds from an append to a reader on another node, for 99 of 100 records.
    fn wake_up(self) -> f64 {
        match self {
            Self::Redis => 5.0,
            Self::Postgres => 15.0,
        }
    }

    /// What bare writers and one write per record are called.
    fn others(self) -> (&'static str, &'static str) {
        match self {
            Self::Redis => ("bare `XADD`, one `MULTI` for all runs", "one `XADD` per record, 64 connections"),
            Self::Postgres => ("bare `INSERT`, one for all runs", "one row per record, 64 connections"),
        }
    }

    fn block(self) -> DocumentBlock {
        let command = match self {
            Self::Redis => "cargo xtask bench redis --write",
            Self::Postgres => "cargo xtask bench postgres --write",
        };
        DocumentBlock { document: "docs/benchmarks.md", command }
    }
}

pub(super) fn run(
    root: &Path,
    engine: EngineChoice,
    write: bool,
    without: &[Optional],
) -> Result<ExitCode, Failure> {
    match engine {
        EngineChoice::Redis => tools::ensure_engines(&[Optional::Postgres, Optional::Clocks])?,
        EngineChoice::Postgres => tools::ensure_engines(&[Optional::Redis, Optional::Clocks])?,
    }
    if engine == EngineChoice::Redis && !without.contains(&Optional::Vendors) {
        vendors::install(&root.join(RESUMABLE_STREAM))?;
    }
    let arguments = ["bench", "-q", "-p", "headwater-store", "--bench", "shared", "--", engine.name()];
    let figures = parse(&output_of(cargo(root, &arguments))?);
    let tables = tables(engine, &figures).ok_or_else(|| {
        Failure::new(format!(
            "the bench of {} printed {} figures, and some are missing",
            engine.name(),
            figures.len()
        ))
    })?;
    anstream::println!("{tables}");
    if write {
        keep(root, engine, &figures)?;
        engine.block().write(root, &tables)?;
        SIZING.write(root, &sizing(root)?)?;
    }
    let missed = aims(engine, &figures).iter().flatten().filter(|aim| !aim.met).count();
    anstream::println!("\n{missed} aims missed");
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn file(root: &Path, engine: EngineChoice) -> PathBuf {
    root.join(MEASURED).join(format!("{}.jsonl", engine.name()))
}

fn keep(root: &Path, engine: EngineChoice, figures: &Figures) -> Result<(), Failure> {
    let lines = figures.iter().map(|(name, value)| format!("{{\"name\":\"{name}\",\"value\":{value}}}\n"));
    let file = file(root, engine);
    fs::write(&file, lines.collect::<String>())
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))
}

fn kept(root: &Path, engine: EngineChoice) -> Result<Figures, Failure> {
    let file = file(root, engine);
    let text = fs::read_to_string(&file)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
    Ok(parse(&text))
}

fn parse(output: &str) -> Figures {
    output.lines().filter_map(|line| Some((text(line, "name")?, number(line, "value")?))).collect()
}

/// All tables of an engine; `None` if a figure is missing.
fn tables(engine: EngineChoice, figures: &Figures) -> Option<String> {
    let aims = aims(engine, figures)?.into_iter().map(|StoreAim { what, found, met }| {
        let verdict = if met { "met" } else { "**missed**" };
        vec![what, found, verdict.to_owned()]
    });
    let parts = [
        table(&["aim", "found", ""], aims),
        table(
            &[
                "appends",
                "records/s",
                "MB/s",
                "of bare",
                "engine, ms on a core per 1,000",
                "writers, ms on a core per 1,000",
                "kept, KB per 1,000",
                "log, KB per 1,000",
            ],
            append_rows(engine, figures)?,
        ),
        table(
            &["one reader of each run, in another process", "records/s", "engine, ms on a core per 1,000"],
            followed_rows(figures)?,
        ),
        table(
            &["from an append to a reader in another process", "p50 ms", "p99 ms", "share of the machine"],
            latency_rows(figures)?,
        ),
    ];
    Some(parts.join("\n\n"))
}

fn aims(engine: EngineChoice, figures: &Figures) -> Option<Vec<StoreAim>> {
    let mut aims = Vec::new();
    for nodes in 1..=3 {
        let share = share(figures, nodes)?;
        let what = format!("appends of {} at least 0.6 of the bare engine", count(nodes, "node"));
        aims.push(StoreAim { what, found: format!("{share:.2}"), met: share >= 0.6 });
    }
    let most = engine.wake_up();
    for (path, name) in [
        ("a fact to a reader on another node", "latency.fact"),
        ("100 facts at once to 5,000 readers on another node", "readers"),
    ] {
        let p99 = *figures.get(&format!("{name}.p99"))?;
        let what = format!("from the append of {path}, p99 under {most} ms");
        aims.push(StoreAim { what, found: format!("{p99:.1} ms"), met: p99 < most });
    }
    let connections = *figures.get("readers.connections")?;
    let what = "at most 8 connections of a node with 5,000 readers".to_owned();
    aims.push(StoreAim { what, found: format!("{connections:.0}"), met: connections <= 8.0 });
    Some(aims)
}

fn share(figures: &Figures, nodes: u32) -> Option<f64> {
    let rate = |name: &str| figures.get(&format!("{name}.{nodes}.per_second"));
    Some(rate("append")? / rate("bare")?)
}

fn append_rows(engine: EngineChoice, figures: &Figures) -> Option<Vec<Vec<String>>> {
    let row = |what: String, name: &str, share: Option<f64>| -> Option<Vec<String>> {
        let figure = |part: &str| figures.get(&format!("{name}.{part}")).copied();
        let per_second = figure("per_second")?;
        Some(vec![
            what,
            whole(per_second),
            format!("{:.1}", per_second * RECORD / 1e6),
            share.map(|share| format!("{share:.2}")).unwrap_or_default(),
            short(figure("engine_ms")?),
            short(figure("node_ms")?),
            whole(figure("kept")?),
            whole(figure("written")?),
        ])
    };
    let (bare, naive) = engine.others();
    let mut rows = Vec::new();
    for nodes in 1..=3 {
        rows.push(row(count(nodes, "node"), &format!("append.{nodes}"), share(figures, nodes))?);
        rows.push(row(format!("{bare}, {}", count(nodes, "process")), &format!("bare.{nodes}"), None)?);
    }
    rows.push(row(naive.to_owned(), "naive", None)?);
    Some(rows)
}

fn followed_rows(figures: &Figures) -> Option<Vec<Vec<String>>> {
    let row = |what: &str, name: &str| -> Option<Vec<String>> {
        let figure = |part: &str| figures.get(&format!("{name}.{part}")).copied();
        Some(vec![what.to_owned(), whole(figure("per_second")?), short(figure("engine_ms")?)])
    };
    let mut rows = vec![row("the store", "followed")?];
    // It runs on Redis alone, and need not be installed.
    rows.extend(row("`resumable-stream`, which keeps no chunk in Redis", "resumable"));
    Some(rows)
}

fn latency_rows(figures: &Figures) -> Option<Vec<Vec<String>>> {
    let figure = |name: &str, part: &str| figures.get(&format!("{name}.{part}")).copied();
    let row = |what: &str, name: &str| -> Option<Vec<String>> {
        let busy = figure(name, "busy").map(|busy| format!("{busy:.2}")).unwrap_or_default();
        Some(vec![what.to_owned(), short(figure(name, "p50")?), short(figure(name, "p99")?), busy])
    };
    let mut rows = vec![
        row("bare engine: write, notify, read", "latency.bare")?,
        row("a fact", "latency.fact")?,
        row("a delta", "latency.delta")?,
    ];
    let added = |part: &str| Some(short(figure("latency.fact", part)? - figure("latency.bare", part)?));
    rows.push(vec!["what the store adds to a fact".to_owned(), added("p50")?, added("p99")?, String::new()]);
    rows.extend(row("`resumable-stream`", "latency.resumable"));
    rows.push(row("one fact for each of 100 runs, 5,000 readers", "readers")?);
    Some(rows)
}

/// The table for those who size a cluster, from the last run of each engine.
fn sizing(root: &Path) -> Result<String, Failure> {
    let columns = [kept(root, EngineChoice::Redis)?, kept(root, EngineChoice::Postgres)?];
    let columns: Option<Vec<Vec<(&str, String)>>> = columns.iter().map(sizing_column).collect();
    let columns = columns
        .ok_or_else(|| Failure::new(format!("{MEASURED} lacks figures: run both benches with --write")))?;
    let [redis, postgres] = columns.as_slice() else { return Ok(String::new()) };
    let rows = redis.iter().zip(postgres);
    let rows =
        rows.map(|((what, redis), (_, postgres))| vec![(*what).to_owned(), redis.clone(), postgres.clone()]);
    Ok(table(&["records of 200 bytes", "Redis, `appendfsync always`", "Postgres, `fsync = on`"], rows))
}

fn sizing_column(figures: &Figures) -> Option<Vec<(&'static str, String)>> {
    let figure = |name: &str| figures.get(name).copied();
    let rates: Option<Vec<String>> =
        (1..=3).map(|nodes| figure(&format!("append.{nodes}.per_second")).map(whole)).collect();
    let megabytes = |name: &str| Some(format!("{:.0} MB", figure(name)? / 1e6));
    Some(vec![
        ("records/s that 1, 2 and 3 nodes append", rates?.join(", ")),
        ("records/s that one node reads while another appends them", whole(figure("followed.per_second")?)),
        ("engine, ms on a core per 1,000 records", short(figure("append.3.engine_ms")?)),
        ("the same with a reader on another node", short(figure("followed.engine_ms")?)),
        ("node, ms on a core per 1,000 records", short(figure("append.3.node_ms")?)),
        ("kept by the engine per 1,000 records", format!("{} KB", whole(figure("append.3.kept")?))),
        ("written to its log per 1,000 records", format!("{} KB", whole(figure("append.3.written")?))),
        ("memory of the engine's processes after the last run", megabytes("engine.memory")?),
        ("connections of a node with 5,000 readers", whole(figure("readers.connections")?)),
        ("memory of that node", megabytes("readers.memory")?),
    ])
}

fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut lines = vec![format!("| {} |", head.join(" | ")), format!("|{}", "---|".repeat(head.len()))];
    lines.extend(rows.into_iter().map(|row| format!("| {} |", row.join(" | "))));
    lines.join("\n")
}

/// A number of things.
fn count(number: u32, thing: &str) -> String {
    let plural = if thing.ends_with('s') { "es" } else { "s" };
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}{plural}") }
}

/// A whole number, in groups of three digits.
fn whole(value: f64) -> String {
    let whole = format!("{value:.0}");
    let groups: Vec<_> = whole.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// A number with as many digits as mean something.
fn short(value: f64) -> String {
    if value.abs() >= 100.0 { whole(value) } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    const ENGINES: [EngineChoice; 2] = [EngineChoice::Redis, EngineChoice::Postgres];

    #[test]
    fn documents_have_the_figures_of_the_last_run() {
        for engine in ENGINES {
            let figures = kept(&root(), engine).unwrap();
            let written = engine.block().read(&root()).unwrap();
            assert_eq!(Some(written), tables(engine, &figures), "`{}`", engine.block().command);
        }
        assert_eq!(SIZING.read(&root()).unwrap(), sizing(&root()).unwrap());
    }

    #[test]
    fn aim_is_missed_by_what_was_found() {
        let mut figures = kept(&root(), EngineChoice::Postgres).unwrap();
        let mut set = |name: &str, value| figures.insert(name.to_owned(), value);
        for nodes in 1..=3 {
            set(&format!("bare.{nodes}.per_second"), 100.0);
            set(&format!("append.{nodes}.per_second"), 62.0 - f64::from(nodes));
        }
        set("latency.fact.p99", 15.0);
        set("readers.p99", 14.9);
        set("readers.connections", 8.0);
        let aims = aims(EngineChoice::Postgres, &figures).unwrap();
        let met: Vec<_> = aims.iter().map(|aim| aim.met).collect();
        assert_eq!(met, [true, true, false, false, true, true]);
        figures.remove("latency.bare.p50");
        assert_eq!(tables(EngineChoice::Postgres, &figures), None);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [whole(1_234_567.8), whole(12.0), short(1.26), short(123.4)],
            ["1,234,568", "12", "1.3", "123"]
        );
    }
}
