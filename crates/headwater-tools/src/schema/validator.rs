//! Checks values against a schema. Without the feature `json-schema` there is no validator: every value is
//! accepted, and what a value is read into decides whether it fits.

use serde_json::Value;

use super::Mismatch;
use crate::Result;

#[cfg(feature = "json-schema")]
pub(super) struct Validator(jsonschema::Validator);

#[cfg(feature = "json-schema")]
impl Validator {
    pub(super) fn new(schema: &Value) -> Result<Self> {
        let compiled = jsonschema::options().offline().build(schema);
        let compiled =
            compiled.map_err(|error| crate::Error::new(crate::ErrorKind::Schema, refusal(&error)))?;
        Ok(Self(compiled))
    }

    pub(super) fn check(&self, value: &Value) -> Result<(), Vec<Mismatch>> {
        // Fast path: most values fit, and this check does not allocate.
        if self.0.is_valid(value) {
            return Ok(());
        }
        Err(super::describe::collect(self.0.iter_errors(value), value))
    }
}

#[cfg(not(feature = "json-schema"))]
pub(super) struct Validator;

#[cfg(not(feature = "json-schema"))]
#[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "the interface of the real one")]
impl Validator {
    pub(super) fn new(_: &Value) -> Result<Self> {
        Ok(Self)
    }

    pub(super) fn check(&self, _: &Value) -> Result<(), Vec<Mismatch>> {
        Ok(())
    }
}

#[cfg(feature = "json-schema")]
fn refusal(error: &jsonschema::ValidationError<'_>) -> String {
    use jsonschema::{ReferencingError, error::ValidationErrorKind};

    let ValidationErrorKind::Referencing(reference) = error.kind() else {
        let place = error.instance_path().as_str();
        let place = if place.is_empty() { "at its top".to_owned() } else { format!("at {place}") };
        return format!("not a JSON Schema, {place}: {error}");
    };
    match reference {
        ReferencingError::Unretrievable { uri, .. } => format!(
            "the schema refers to {uri}, which is not fetched: put the referenced schema under \"$defs\" of the schema itself"
        ),
        other => format!("the schema has an unresolved reference: {other}"),
    }
}
