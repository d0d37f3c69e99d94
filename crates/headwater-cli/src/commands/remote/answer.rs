//! The arguments of an answer.

use clap::{ArgGroup, Args};
use headwater_client::Answer;
use serde_json::Value;

/// What to answer: one of these.
#[derive(Debug, Args)]
#[command(next_help_heading = "Answer", group = ArgGroup::new("given").required(true).multiple(false))]
pub(in super::super) struct AnswerArgs {
    /// The answer to a question: text, or the id of an option.
    #[arg(group = "given")]
    answer: Option<String>,

    /// The answer to a question as JSON: a list of ids, or the values of a form.
    #[arg(long, value_name = "JSON", group = "given", value_parser = json)]
    value: Option<Value>,

    /// The question is not answered.
    #[arg(long, group = "given")]
    decline: bool,

    /// The tool may be called.
    #[arg(long, group = "given")]
    approve: bool,

    /// The tool is called with this input instead, if it takes another one.
    #[arg(long, value_name = "JSON", requires = "approve", value_parser = json)]
    input: Option<Value>,

    /// The tool may not be called.
    #[arg(long, group = "given")]
    deny: bool,

    /// Why not; the model reads it.
    #[arg(long, value_name = "TEXT", requires = "deny")]
    reason: Option<String>,

    /// The output of a client tool.
    #[arg(long, value_name = "JSON", group = "given", value_parser = json)]
    output: Option<Value>,

    /// The client tool failed, and why.
    #[arg(long, value_name = "TEXT", group = "given")]
    error: Option<String>,
}

impl AnswerArgs {
    pub(in super::super) fn answer(&self) -> Answer {
        if let Some(answer) = &self.answer {
            Answer::value(answer.clone())
        } else if let Some(value) = &self.value {
            Answer::value(value.clone())
        } else if let Some(output) = &self.output {
            Answer::output(output.clone())
        } else if let Some(error) = &self.error {
            Answer::output_error(error)
        } else if self.deny {
            Answer::deny(self.reason.as_deref().unwrap_or_default())
        } else if self.approve {
            self.input.as_ref().map_or_else(Answer::approve, |input| Answer::approve_with(input.clone()))
        } else {
            Answer::declined()
        }
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))
}
