//! Members of an object for which `null` is a value.

use serde::{Deserialize, Deserializer};

/// Reads an optional member for which `null` is a value: only a member that is not there is `None`. For `deserialize_with`,
/// together with `default`.
///
/// ```
/// use serde::Deserialize;
/// use serde_json::Value;
///
/// #[derive(Deserialize)]
/// struct Output {
///     #[serde(default, deserialize_with = "headwater_json::present")]
///     value: Option<Value>,
/// }
///
/// let null: Output = serde_json::from_str(r#"{"value":null}"#)?;
/// assert_eq!(null.value, Some(Value::Null));
/// let absent: Output = serde_json::from_str("{}")?;
/// assert_eq!(absent.value, None);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
/// If the member is not what its type reads.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
