//! The way of an operation into the tree, with as little copying as its ownership allows.

use std::borrow::Cow;

use serde_json::Value;

use super::tree::Write;
use super::update::StructuredOp;

/// An operation whose payload is moved into the state if it is ours, and copied only where it is kept.
pub(super) enum Change<'a> {
    Final(Option<Cow<'a, Value>>),
    At(Cow<'a, str>, Write<'a>),
}

impl<'a> Change<'a> {
    pub(super) fn borrowed(op: &'a StructuredOp) -> Self {
        match op {
            StructuredOp::Final { data } => Self::Final(data.as_ref().map(Cow::Borrowed)),
            StructuredOp::Set { path, value } => Self::At(
                path.into(),
                value.as_ref().map_or(Write::Unset, |value| Write::Set(Cow::Borrowed(value))),
            ),
            StructuredOp::Append { path, items } => Self::At(path.into(), Write::Append(items.into())),
            StructuredOp::TextDelta { path, delta } => Self::At(path.into(), Write::Text(delta.into())),
        }
    }

    pub(super) fn owned(op: StructuredOp) -> Self {
        match op {
            StructuredOp::Final { data } => Self::Final(data.map(Cow::Owned)),
            StructuredOp::Set { path, value } => {
                Self::At(path.into(), value.map_or(Write::Unset, |value| Write::Set(Cow::Owned(value))))
            }
            StructuredOp::Append { path, items } => Self::At(path.into(), Write::Append(items.into())),
            StructuredOp::TextDelta { path, delta } => Self::At(path.into(), Write::Text(delta.into())),
        }
    }
}
