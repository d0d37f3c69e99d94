//! The form that a client wants its answer in.

use serde_json::Value;

use crate::json_struct::json_struct;

json_struct! {
    /// JSON as the text of an answer, as a request asks for it.
    ///
    /// ```
    /// use headwater_protocol::AnswerFormat;
    ///
    /// let any: AnswerFormat = serde_json::from_str("{}").unwrap();
    /// assert_eq!(any.schema, None);
    /// ```
    pub struct AnswerFormat {
        /// What the schema is called.
        pub name?: String,
        /// The JSON Schema; any JSON without one.
        pub schema?: Value,
    }
}
