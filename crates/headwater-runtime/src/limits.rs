//! Limits on external input and on stored values.

use headwater_json::{InputLimits, LimitError};
use headwater_protocol::StructuredOp;
use serde_json::Value;

use crate::{Error, Result, error::ErrorKind};

/// Limits on data from models, tools, people and imported documents.
pub(crate) fn input() -> InputLimits {
    InputLimits::default()
}

/// Limits on depth and number of values, if the bytes are limited elsewhere.
pub(crate) fn shape() -> InputLimits {
    let mut limits = input();
    (limits.string, limits.text) = (usize::MAX, usize::MAX);
    limits
}

/// Limits on data from node code. Only the depth is limited; the store limits the size.
pub(crate) fn kept() -> InputLimits {
    nested(input().depth)
}

/// Limits of a hook's result, including the data stored around it.
pub(crate) fn stored_hook() -> InputLimits {
    nested(input().depth + 8)
}

/// Limits of a stored record: it must stay readable inside a session, snapshot or response.
pub(crate) fn record() -> InputLimits {
    nested(input().depth + 32)
}

/// Limits on the document of a session: values of the allowed depth, and the levels that an export adds
/// around them.
pub(crate) fn document() -> InputLimits {
    nested(input().depth + 16)
}

/// A limit on the depth only.
pub(crate) fn nested(depth: usize) -> InputLimits {
    let mut limits = input();
    limits.depth = depth;
    (limits.values, limits.string, limits.key, limits.text) =
        (usize::MAX, usize::MAX, usize::MAX, usize::MAX);
    limits
}

/// Refuses an update that would nest a structured object too deeply: each step of the path is a level.
pub(crate) fn check_update(op: &StructuredOp) -> Result<()> {
    let levels = op.path().map_or(0, |path| path.split('.').count());
    let limits = nested(input().depth.saturating_sub(levels));
    let refused = |exceeded| refused("structured data", &exceeded);
    let values = match op {
        StructuredOp::Set { value, .. } => value.as_slice(),
        StructuredOp::Append { items, .. } => items,
        StructuredOp::Final { data } => data.as_slice(),
        _ => &[],
    };
    values.iter().try_for_each(|value| limits.check_value(value)).map_err(refused)?;
    if levels > input().depth {
        let message = format!(
            "structured data is too large: a path of {levels} steps, at most {} are allowed",
            input().depth
        );
        return Err(Error::new(ErrorKind::Limit, message).with_code("value.too-deep"));
    }
    Ok(())
}

/// Refuses a value that exceeds limits; the error names the value and the place.
pub(crate) fn check(limits: &InputLimits, what: &str, value: &Value) -> Result<()> {
    limits.check_value(value).map_err(|exceeded| refused(what, &exceeded))
}

/// The same for unparsed JSON.
pub(crate) fn check_text(limits: &InputLimits, what: &str, json: &[u8]) -> Result<()> {
    limits.check(json).map_err(|exceeded| refused(what, &exceeded))
}

pub(crate) fn refused(what: &str, exceeded: &LimitError) -> Error {
    let code = format!("value.{}", exceeded.kind().code());
    Error::new(ErrorKind::Limit, format!("{what} is too large: {exceeded}")).with_code(code)
}
