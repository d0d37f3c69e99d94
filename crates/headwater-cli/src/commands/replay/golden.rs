//! Golden files: the bytes that clients of each dialect get for a run, stored and compared.
//!
//! The folder has one subfolder per run: `events.ndjson` with the run's records, and a file per dialect and
//! profile. A run that retracts something has the messages before it in `conversation.json`: some dialects send the
//! conversation again to take text back.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use headwater_dialects::{EncodeOptions, Encoder, Reentry};
use headwater_protocol::{Event, Framing, Message, Record, RunId, RunState, RunStatus};
use serde_json::{Value, json};

use crate::failure::CommandFailure;

const EVENTS: &str = "events.ndjson";
const CONVERSATION: &str = "conversation.json";

/// The result of comparing the files of one run.
#[derive(Debug)]
pub(super) struct GoldenResult {
    pub(super) run: String,
    pub(super) same: usize,
    pub(super) written: usize,
    pub(super) differences: Vec<String>,
}

impl GoldenResult {
    pub(super) fn to_json(&self) -> Value {
        json!({ "run": self.run, "same": self.same, "written": self.written, "differences": self.differences })
    }
}

/// Writes the missing files of a run and compares the existing ones. `before` is the conversation before the run.
pub(super) fn keep(
    folder: &Path,
    run: &RunId,
    records: &[Record],
    before: Vec<Message>,
) -> Result<GoldenResult, CommandFailure> {
    let place = folder.join(run.as_str());
    make_folder(&place).map_err(|error| writing(&place, &error))?;
    let mut events = String::new();
    for record in records {
        events.push_str(&serde_json::to_string(record)?);
        events.push('\n');
    }
    let mut checked = GoldenResult { run: run.to_string(), same: 0, written: 0, differences: Vec::new() };
    compare(&place.join(EVENTS), events.as_bytes(), &mut checked)?;
    let retracts = records.iter().any(|record| matches!(record.event, Event::AttemptRetracted(_)));
    let before = if retracts { before } else { Vec::new() };
    if !before.is_empty() {
        compare(&place.join(CONVERSATION), &serde_json::to_vec(&before)?, &mut checked)?;
    }
    for (name, bytes) in encoded(records, &before) {
        compare(&place.join(name), &bytes, &mut checked)?;
    }
    Ok(checked)
}

/// Compares the files of every run in a folder with the output of today's encoders.
pub(super) fn check_all(folder: &Path) -> Result<Vec<GoldenResult>, CommandFailure> {
    let shown = folder.display().to_string();
    let mut runs: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(|error| CommandFailure::reading(&shown, error))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join(EVENTS).is_file())
        .collect();
    runs.sort();
    if runs.is_empty() {
        return Err(CommandFailure::new(format!(
            "{shown} has no runs: replay one with --golden {shown} first"
        )));
    }
    runs.iter().map(|place| check(place)).collect()
}

fn check(place: &Path) -> Result<GoldenResult, CommandFailure> {
    let path = place.join(EVENTS);
    let shown = path.display().to_string();
    let text = fs::read_to_string(&path).map_err(|error| CommandFailure::reading(&shown, error))?;
    let mut records = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let record: Record = serde_json::from_str(line)
            .map_err(|error| CommandFailure::new(format!("{shown}:{}: {error}", at + 1)))?;
        records.push(record);
    }
    let run = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut checked = GoldenResult { run, same: 0, written: 0, differences: Vec::new() };
    for (name, bytes) in encoded(&records, &conversation(&place.join(CONVERSATION))?) {
        compare(&place.join(name), &bytes, &mut checked)?;
    }
    Ok(checked)
}

/// The messages before a run; none if there is no such file.
fn conversation(path: &Path) -> Result<Vec<Message>, CommandFailure> {
    let shown = path.display().to_string();
    match fs::read(path) {
        Ok(text) => {
            serde_json::from_slice(&text).map_err(|error| CommandFailure::new(format!("{shown}: {error}")))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(CommandFailure::reading(&shown, error)),
    }
}

/// The bytes of every dialect and profile.
fn encoded(records: &[Record], before: &[Message]) -> Vec<(String, Vec<u8>)> {
    let mut state = RunState::default();
    for record in records {
        // A journal only contains records that its writer's state accepted.
        let _ = state.apply(record);
    }
    let is_over = state.run().status != RunStatus::Running;
    let mut all = Vec::new();
    for dialect in headwater_dialects::ALL {
        for profile in dialect.profiles() {
            let mut options = EncodeOptions::default();
            options.profile = Some(profile);
            // As the server does it.
            if profile.reentry == Reentry::Snapshot {
                options.messages = before.to_vec();
            }
            let mut encoder = Encoder::new(dialect, &options);
            for record in records {
                encoder.record(record);
            }
            if is_over {
                encoder.finish();
            }
            let ending = match profile.framings.first() {
                Some(Framing::Ndjson) => "ndjson",
                _ => "sse",
            };
            let name = format!("{}.{}.{ending}", dialect.name(), profile.name);
            all.push((name, encoder.bytes().to_vec()));
        }
    }
    all
}

/// Compares a file with the expected bytes, or writes it if it is missing.
fn compare(path: &Path, bytes: &[u8], checked: &mut GoldenResult) -> Result<(), CommandFailure> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match fs::read(path) {
        Ok(before) if before == bytes => checked.same += 1,
        Ok(before) => {
            let at = before.iter().zip(bytes).take_while(|(before, now)| before == now).count();
            let line = bytecount(before.get(..at).unwrap_or_default()) + 1;
            let (before, now) = (around(&before, at), around(bytes, at));
            checked
                .differences
                .push(format!("{name}:{line}: {before} was written before, {now} is written now"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let written = for_owner(path).and_then(|mut file| file.write_all(bytes));
            written.map_err(|error| writing(path, &error))?;
            checked.written += 1;
        }
        Err(error) => return Err(CommandFailure::reading(&path.display().to_string(), error)),
    }
    Ok(())
}

/// Creates a folder readable only by its owner: a run contains whole conversations.
fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates a file readable only by its owner.
fn for_owner(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn bytecount(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// An excerpt of the bytes around an offset.
fn around(bytes: &[u8], at: usize) -> String {
    let piece = bytes.get(at.saturating_sub(20)..).unwrap_or_default();
    let text = String::from_utf8_lossy(piece.get(..60).unwrap_or(piece)).into_owned();
    format!("{text:?}")
}

fn writing(path: &Path, error: &io::Error) -> CommandFailure {
    CommandFailure::new(format!("cannot write {}: {error}", path.display()))
}
