//! Comments, messages and documents in plain English: the phrases that readers stumble over.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::Failure;

/// A phrase to rewrite.
pub(crate) struct ProseFinding {
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    pub(crate) phrase: String,
    pub(crate) text: String,
}

/// Words for a person where the reader wants the role: caller, reader, client, operator, owner, driver.
const PERSONS: [&str; 5] = ["whoever", "whomever", "somebody", "someone", "nobody"];

/// Phrases, and the words to use in their place.
const PHRASES: [(&str, &str); 28] = [
    ("is none", "is missing, is not valid"),
    ("are none", "are missing, there are no"),
    ("was none", "was missing"),
    ("theirs who", "the caller's"),
    ("is no more", "no longer exists"),
    ("is told", "gets, receives"),
    ("are told", "get, receive"),
    ("was told", "got, received"),
    ("were told", "got, received"),
    ("has told", "has sent"),
    ("tells readers", "sends to readers"),
    ("is said by", "is encoded as"),
    ("come back", "reconnect, return"),
    ("comes back", "reconnects, returns"),
    ("came back", "reconnected, returned"),
    ("take back", "retract"),
    ("takes back", "retracts"),
    ("taken back", "retracted"),
    ("took back", "retracted"),
    ("is going", "is active"),
    ("are going", "are active"),
    ("whether that", "whether"),
    ("how manyeth", "index"),
    ("take up", "resume"),
    ("takes up", "resumes"),
    ("taken up", "resumed"),
    ("who asks", "the caller"),
    ("who ask", "the callers"),
];

/// Sources whose words are not ours to change, or that must name the phrases.
const ALLOWED: [(&str, &str); 2] = [
    ("xtask/src/shape/prose.rs", "lists the phrases"),
    ("conformance/vendors/recorded", "recorded from other projects"),
];

/// The phrases in all sources and documents of the workspace.
pub(crate) fn findings(root: &Path) -> Result<Vec<ProseFinding>, Failure> {
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
        let place = file.strip_prefix(root).unwrap_or(&file);
        if ALLOWED.iter().any(|(path, _)| place.starts_with(path)) {
            continue;
        }
        for (line, text) in pieces {
            if let Some(phrase) = stumble(&text) {
                found.push(ProseFinding { file: file.clone(), line, phrase, text });
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
        // What a link leads to is read where it is.
        if path.is_symlink() {
            continue;
        }
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
    let mut example = false;
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        if let Some(comment) = comment(trimmed) {
            if comment.trim_start().starts_with("```") {
                example = !example;
            } else if !example {
                found.push((index + 1, comment.to_owned()));
            }
            continue;
        }
        example = false;
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

/// The phrase of a text that a reader stumbles over, with a better word where there is one.
fn stumble(text: &str) -> Option<String> {
    let plain: String = without_code(text)
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
    let phrase = PHRASES.iter().find(|(phrase, _)| joined.contains(&format!(" {phrase} ")));
    if let Some((phrase, better)) = phrase {
        return Some(format!("{phrase} ({better})"));
    }
    words.windows(3).find_map(|window| match window {
        ["what", "is" | "was" | "were" | "are", done] if done.ends_with("ed") => Some(window.join(" ")),
        _ => None,
    })
}

/// A text without code in backticks and without the placeholders of a format string.
fn without_code(text: &str) -> String {
    let outside: Vec<_> = text.split('`').step_by(2).collect();
    let mut plain = String::new();
    for (index, piece) in outside.join(" code ").split('{').enumerate() {
        plain.push_str(if index == 0 {
            piece
        } else {
            piece.split_once('}').map_or(piece, |(_, rest)| rest)
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{document, source, stumble};

    #[test]
    fn phrases_are_found_in_any_case_and_across_marks() {
        assert_eq!(stumble("Whoever asks, waits.").as_deref(), Some("whoever"));
        assert_eq!(
            stumble("the choice is none, that is known").as_deref(),
            Some("is none (is missing, is not valid)")
        );
        assert_eq!(stumble("What was appended last").as_deref(), Some("what was appended"));
        assert_eq!(stumble("A reader that falls behind encodes for itself."), None);
    }

    #[test]
    fn code_in_documents_is_not_prose() {
        let lines = document("one\n```\nwhoever\n```\ntwo");
        assert_eq!(lines, [(1, "one".to_owned()), (5, "two".to_owned())]);
    }

    #[test]
    fn code_and_placeholders_are_not_prose() {
        assert_eq!(stumble("runs as the user `nobody`: {what} was called"), None);
        let found = source("/// One.\n/// ```\n/// assert!(find(1).is_none());\n/// ```\nfn x() {}", true);
        let texts: Vec<_> = found.iter().map(|(_, text)| text.trim()).collect();
        assert_eq!(texts, ["One.", "x"]);
    }

    #[test]
    fn comments_strings_and_test_names_are_prose() {
        let found = source("/// A comment.\nfn nobody_waits() {\n    let x = \"two words\";\n}", true);
        let texts: Vec<_> = found.iter().map(|(_, text)| text.trim()).collect();
        assert_eq!(texts, ["A comment.", "nobody waits", "two words"]);
    }
}
