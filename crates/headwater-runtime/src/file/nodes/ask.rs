//! Asking a person.

use headwater_protocol::{Choice as Offered, Interrupt, InterruptKind, RequestId};
use headwater_tools::Schema;
use serde_json::Value;

use super::{Gave, Of};
use crate::{
    Error, ErrorKind, MaybeAnswer, Next, Question, Result,
    file::{
        check::DECLINED,
        format::node::{InterruptText, SchemaNameText},
    },
};

/// A question whose kind is known when the file is read, and not before.
#[derive(Debug)]
struct Asked {
    kind: InterruptKind,
    question: String,
    options: Vec<Offered>,
}

impl Question for Asked {
    type Answer = Value;

    fn interrupt(&self, request: RequestId) -> Interrupt {
        let mut interrupt = Interrupt::choice(request, &self.question, self.options.clone());
        interrupt.kind = self.kind;
        interrupt.multiple = self.kind == InterruptKind::MultiChoice;
        interrupt
    }

    fn read(&self, answer: Value) -> Result<Value> {
        Ok(answer)
    }
}

pub(super) async fn run(of: &Of<'_>, text: &InterruptText) -> Result<Gave> {
    let options = options(of, text)?;
    let kind = match (text.multiple, options.is_empty()) {
        (true, _) => InterruptKind::MultiChoice,
        (false, false) => InterruptKind::Choice,
        (false, true) => InterruptKind::Text,
    };
    let question = Asked { kind, question: text.ask.render(of.source, of.scope)?, options };
    let mut hook = of.cx.interrupt(question).id(of.name);
    if let Some(expires) = text.expires {
        hook = hook.expires(expires.0);
    }
    if let Some(SchemaNameText { id, version }) = &text.schema {
        hook = hook.schema(id, version);
    }
    if let Some(response) = &text.response {
        hook = hook.response_schema(schema(&response.value)?);
    }
    if !text.meta.is_empty() {
        hook = hook.meta(text.meta.clone());
    }
    let answer = if text.declinable {
        match hook.declinable().await? {
            MaybeAnswer::Given(answer) => answer,
            MaybeAnswer::Declined => return Ok(Gave::next(Next::condition(DECLINED))),
        }
    } else {
        hook.await?
    };
    let mut gave = Gave::output(answer);
    if let (InterruptKind::Choice, Some(Value::String(id))) = (kind, &gave.output) {
        gave.next = Next::condition(id);
    }
    Ok(gave)
}

/// A schema of the file, which was checked when it was read.
pub(super) fn schema(schema: &serde_json::Map<String, Value>) -> Result<Schema> {
    Schema::new(Value::Object(schema.clone()))
        .map_err(|error| Error::new(ErrorKind::Build, error.to_string()))
}

fn options(of: &Of<'_>, text: &InterruptText) -> Result<Vec<Offered>> {
    let Some(from) = &text.options_from else {
        let option = |option: &crate::file::format::node::OptionText| {
            let description = option.description.as_ref();
            Ok(Offered {
                id: option.id.value.clone(),
                label: option.label.render(of.source, of.scope)?,
                description: description.map(|text| text.render(of.source, of.scope)).transpose()?,
            })
        };
        return text.options.iter().map(option).collect();
    };
    let options: Vec<Offered> = serde_json::from_value(from.eval(of.source, of.scope)?).map_err(|error| {
        let message = format!(
            "`options_from: {}` must give a list of objects with `id` and `label`: {error}",
            from.as_str()
        );
        Error::new(ErrorKind::Node, message)
    })?;
    if options.is_empty() {
        let message = format!("`options_from: {}` gives nothing to choose from", from.as_str());
        return Err(Error::new(ErrorKind::Node, message));
    }
    Ok(options)
}
