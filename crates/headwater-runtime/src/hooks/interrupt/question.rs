//! The kinds of questions, and the answers that they accept.

use std::marker::PhantomData;

use headwater_protocol::{Choice as Offered, Interrupt, InterruptKind, RequestId};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Error, Result, error::ErrorKind, question::wrong_kind};

/// A question and the type of its answer.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a question",
    label = "not a question",
    note = "ask with `Text::new(\"…\")`, `Choice::new(\"…\")`, `MultiChoice::new(\"…\")` or `Form::<T>::new(\"…\")`"
)]
pub trait Question: Send + 'static {
    /// The return type of the hook.
    type Answer: Send;

    /// The question as sent to the page.
    fn interrupt(&self, request: RequestId) -> Interrupt;

    /// Reads an answer, which was validated when it was given.
    ///
    /// # Errors
    /// When it has another form.
    fn read(&self, answer: Value) -> Result<Self::Answer>;
}

/// Asks for a text.
#[derive(Debug, Clone)]
pub struct Text(String);

impl Text {
    /// A question with this text.
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
            other => Err(wrong_kind("a text", &other)),
        }
    }
}

/// Asks to select one of several options.
#[derive(Debug, Clone)]
pub struct Choice {
    question: String,
    options: Vec<Offered>,
}

/// Asks to select any number of options.
#[derive(Debug, Clone)]
pub struct MultiChoice(Choice);

impl Choice {
    /// A question with this text.
    #[must_use]
    pub fn new(question: impl Into<String>) -> Self {
        Self { question: question.into(), options: Vec::new() }
    }

    /// Adds an option, whose id is the answer.
    #[must_use]
    pub fn option(mut self, id: impl Into<String>, label: impl Into<String>) -> Self {
        self.options.push(Offered { id: id.into(), label: label.into(), description: None });
        self
    }

    /// Adds an option with a description.
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
            other => Err(wrong_kind("the id of an option", &other)),
        }
    }
}

impl MultiChoice {
    /// A question with this text.
    #[must_use]
    pub fn new(question: impl Into<String>) -> Self {
        Self(Choice::new(question))
    }

    /// Adds an option.
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
        serde_json::from_value(answer.clone()).map_err(|_| wrong_kind("a list of ids", &answer))
    }
}

/// Asks for an object of a type, whose schema is sent to the page.
#[derive(Debug, Clone)]
pub struct Form<T> {
    question: String,
    of: PhantomData<fn() -> T>,
}

impl<T: JsonSchema + Serialize + DeserializeOwned + Send + 'static> Form<T> {
    /// A question with this text.
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
            Error::new(
                ErrorKind::Answer,
                format!("the answer does not have the form of the question: {error}"),
            )
        })
    }
}
