//! Partial values against recordings of the AI SDK's `parsePartialJson` and of `partial-json`, which TanStack uses.
//!
//! Where both sides accept the text as the beginning of a value, the values are equal. Every difference
//! follows one of the rules below.

use std::collections::BTreeMap;

use headwater_json::{Completion, ErrorKind, PartialValue};
use serde_json::Value;

use crate::reduce::covers;
use crate::vectors::{Judge, read_jsonl};

/// Why a row may differ, and what must hold then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// Both values are equal.
    Same,
    /// Neither side shows a value.
    Nothing,
    /// The text is not JSON. We report the error and show the value before it; the vendor repairs the text or
    /// gives nothing.
    Invalid,
    /// An unfinished number or literal. The vendor guesses its value; we show nothing before it is complete.
    OpenScalar,
    /// The same for a repeated key: we still show the earlier value.
    EarlierEntry,
    /// Half of a surrogate pair. The vendor shows the half; we wait for the other one.
    HalfPair,
    /// The vendor trims whitespace at the end of an unfinished string, or drops the string.
    TrimmedSpace,
    /// `__proto__` and `constructor` are ordinary keys to us; the vendor drops or refuses them.
    Proto,
}

/// The rule that applies to the row, and whether both values are equal.
fn judge(name: &str, text: &str, theirs: Option<&Value>) -> (Rule, bool) {
    let mut value = PartialValue::new();
    let _ = value.push(text);
    let completion = value.finish();
    let ours = value.snapshot();

    // Splitting the text does not change the value.
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
            if message.contains("within a number") || message.contains("within a literal") {
                // Everything but the unfinished scalar is equal.
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

/// JavaScript numbers are 64-bit floats, and `-0` is printed as `0`.
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

/// Checks every row against the rules and the differing rows against the list of deviations. Rows are named
/// by line number because the texts are long.
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
