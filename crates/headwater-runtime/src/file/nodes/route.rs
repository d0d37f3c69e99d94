//! Nodes that choose the edge to follow: by an expression, by cases, or by a model.

use serde_json::{Value, json};

use super::{NodeCall, NodeOutput, ask::schema};
use crate::{Error, ErrorKind, Next, Result, file::format::node::RouteText};

pub(super) async fn run(call: &NodeCall<'_>, text: &RouteText) -> Result<NodeOutput> {
    let condition = if let Some(by) = &text.by {
        match by.eval(call.source, call.scope)? {
            Value::String(condition) => condition,
            other => other.to_string(),
        }
    } else if let Some(model) = &text.model {
        by_model(call, text, &model.value).await?
    } else {
        match by_cases(call, text)? {
            Some(condition) => condition,
            None => return Ok(NodeOutput::default()),
        }
    };
    Ok(NodeOutput { output: Some(Value::String(condition.clone())), next: Next::condition(condition) })
}

fn by_cases(call: &NodeCall<'_>, text: &RouteText) -> Result<Option<String>> {
    for case in &text.cases {
        let holds = case.when.as_ref().map_or(Ok(true), |when| when.is_true(call.source, call.scope))?;
        if holds {
            return Ok(Some(case.then.value.clone()));
        }
    }
    Ok(None)
}

/// Asks the model for one of the conditions. Readers do not see the call.
async fn by_model(call: &NodeCall<'_>, text: &RouteText, model: &str) -> Result<String> {
    let names: Vec<&str> = text.among.names().collect();
    let list: Vec<_> =
        text.among.0.iter().map(|(name, about)| format!("- {}: {about}", name.value)).collect();
    let mut system = format!(
        "Choose what fits best, and answer with a JSON object that has its name as `route`:\n{}",
        list.join("\n")
    );
    if let Some(more) = &text.system {
        system = format!("{}\n\n{system}", more.render(call.source, call.scope)?);
    }
    let input = match &text.prompt {
        Some(prompt) => prompt.render(call.source, call.scope)?,
        None => call.cx.input().to_owned(),
    };
    let wanted = json!({
        "type": "object",
        "properties": { "route": { "enum": names } },
        "required": ["route"],
        "additionalProperties": false,
    });
    let Value::Object(wanted) = wanted else { return Ok(String::new()) };
    let reply = call
        .cx
        .reason(model)
        .id(call.name)
        .system(system)
        .input(input)
        .emit(false)
        .output_retries(1)
        .output_schema(schema(&wanted)?)
        .await?;
    let chosen = reply.output.get("route").and_then(Value::as_str).map(str::to_owned);
    chosen.ok_or_else(|| Error::new(ErrorKind::Output, "the model did not choose a route"))
}
