//! The published crates: each has its metadata, and needs no file outside of it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Failure;
use crate::report::{Counts, SuiteOutcome};

/// The fields that a registry shows.
const FIELDS: [&str; 5] = ["description", "keywords", "categories", "readme", "repository"];

pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    let mut problems = Vec::new();
    for folder in published(root)? {
        problems.extend(check(&folder)?);
    }
    let counts = if problems.is_empty() { Counts::PASSED } else { Counts::FAILED };
    Ok(SuiteOutcome { counts, notes: Vec::new(), output: problems.join("\n") })
}

/// The folders of the crates that are published.
fn published(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| Failure::new(format!("cannot read crates: {error}"));
    let mut folders = Vec::new();
    for entry in fs::read_dir(root.join("crates")).map_err(unreadable)? {
        let folder = entry.map_err(unreadable)?.path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).map_err(unreadable)?;
        if !manifest.contains("publish = false") {
            folders.push(folder);
        }
    }
    folders.sort();
    Ok(folders)
}

/// What is wrong with a crate.
fn check(folder: &Path) -> Result<Vec<String>, Failure> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let unreadable = |error| Failure::new(format!("cannot read {name}: {error}"));
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).map_err(unreadable)?;
    let mut problems = Vec::new();
    for field in FIELDS {
        if !manifest.lines().any(|line| {
            line.starts_with(&format!("{field} =")) || line.starts_with(&format!("{field}.workspace"))
        }) {
            problems.push(format!("{name}: Cargo.toml has no `{field}`"));
        }
    }
    if !folder.join("README.md").exists() {
        problems.push(format!("{name}: there is no README.md"));
    }
    let mut folders = vec![folder.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).map_err(unreadable)?;
                let outside = outside(&text);
                problems.extend(
                    outside.map(|line| format!("{}: a package would lack this file: {line}", path.display())),
                );
            }
        }
    }
    Ok(problems)
}

/// Lines that include a file from outside of a crate, other than for its tests.
fn outside(text: &str) -> impl Iterator<Item = &str> {
    let mut before = "";
    text.lines().filter(move |line| {
        let for_tests = before.contains("doctest") || before.contains("cfg(test)");
        before = *line;
        line.contains("include_str!(\"../../../") && !for_tests
    })
}

#[cfg(test)]
mod tests {
    use super::outside;

    #[test]
    fn files_outside_of_a_crate_are_found() {
        let text = "#[cfg(doctest)]\n#[doc = include_str!(\"../../../README.md\")]\n#[doc = include_str!(\"../../../docs/a.md\")]\n";
        assert_eq!(outside(text).count(), 1);
    }
}
