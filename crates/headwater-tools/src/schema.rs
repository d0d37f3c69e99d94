//! A JSON Schema that was compiled once and is checked many times: of a tool's input, of a model's output, of an answer.
//! A schema may come from a server that nobody here has read, so nothing outside it is ever fetched.

mod mismatch;

use std::{any::type_name, fmt, sync::Arc};

use jsonschema::{Validator, error::ValidationErrorKind};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

pub use self::mismatch::Mismatch;
use crate::{Error, ErrorKind, Result};

/// A compiled JSON Schema. A clone costs nothing.
///
/// ```
/// use headwater_tools::Schema;
/// use serde_json::json;
///
/// # fn main() -> Result<(), headwater_tools::Error> {
/// let schema = Schema::new(json!({
///     "type": "object",
///     "properties": { "subject": { "type": "string" }, "bullets": { "type": "array", "items": { "type": "string" } } },
///     "required": ["subject"],
/// }))?;
/// schema.check(&json!({ "subject": "Launch" })).unwrap();
///
/// let mismatches = schema.check(&json!({ "bullets": ["a", "b", 7] })).unwrap_err();
/// let lines: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
/// assert_eq!(lines, ["subject: missing", "bullets[2]: expected a string, got 7"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Schema(Arc<Compiled>);

struct Compiled {
    value: Value,
    validator: Validator,
}

impl Schema {
    /// Compiles a schema. Without a `$schema` it is read as draft 2020-12.
    ///
    /// # Errors
    /// If it is not a JSON Schema, or if it refers to a schema that is not inside it.
    pub fn new(value: Value) -> Result<Self> {
        let validator = jsonschema::options()
            .offline()
            .build(&value)
            .map_err(|error| Error::new(ErrorKind::Schema, refusal(&error)))?;
        Ok(Self(Arc::new(Compiled { value, validator })))
    }

    /// The schema of what a type is read from.
    ///
    /// ```
    /// use headwater_tools::{Schema, schemars::{self, JsonSchema}};
    /// use serde_json::json;
    ///
    /// #[derive(JsonSchema)]
    /// struct Draft { subject: String }
    ///
    /// # fn main() -> Result<(), headwater_tools::Error> {
    /// assert!(Schema::of::<Draft>()?.check(&json!({})).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the type describes itself by something that is not a JSON Schema.
    pub fn of<T: JsonSchema>() -> Result<Self> {
        Self::new(schema_of::<T>()).map_err(|error| error.of(&format!("the schema of {}", type_name::<T>())))
    }

    /// Checks a value.
    ///
    /// # Errors
    /// Every place where the value does not fit, up to [`Mismatch::LIMIT`]; a last line then says how many more there are.
    pub fn check(&self, value: &Value) -> Result<(), Vec<Mismatch>> {
        // Almost everything fits, and this way needs no allocation to say so.
        if self.0.validator.is_valid(value) {
            return Ok(());
        }
        Err(mismatch::collect(self.0.validator.iter_errors(value), value))
    }

    /// The schema as it was given.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0.value
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.0.value).finish()
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

/// The schema of what a type is read from, as a model is told it: no `$schema`, which some providers refuse.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().for_deserialize().with(|settings| settings.meta_schema = None);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

fn refusal(error: &jsonschema::ValidationError<'_>) -> String {
    let ValidationErrorKind::Referencing(reference) = error.kind() else {
        let place = error.instance_path().as_str();
        let place = if place.is_empty() { "at its top".to_owned() } else { format!("at {place}") };
        return format!("not a JSON Schema, {place}: {error}");
    };
    match reference {
        jsonschema::ReferencingError::Unretrievable { uri, .. } => format!(
            "the schema refers to {uri}, which is not fetched: put what it refers to under \"$defs\" of the schema itself"
        ),
        other => format!("the schema refers to something that is not there: {other}"),
    }
}
