//! Validation of answers against their questions.

use headwater_protocol::{Interrupt, InterruptKind};
use headwater_tools::Schema;
use serde_json::Value;

use super::OpenQuestion;
use crate::{
    Error, Result,
    error::ErrorKind,
    journal::{AnswerValue, WaitKind},
    limits,
};

/// Validates an answer, and converts it to the form that hooks read.
pub(super) fn fits(question: &OpenQuestion, answer: AnswerValue) -> Result<AnswerValue> {
    if let AnswerValue::Given(value)
    | AnswerValue::Output(value)
    | AnswerValue::Approval { input: Some(value), .. } = &answer
    {
        limits::check(&limits::input(), "the answer", value)?;
    }
    match (&question.wait.kind, answer) {
        (WaitKind::Question { interrupt, .. }, AnswerValue::Given(value)) => {
            Ok(AnswerValue::Given(check_answer(interrupt, value)?))
        }
        // An unchanged input is not an edit; a denial has no input.
        (
            WaitKind::Approval { input: asked, .. },
            AnswerValue::Approval { approved, reason, input: Some(input) },
        ) if !approved || input == *asked => Ok(AnswerValue::Approval { approved, reason, input: None }),
        (WaitKind::Approval { editable: false, tool, .. }, AnswerValue::Approval { input: Some(_), .. }) => {
            let message = format!(
                "the input of `{}` cannot be changed by its approval: approve it as it is, deny it, or let the tool be \
                 editable",
                tool.name
            );
            Err(Error::new(ErrorKind::Answer, message).with_code("approval.edited"))
        }
        (
            WaitKind::Approval { schema, .. },
            AnswerValue::Approval { approved, reason, input: Some(input) },
        ) => {
            check_schema(schema, &input)?;
            Ok(AnswerValue::Approval { approved, reason, input: Some(input) })
        }
        (WaitKind::Question { .. }, answer @ AnswerValue::Declined)
        | (WaitKind::Approval { .. }, answer @ AnswerValue::Approval { .. })
        | (WaitKind::ClientTool { .. }, answer @ (AnswerValue::Output(_) | AnswerValue::OutputError(_))) => {
            Ok(answer)
        }
        (WaitKind::Approval { .. }, AnswerValue::Declined) => {
            Ok(AnswerValue::Approval { approved: false, reason: None, input: None })
        }
        (kind, _) => {
            let wanted = match kind {
                WaitKind::Question { .. } => "an answer",
                WaitKind::Approval { .. } => "a decision",
                WaitKind::ClientTool { .. } => "the output of a tool",
            };
            Err(Error::new(ErrorKind::Answer, format!("request {} asks for {wanted}", question.request)))
        }
    }
}

/// Validates an answer before it is accepted: on an error the question stays open.
fn check_answer(interrupt: &Interrupt, answer: Value) -> Result<Value> {
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
            other => return Err(wrong_kind("a text", &other)),
        },
        InterruptKind::Text => answer,
    };
    if let Some(schema) = &interrupt.response_schema {
        check_schema(schema, &answer)?;
    }
    Ok(answer)
}

/// Validates an answer against the schema sent with the question.
fn check_schema(schema: &Value, answer: &Value) -> Result<()> {
    let schema = Schema::new(schema.clone())
        .map_err(|error| Error::new(ErrorKind::Answer, format!("the answer's schema is wrong: {error}")))?;
    schema.check(answer).map_err(|wrong| {
        let wrong: Vec<_> = wrong.iter().map(ToString::to_string).collect();
        Error::new(ErrorKind::Answer, format!("the answer does not fit: {}", wrong.join("; ")))
    })
}

/// The id of the selected option: given directly, or as an object with an id.
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

/// The error for an answer of the wrong JSON type.
pub(crate) fn wrong_kind(wanted: &str, given: &Value) -> Error {
    let kind = crate::next::json_kind(given);
    Error::new(ErrorKind::Answer, format!("the answer must be {wanted}, not {kind}"))
}
