//! Optional members that may be `null`.

use serde::{Deserialize, Deserializer};

/// Deserializes an optional member that distinguishes `null` from a missing member: `null` is `Some`. Use it
/// as `deserialize_with` together with `default`.
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
/// If `T` cannot be deserialized.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
