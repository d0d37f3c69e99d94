//! The answer format that a client requests.

use serde_json::Value;

use crate::json_struct::json_struct;

json_struct! {
    /// A request for JSON as the text of an answer.
    ///
    /// ```
    /// use headwater_protocol::AnswerFormat;
    ///
    /// let any: AnswerFormat = serde_json::from_str("{}").unwrap();
    /// assert_eq!(any.schema, None);
    /// ```
    pub struct AnswerFormat {
        /// Name of the schema.
        pub name?: String,
        /// The JSON Schema; without it any JSON is valid.
        pub schema?: Value,
    }
}
