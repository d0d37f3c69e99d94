//! The questions that can be asked, and which answers they allow.

use std::marker::PhantomData;

use headwater_protocol::{Choice as Offered, Interrupt, InterruptKind, RequestId};
use headwater_tools::Schema;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Error, Result, error::ErrorKind};

/// A question, and what its answer is.
pub trait Question: Send + 'static {
    /// What the hook returns.
    type Answer: Send;

    /// How the page is asked.
    fn interrupt(&self, request: RequestId) -> Interrupt;

    /// Reads an answer that was checked when it was given.
    ///
    /// # Errors
    /// When it is none.
    fn read(&self, answer: Value) -> Result<Self::Answer>;
}

/// Asks for a text.
#[derive(Debug, Clone)]
pub struct Text(String);

impl Text {
    /// Asks this.
    #[must_use]
    pub fn new(question: impl Into<String>) -> Self {
        Self(question.into())
    }
}

impl Question for Text {
    type Answer = String;

    fn interrupt(&self, request: RequestId) -> Interrupt {
        Interrupt::text(request, &self.0)
    }

    fn read(&self, answer: Value) -> Result<String> {
        match answer {
            Value::String(text) => Ok(text),
            other => Err(wrong("a text", &other)),
        }
    }
}

/// Lets the person pick one of several.
#[derive(Debug, Clone)]
pub struct Choice {
    question: String,
    options: Vec<Offered>,
}

/// Lets the person pick any number of several.
#[derive(Debug, Clone)]
pub struct MultiChoice(Choice);

impl Choice {
    /// Asks this.
    #[must_use]
    pub fn new(question: impl Into<String>) -> Self {
        Self { question: question.into(), options: Vec::new() }
    }

    /// Adds something to pick: the answer is its id.
    #[must_use]
    pub fn option(mut self, id: impl Into<String>, label: impl Into<String>) -> Self {
        self.options.push(Offered { id: id.into(), label: label.into(), description: None });
        self
    }

    /// Adds something to pick, with a line about it.
    #[must_use]
    pub fn option_with(
        mut self,
        id: impl Into<String>,
        label: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        self.options.push(Offered {
            id: id.into(),
            label: label.into(),
            description: Some(description.into()),
        });
        self
    }
}

impl Question for Choice {
    type Answer = String;

    fn interrupt(&self, request: RequestId) -> Interrupt {
        Interrupt::choice(request, &self.question, self.options.clone())
    }

    fn read(&self, answer: Value) -> Result<String> {
        match answer {
            Value::String(id) => Ok(id),
            other => Err(wrong("the id of an option", &other)),
        }
    }
}

impl MultiChoice {
    /// Asks this.
    #[must_use]
    pub fn new(question: impl Into<String>) -> Self {
        Self(Choice::new(question))
    }

    /// Adds something to pick.
    #[must_use]
    pub fn option(self, id: impl Into<String>, label: impl Into<String>) -> Self {
        Self(self.0.option(id, label))
    }
}

impl Question for MultiChoice {
    type Answer = Vec<String>;

    fn interrupt(&self, request: RequestId) -> Interrupt {
        let mut interrupt = self.0.interrupt(request);
        interrupt.kind = InterruptKind::MultiChoice;
        interrupt.multiple = true;
        interrupt
    }

    fn read(&self, answer: Value) -> Result<Vec<String>> {
        serde_json::from_value(answer.clone()).map_err(|_| wrong("a list of ids", &answer))
    }
}

/// Asks for an object of some type: the page gets its schema.
#[derive(Debug, Clone)]
pub struct Form<T> {
    question: String,
    of: PhantomData<fn() -> T>,
}

impl<T: JsonSchema + Serialize + DeserializeOwned + Send + 'static> Form<T> {
    /// Asks this.
    #[must_use]
    pub fn new(question: impl Into<String>) -> Self {
        Self { question: question.into(), of: PhantomData }
    }
}

impl<T: JsonSchema + Serialize + DeserializeOwned + Send + 'static> Question for Form<T> {
    type Answer = T;

    fn interrupt(&self, request: RequestId) -> Interrupt {
        let mut interrupt = Interrupt::text(request, &self.question);
        interrupt.response_schema = Some(schemars::schema_for!(T).to_value());
        interrupt
    }

    fn read(&self, answer: Value) -> Result<T> {
        serde_json::from_value(answer).map_err(|error| {
            Error::new(ErrorKind::Answer, format!("the answer cannot be read as what was asked for: {error}"))
        })
    }
}

/// Checks an answer before it is taken: what is wrong with it is said, and the question stays open.
pub(crate) fn check_answer(interrupt: &Interrupt, answer: Value) -> Result<Value> {
    let answer = match interrupt.kind {
        InterruptKind::MultiChoice => {
            let picked = match answer {
                Value::Array(items) => items,
                one => vec![one],
            };
            Value::Array(picked.into_iter().map(|one| pick(interrupt, one)).collect::<Result<_>>()?)
        }
        InterruptKind::Choice if interrupt.multiple => {
            let picked = match answer {
                Value::Array(items) => items,
                one => vec![one],
            };
            Value::Array(picked.into_iter().map(|one| pick(interrupt, one)).collect::<Result<_>>()?)
        }
        InterruptKind::Choice => match answer {
            Value::Array(mut items) if items.len() == 1 => pick(interrupt, items.remove(0))?,
            one => pick(interrupt, one)?,
        },
        InterruptKind::Text if interrupt.response_schema.is_none() => match answer {
            Value::String(text) => Value::String(text),
            Value::Array(mut items)
                if items.len() == 1 && matches!(items.first(), Some(Value::String(_))) =>
            {
                items.remove(0)
            }
            other => return Err(wrong("a text", &other)),
        },
        InterruptKind::Text => answer,
    };
    if let Some(schema) = &interrupt.response_schema {
        check_schema(schema, &answer)?;
    }
    Ok(answer)
}

/// Checks what a person gave against the schema that came with the question.
pub(crate) fn check_schema(schema: &Value, answer: &Value) -> Result<()> {
    let schema = Schema::new(schema.clone())
        .map_err(|error| Error::new(ErrorKind::Answer, format!("the answer's schema is wrong: {error}")))?;
    schema.check(answer).map_err(|wrong| {
        let wrong: Vec<_> = wrong.iter().map(ToString::to_string).collect();
        Error::new(ErrorKind::Answer, format!("the answer does not fit: {}", wrong.join("; ")))
    })
}

/// The id of the option that was picked: given as it is, or as an object that has it.
fn pick(interrupt: &Interrupt, picked: Value) -> Result<Value> {
    let id = match &picked {
        Value::String(id) => Some(id.as_str()),
        Value::Object(option) => option.get("id").and_then(Value::as_str),
        _ => None,
    };
    match id {
        Some(id) if interrupt.options.iter().any(|option| option.id == id) => {
            Ok(Value::String(id.to_owned()))
        }
        _ => {
            let offered: Vec<_> = interrupt.options.iter().map(|option| format!("`{}`", option.id)).collect();
            let message = format!("{picked} is not among the options: {}", offered.join(", "));
            Err(Error::new(ErrorKind::Answer, message))
        }
    }
}

fn wrong(wanted: &str, given: &Value) -> Error {
    let kind = crate::next::json_kind(given);
    Error::new(ErrorKind::Answer, format!("the answer must be {wanted}, not {kind}"))
}
