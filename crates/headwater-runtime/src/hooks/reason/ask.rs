//! Letting a model ask a person: the instructions for the model, and its possible replies.

use std::time::Duration;

use headwater_protocol::{Choice, Interrupt, InterruptKind, RequestId};
use headwater_tools::Schema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::output;
use crate::{Error, Result, error::ErrorKind};

/// Options for questions of a model to a person.
///
/// ```
/// use headwater_runtime::Ask;
///
/// let ask = Ask::optional().schema("review", "1");
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Ask {
    pub(super) mode: AskMode,
    pub(super) request: Option<Schema>,
    pub(super) response: Option<Schema>,
    pub(super) schema_id: Option<String>,
    pub(super) schema_version: Option<String>,
    pub(super) expires: Option<Duration>,
    pub(super) declinable: bool,
}

/// Whether the model must ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskMode {
    /// The model must ask.
    Required,
    /// The model decides.
    Optional,
}

impl Ask {
    /// The model must ask.
    pub fn required() -> Self {
        Self::of(AskMode::Required)
    }

    /// The model decides whether to ask.
    pub fn optional() -> Self {
        Self::of(AskMode::Optional)
    }

    fn of(mode: AskMode) -> Self {
        Self {
            mode,
            request: None,
            response: None,
            schema_id: None,
            schema_version: None,
            expires: None,
            declinable: false,
        }
    }

    /// Sets the schema of the model's question.
    pub fn request(mut self, schema: Schema) -> Self {
        self.request = Some(schema);
        self
    }

    /// Sets the schema of the person's answer.
    pub fn response(mut self, schema: Schema) -> Self {
        self.response = Some(schema);
        self
    }

    /// Sets the schema id and version sent to the page.
    pub fn schema(mut self, id: impl Into<String>, version: impl Into<String>) -> Self {
        self.schema_id = Some(id.into());
        self.schema_version = Some(version.into());
        self
    }

    /// Sets the time after which the question expires.
    pub fn expires(mut self, after: Duration) -> Self {
        self.expires = Some(after);
        self
    }

    /// Lets the person decline without ending the run: the model continues without an answer.
    pub fn declinable(mut self) -> Self {
        self.declinable = true;
        self
    }

    /// The schema of the model's first reply: its draft output and its question.
    pub(super) fn envelope(&self, output: Option<&Schema>) -> Value {
        let request = self.request.as_ref().map_or_else(any_request, |schema| schema.as_value().clone());
        let mut properties = serde_json::Map::new();
        let mut required = vec![];
        if self.mode == AskMode::Optional {
            properties.insert("decision".into(), json!({ "enum": ["continue", "interrupt"] }));
            required.push("decision");
        } else {
            required.push("interruptRequest");
        }
        properties.insert("interruptRequest".into(), request);
        properties.insert("draftText".into(), json!({ "type": "string" }));
        if let Some(output) = output {
            properties.insert("output".into(), output.as_value().clone());
        }
        json!({ "type": "object", "properties": properties, "required": required })
    }

    /// The instruction for the model.
    pub(super) fn instruction(&self) -> &'static str {
        match self.mode {
            AskMode::Required => {
                "Answer with one JSON object. `interruptRequest` is the question that a person will be asked: \
                 {\"kind\": \"text\" | \"choice\" | \"multi-choice\", \"question\": …, \"options\": [{\"id\": …, \
                 \"label\": …}]}. `draftText`, and `output` where it has a schema, are your answer as far as you can \
                 give it before the person replies."
            }
            AskMode::Optional => {
                "Answer with one JSON object. Set `decision` to \"continue\" and give your answer in `draftText`, and \
                 in `output` where it has a schema; or set it to \"interrupt\" and give the question that a person \
                 will be asked in `interruptRequest`: {\"kind\": \"text\" | \"choice\" | \"multi-choice\", \
                 \"question\": …, \"options\": [{\"id\": …, \"label\": …}]}."
            }
        }
    }

    /// Reads the model's first answer.
    pub(super) fn read(&self, text: &str, schema: Option<&Schema>) -> Result<AskDecision> {
        let value = output::parse(text)?;
        let wrong = |what: &str| Err(Error::new(ErrorKind::Output, format!("the model's decision: {what}")));
        let Value::Object(object) = &value else { return wrong("it must be a JSON object") };
        let request = ["interruptRequest", "request", "interrupt"]
            .iter()
            .find_map(|key| object.get(*key).filter(|request| !request.is_null()));
        let asks = match (self.mode, object.get("decision").and_then(Value::as_str)) {
            (AskMode::Required, _) | (AskMode::Optional, Some("interrupt")) => true,
            (AskMode::Optional, Some("continue")) if request.is_some() => {
                return wrong("it says `continue` and asks a question");
            }
            (AskMode::Optional, Some("continue")) => false,
            (AskMode::Optional, _) => return wrong("`decision` must be `continue` or `interrupt`"),
        };
        let output = object.get("output").cloned().or_else(|| schema.map(|_| value.clone()));
        let draft = ["draftText", "text"].iter().find_map(|key| object.get(*key).and_then(Value::as_str));
        let draft = match (draft, &output) {
            (Some(draft), _) => draft.to_owned(),
            (None, Some(output)) => output.to_string(),
            (None, None) if asks => String::new(),
            (None, None) => return wrong("`draftText` is missing"),
        };
        if !asks {
            let output = schema.map(|schema| {
                let output = output.unwrap_or_default();
                output::check(schema, &output).map(|()| output)
            });
            return Ok(AskDecision { draft, output: output.transpose()?, question: None });
        }
        let Some(request) = request.or_else(|| (self.mode == AskMode::Required).then_some(&value)) else {
            return wrong("it wants to interrupt, and `interruptRequest` is missing");
        };
        if let Some(schema) = &self.request {
            schema.check(request).map_err(|wrong| {
                let wrong: Vec<_> = wrong.iter().map(ToString::to_string).collect();
                Error::new(
                    ErrorKind::Output,
                    format!("the model's question does not fit: {}", wrong.join("; ")),
                )
            })?;
        }
        let interrupt = self.interrupt(request)?;
        Ok(AskDecision { draft, output: None, question: Some((request.clone(), interrupt)) })
    }

    /// The question in the format for the page, without an id.
    fn interrupt(&self, asked: &Value) -> Result<Interrupt> {
        #[derive(Deserialize)]
        struct AskArguments {
            #[serde(default)]
            kind: InterruptKind,
            question: Option<String>,
            #[serde(default)]
            options: Vec<Choice>,
            #[serde(default)]
            multiple: bool,
        }
        let asked: AskArguments = serde_json::from_value(asked.clone()).map_err(|error| {
            Error::new(ErrorKind::Output, format!("the model's question cannot be asked: {error}"))
        })?;
        if asked.kind != InterruptKind::Text && asked.options.is_empty() {
            return Err(Error::new(ErrorKind::Output, "the model's question is a choice without options"));
        }
        let mut interrupt = Interrupt::text(RequestId::from(""), asked.question.unwrap_or_default());
        interrupt.kind = asked.kind;
        interrupt.options = asked.options;
        interrupt.multiple = asked.multiple || asked.kind == InterruptKind::MultiChoice;
        interrupt.schema_id.clone_from(&self.schema_id);
        interrupt.schema_version.clone_from(&self.schema_version);
        interrupt.response_schema = self.response.as_ref().map(|schema| schema.as_value().clone());
        Ok(interrupt)
    }
}

/// The model's first reply.
#[derive(Debug)]
pub(super) struct AskDecision {
    pub(super) draft: String,
    /// The object, if there is no question.
    pub(super) output: Option<Value>,
    /// The question as written by the model, and in the format for the page.
    pub(super) question: Option<(Value, Interrupt)>,
}

fn any_request() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kind": { "enum": ["text", "choice", "multi-choice"] },
            "question": { "type": "string" },
            "options": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": { "id": { "type": "string" }, "label": { "type": "string" } },
                    "required": ["id", "label"]
                }
            }
        },
        "required": ["kind", "question"]
    })
}
