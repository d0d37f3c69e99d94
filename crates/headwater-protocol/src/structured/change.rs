//! Prepares an operation for the tree, with as little copying as its ownership allows.

use std::borrow::Cow;

use serde_json::Value;

use super::tree::TreeWrite;
use super::update::StructuredOp;

/// An operation whose payload is moved if it is owned, and otherwise copied only where it is stored.
pub(super) enum TreeChange<'a> {
    Final(Option<Cow<'a, Value>>),
    At(Cow<'a, str>, TreeWrite<'a>),
}

impl<'a> TreeChange<'a> {
    pub(super) fn borrowed(op: &'a StructuredOp) -> Self {
        match op {
            StructuredOp::Final { data } => Self::Final(data.as_ref().map(Cow::Borrowed)),
            StructuredOp::Set { path, value } => Self::At(
                path.into(),
                value.as_ref().map_or(TreeWrite::Unset, |value| TreeWrite::Set(Cow::Borrowed(value))),
            ),
            StructuredOp::Append { path, items } => Self::At(path.into(), TreeWrite::Append(items.into())),
            StructuredOp::TextDelta { path, delta } => Self::At(path.into(), TreeWrite::Text(delta.into())),
        }
    }

    pub(super) fn owned(op: StructuredOp) -> Self {
        match op {
            StructuredOp::Final { data } => Self::Final(data.map(Cow::Owned)),
            StructuredOp::Set { path, value } => Self::At(
                path.into(),
                value.map_or(TreeWrite::Unset, |value| TreeWrite::Set(Cow::Owned(value))),
            ),
            StructuredOp::Append { path, items } => Self::At(path.into(), TreeWrite::Append(items.into())),
            StructuredOp::TextDelta { path, delta } => Self::At(path.into(), TreeWrite::Text(delta.into())),
        }
    }
}
