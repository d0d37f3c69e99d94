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
const PERSONS: [&str; 7] = ["whoever", "whomever", "somebody", "someone", "nobody", "everybody", "anybody"];

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
    for folder in ["crates", "xtask", "fuzz", "docs", "web", "examples", "conformance", "deploy", ".github"] {
        collect(&root.join(folder), &mut files)?;
    }
    let beside = fs::read_dir(root)
        .map_err(|error| Failure::new(format!("cannot list {}: {error}", root.display())))?;
    files.extend(
        beside.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file() && is_read(path)),
    );
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
        let pieces = match file.extension().and_then(|extension| extension.to_str()) {
            Some("md") => document(&text),
            Some("toml" | "yaml" | "yml" | "html") => settings(&text),
            Some("rs") => source(&text, true),
            _ => source(&text, false),
        };
        let place = file.strip_prefix(root).unwrap_or(&file);
        if ALLOWED.iter().any(|(path, _)| place.starts_with(path)) {
            continue;
        }
        let messages =
            if file.extension().is_some_and(|ending| ending == "rs") { strings(&text) } else { Vec::new() };
        let phrases = pieces.into_iter().filter_map(|(line, text)| Some((line, stumble(&text)?, text)));
        let negations = messages.into_iter().filter_map(|(line, text)| Some((line, is_no(&text)?, text)));
        found.extend(phrases.chain(negations).map(|(line, phrase, text)| ProseFinding {
            file: file.clone(),
            line,
            phrase,
            text,
        }));
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
        } else if is_read(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a file has comments or text that readers see.
fn is_read(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ["rs", "md", "ts", "tsx", "js", "mjs", "toml", "yaml", "yml", "html"].contains(&ending)
}

/// The lines of a file of settings or of a page, without tags.
fn settings(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut plain = String::new();
        for (at, piece) in line.split('<').enumerate() {
            plain.push_str(if at == 0 {
                piece
            } else {
                piece.split_once('>').map_or(piece, |(_, rest)| rest)
            });
            plain.push(' ');
        }
        found.push((index + 1, plain));
    }
    found
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
        found.extend(quoted(line).map(|piece| (index + 1, piece.to_owned())));
        if rust && !line.contains('"') && trimmed.ends_with('\\') {
            found.push((index + 1, trimmed.to_owned()));
        }
    }
    found
}

/// The strings of several words on a line. Every second piece between quotes is a string; escaped quotes are rare enough to
/// ignore.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2).filter(|piece| piece.contains(' '))
}

/// The strings of a source file: most are messages.
fn strings(text: &str) -> Vec<(usize, String)> {
    let lines = text.lines().enumerate().filter(|(_, line)| comment(line.trim_start()).is_none());
    lines.flat_map(|(index, line)| quoted(line).map(move |piece| (index + 1, piece.to_owned()))).collect()
}

/// The place where a message says "is no X" of something that is not a valid X.
fn is_no(text: &str) -> Option<String> {
    let text = without_code(text).replace("\\n", " ");
    let words: Vec<_> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
    let found = words.windows(3).enumerate().find(|(at, window)| {
        let [verb, no, next] = window else { return false };
        let before = at.checked_sub(1).and_then(|before| words.get(before)).map_or("", String::as_str);
        let says_no = matches!(verb.as_str(), "is" | "are") && no == "no";
        says_no && next != "longer" && before != "there"
    });
    found.map(|(_, window)| format!("{} (is not a)", window.join(" ")))
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
    let is_person = |word: &&&str| PERSONS.contains(&word.trim_end_matches("'s"));
    if let Some(person) = words.iter().find(is_person) {
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
    use super::{document, is_no, settings, source, stumble};

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
    fn persons_are_found_as_owners_too() {
        assert_eq!(stumble("not somebody's run").as_deref(), Some("somebody's"));
    }

    #[test]
    fn messages_do_not_say_is_no() {
        assert_eq!(is_no("{name} is no JSON").as_deref(), Some("is no json (is not a)"));
        assert_eq!(is_no("the text is no JSON").as_deref(), Some("is no json (is not a)"));
        assert_eq!(is_no("there is no run `x`"), None);
        assert_eq!(is_no("it is no longer there"), None);
    }

    #[test]
    fn settings_and_pages_are_read_without_tags() {
        assert_eq!(settings("a: <b class=\"nobody\">one</b>"), [(1, "a:  one  ".to_owned())]);
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
