//! A record or a problem of a stream.

use std::rc::Rc;

use headwater_dialects::Finding;
use headwater_protocol::{Error, Place, Record};
use serde::Serialize;

/// A record or problem and its frame. Only problems at the end of the stream have no frame.
#[derive(Debug)]
pub(super) struct ReadingEntry {
    pub(super) place: Option<Place>,
    pub(super) what: EntryBody,
}

#[derive(Debug)]
pub(super) enum EntryBody {
    Record(Rc<Record>),
    Problem(Rc<Problem>),
}

/// A problem in the stream.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    /// The broken rule of the dialect, or the kind of the decoder's error.
    pub(super) rule: &'static str,
    pub(super) message: String,
    /// The frame could not be decoded; otherwise it decodes but breaks a rule.
    pub(super) unreadable: bool,
    /// The dialect's own client rejects the stream here.
    pub(super) fatal: bool,
}

impl ReadingEntry {
    pub(super) fn unreadable(place: Option<Place>, error: &Error) -> Self {
        let problem = Problem {
            rule: error.kind().as_str(),
            message: error.message().to_owned(),
            unreadable: true,
            fatal: error.is_fatal(),
        };
        Self { place, what: EntryBody::Problem(Rc::new(problem)) }
    }

    pub(super) fn frame(&self) -> Option<u64> {
        self.place.map(|place| place.frame)
    }

    pub(super) fn is_problem(&self) -> bool {
        matches!(self.what, EntryBody::Problem(_))
    }

    /// Makes a problem of a finding. `fatal` is the decoder's severity if it reported the same frame.
    pub(super) fn found(finding: Finding, fatal: Option<bool>) -> Self {
        let Finding { rule, frame, offset, seen, expected } = finding;
        let message = format!("saw {seen}, expected {expected}");
        let place = frame.zip(offset).map(|(frame, offset)| Place { frame, offset });
        let problem = Problem { rule, message, unreadable: fatal.is_some(), fatal: fatal == Some(true) };
        Self { place, what: EntryBody::Problem(Rc::new(problem)) }
    }
}
