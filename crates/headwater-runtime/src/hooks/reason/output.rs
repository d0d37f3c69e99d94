//! Parsing the object that a model wrote.

use headwater_json::{Options, PartialValue};
use headwater_tools::Schema;
use serde_json::Value;

use crate::{Error, Result, error::ErrorKind, limits};

/// The JSON in a model's text: skips prose and a code fence before it, and ignores text after it.
pub(super) fn parse(text: &str) -> Result<Value> {
    let mut value = PartialValue::with(options());
    let read = value.push(text).and_then(|()| value.into_value());
    let read = read.map_err(|error| {
        let said: String = text.chars().take(200).collect();
        Error::new(
            ErrorKind::Output,
            format!("the model's answer is not JSON: {error}; it begins with {said:?}"),
        )
    })?;
    limits::check(&limits::input(), "the model's answer", &read)?;
    Ok(read)
}

/// Validation options for a model's JSON.
pub(super) fn options() -> Options {
    let mut options = Options::lenient();
    options.limits.max_depth = limits::input().depth;
    options
}

/// Validates an object; the error lists every mismatch.
pub(super) fn check(schema: &Schema, value: &Value) -> Result<()> {
    schema.check(value).map_err(|wrong| {
        let wrong: Vec<_> = wrong.iter().map(ToString::to_string).collect();
        Error::new(
            ErrorKind::Output,
            format!("the model's output does not fit its schema: {}", wrong.join("; ")),
        )
    })
}
