//! Questions to the user while the run waits.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    id::{RequestId, ToolCallId},
    json_struct::json_struct,
};

/// The kind of answer expected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum InterruptKind {
    /// Free text.
    #[default]
    Text,
    /// One of the options.
    Choice,
    /// Any number of the options.
    MultiChoice,
}

json_struct! {
    /// One option of a question.
    pub struct Choice {
        /// Value of the answer.
        pub id: String,
        /// Label shown to the user.
        pub label: String,
        /// Additional text shown to the user.
        pub description?: String,
    }

    /// A question to the user.
    ///
    /// ```
    /// use headwater_protocol::{Interrupt, InterruptKind};
    ///
    /// let question = Interrupt::text("req_1", "Which city?");
    /// assert_eq!(question.kind, InterruptKind::Text);
    /// ```
    pub struct Interrupt {
        /// Id of the question.
        pub request: RequestId,
        /// Token that authorizes an answer.
        pub token?: String,
        /// Kind of answer expected.
        #[serde(default)]
        pub kind: InterruptKind,
        /// Whether several options may be chosen. [`InterruptKind::MultiChoice`] implies it.
        pub multiple: flag,
        /// Text shown to the user.
        pub question?: String,
        /// The options.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub options: Vec<Choice>,
        /// The workflow that asks.
        pub workflow?: String,
        /// The application's own id of the question.
        pub id?: String,
        /// Name of the question's schema.
        pub schema_id?: String,
        /// Version of that schema.
        pub schema_version?: String,
        /// JSON Schema of the answer.
        pub response_schema?: Value,
        /// The tool call that the question is about.
        pub call?: ToolCallId,
        /// Why the run waits, as one word.
        pub reason?: String,
        /// When the question expires, as an ISO 8601 date.
        pub expires_at?: String,
        /// Application metadata.
        pub meta?: Map<String, Value>,
    }

    /// The user answered a question.
    pub struct InterruptAnswered {
        /// Id of the question.
        pub request: RequestId,
        /// The answer.
        pub answer?: json,
    }
}

impl Interrupt {
    /// A question with a free-text answer.
    #[must_use]
    pub fn text(request: impl Into<RequestId>, question: impl Into<String>) -> Self {
        Self { request: request.into(), question: Some(question.into()), ..Self::default() }
    }

    /// A question with one of several options as its answer.
    #[must_use]
    pub fn choice(request: impl Into<RequestId>, question: impl Into<String>, options: Vec<Choice>) -> Self {
        Self { kind: InterruptKind::Choice, options, ..Self::text(request, question) }
    }

    /// The question as the input of a tool that the page runs: everything that a page needs to show it, but
    /// no token.
    #[must_use]
    pub fn to_tool_input(&self) -> Value {
        let mut input = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                input.insert(key.to_owned(), value);
            }
        };
        put("question", self.question.clone().map(Value::String));
        put("kind", serde_json::to_value(self.kind).ok());
        put("multiple", self.multiple.then_some(Value::Bool(true)));
        let options = (!self.options.is_empty()).then(|| serde_json::to_value(&self.options).ok());
        put("options", options.flatten());
        put("id", self.id.clone().map(Value::String));
        put("schemaId", self.schema_id.clone().map(Value::String));
        put("schemaVersion", self.schema_version.clone().map(Value::String));
        put("responseSchema", self.response_schema.clone());
        put("reason", self.reason.clone().map(Value::String));
        put("expiresAt", self.expires_at.clone().map(Value::String));
        put("meta", self.meta.clone().map(Value::Object));
        Value::Object(input)
    }
}
