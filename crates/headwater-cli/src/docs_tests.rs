//! Tests that the documentation names existing commands and includes files verbatim.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{Command, CommandFactory as _};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README, all pages of `docs/`, the guides, and the README of each other part, with their names.
fn pages() -> Vec<(String, String)> {
    let folders =
        ["docs", "docs/guides", "deploy", "examples/rust", "examples/web", "web/npm/headwater"].into_iter();
    let docs = folders.flat_map(|folder| fs::read_dir(root().join(folder)).unwrap());
    let docs = docs.map(|entry| entry.unwrap().path());
    let paths = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let mut pages: Vec<_> = paths.chain([root().join("README.md")]).collect();
    pages.sort();
    pages
        .into_iter()
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap())
        })
        .collect()
}

/// The words after a program's name wherever a text shows it as a command: in backticks or after a prompt.
fn commands<'a>(text: &'a str, program: &str) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(program) {
        let (before, after) = (&text[..at], &text[at + program.len()..]);
        let shown = before.ends_with('`') || before.ends_with("$ ") || before.ends_with("# ");
        let Some(rest) = after.strip_prefix(' ').filter(|_| shown) else { continue };
        let end = rest.find(['`', '\n']).unwrap_or(rest.len());
        let words = rest[..end].split_whitespace();
        let is_name = |word: &&str| {
            word.starts_with(|first: char| first.is_ascii_lowercase())
                && word.chars().all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || each == '-')
        };
        let names: Vec<_> = words.take_while(is_name).collect();
        if !names.is_empty() {
            found.push(names);
        }
    }
    found
}

/// Whether a command with its subcommands exists.
fn exists(command: &Command, names: &[&str]) -> bool {
    match names.split_first() {
        Some((first, rest)) if command.has_subcommands() => {
            *first == "help" || command.find_subcommand(first).is_some_and(|found| exists(found, rest))
        }
        _ => true,
    }
}

/// The name of a command, as clap makes it from a variant.
fn kebab_case(variant: &str) -> String {
    let mut name = String::new();
    for letter in variant.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[test]
fn documented_commands_exist() {
    let headwater = crate::Cli::command();
    let tasks = fs::read_to_string(root().join("xtask/src/main.rs")).unwrap();
    let tasks = tasks.split("enum Task {").nth(1).unwrap().split("\n}\n").next().unwrap();
    let tasks: Vec<String> = tasks
        .lines()
        .filter_map(|line| line.strip_prefix("    ")?.split([' ', ',', '(']).next())
        .filter(|name| name.starts_with(|first: char| first.is_ascii_uppercase()))
        .map(kebab_case)
        .collect();
    assert!(tasks.contains(&"test".to_owned()), "{tasks:?}");
    let mut seen = 0;
    for (page, text) in pages() {
        for names in commands(&text, "headwater") {
            assert!(exists(&headwater, &names), "{page}: there is no `headwater {}`", names.join(" "));
            seen += 1;
        }
        for names in commands(&text, "npx headwater") {
            assert!(exists(&headwater, &names), "{page}: there is no `npx headwater {}`", names.join(" "));
            seen += 1;
        }
        for names in commands(&text, "cargo xtask") {
            let known = names[0] == "help" || tasks.iter().any(|task| task == names[0]);
            assert!(known, "{page}: there is no `cargo xtask {}`", names[0]);
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn commands_are_found_in_backticks_and_after_prompts() {
    let text = "run `headwater store check DIR` or\n$ headwater serve hello.yaml\nheadwater is a word; `headwater --help`";
    assert_eq!(commands(text, "headwater"), [vec!["store", "check"], vec!["serve"]]);
    assert!(!exists(&crate::Cli::command(), &["tend"]));
}

/// All Rust files below a folder.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() && !entry.ends_with("target") {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|end| end == "rs") {
            found.push(entry.to_string_lossy().replace("/src/", "/"));
        }
    }
}

#[test]
fn architecture_names_existing_files() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let mut seen = 0;
    for name in page.split('`').skip(1).step_by(2).filter(|name| name.ends_with(".rs")) {
        if name.contains(['<', '{', '*']) {
            continue;
        }
        let end = format!("/{name}");
        assert!(files.iter().any(|file| file.ends_with(&end)), "docs/architecture.md: there is no {name}");
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn documented_systemd_unit_equals_the_file() {
    let unit = fs::read_to_string(root().join("deploy/headwater.service")).unwrap();
    let page = fs::read_to_string(root().join("docs/operations.md")).unwrap();
    assert!(
        page.contains(&format!("```ini\n{unit}```\n")),
        "docs/operations.md must contain deploy/headwater.service verbatim"
    );
}

/// The systemd unit starts an existing command and only sets existing settings.
#[test]
fn systemd_unit_starts_an_existing_command() {
    let unit = fs::read_to_string(root().join("deploy/headwater.service")).unwrap();
    let value = |name: &str| unit.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let words = value("ExecStart=").split_whitespace();
    assert!(crate::Cli::command().try_get_matches_from(words).is_ok());
    let (variable, _) = value("Environment=").split_once('=').unwrap();
    assert!(crate::config::KEYS.iter().any(|key| key.variable() == variable), "{variable} is not a setting");
}
