//! The published crates: each has its metadata, needs no file outside of it, and can be packed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{Failure, cargo, run};
use crate::report::{Counts, SuiteOutcome};

/// The fields that a registry shows.
const FIELDS: [&str; 5] = ["description", "keywords", "categories", "readme", "repository"];

/// The members that are not published. Their manifests say so too.
const UNPUBLISHED: [&str; 3] = ["xtask", "headwater-testkit", "headwater-example-tests"];

pub(crate) fn test(root: &Path) -> Result<SuiteOutcome, Failure> {
    let mut problems = Vec::new();
    for folder in published(root)? {
        problems.extend(check(&folder)?);
    }
    let packed = pack(root, &mut problems)?;
    let counts = if problems.is_empty() { Counts::PASSED } else { Counts::FAILED };
    let notes = vec![format!("{packed} crates packed, each after what it depends on")];
    Ok(SuiteOutcome { counts, notes, output: problems.join("\n") })
}

/// Packs every published crate as `cargo publish` would, without building the packages: that takes minutes, and is left to a
/// workflow. Gives how many there are.
fn pack(root: &Path, problems: &mut Vec<String>) -> Result<usize, Failure> {
    let out = root.join("target/packages");
    // A package of an earlier run would pass for one of this run.
    let _ = fs::remove_dir_all(&out);
    let arguments = ["package", "--workspace", "--no-verify", "--offline", "--locked", "--allow-dirty"];
    let mut command = cargo(root, &arguments);
    command.arg("--target-dir").arg(&out);
    for name in UNPUBLISHED {
        command.args(["--exclude", name]);
    }
    let finished = run(command)?;
    if !finished.ok {
        problems.push(format!("the crates cannot be packed:\n{}", finished.output));
        return Ok(0);
    }
    let order = packed(&finished.output);
    for folder in published(root)? {
        let manifest = fs::read_to_string(folder.join("Cargo.toml"))
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", folder.display())))?;
        problems.extend(order_problems(&manifest, &order));
    }
    Ok(order.len())
}

/// The crates that cargo packed, in its order.
fn packed(output: &str) -> Vec<&str> {
    let lines = output.lines().filter_map(|line| line.trim_start().strip_prefix("Packaging "));
    lines.filter_map(|line| line.split(' ').next()).collect()
}

/// A crate must be packed, and all that it depends on before it.
fn order_problems(manifest: &str, order: &[&str]) -> Vec<String> {
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")).unwrap_or_default();
    let name = name.trim_end_matches('"');
    let Some(place) = order.iter().position(|packed| *packed == name) else {
        return vec![format!("{name} was not packed")];
    };
    let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let dependencies = dependencies.split("\n[").next().unwrap_or_default();
    let ours = dependencies.lines().filter_map(|line| line.split(['.', ' ']).next());
    let ours = ours.filter(|name| name.starts_with("headwater-"));
    // The crate in `crates/headwater-cli` has another name in the registry.
    let ours = ours.map(|name| if name == "headwater-cli" { "headwater-command" } else { name });
    let is_later = |other: &&str| !order.iter().take(place).any(|packed| packed == other);
    ours.filter(is_later)
        .map(|other| format!("{name} is packed before {other}, which it depends on"))
        .collect()
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
    use super::{order_problems, outside, packed};

    #[test]
    fn crates_are_packed_after_what_they_depend_on() {
        let order = packed(
            "   Packaging a v0.1.0 (/x)\n    Packaged 3 files\n   Packaging headwater-b v0.1.0 (/x)\n",
        );
        assert_eq!(order, ["a", "headwater-b"]);
        let manifest = |name: &str| {
            format!("[package]\nname = \"{name}\"\n\n[dependencies]\nheadwater-b.workspace = true\n")
        };
        assert_eq!(order_problems(&manifest("a"), &order).len(), 1);
        assert_eq!(order_problems(&manifest("c"), &order), ["c was not packed"]);
        assert!(order_problems(&manifest("a"), &["headwater-b", "a"]).is_empty());
    }

    #[test]
    fn files_outside_of_a_crate_are_found() {
        let text = "#[cfg(doctest)]\n#[doc = include_str!(\"../../../README.md\")]\n#[doc = include_str!(\"../../../docs/a.md\")]\n";
        assert_eq!(outside(text).count(), 1);
    }
}
