//! Where code and journal differ.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

/// Where today's code first does something else than the journal says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Divergence {
    /// What kind of difference it is.
    pub kind: DivergenceKind,
    /// The hook or the visit of a node, such as `email@1/compose#1/compose-email#0`.
    pub key: String,
    /// What the journal has.
    pub recorded: Option<Value>,
    /// What the code asks for, or does.
    pub asked: Option<Value>,
}

/// How code and journal differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DivergenceKind {
    /// The code asks for something that the journal does not have.
    New,
    /// The journal has something that the code does not ask for.
    Missing,
    /// A hook is of another kind.
    Hook,
    /// A hook is called with something else.
    Input,
    /// What is shown to readers is something else.
    Shown,
    /// A node gives something else, or another error.
    Result,
    /// The run goes another way through its workflows.
    Path,
    /// The run ends otherwise.
    End,
    /// What the journal holds cannot be read as what the code expects.
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
            DivergenceKind::New => "the code calls a hook that is not in the journal",
            DivergenceKind::Missing => "the journal has a hook that the code does not call",
            DivergenceKind::Hook => "the hook has another kind than in the journal",
            DivergenceKind::Input => "the hook has another input than in the journal",
            DivergenceKind::Shown => "readers get other events than in the journal",
            DivergenceKind::Result => "the node has another result than in the journal",
            DivergenceKind::Path => "the run takes another path than in the journal",
            DivergenceKind::End => "the run has another end than in the journal",
            DivergenceKind::Unreadable => "the record cannot be read by today's code",
        };
        write!(f, "`{}`: {what}", self.key)
    }
}
