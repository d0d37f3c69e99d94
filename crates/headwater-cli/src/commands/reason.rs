//! `headwater reason`: calls a model and streams its answer.

mod answer;
pub(super) mod model_name;
mod shell_words;
mod show;

use std::{io::Write as _, path::PathBuf, sync::Arc};

use answer::{ModelTurn, ReasonAnswer, ToolUse};
use clap::Args;
use futures_util::StreamExt as _;
use headwater_models::{
    ContentPart, Model, ModelError, ModelMessage, ModelRequest, ResponseFormat, ToolResultOutput, Warning,
};
use headwater_tools::{McpClient, Schema, ToolContext, ToolOutput, Tools};
use serde_json::Value;
use show::Show;

use crate::{
    failure::{CommandFailure, ExitVerdict},
    input::read_document,
    style,
};

/// Call a model and stream its answer.
///
/// The answer goes to standard output; reasoning, tool calls, sources and warnings go to standard error. With
/// --mcp the model may call the tools of these servers and is called again with their results. The exit code
/// is 1 if there is no answer, or if it does not match the schema.
#[derive(Debug, Args)]
pub(crate) struct ReasonCommand {
    /// The model, as PROVIDER:MODEL. `scripted:FILE` plays a script and needs no key; `scripted:echo` repeats
    /// its input.
    #[arg(long, short, value_name = "PROVIDER:MODEL")]
    model: String,

    /// The base URL of the provider, if not the default. A key is sent if the environment has one.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// Request the answer in one piece.
    #[arg(long)]
    no_stream: bool,

    /// The system prompt.
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,

    /// A file with a JSON Schema that the answer must match.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,

    /// An MCP server whose tools the model may call: a command to start, or a URL. Repeatable.
    #[arg(long, value_name = "COMMAND|URL")]
    mcp: Vec<String>,

    /// The maximum number of model calls when the model uses tools.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    max_steps: u32,

    /// Print the whole answer as one JSON object.
    #[arg(long)]
    json: bool,

    /// The prompt; `-` reads it from standard input.
    input: String,
}

impl ReasonCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CommandFailure::new(format!("cannot start: {error}")))?;
        runtime.block_on(async {
            tokio::select! {
                done = self.ask() => done,
                // Dropping the call closes its connection and stops the MCP servers that were started.
                _ = tokio::signal::ctrl_c() => Err(CommandFailure::new("interrupted")),
            }
        })
    }

    async fn ask(&self) -> Result<ExitVerdict, CommandFailure> {
        let model = model_name::model(&self.model, self.base_url.as_deref())?;
        let schema = self.schema.as_deref().map(read_schema).transpose()?;
        let input = match self.input.as_str() {
            "-" => read_input()?,
            given => given.to_owned(),
        };
        let tools = self.tools().await?;
        let mut request = ModelRequest::new(input);
        if let Some(system) = &self.system {
            request = request.system(system);
        }
        request.whole = self.no_stream;
        request.tools = tools.specs().cloned().collect();
        if let Some(schema) = &schema {
            let schema = Some(schema.as_value().clone());
            request.response_format = Some(ResponseFormat::Json { schema, name: None });
        }
        let mut show = Show::new(self.json);
        let mut answer = ReasonAnswer::default();
        let asked = self.passes(&model, request, &tools, &mut answer, &mut show).await;
        tools.close().await;
        if let Err(error) = asked? {
            answer.failed(&error);
        } else if let Some(schema) = &schema {
            answer.read_output(schema);
        }
        show.end(&answer)?;
        if self.json {
            let mut out = style::stdout(true);
            serde_json::to_writer(&mut out, &answer.to_json())?;
            writeln!(out)?;
            out.flush()?;
        }
        Ok(ExitVerdict::at_fault_if(answer.error.is_some()))
    }

    /// Calls the model until it requests no more tools.
    async fn passes(
        &self,
        model: &Arc<dyn Model>,
        mut request: ModelRequest,
        tools: &Tools,
        answer: &mut ReasonAnswer,
        show: &mut Show,
    ) -> Result<Result<(), ModelError>, CommandFailure> {
        for step in 1.. {
            let mut turn = ModelTurn::default();
            let mut stream = model.ask(request.clone());
            while let Some(item) = stream.next().await {
                match item {
                    Ok(event) => {
                        show.event(&event)?;
                        turn.on_event(event);
                    }
                    Err(error) => {
                        answer.add(turn);
                        return Ok(Err(error));
                    }
                }
            }
            drop(stream);
            let wanted: Vec<ToolUse> = turn.calls().filter(|call| !call.provider_executed).cloned().collect();
            let (content, is_new) = (turn.content(), answer.add(turn));
            // Without tools there is nothing to run; with --json the caller still sees the calls.
            if tools.is_empty() || wanted.is_empty() {
                return Ok(Ok(()));
            }
            let enough = match (is_new, step >= self.max_steps) {
                (false, _) => Some("the model repeated calls that already have a result: stopped"),
                (true, true) => {
                    Some("the model still requests tools after the last step: allow more with --max-steps")
                }
                (true, false) => None,
            };
            if let Some(message) = enough {
                answer.warnings.push(Warning::new("tools", message));
                return Ok(Ok(()));
            }
            request.messages.push(ModelMessage::Assistant { content });
            let mut results = Vec::new();
            for call in wanted {
                let output = run(tools, &call).await;
                show.result(&call, &output)?;
                results.push(result(&call, output));
            }
            request.messages.push(ModelMessage::Tool { content: results });
        }
        Ok(Ok(()))
    }

    async fn tools(&self) -> Result<Tools, CommandFailure> {
        let mut tools = Tools::new();
        for server in &self.mcp {
            let listed = match client(server) {
                Ok(client) => client.tools().await.map_err(|error| CommandFailure::new(error.to_string())),
                Err(failure) => Err(failure),
            };
            let merged = match listed {
                Ok(listed) => {
                    tools.clone().merge(listed).map_err(|error| CommandFailure::new(error.to_string()))
                }
                Err(failure) => Err(failure),
            };
            tools = match merged {
                Ok(merged) => merged,
                Err(failure) => {
                    tools.close().await;
                    return Err(failure);
                }
            };
        }
        Ok(tools)
    }
}

/// Parses an MCP server: a URL, or a command with its arguments.
fn client(server: &str) -> Result<McpClient, CommandFailure> {
    if server.starts_with("http://") || server.starts_with("https://") {
        return Ok(McpClient::http(server));
    }
    let mut words = shell_words::split(server)
        .map_err(|what| CommandFailure::new(format!("--mcp {server:?}: {what}")))?;
    if words.is_empty() {
        return Err(CommandFailure::new("--mcp needs a command to start, or a URL that begins with http"));
    }
    let command = words.remove(0);
    Ok(McpClient::stdio(command, words))
}

fn read_input() -> Result<String, CommandFailure> {
    String::from_utf8(read_document(None)?)
        .map_err(|_| CommandFailure::new("standard input is not UTF-8 text"))
}

fn read_schema(path: &std::path::Path) -> Result<Schema, CommandFailure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| CommandFailure::reading(&name, error))?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| CommandFailure::new(format!("{name} is not JSON: {error}")))?;
    Schema::new(value).map_err(|error| CommandFailure::new(format!("{name} is not a JSON Schema: {error}")))
}

/// Runs a tool; errors become a failed result for the model.
async fn run(tools: &Tools, call: &ToolUse) -> ToolOutput {
    if let Err(error) = &call.input {
        return ToolOutput::failure(format!("the input is not JSON: {error}"));
    }
    let input = call.input.clone().unwrap_or_default();
    if let Err(error) = tools.check(&call.name, &input) {
        return ToolOutput::failure(error.message());
    }
    let Some(tool) = tools.get(&call.name) else {
        return ToolOutput::failure(format!("unknown tool `{}`", call.name));
    };
    let context = ToolContext::new(call.id.as_str().into(), &call.id);
    tool.call(input, context).await.unwrap_or_else(|error| ToolOutput::failure(error.message()))
}

fn result(call: &ToolUse, output: ToolOutput) -> ContentPart {
    let output = match (output.output, output.is_error) {
        (Value::String(value), false) => ToolResultOutput::Text { value },
        (Value::String(value), true) => ToolResultOutput::ErrorText { value },
        (value, false) => ToolResultOutput::Json { value },
        (value, true) => ToolResultOutput::ErrorJson { value },
    };
    ContentPart::ToolResult {
        tool_call_id: call.id.as_str().into(),
        tool_name: call.name.clone(),
        output,
        provider_options: None,
    }
}
