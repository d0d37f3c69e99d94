//! Comments, messages and documents in plain English: the phrases that readers stumble over.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Failure;

/// A phrase that should be said otherwise.
pub(crate) struct Finding {
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    pub(crate) phrase: String,
    pub(crate) text: String,
}

/// Words that name a person where the reader wants the role.
const PERSONS: [&str; 5] = ["whoever", "whomever", "somebody", "someone", "nobody"];

/// Phrases that deny with a noun.
const PHRASES: [&str; 8] =
    ["is none", "are none", "was none", "theirs who", "is no more", "to whoever", "by whoever", "of whoever"];

/// Words for data that is sent, as if it spoke.
const SPEECH: [&str; 6] = ["is told", "are told", "was told", "were told", "tells readers", "is said by"];

/// The phrases in all sources and documents of the workspace.
pub(crate) fn findings(root: &Path) -> Result<Vec<Finding>, Failure> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask", "docs", "web", "examples", "conformance", "deploy"] {
        collect(&root.join(folder), &mut files)?;
    }
    files.push(root.join("README.md"));
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
        let pieces = match file.extension().and_then(|extension| extension.to_str()) {
            Some("md") => document(&text),
            Some("rs") => source(&text, true),
            _ => source(&text, false),
        };
        for (line, text) in pieces {
            if let Some(phrase) = stumble(&text) {
                found.push(Finding { file: file.clone(), line, phrase, text });
            }
        }
    }
    Ok(found)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if !["node_modules", "target", "dist", "generated", "assets", "cases"].contains(&&*name)
                && !name.starts_with('.')
            {
                collect(&path, files)?;
            }
        } else if [".rs", ".md", ".ts", ".tsx", ".mjs"].iter().any(|ending| name.ends_with(ending)) {
            files.push(path);
        }
    }
    Ok(())
}

/// The lines of a document that are not code.
fn document(text: &str) -> Vec<(usize, String)> {
    let mut code = false;
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            code = !code;
        } else if !code {
            lines.push((index + 1, line.to_owned()));
        }
    }
    lines
}

/// The comments, strings and names of tests of a source file.
fn source(text: &str, rust: bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        if let Some(comment) = comment(trimmed) {
            found.push((index + 1, comment.to_owned()));
            continue;
        }
        if let Some(rest) = trimmed.strip_prefix("fn ").or_else(|| trimmed.strip_prefix("async fn ")) {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            found.push((index + 1, name.replace('_', " ")));
        }
        // Every second piece between quotes is a string; escaped quotes are rare enough to ignore.
        for piece in line.split('"').skip(1).step_by(2).filter(|piece| piece.contains(' ')) {
            found.push((index + 1, piece.to_owned()));
        }
        if rust && !line.contains('"') && trimmed.ends_with('\\') {
            found.push((index + 1, trimmed.to_owned()));
        }
    }
    found
}

fn comment(line: &str) -> Option<&str> {
    ["///", "//!", "//", "* "].iter().find_map(|start| line.strip_prefix(start))
}

/// The phrase of a text that a reader stumbles over.
fn stumble(text: &str) -> Option<String> {
    let plain: String = text
        .chars()
        .map(
            |letter| {
                if letter.is_alphanumeric() || letter == '\'' { letter.to_ascii_lowercase() } else { ' ' }
            },
        )
        .collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    if let Some(person) = words.iter().find(|word| PERSONS.contains(word)) {
        return Some((*person).to_owned());
    }
    let joined = format!(" {} ", words.join(" "));
    let phrases = PHRASES.iter().chain(&SPEECH);
    if let Some(phrase) = phrases.into_iter().find(|phrase| joined.contains(&format!(" {phrase} "))) {
        return Some((*phrase).to_owned());
    }
    words.windows(3).find_map(|window| match window {
        ["what", "is" | "was" | "were" | "are", done] if done.ends_with("ed") => Some(window.join(" ")),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{document, source, stumble};

    #[test]
    fn phrases_are_found_in_any_case_and_across_marks() {
        assert_eq!(stumble("Whoever asks, waits.").as_deref(), Some("whoever"));
        assert_eq!(stumble("the choice is none, that is known").as_deref(), Some("is none"));
        assert_eq!(stumble("What was appended last").as_deref(), Some("what was appended"));
        assert_eq!(stumble("A reader that falls behind encodes for itself."), None);
    }

    #[test]
    fn code_in_documents_is_not_prose() {
        let lines = document("one\n```\nwhoever\n```\ntwo");
        assert_eq!(lines, [(1, "one".to_owned()), (5, "two".to_owned())]);
    }

    #[test]
    fn comments_strings_and_test_names_are_prose() {
        let found = source("/// A comment.\nfn nobody_waits() {\n    let x = \"two words\";\n}", true);
        let texts: Vec<_> = found.iter().map(|(_, text)| text.trim()).collect();
        assert_eq!(texts, ["A comment.", "nobody waits", "two words"]);
    }
}
