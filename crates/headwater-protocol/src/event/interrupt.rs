//! A question put to a person, while the run waits.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    id::{RequestId, ToolCallId},
    json_struct::json_struct,
};

/// What kind of answer is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum InterruptKind {
    /// Free text.
    #[default]
    Text,
    /// One of the choices.
    Choice,
    /// Any number of the choices.
    MultiChoice,
}

json_struct! {
    /// One of the answers that a person may choose.
    pub struct Choice {
        /// What the answer says.
        pub id: String,
        /// What the person reads.
        pub label: String,
        /// More to read.
        pub description?: String,
    }

    /// A question put to a person.
    ///
    /// ```
    /// use headwater_protocol::{Interrupt, InterruptKind};
    ///
    /// let question = Interrupt::text("req_1", "Which city?");
    /// assert_eq!(question.kind, InterruptKind::Text);
    /// ```
    pub struct Interrupt {
        /// The question.
        pub request: RequestId,
        /// What allows to answer it.
        pub token?: String,
        /// What kind of answer is asked for.
        #[serde(default)]
        pub kind: InterruptKind,
        /// Several answers may be given. [`InterruptKind::MultiChoice`] implies it.
        pub multiple: flag,
        /// What the person reads.
        pub question?: String,
        /// What may be chosen.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub options: Vec<Choice>,
        /// The workflow that asks.
        pub workflow?: String,
        /// The application's own name for the question.
        pub id?: String,
        /// The schema of the question, by name.
        pub schema_id?: String,
        /// The version of that schema.
        pub schema_version?: String,
        /// The JSON Schema that the answer must meet.
        pub response_schema?: Value,
        /// The tool call that the question is about.
        pub call?: ToolCallId,
        /// Why the run waits, in one word.
        pub reason?: String,
        /// When the question goes away, as an ISO 8601 date.
        pub expires_at?: String,
        /// What the application adds.
        pub meta?: Map<String, Value>,
    }

    /// The person answered.
    pub struct InterruptAnswered {
        /// The question.
        pub request: RequestId,
        /// The answer.
        pub answer?: json,
    }
}

impl Interrupt {
    /// A question that is answered with free text.
    #[must_use]
    pub fn text(request: impl Into<RequestId>, question: impl Into<String>) -> Self {
        Self { request: request.into(), question: Some(question.into()), ..Self::default() }
    }

    /// A question that is answered with one of some choices.
    #[must_use]
    pub fn choice(request: impl Into<RequestId>, question: impl Into<String>, options: Vec<Choice>) -> Self {
        Self { kind: InterruptKind::Choice, options, ..Self::text(request, question) }
    }

    /// The question as the input of a tool that the page executes: what a page needs to ask it, and nothing that allows
    /// to answer it.
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
