//! A macro that declares the structs of our own JSON format.

/// Declares structs of our own JSON format, with serialization, deserialization and schema.
///
/// - `id: PartId` is required.
/// - `title?: String` may be missing or `null`, and is omitted if `None`.
/// - `input?: json` is any value; `null` is a value too and differs from a missing one.
/// - `transient: flag` may be missing, and is omitted if `false`.
///
/// ```ignore
/// json_struct! {
///     /// Data of the application's own.
///     pub struct DataEvent { pub name: String, pub id?: String, pub data: Value, pub transient: flag, }
/// }
/// ```
macro_rules! json_struct {
    ($($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* })*) => {
        $($crate::json_struct::json_struct! { @ [$(#[$meta])* pub struct $name] [] $($fields)* })*
    };

    (@ [$(#[$meta:meta])* pub struct $name:ident] [$($done:tt)*]) => {
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(rename_all = "camelCase")]
        $(#[$meta])*
        pub struct $name { $($done)* }
    };
    (@ $head:tt [$($done:tt)*] $(#[$meta:meta])* pub $field:ident?: json, $($rest:tt)*) => {
        $crate::json_struct::json_struct! { @ $head [
            $($done)*
            $(#[$meta])*
            #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "headwater_json::present")]
            pub $field: Option<serde_json::Value>,
        ] $($rest)* }
    };
    (@ $head:tt [$($done:tt)*] $(#[$meta:meta])* pub $field:ident?: $type:ty, $($rest:tt)*) => {
        $crate::json_struct::json_struct! { @ $head [
            $($done)*
            $(#[$meta])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,
        ] $($rest)* }
    };
    (@ $head:tt [$($done:tt)*] $(#[$meta:meta])* pub $field:ident: flag, $($rest:tt)*) => {
        $crate::json_struct::json_struct! { @ $head [
            $($done)*
            $(#[$meta])*
            #[serde(default, skip_serializing_if = "std::ops::Not::not")]
            pub $field: bool,
        ] $($rest)* }
    };
    (@ $head:tt [$($done:tt)*] $(#[$meta:meta])* pub $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::json_struct::json_struct! { @ $head [
            $($done)*
            $(#[$meta])*
            pub $field: $type,
        ] $($rest)* }
    };
}

pub(crate) use json_struct;
