//! Comments, messages and documents in plain English: the phrases that readers stumble over.

use std::fs;
use std::path::{Path, PathBuf};

use super::text::{TextKind, is_read, texts_of};
use crate::command::Failure;

/// A phrase to rewrite.
pub(crate) struct ProseFinding {
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    pub(crate) phrase: String,
    pub(crate) text: String,
}

/// Words for a person where the reader wants the role: caller, reader, client, operator, owner, driver.
const PERSONS: [&str; 9] =
    ["whoever", "whomever", "somebody", "someone", "nobody", "everybody", "everyone", "anybody", "anyone"];

/// Verbs of speech where data is sent or received.
const SPEECH: [&str; 8] = ["tell", "tells", "telling", "told", "hear", "hears", "hearing", "heard"];

/// Participles after `what is` where a noun exists. Those that end in `ed` need no list.
const PARTICIPLES: [&str; 10] =
    ["told", "said", "kept", "sent", "given", "held", "known", "seen", "left", "begun"];

/// Phrases, and the words to use in their place.
const PHRASES: [(&str, &str); 30] = [
    ("is none", "is missing, is not valid"),
    ("are none", "are missing, there are no"),
    ("was none", "was missing"),
    ("were none", "were missing"),
    ("theirs who", "the caller's"),
    ("is no more", "no longer exists"),
    ("is said by", "is encoded as"),
    ("come back", "reconnect, return"),
    ("comes back", "reconnects, returns"),
    ("came back", "reconnected, returned"),
    ("coming back", "reconnecting, returning"),
    ("take back", "retract"),
    ("takes back", "retracts"),
    ("taken back", "retracted"),
    ("took back", "retracted"),
    ("is going", "is active"),
    ("are going", "are active"),
    ("go on", "continue"),
    ("goes on", "continues"),
    ("going on", "continuing, active"),
    ("gone on", "continued"),
    ("went on", "continued"),
    ("whether that", "whether"),
    ("how manyeth", "index"),
    ("take up", "resume"),
    ("takes up", "resumes"),
    ("taken up", "resumed"),
    ("who asks", "the caller"),
    ("who ask", "the callers"),
    ("as none", "as missing"),
];

/// Sources that must name the phrases, and why.
const ALLOWED: [(&str, &str); 3] = [
    ("xtask/src/shape/prose.rs", "lists the phrases"),
    ("xtask/src/shape/names.rs", "lists words to avoid in names"),
    ("xtask/src/shape/text.rs", "has phrases as samples of its tests"),
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
        let place = file.strip_prefix(root).unwrap_or(&file);
        if ALLOWED.iter().any(|(path, _)| place.starts_with(path)) {
            continue;
        }
        for piece in texts_of(&file, &text).unwrap_or_default() {
            let words = words(&piece.text);
            let mut phrases = stumbles(&words);
            if piece.kind == TextKind::Literal && file.extension().is_some_and(|ending| ending == "rs") {
                phrases.extend(negations(&piece.text));
            }
            let lines: Vec<_> = piece.text.lines().collect();
            found.extend(phrases.into_iter().map(|(line, phrase)| ProseFinding {
                file: file.clone(),
                line: piece.line + line,
                phrase,
                text: lines.get(line).copied().unwrap_or_default().to_owned(),
            }));
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
        } else if is_read(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// The words of a text, each with its line in the text, without code.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    for (line, text) in without_code(text).lines().enumerate() {
        let is_end = |letter: char| !letter.is_alphanumeric() && letter != '\'';
        let found = text.split(is_end).filter(|word| !word.is_empty());
        words.extend(found.map(|word| (line, word.to_lowercase())));
    }
    words
}

/// The phrases of a text that a reader stumbles over, with better words where there are some.
fn stumbles(words: &[(usize, String)]) -> Vec<(usize, String)> {
    let word = |at: usize| words.get(at).map_or("", |(_, word)| word.as_str());
    let mut found = Vec::new();
    for (at, (line, first)) in words.iter().enumerate() {
        let base = first.trim_end_matches("'s");
        if PERSONS.contains(&base) {
            found.push((*line, first.clone()));
        }
        let is_talk = matches!(word(at + 1), "me" | "us" | "you");
        let is_distinction = (1..8).any(|after| word(at + after) == "apart");
        if SPEECH.contains(&base) && !is_talk && !is_distinction {
            found.push((*line, format!("{first} (send, receive, report)")));
        }
        let phrase = PHRASES.iter().find(|(phrase, _)| {
            phrase.split(' ').enumerate().all(|(index, expected)| word(at + index) == expected)
        });
        if let Some((phrase, better)) = phrase {
            found.push((*line, format!("{phrase} ({better})")));
        }
        let done = word(at + 2);
        let is_done = done.ends_with("ed") || PARTICIPLES.contains(&done);
        if first == "what" && matches!(word(at + 1), "is" | "was" | "were" | "are") && is_done {
            found.push((*line, format!("what {} {done}", word(at + 1))));
        }
    }
    found
}

/// The places where a message says "is no X" of something that is not a valid X.
fn negations(text: &str) -> Vec<(usize, String)> {
    let words = words(text);
    let mut found = Vec::new();
    for (at, window) in words.windows(3).enumerate() {
        let [(line, verb), (_, no), (_, next)] = window else { continue };
        let before = at.checked_sub(1).and_then(|at| words.get(at)).map_or("", |(_, word)| word.as_str());
        let says_no = matches!(verb.as_str(), "is" | "are") && no == "no";
        if says_no && next != "longer" && before != "there" {
            found.push((*line, format!("{verb} no {next} (is not a)")));
        }
    }
    found
}

/// A text without code in backticks and without the placeholders of a format string. Lines stay.
fn without_code(text: &str) -> String {
    let mut plain = String::new();
    for (index, piece) in text.split('`').enumerate() {
        if index % 2 == 1 {
            plain.push_str(" code ");
            plain.push_str(&"\n".repeat(piece.matches('\n').count()));
            continue;
        }
        for (index, piece) in piece.split('{').enumerate() {
            // Braces with spaces in them are those of a page's code, whose strings are prose.
            let placeholder =
                piece.split_once('}').filter(|(name, _)| index > 0 && !name.contains(char::is_whitespace));
            plain.push(' ');
            plain.push_str(placeholder.map_or(piece, |(_, rest)| rest));
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{negations, stumbles, words};

    fn found(text: &str) -> Vec<String> {
        stumbles(&words(text)).into_iter().map(|(line, phrase)| format!("{line}: {phrase}")).collect()
    }

    fn negated(text: &str) -> Vec<String> {
        negations(text).into_iter().map(|(_, phrase)| phrase).collect()
    }

    #[test]
    fn phrases_are_found_in_any_case_and_across_marks_and_lines() {
        assert_eq!(found("Whoever asks, waits."), ["0: whoever"]);
        assert_eq!(found("the choice is\nnone, that is known"), ["0: is none (is missing, is not valid)"]);
        assert_eq!(found("One.\nWhat was appended last"), ["1: what was appended"]);
        assert_eq!(found("what is kept, and not somebody's"), ["0: what is kept", "0: somebody's"]);
        assert_eq!(found("A reader that falls behind encodes for itself."), Vec::<String>::new());
    }

    #[test]
    fn verbs_of_speech_are_found_where_data_is_sent() {
        assert_eq!(found("The reader is told."), ["0: told (send, receive, report)"]);
        assert_eq!(found("Tell me a story. It tells the two blocks apart."), Vec::<String>::new());
    }

    #[test]
    fn messages_with_is_no_are_found() {
        assert_eq!(negated("{name} is no JSON"), ["is no json (is not a)"]);
        assert_eq!(negated("there is no run `x`"), Vec::<String>::new());
        assert_eq!(negated("it is no longer there"), Vec::<String>::new());
    }

    #[test]
    fn code_and_placeholders_are_not_prose() {
        assert_eq!(found("runs as the user `nobody`: {told} was called"), Vec::<String>::new());
        assert_eq!(found("{isLost && reload to go on}"), ["0: go on (continue)"]);
    }
}
