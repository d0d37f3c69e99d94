//! Nodes that ask a person.

use headwater_protocol::{Choice as Offered, Interrupt, InterruptKind, RequestId};
use headwater_tools::Schema;
use serde_json::Value;

use super::{NodeCall, NodeOutput};
use crate::{
    Error, ErrorKind, Next, Question, Result,
    file::{
        check::DECLINED,
        format::node::{InterruptText, SchemaNameText},
    },
};

/// An answer type that is only known at run time: text or choice, as the file defines.
#[derive(Debug)]
struct FileQuestion {
    kind: InterruptKind,
    question: String,
    options: Vec<Offered>,
}

impl Question for FileQuestion {
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

pub(super) async fn run(call: &NodeCall<'_>, text: &InterruptText) -> Result<NodeOutput> {
    let options = options(call, text)?;
    let kind = match (text.multiple, options.is_empty()) {
        (true, _) => InterruptKind::MultiChoice,
        (false, false) => InterruptKind::Choice,
        (false, true) => InterruptKind::Text,
    };
    let question = FileQuestion { kind, question: text.ask.render(call.source, call.scope)?, options };
    let mut hook = call.cx.interrupt(question).id(call.name);
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
            Some(answer) => answer,
            None => return Ok(NodeOutput::next(Next::condition(DECLINED))),
        }
    } else {
        hook.await?
    };
    let mut output = NodeOutput::output(answer);
    if let (InterruptKind::Choice, Some(Value::String(id))) = (kind, &output.output) {
        output.next = Next::condition(id);
    }
    Ok(output)
}

/// A schema of the file. It was checked when the file was read.
pub(super) fn schema(schema: &serde_json::Map<String, Value>) -> Result<Schema> {
    Schema::new(Value::Object(schema.clone()))
        .map_err(|error| Error::new(ErrorKind::Build, error.to_string()))
}

fn options(call: &NodeCall<'_>, text: &InterruptText) -> Result<Vec<Offered>> {
    let Some(from) = &text.options_from else {
        let option = |option: &crate::file::format::node::OptionText| {
            let description = option.description.as_ref();
            Ok(Offered {
                id: option.id.value.clone(),
                label: option.label.render(call.source, call.scope)?,
                description: description.map(|text| text.render(call.source, call.scope)).transpose()?,
            })
        };
        return text.options.iter().map(option).collect();
    };
    let options: Vec<Offered> =
        serde_json::from_value(from.eval(call.source, call.scope)?).map_err(|error| {
            let message = format!(
                "`options_from: {}` must give a list of objects with `id` and `label`: {error}",
                from.as_str()
            );
            Error::new(ErrorKind::Node, message)
        })?;
    if options.is_empty() {
        let message = format!("`options_from: {}` gives an empty list", from.as_str());
        return Err(Error::new(ErrorKind::Node, message));
    }
    Ok(options)
}
