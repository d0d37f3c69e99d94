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
