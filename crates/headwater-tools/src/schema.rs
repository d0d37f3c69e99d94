//! A JSON Schema compiled once and checked many times: for a tool's input, a model's output or an answer. A
//! schema may come from an untrusted server, so external references are never fetched.

#[cfg(feature = "json-schema")]
mod describe;
mod mismatch;
mod validator;

use std::{any::type_name, fmt, sync::Arc};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

pub use self::mismatch::Mismatch;
use self::validator::Validator;
use crate::Result;

/// A compiled JSON Schema. Cloning is cheap.
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
pub struct Schema(Arc<SchemaData>);

struct SchemaData {
    value: Value,
    validator: Validator,
}

impl Schema {
    /// Compiles a schema. Without `$schema` it is read as draft 2020-12.
    ///
    /// # Errors
    /// If it is not a JSON Schema, or refers to an external schema.
    pub fn new(value: Value) -> Result<Self> {
        let validator = Validator::new(&value)?;
        Ok(Self(Arc::new(SchemaData { value, validator })))
    }

    /// The schema of a type's serialized form.
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
    /// If the type's own schema is not a JSON Schema.
    pub fn of<T: JsonSchema>() -> Result<Self> {
        Self::new(schema_of::<T>()).map_err(|error| error.of(&format!("the schema of {}", type_name::<T>())))
    }

    /// Checks a value.
    ///
    /// # Errors
    /// Every mismatch, up to [`Mismatch::LIMIT`]; a last entry then gives the number of further ones.
    pub fn check(&self, value: &Value) -> Result<(), Vec<Mismatch>> {
        self.0.validator.check(value)
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

/// The schema of a type for a model: without `$schema`, which some providers reject.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().for_deserialize().with(|settings| settings.meta_schema = None);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}
