//! `cargo xtask bench`: our code and the vendors' on the same bytes, in one run, as ratios.
//!
//! The Rust bench prints one line of JSON per measurement,
//! `{"dialect":"ai-sdk","stream":"text","what":"encode","events":N,"seconds":S}`, and writes the streams that it
//! measured to `HEADWATER_BENCH_DIR`. The Node bench reads those files and prints lines of the same shape, whose
//! `what` begins with `vendor`. A `what` that begins with `serde_json` is the floor: the same bytes through
//! serde_json alone.

mod engine;
mod json;
mod measurement;
mod models;
mod network;
mod runtime;
mod stores;
mod table;
mod web;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;

use crate::cluster::EngineChoice;
use crate::command::{Failure, cargo, command, output_of};
use crate::{Optional, root, vendors};
use measurement::Measurement;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Subject {
    /// Encoding, decoding and reducing, per dialect
    Dialects,
    /// Field extraction and partial values, per document
    Json,
    /// Appends, reads, wake-ups, memory and space of the stores
    Store,
    /// The store on Redis: appends over several nodes, latency, connections, beside the bare server and `resumable-stream`
    Redis,
    /// The same on Postgres, beside a table with one row per record
    Postgres,
    /// Runs, deltas, waiting and replay, in memory and on disk
    Runtime,
    /// Records of a run as JSON and in a binary form: bytes, and the time to write and read them
    Codec,
    /// Checkpoints, roll back, fork and storage of sessions, and the loading of agent files
    Sessions,
    /// Reading the recorded streams of the providers of models
    Models,
    /// Many runs and many readers over HTTP, beside bare axum and the vendors' servers
    Server,
    /// Lists of runs with filters and text search on 100,000 runs
    Operate,
    /// What a delta, a chat, a turn and a run cost: one table with the aims, from the server, runtime and store benches
    Engine,
    /// Reducers, renders, memory and sizes of the web clients, beside the vendors'
    Web,
    /// The vendors' clients on a network that cuts, with their own servers and ours, killed once
    Network,
}

impl Subject {
    /// Whether its table is written into a document by the command.
    fn writes(self) -> bool {
        matches!(self, Self::Redis | Self::Postgres | Self::Engine | Self::Web | Self::Network)
    }
}

pub(crate) fn run(
    subject: Subject,
    write: bool,
    only: &[String],
    without: &[Optional],
) -> Result<ExitCode, Failure> {
    let root = root();
    if !only.is_empty() && subject != Subject::Engine {
        return Err(Failure::new("--only is for `engine`: the other subjects have no parts"));
    }
    if write && !subject.writes() {
        let message = "--write is for `redis`, `postgres`, `engine`, `web` and `network`: the other tables are copied by hand";
        return Err(Failure::new(message));
    }
    match subject {
        Subject::Dialects => run_dialects(&root, without),
        Subject::Json => json::run(&root, without),
        Subject::Store => benches_of(&root, "headwater-store", &["store", "idle"]),
        Subject::Redis => stores::run(&root, EngineChoice::Redis, write, without),
        Subject::Postgres => stores::run(&root, EngineChoice::Postgres, write, without),
        Subject::Runtime => runtime::run(&root, "runtime"),
        Subject::Codec => benches_of(&root, "headwater-protocol", &["codec"]),
        Subject::Sessions => runtime::run(&root, "sessions"),
        Subject::Models => models::run(&root, without),
        Subject::Server => run_server(&root, without),
        Subject::Operate => benches_of(&root, "headwater-server", &["operate"]),
        Subject::Engine => engine::run(&root, write, only, without),
        Subject::Web => web::run(&root, write, without),
        Subject::Network => network::run(&root, write, without),
    }
}

fn run_server(root: &Path, without: &[Optional]) -> Result<ExitCode, Failure> {
    if without.contains(&Optional::Vendors) {
        anstream::println!("vendors: measured only where they are installed, --without vendors");
    } else {
        vendors::install(&root.join(vendors::FOLDER))?;
    }
    benches_of(root, "headwater-server", &["server"])
}

fn run_dialects(root: &Path, without: &[Optional]) -> Result<ExitCode, Failure> {
    let streams = StreamFolder::create()?;

    anstream::println!("== ours");
    let mut ours = cargo(root, &["bench", "-p", "headwater-dialects", "--bench", "dialects"]);
    ours.env(StreamFolder::VARIABLE, &streams.folder);
    let mut measured = measurements(&output_of(ours)?);
    if measured.is_empty() {
        return Err(Failure::new("the bench of the dialects printed no measurements"));
    }

    if without.contains(&Optional::Vendors) {
        anstream::println!("== vendors: skipped, --without vendors");
    } else {
        anstream::println!("== vendors");
        measured.extend(measure_vendors(root, &streams)?);
    }

    let rows = table::rows(&measured);
    anstream::println!("\n{}", table::render(&rows));
    anstream::println!("{}", table::others(&measured));
    let flatness = table::flatness(&measured);
    for flat in &flatness {
        anstream::println!("{flat}");
    }
    let missed =
        rows.iter().filter(|row| row.misses()).count() + flatness.iter().filter(|flat| flat.misses()).count();
    anstream::println!("\n{} measurements, {missed} miss their aim", rows.len() + flatness.len());
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Benches that print their own tables and aims. One that misses an aim does not stop the others.
fn benches_of(root: &Path, package: &str, benches: &[&str]) -> Result<ExitCode, Failure> {
    let mut met = true;
    for bench in benches {
        let status = cargo(root, &["bench", "-q", "-p", package, "--bench", bench]).status();
        met &= status
            .map_err(|error| Failure::new(format!("cargo bench cannot be started: {error}")))?
            .success();
    }
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure_vendors(root: &Path, streams: &StreamFolder) -> Result<Vec<Measurement>, Failure> {
    let folder = root.join(vendors::FOLDER);
    vendors::install(&folder)?;
    let mut node = command(&folder, "node", &["bench.mjs"]);
    // What a server would run with: some of the packages check more in development.
    node.env(StreamFolder::VARIABLE, &streams.folder).env("NODE_ENV", "production");
    Ok(measurements(&output_of(node)?))
}

fn measurements(output: &str) -> Vec<Measurement> {
    output.lines().filter_map(Measurement::parse).collect()
}

/// The folder through which both benches measure the same bytes; it goes when the run ends.
#[derive(Debug)]
struct StreamFolder {
    folder: PathBuf,
}

impl StreamFolder {
    const VARIABLE: &str = "HEADWATER_BENCH_DIR";

    fn create() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("headwater-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)
            .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
        Ok(Self { folder })
    }
}

impl Drop for StreamFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
