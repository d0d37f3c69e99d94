//! Partial values against recordings of the AI SDK's `parsePartialJson` and of `partial-json`, which TanStack uses.
//!
//! Where both read the text as the beginning of a value, they give the same one. All that differs does so by a rule.

use std::collections::BTreeMap;

use headwater_json::{Completion, ErrorKind, PartialValue};
use serde_json::Value;

use crate::reduce::covers;
use crate::vectors::{Judge, read_jsonl};

/// Why a row may differ. Each rule says what must hold then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// Both give the same.
    Same,
    /// Neither has anything to show.
    Nothing,
    /// The text is not JSON: we say so and where, and show what came before; they mend it, or give nothing.
    Invalid,
    /// A number or a word is open: they show what it may become, we show nothing of it before it is whole.
    OpenScalar,
    /// The same for a key that came before: we still show its earlier value.
    EarlierEntry,
    /// Half of a pair of surrogates: they show the half, we wait for the other.
    HalfPair,
    /// They cut the space at the end of an open string, or take an open string with a space for nothing.
    TrimmedSpace,
    /// `__proto__` and `constructor` are keys like any other to us; there they disappear or are refused.
    Proto,
}

/// The rule that the row goes by, and whether both give the same.
fn judge(name: &str, text: &str, theirs: Option<&Value>) -> (Rule, bool) {
    let mut value = PartialValue::new();
    let _ = value.push(text);
    let completion = value.finish();
    let ours = value.snapshot();

    // In any pieces.
    for size in [1, 3] {
        let mut cut = PartialValue::new();
        for piece in text.as_bytes().chunks(size) {
            if cut.push_bytes(piece).is_err() {
                break;
            }
        }
        assert_eq!((cut.finish(), cut.snapshot()), (completion, ours.clone()), "{name} {text:?}");
    }

    let same = match (&ours, theirs) {
        (Some(ours), Some(theirs)) => equal(ours, theirs),
        (None, None) => true,
        _ => false,
    };
    let rule = match completion {
        Completion::Invalid(_) => Rule::Invalid,
        _ if same => {
            if ours.is_some() {
                Rule::Same
            } else {
                Rule::Nothing
            }
        }
        _ if text.contains("__proto__") || text.contains("\"constructor\"") => Rule::Proto,
        Completion::Truncated(error) => {
            assert_eq!(error.kind(), ErrorKind::Truncated);
            let message = error.to_string();
            let half = theirs.is_some_and(|theirs| theirs.to_string().contains('\u{FFFD}'));
            if message.contains("within a number") || message.contains("within a word") {
                // All but the open scalar is the same.
                let rest_is_same =
                    ours.as_ref().is_none_or(|ours| theirs.is_some_and(|theirs| covers(theirs, ours)));
                if !rest_is_same {
                    assert_eq!(text, r#"{"a":1,"a":2"#, "{name}: {ours:?}, there {theirs:?}");
                    return (Rule::EarlierEntry, same);
                }
                Rule::OpenScalar
            } else if half {
                Rule::HalfPair
            } else if message.contains("within a string") && text.trim_end() != text {
                Rule::TrimmedSpace
            } else {
                panic!("{name}: {text:?} is {ours:?}, there {theirs:?}")
            }
        }
        Completion::Complete => panic!("{name}: {text:?} is whole and {ours:?}, there {theirs:?}"),
    };
    (rule, same)
}

/// JavaScript's numbers are 64-bit floats, and it prints `-0` as `0`.
fn equal(ours: &Value, theirs: &Value) -> bool {
    covers(ours, theirs) && covers(theirs, ours)
}

fn tally(rules: &[Rule]) -> BTreeMap<Rule, usize> {
    let mut counts = BTreeMap::new();
    for rule in rules {
        *counts.entry(*rule).or_default() += 1;
    }
    counts
}

/// Holds every row to a rule, and the rows that differ to the list of deviations. Texts are too long and too odd for
/// names: rows are named by their line.
fn judge_file(file: &'static str, read: impl Fn(&Value) -> (Option<&str>, Option<&Value>)) {
    let Some(rows) = read_jsonl(file) else { return };
    let mut judged = Judge::new(file);
    let mut rules = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let name = format!("line {}", index + 1);
        let (Some(text), theirs) = read(row) else {
            assert!(judged.is_out_of_scope(&name), "{file} {name} has no text");
            continue;
        };
        let (rule, same) = judge(file, text, theirs);
        rules.push(rule);
        judged
            .row(&name, |_| if same { Ok(()) } else { Err(format!("{rule:?}: {text:?}, there {theirs:?}")) });
    }
    println!("vectors: {file} {} rows, {:?}", rows.len(), tally(&rules));
    let same = rules.iter().filter(|rule| **rule == Rule::Same).count();
    assert!(same * 2 > rules.len() || rules.len() < 10);
    judged.finish();
}

#[test]
fn ai_sdk() {
    for file in ["aisdk/parse-partial-json.jsonl", "aisdk/parse-partial-json.lone-surrogate.jsonl"] {
        judge_file(file, |row| (row["text"].as_str(), (row["hasValue"] == true).then(|| &row["value"])));
    }
}

#[test]
fn tanstack() {
    judge_file("tanstack/partial-json.jsonl", |row| {
        (row["input"].as_str(), (row["defined"] == true).then(|| &row["output"]))
    });
}
