//! Access to recorded vectors, and the list of deliberate deviations from them.
//!
//! `$HEADWATER_VECTORS` names the directory with `vectors/`. Each file that is read is logged to
//! `$HEADWATER_VECTORS_READ`, so that a build can find files that no test has read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// The non-empty lines of `vectors/<relative>`; `None` without vectors.
///
/// A missing file is an error on CI and a printed note elsewhere.
pub(crate) fn read_lines(relative: &str) -> Option<Vec<String>> {
    let Some(root) = std::env::var_os("HEADWATER_VECTORS") else {
        println!("vectors: {relative} skipped, HEADWATER_VECTORS is not set");
        return None;
    };
    let path = PathBuf::from(root).join("vectors").join(relative);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            register(relative);
            Some(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect())
        }
        Err(error) => {
            let problem = format!("vectors: {} cannot be read: {error}", path.display());
            assert!(!on_ci(), "{problem}");
            println!("{problem}");
            None
        }
    }
}

/// The rows of a JSON Lines file. A lone surrogate, which JavaScript writes and a Rust string cannot hold, is
/// read as U+FFFD. A line that is not JSON is an error on CI and skipped with a note elsewhere.
pub(crate) fn read_jsonl(relative: &str) -> Option<Vec<Value>> {
    let mut rows = Vec::new();
    for (index, line) in read_lines(relative)?.iter().enumerate() {
        match serde_json::from_str(&replace_lone_surrogates(line)) {
            Ok(row) => rows.push(row),
            Err(error) => {
                let problem = format!("vectors: {relative} line {} is not JSON: {error}", index + 1);
                assert!(!on_ci(), "{problem}");
                println!("{problem}");
            }
        }
    }
    Some(rows)
}

/// The JSON files of `fixtures/<relative>` with their names; `None` without vectors.
pub(crate) fn read_folder(relative: &str) -> Option<Vec<(String, Value)>> {
    let Some(root) = std::env::var_os("HEADWATER_VECTORS") else {
        println!("fixtures: {relative} skipped, HEADWATER_VECTORS is not set");
        return None;
    };
    let folder = PathBuf::from(root).join("fixtures").join(relative);
    let listed = match std::fs::read_dir(&folder) {
        Ok(listed) => listed,
        Err(error) => {
            let problem = format!("fixtures: {} cannot be read: {error}", folder.display());
            assert!(!on_ci(), "{problem}");
            println!("{problem}");
            return None;
        }
    };
    let mut files: Vec<_> = listed.map(|entry| entry.expect("a folder can be listed").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        register(&format!("{relative}/{name}"));
        (name, json)
    };
    Some(files.into_iter().map(read).collect())
}

fn on_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

fn register(relative: &str) {
    let Some(log) = std::env::var_os("HEADWATER_VECTORS_READ") else {
        return;
    };
    // One write per line, because concurrent tests append to the same log.
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&log)
        .and_then(|mut log| log.write_all(format!("{relative}\n").as_bytes()))
        .unwrap_or_else(|error| panic!("{} cannot be written: {error}", Path::new(&log).display()));
}

/// JSON text with each lone `\ud800`–`\udfff` replaced by `\ufffd`.
pub(crate) fn replace_lone_surrogates(json: &str) -> String {
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = match unit(rest) {
            Some(0xd800..=0xdbff) if matches!(unit(&rest[6..]), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                out.push_str("\\ufffd");
                rest = &rest[6..];
                continue;
            }
            Some(_) => 6,
            // A backslash and the escaped character, which may be a backslash.
            None => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    out.push_str(rest);
    out
}

/// An entry of `conformance/deviations.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Deviation {
    file: String,
    /// One row …
    row: Option<String>,
    /// … or several with the same reason.
    #[serde(default)]
    rows: Vec<String>,
    /// The fields that differ; all others must match. If empty, anything may differ.
    #[serde(default)]
    except: Vec<String>,
    reason: String,
}

/// Rows of one file that are not compared with the recording.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exemption {
    file: String,
    rows: Vec<String>,
    reason: String,
}

/// The lists of `conformance/deviations.toml`, which the TypeScript readers are checked against too.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    #[serde(default)]
    deviation: Vec<Deviation>,
    /// Rows about features that no reader has.
    #[serde(default)]
    out_of_scope: Vec<Exemption>,
    /// Rows that we read differently and that the linter reports.
    #[serde(default)]
    named_by_lint: Vec<Exemption>,
}

impl Lists {
    fn read() -> Self {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/deviations.toml");
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

/// Compares the rows of one vector file and counts the results.
pub(crate) struct Judge {
    file: &'static str,
    deviations: BTreeMap<String, Deviation>,
    out_of_scope: BTreeSet<String>,
    named_by_lint: BTreeSet<String>,
    /// Rows that are out of scope and were found.
    passed_over: BTreeSet<String>,
    seen: BTreeSet<String>,
    matched: usize,
    deviated: usize,
    complaints: String,
}

impl Judge {
    pub(crate) fn new(file: &'static str) -> Self {
        let lists = Lists::read();
        Self {
            file,
            out_of_scope: exempt_rows(file, lists.out_of_scope),
            named_by_lint: exempt_rows(file, lists.named_by_lint),
            deviations: deviations(file, lists.deviation),
            passed_over: BTreeSet::new(),
            seen: BTreeSet::new(),
            matched: 0,
            deviated: 0,
            complaints: String::new(),
        }
    }

    /// Whether the row is listed as out of scope and skipped.
    pub(crate) fn is_out_of_scope(&mut self, name: &str) -> bool {
        let listed = self.out_of_scope.contains(name);
        if listed {
            self.passed_over.insert(name.to_owned());
        }
        listed
    }

    /// Whether the linter must report the row, instead of a comparison.
    pub(crate) fn is_named_by_lint(&self, name: &str) -> bool {
        self.named_by_lint.contains(name)
    }

    /// Checks one row. `compare` returns the difference, ignoring the given fields.
    pub(crate) fn row(&mut self, name: &str, compare: impl Fn(&[String]) -> Result<(), String>) {
        if !self.seen.insert(name.to_owned()) {
            self.complain(name, "the name occurs twice in the file");
        }
        match (compare(&[]), self.deviations.get(name)) {
            (Ok(()), None) => self.matched += 1,
            (Ok(()), Some(_)) => self.complain(name, "listed as a deviation, but it matches"),
            (Err(difference), None) => self.complain(name, &difference),
            (Err(_), Some(deviation)) => {
                self.deviated += 1;
                if !deviation.except.is_empty()
                    && let Err(difference) = compare(&deviation.except)
                {
                    let difference = format!("differs in more than {:?}: {difference}", deviation.except);
                    self.complain(name, &difference);
                }
            }
        }
    }

    /// Reports a problem with a row, deviation or not.
    pub(crate) fn complain(&mut self, name: &str, problem: &str) {
        writeln!(self.complaints, "{} {name}: {problem}", self.file)
            .expect("writing to a string cannot fail");
    }

    /// Prints the counts, and fails if there were problems.
    pub(crate) fn finish(mut self) {
        let listed = self.deviations.keys().chain(&self.named_by_lint);
        let unjudged = listed.filter(|name| !self.seen.contains(*name));
        let unmet = self.out_of_scope.difference(&self.passed_over);
        let unknown: Vec<_> = unjudged.chain(unmet).cloned().collect();
        for name in unknown {
            self.complain(&name, "listed in deviations.toml, but there is no such row");
        }
        println!(
            "vectors: {} {} rows, {} matched, {} deviations, {} out of scope",
            self.file,
            self.seen.len(),
            self.matched,
            self.deviated,
            self.passed_over.len()
        );
        register(&format!("{} {} {} {}", self.file, self.seen.len(), self.matched, self.deviated));
        assert!(self.complaints.is_empty(), "\n{}", self.complaints);
    }
}

/// The exempt rows of one file.
fn exempt_rows(file: &str, list: Vec<Exemption>) -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for exemption in list.into_iter().filter(|exemption| exemption.file == file) {
        assert!(!exemption.reason.trim().is_empty(), "rows of {file} are exempt without a reason");
        rows.extend(exemption.rows);
    }
    rows
}

/// The listed deviations of one file, by row.
fn deviations(file: &str, list: Vec<Deviation>) -> BTreeMap<String, Deviation> {
    let mut by_row = BTreeMap::new();
    for deviation in list.into_iter().filter(|deviation| deviation.file == file) {
        assert!(!deviation.reason.trim().is_empty(), "a deviation of {file} has no reason");
        for row in deviation.row.iter().chain(&deviation.rows) {
            let twice = by_row.insert(row.clone(), deviation.clone()).is_some();
            assert!(!twice, "{file} {row} is listed twice as a deviation");
        }
    }
    by_row
}

#[test]
fn only_lone_surrogates_are_replaced() {
    let table = [
        (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
        (r#""\ud83d""#, r#""\ufffd""#),
        (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
        (r#""\ud83d\ud83d\ude00x""#, r#""\ufffd\ud83d\ude00x""#),
        (r#""\\ud83d \n \u00e9 \" é""#, r#""\\ud83d \n \u00e9 \" é""#),
        (r#""\uD83D\\uDE00""#, r#""\ufffd\\uDE00""#),
    ];
    for (json, expected) in table {
        assert_eq!(replace_lone_surrogates(json), expected);
        serde_json::from_str::<Value>(expected).expect(expected);
    }
}
