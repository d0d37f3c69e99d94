//! Differences between code and journal.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// The first difference between the current code and the journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Divergence {
    /// The kind of difference.
    pub kind: DivergenceKind,
    /// The key of the hook or node visit, such as `email@1/compose#1/compose-email#0`.
    pub key: String,
    /// The recorded value.
    pub recorded: Option<Value>,
    /// The value that the code requests or produces.
    pub asked: Option<Value>,
}

/// Kind of difference between code and journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DivergenceKind {
    /// The code requests something that is not in the journal.
    New,
    /// The journal has an entry that the code does not request.
    Missing,
    /// A hook is of another kind.
    Hook,
    /// A hook is called with another input.
    Input,
    /// The visible output differs.
    Shown,
    /// A node returns another result or error.
    Result,
    /// The run takes another path through its workflows.
    Path,
    /// The run ends differently.
    End,
    /// A recorded value does not have the type that the code expects.
    Unreadable,
}

impl Divergence {
    pub(crate) fn new(
        kind: DivergenceKind,
        key: &str,
        recorded: Option<Value>,
        asked: Option<Value>,
    ) -> Self {
        Self { kind, key: key.to_owned(), recorded, asked }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            DivergenceKind::New => "the code asks for something that the journal does not have",
            DivergenceKind::Missing => "the journal has something that the code does not ask for",
            DivergenceKind::Hook => "the hook is of another kind",
            DivergenceKind::Input => "the hook is called with something else",
            DivergenceKind::Shown => "readers are shown something else",
            DivergenceKind::Result => "the node gives something else",
            DivergenceKind::Path => "the run goes another way",
            DivergenceKind::End => "the run ends otherwise",
            DivergenceKind::Unreadable => "what the journal holds cannot be read any more",
        };
        write!(f, "`{}`: {what}", self.key)
    }
}
