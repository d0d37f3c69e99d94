//! What a dialect implements to check streams for its rules.

use std::fmt;

use headwater_protocol::{Frame, Framing, Place};
use serde::Serialize;

/// A dialect's own linter, which gets whole frames.
pub trait Lint: fmt::Debug + Send {
    /// The raw stream, before its frames: for problems of a client's own parser that frames do not show.
    fn stream(&mut self, _framing: Framing, _stream: &[u8]) {}

    /// Checks one frame.
    fn frame(&mut self, frame: &Frame<'_>, findings: &mut Findings);

    /// Handles the end of the stream.
    fn end(&mut self, findings: &mut Findings);
}

/// A rule of a dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LintRule {
    /// The name, as used in findings.
    pub name: &'static str,
    /// What the rule requires.
    pub demands: &'static str,
}

/// Declares the rules of a linter: the name and requirement of each, and a constant where the linter needs
/// one.
macro_rules! rules {
    ($($($rule:ident = )? $name:literal: $demands:literal,)*) => {
        $($(const $rule: $crate::lint::LintRule = $crate::lint::LintRule { name: $name, demands: $demands };)?)*

        /// The rules of the linter.
        pub(super) static RULES: &[$crate::lint::LintRule] =
            &[$($crate::lint::LintRule { name: $name, demands: $demands }),*];
    };
}

pub(crate) use rules;

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the rule.
    pub rule: &'static str,
    /// The frame, counted from 0; `None` for the end of the stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<u64>,
    /// The byte offset of that frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// What was found.
    pub seen: String,
    /// What the rule requires at this place.
    pub expected: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.frame, self.offset) {
            (Some(frame), Some(offset)) => write!(f, "frame {frame} at byte {offset}: ")?,
            _ => write!(f, "end of stream: ")?,
        }
        write!(f, "{}: saw {}, expected {}", self.rule, self.seen, self.expected)
    }
}

/// The findings so far, and the position of the next one.
#[derive(Debug, Default)]
pub struct Findings {
    pub(crate) found: Vec<Finding>,
    pub(crate) place: Option<Place>,
}

impl Findings {
    /// Adds a finding at the current frame.
    pub fn add(&mut self, rule: &'static str, seen: impl Into<String>, expected: impl Into<String>) {
        self.found.push(Finding {
            rule,
            frame: self.place.map(|place| place.frame),
            offset: self.place.map(|place| place.offset),
            seen: seen.into(),
            expected: expected.into(),
        });
    }
}
