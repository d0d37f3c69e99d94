//! Whether a stream keeps its dialect's contract, as named rules.

use std::fmt;

use headwater_protocol::{Frame, FrameReader, Framing, Place};
use serde::Serialize;

use crate::reader::Reader;

/// A dialect's own linter: it is given whole frames.
pub trait Lint: fmt::Debug + Send {
    /// The whole stream as it came, before its frames: for what a client's own reader trips over and a
    /// frame does not show.
    fn stream(&mut self, _framing: Framing, _stream: &[u8]) {}

    /// Looks at one frame.
    fn frame(&mut self, frame: &Frame<'_>, findings: &mut Findings);

    /// The stream ended.
    fn end(&mut self, findings: &mut Findings);
}

/// A rule of a dialect's contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name, as findings say it.
    pub name: &'static str,
    /// What it demands.
    pub demands: &'static str,
}

/// Declares the rules of a linter: each one's name and what it demands, and a constant where the linter has one for it.
macro_rules! rules {
    ($($($rule:ident = )? $name:literal: $demands:literal,)*) => {
        $($(const $rule: $crate::lint::Rule = $crate::lint::Rule { name: $name, demands: $demands };)?)*

        /// The rules of the linter.
        pub(super) static RULES: &[$crate::lint::Rule] =
            &[$($crate::lint::Rule { name: $name, demands: $demands }),*];
    };
}

pub(crate) use rules;

/// A place where a stream breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule.
    pub rule: &'static str,
    /// The frame, counted from 0; the end of the stream has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<u64>,
    /// The byte at which that frame begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// What was seen.
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

/// The findings so far, and the place that the next one is about.
#[derive(Debug, Default)]
pub struct Findings {
    found: Vec<Finding>,
    place: Option<Place>,
}

impl Findings {
    /// Adds a finding at the frame that is being looked at.
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
