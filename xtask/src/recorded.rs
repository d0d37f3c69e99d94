//! The recorded data of the vendors' clients: which files the tests read, and which they did not.
//!
//! Tests append to the file that `HEADWATER_VECTORS_READ` names: a line `file` when they read a recorded file, and a line
//! `file rows matched deviations` when they have judged it. `HEADWATER_VECTORS` is the folder that holds `vectors/<dialect>/*.jsonl` and
//! `fixtures/ag-ui-conformance/<folder>/*.json`, and the answers of `fixtures/providers/<provider>`. A recording that no test reads proves nothing, so in CI it fails the
//! run, unless `conformance/later.txt` gives the reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::Failure;

/// The recorded data, and the log that the tests write while they read it.
#[derive(Debug)]
pub(crate) struct RecordedData {
    folder: Option<PathBuf>,
    log: PathBuf,
    later: Vec<(String, String)>,
    /// Whether an unread file fails the run.
    strict: bool,
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// For the last lines of the report.
    pub(crate) notes: Vec<String>,
    /// Why the run fails for what was not read.
    pub(crate) failure: Option<String>,
}

impl RecordedData {
    const FOLDER: &str = "HEADWATER_VECTORS";
    const LOG: &str = "HEADWATER_VECTORS_READ";

    pub(crate) fn from_environment(root: &Path) -> Result<Self, Failure> {
        let list = root.join("conformance/later.txt");
        let text = fs::read_to_string(&list)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", list.display())))?;
        let log = std::env::temp_dir().join(format!("headwater-vectors-read-{}", std::process::id()));
        fs::write(&log, "")
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", log.display())))?;
        let folder = std::env::var_os(Self::FOLDER).filter(|value| !value.is_empty());
        Ok(Self {
            // Each test binary runs in its crate's folder, where a relative path would name another place.
            folder: folder.and_then(|folder| std::path::absolute(folder).ok()),
            log,
            later: later(&text),
            strict: std::env::var("CI").is_ok_and(|value| value == "true"),
        })
    }

    /// Passes the tests the folder of recordings and the file that lists the recordings they read.
    pub(crate) fn pass_to(&self, tests: &mut Command) {
        tests.env(Self::LOG, &self.log);
        if let Some(folder) = &self.folder {
            tests.env(Self::FOLDER, folder);
        }
    }

    /// Compares what was read with what is there.
    pub(crate) fn close(self) -> Reading {
        let Some(folder) = self.folder.clone() else {
            let note = "recorded data: HEADWATER_VECTORS is not set, so only the committed cases ran";
            return Reading { notes: vec![note.to_owned()], ..self.close_unchecked() };
        };
        let strict = self.strict;
        let later = self.later.clone();
        let (read, mut notes) = self.read(&folder);
        let there = recordings(&folder);
        if there.is_empty() {
            let failure = format!("HEADWATER_VECTORS is {}, which holds no recordings", folder.display());
            return Reading { notes, failure: Some(failure) };
        }
        let (mut unread, mut excused) = (Vec::new(), 0);
        for file in there.iter().filter(|file| !is_read(file, &read)) {
            match later.iter().find(|(pattern, _)| matches(pattern, file)) {
                Some((_, reason)) => {
                    excused += 1;
                    notes.push(format!("  {file} is for later: {reason}"));
                }
                None => unread.push(format!("  {file} was not read")),
            }
        }
        let (missed, files) = (unread.len(), there.len() - unread.len() - excused);
        notes.extend(unread);
        notes.push(format!("recorded data: {files} files read, {} not read", missed + excused));
        let failure = (strict && missed > 0).then(|| {
            format!("{missed} recorded files were read by no test: read them, or give the reason in conformance/later.txt")
        });
        Reading { notes, failure }
    }

    /// Drops the log without a comparison.
    pub(crate) fn close_unchecked(self) -> Reading {
        let _ = fs::remove_file(&self.log);
        Reading::default()
    }

    /// The files in the log, and its lines as they are shown.
    fn read(self, folder: &Path) -> (BTreeSet<String>, Vec<String>) {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines = text.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
        let lines: BTreeSet<(String, String)> =
            lines.map(|(file, counts)| (name_of(file, folder), counts.to_owned())).collect();
        self.close_unchecked();
        let judged = lines.iter().filter(|(_, counts)| !counts.is_empty());
        let notes = judged.map(|(file, counts)| {
            let mut counts = counts.split_whitespace();
            let mut next = || counts.next().unwrap_or("?").to_owned();
            let (rows, matched, deviations) = (next(), next(), next());
            format!("  {file}: {rows} rows, {matched} matched, {deviations} deviations")
        });
        (lines.iter().map(|(file, _)| file.clone()).collect(), notes.collect())
    }
}

/// A path as the list names it: `kortyx/sse.jsonl`, `ag-ui-conformance/streams`.
fn name_of(path: &str, folder: &Path) -> String {
    let path = Path::new(path);
    let path = path.strip_prefix(folder).unwrap_or(path);
    let path = path.strip_prefix("vectors").or_else(|_| path.strip_prefix("fixtures")).unwrap_or(path);
    path.to_string_lossy().into_owned()
}

/// A folder counts as read when any file in it was.
fn is_read(recording: &str, read: &BTreeSet<String>) -> bool {
    read.iter().any(|file| Path::new(file).starts_with(recording))
}

fn recordings(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for dialect in entries(&folder.join("vectors")) {
        found.extend(
            entries(&dialect).into_iter().filter(|file| file.extension().is_some_and(|e| e == "jsonl")),
        );
    }
    for corpus in ["fixtures/ag-ui-conformance", "fixtures/providers"] {
        found.extend(entries(&folder.join(corpus)).into_iter().filter(|entry| entry.is_dir()));
    }
    found.iter().map(|path| name_of(&path.to_string_lossy(), folder)).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn later(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .map(|(path, why)| (path.to_owned(), why.to_owned()))
        .collect()
}

/// Whether `path` is what `pattern` says, with at most one `*`.
fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => {
            path.len() >= start.len() + end.len() && path.starts_with(start) && path.ends_with(end)
        }
        None => pattern == path,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn recording_has_one_name_however_a_test_spells_its_path() {
        let folder = Path::new("/data");
        for path in
            ["/data/vectors/mui/processor.jsonl", "vectors/mui/processor.jsonl", "mui/processor.jsonl"]
        {
            assert_eq!(name_of(path, folder), "mui/processor.jsonl");
        }
        assert_eq!(
            name_of("fixtures/ag-ui-conformance/extra/a.json", folder),
            "ag-ui-conformance/extra/a.json"
        );
    }

    fn close(strict: bool, log: &str) -> Reading {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("headwater-recorded-{}-{next}", std::process::id()));
        for file in
            ["vectors/mui/a.jsonl", "vectors/mui/b.jsonl", "vectors/mui/README.md", "vectors/mui/later.jsonl"]
        {
            let file = folder.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let path = folder.join("log");
        fs::write(&path, log).unwrap();
        let later = vec![("mui/later.jsonl".to_owned(), "not yet".to_owned())];
        let reading = RecordedData { folder: Some(folder.clone()), log: path, later, strict }.close();
        fs::remove_dir_all(folder).unwrap();
        reading
    }

    #[test]
    fn read_files_are_listed_with_unread_ones() {
        let reading = close(false, "mui/a.jsonl 295 290 5\nvectors/mui/a.jsonl 295 290 5\n");
        let expected = [
            "  mui/a.jsonl: 295 rows, 290 matched, 5 deviations",
            "  mui/later.jsonl is for later: not yet",
            "  mui/b.jsonl was not read",
            "recorded data: 1 files read, 2 not read",
        ];
        assert_eq!(reading.notes, expected);
        assert_eq!(reading.failure, None);
    }

    #[test]
    fn in_ci_only_an_unread_file_without_a_reason_fails() {
        assert!(close(true, "mui/a.jsonl 1 1 0\n").failure.is_some());
        assert_eq!(close(true, "mui/a.jsonl 1 1 0\nmui/b.jsonl 1 1 0\n").failure, None);
    }

    #[test]
    fn folder_is_read_when_one_of_its_files_is() {
        let read =
            BTreeSet::from(["ag-ui-conformance/streams/a.json".to_owned(), "mui/processor.jsonl".to_owned()]);
        assert!(is_read("ag-ui-conformance/streams", &read));
        assert!(is_read("mui/processor.jsonl", &read));
        assert!(!is_read("ag-ui-conformance/extra", &read));
        assert!(!is_read("mui/process", &read));
    }

    #[test]
    fn list_of_later_files_takes_comments_and_a_star() {
        let list = later("# why\n\naisdk/parse*.jsonl the parser comes later\n");
        assert_eq!(list, [("aisdk/parse*.jsonl".to_owned(), "the parser comes later".to_owned())]);
        assert!(matches("aisdk/parse*.jsonl", "aisdk/parse-partial-json.lone-surrogate.jsonl"));
        assert!(!matches("aisdk/parse*.jsonl", "aisdk/sse-framing.jsonl"));
        assert!(!matches("ab*ba", "aba"));
    }
}
