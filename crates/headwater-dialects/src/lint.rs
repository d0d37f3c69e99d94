//! Checks whether a stream follows the rules of its dialect.

use std::fmt;

use headwater_protocol::{Frame, FrameReader, Framing, Place};
use serde::Serialize;

use crate::reader::Reader;

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
pub struct Rule {
    /// The name, as used in findings.
    pub name: &'static str,
    /// What the rule requires.
    pub demands: &'static str,
}

/// Declares the rules of a linter: the name and requirement of each, and a constant where the linter needs
/// one.
macro_rules! rules {
    ($($($rule:ident = )? $name:literal: $demands:literal,)*) => {
        $($(const $rule: $crate::lint::Rule = $crate::lint::Rule { name: $name, demands: $demands };)?)*

        /// The rules of the linter.
        pub(super) static RULES: &[$crate::lint::Rule] =
            &[$($crate::lint::Rule { name: $name, demands: $demands }),*];
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
    /// What was expected.
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
    found: Vec<Finding>,
    place: Option<Place>,
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

/// Checks a whole stream.
///
/// ```
/// use headwater_dialects::lint;
/// use headwater_protocol::Framing;
///
/// let kortyx = headwater_dialects::reader("kortyx").unwrap();
/// let findings = lint(kortyx, Framing::Sse, b"data: {\"type\":\"done\"}\n\ndata: {\"type\":\"status\",\"message\":\"late\"}\n\n");
/// assert!(findings.iter().any(|finding| finding.rule == "nothing-after-done"));
/// ```
#[must_use]
pub fn lint(dialect: &dyn Reader, framing: Framing, stream: &[u8]) -> Vec<Finding> {
    let mut linter = dialect.linter();
    linter.stream(framing, stream);
    let mut findings = Findings::default();
    let mut reader = FrameReader::new(framing).with_tail(dialect.tail());
    let mut check = |frame: Result<Frame<'_>, headwater_protocol::FramingError>| match frame {
        Ok(frame) => {
            findings.place = Some(Place { frame: frame.index, offset: frame.offset });
            linter.frame(&frame, &mut findings);
        }
        Err(error) => {
            let error = headwater_protocol::Error::from(error);
            findings.place = error.place();
            findings.add("framing", error.message(), "a frame within the limits");
        }
    };
    reader.push(stream, &mut check);
    reader.finish(&mut check);
    findings.place = None;
    linter.end(&mut findings);
    let known = |finding: &Finding| dialect.lint_rules().iter().any(|rule| rule.name == finding.rule);
    debug_assert!(findings.found.iter().all(|finding| finding.rule == "framing" || known(finding)));
    findings.found
}
