//! Choosing the edge to follow: by an expression, by cases, or by a model.

use serde_json::{Value, json};

use super::{Gave, Of, ask::schema};
use crate::{Error, ErrorKind, Next, Result, file::format::node::RouteText};

pub(super) async fn run(of: &Of<'_>, text: &RouteText) -> Result<Gave> {
    let condition = if let Some(by) = &text.by {
        match by.eval(of.source, of.scope)? {
            Value::String(condition) => condition,
            other => other.to_string(),
        }
    } else if let Some(model) = &text.model {
        by_model(of, text, &model.value).await?
    } else {
        match by_cases(of, text)? {
            Some(condition) => condition,
            None => return Ok(Gave::default()),
        }
    };
    Ok(Gave { output: Some(Value::String(condition.clone())), next: Next::condition(condition) })
}

fn by_cases(of: &Of<'_>, text: &RouteText) -> Result<Option<String>> {
    for case in &text.cases {
        let holds = case.when.as_ref().map_or(Ok(true), |when| when.is_true(of.source, of.scope))?;
        if holds {
            return Ok(Some(case.then.value.clone()));
        }
    }
    Ok(None)
}

/// Asks for one word of a list. Readers see nothing of it.
async fn by_model(of: &Of<'_>, text: &RouteText, model: &str) -> Result<String> {
    let names: Vec<&str> = text.among.names().collect();
    let list: Vec<_> =
        text.among.0.iter().map(|(name, about)| format!("- {}: {about}", name.value)).collect();
    let mut system = format!(
        "Choose what fits best, and answer with a JSON object that has its name as `route`:\n{}",
        list.join("\n")
    );
    if let Some(more) = &text.system {
        system = format!("{}\n\n{system}", more.render(of.source, of.scope)?);
    }
    let input = match &text.prompt {
        Some(prompt) => prompt.render(of.source, of.scope)?,
        None => of.cx.input().to_owned(),
    };
    let wanted = json!({
        "type": "object",
        "properties": { "route": { "enum": names } },
        "required": ["route"],
        "additionalProperties": false,
    });
    let Value::Object(wanted) = wanted else { return Ok(String::new()) };
    let reply = of
        .cx
        .reason(model)
        .id(of.name)
        .system(system)
        .input(input)
        .emit(false)
        .output_retries(1)
        .output_schema(schema(&wanted)?)
        .await?;
    let chosen = reply.output.get("route").and_then(Value::as_str).map(str::to_owned);
    chosen.ok_or_else(|| Error::new(ErrorKind::Output, "the model chose nothing"))
}
