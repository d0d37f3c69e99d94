//! Nodes that call a model.

use headwater_models::ToolChoice;
use serde_json::Value;

use super::{NodeCall, NodeOutput, ask::schema};
use crate::{
    Ask, Error, ErrorKind, Failover, ReasonHook, Result, StructuredOutput, ToolOptions,
    file::format::node::{
        AskModeText, AskText, FailoverText, FieldsText, ModelOptionsText, ReasonText, SchemaNameText,
        ToolChoiceText, ToolOptionsText,
    },
};

pub(super) async fn run(call: &NodeCall<'_>, text: &ReasonText) -> Result<NodeOutput> {
    let reason = asked(call, text)?;
    Ok(match &text.schema {
        Some(wanted) => {
            let reply = reason.output_schema(schema(&wanted.value)?).await?;
            NodeOutput::output(reply.output)
        }
        None => NodeOutput::output(Value::String(reason.await?.text)),
    })
}

fn asked(call: &NodeCall<'_>, text: &ReasonText) -> Result<ReasonHook> {
    let mut reason = call.cx.reason(text.model.value.as_str()).id(call.name);
    for model in &text.fallback {
        reason = reason.fallback(model.value.as_str());
    }
    if let Some(system) = &text.system {
        reason = reason.system(system.render(call.source, call.scope)?);
    }
    reason = reason.input(match &text.prompt {
        Some(prompt) => prompt.render(call.source, call.scope)?,
        None => call.cx.input().to_owned(),
    });
    if text.history.unwrap_or(true) && !call.cx.messages().is_empty() {
        reason = reason.messages(call.cx.conversation()?);
    }
    if let Some(fields) = &text.structured {
        reason = reason.structured(structured(&fields.value));
    }
    if !text.tools.is_empty() {
        reason = reason.agent_tools(text.tools.iter().map(|tool| &tool.value));
    }
    for server in &text.mcp {
        let Some(tools) = call.file.server(&server.value) else {
            let message = format!("there is no MCP server `{}`", server.value);
            return Err(Error::new(ErrorKind::Build, message));
        };
        reason = reason.mcp(tools);
    }
    let emit = text.emit.unwrap_or(true);
    if text.client_tools.unwrap_or(emit && text.schema.is_none()) {
        reason = reason.client_tools();
    }
    if let Some(choice) = &text.tool_choice {
        reason = reason.tool_choice(tool_choice(choice));
    }
    if let Some(options) = &text.tool_options {
        reason = reason.tool_options(tool_options(options));
    }
    if let Some(interrupt) = &text.interrupt {
        reason = reason.interrupt(ask(interrupt)?);
    }
    if let Some(FailoverText::Continue) = text.failover {
        reason = reason.failover(Failover::Continue);
    }
    if let Some(attempts) = text.attempts {
        reason = reason.attempts(attempts);
    }
    if let Some(timeout) = text.timeout {
        reason = reason.timeout(timeout.0);
    }
    if let Some(retries) = text.output_retries {
        reason = reason.output_retries(retries);
    }
    reason = reason.emit(emit).stream(text.stream.unwrap_or(true));
    Ok(match &text.options {
        Some(options) => model_options(reason, options),
        None => reason,
    })
}

fn model_options(mut reason: ReasonHook, options: &ModelOptionsText) -> ReasonHook {
    if let Some(temperature) = options.temperature {
        reason = reason.temperature(temperature);
    }
    if let Some(tokens) = options.max_output_tokens {
        reason = reason.max_output_tokens(tokens);
    }
    if let Some(tokens) = options.thinking_tokens {
        reason = reason.reasoning_budget(tokens);
    }
    if let Some(effort) = options.effort {
        reason = reason.reasoning_effort(effort.into());
    }
    if !options.stop.is_empty() {
        reason = reason.stop_sequences(&options.stop);
    }
    if !options.provider.is_empty() {
        reason = reason.provider_options(options.provider.clone());
    }
    reason
}

fn structured(text: &FieldsText) -> StructuredOutput {
    let mut structured = StructuredOutput::new(&text.data_type);
    if let Some(stream) = &text.stream {
        structured = structured.stream(stream);
    }
    if let Some(SchemaNameText { id, version }) = &text.schema {
        structured = structured.schema(id, version);
    }
    structured = text.set.iter().fold(structured, StructuredOutput::set);
    structured = text.text.iter().fold(structured, StructuredOutput::text);
    text.append.iter().fold(structured, StructuredOutput::append)
}

fn tool_choice(text: &ToolChoiceText) -> ToolChoice {
    match text {
        ToolChoiceText::Auto => ToolChoice::Auto,
        ToolChoiceText::None => ToolChoice::None,
        ToolChoiceText::Required => ToolChoice::Required,
        ToolChoiceText::Tool(name) => ToolChoice::Tool(name.value.clone()),
    }
}

fn tool_options(text: &ToolOptionsText) -> ToolOptions {
    let mut options = ToolOptions::default();
    options.max_steps = text.max_steps.map_or(options.max_steps, |steps| steps.max(1));
    options.approval = text.approval;
    options.emit = text.emit;
    options.fail_at_max_steps = text.fail_at_max_steps.unwrap_or(options.fail_at_max_steps);
    options.approval_expires = text.approval_expires.map(|expires| expires.0);
    options
}

fn ask(text: &AskText) -> Result<Ask> {
    let mut ask = match text.mode {
        AskModeText::Required => Ask::required(),
        AskModeText::Optional => Ask::optional(),
    };
    if let Some(request) = &text.request {
        ask = ask.request(schema(&request.value)?);
    }
    if let Some(response) = &text.response {
        ask = ask.response(schema(&response.value)?);
    }
    if let Some(SchemaNameText { id, version }) = &text.schema {
        ask = ask.schema(id, version);
    }
    Ok(ask)
}
