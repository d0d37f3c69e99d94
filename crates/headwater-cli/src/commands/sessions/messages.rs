//! `headwater sessions messages`.

use std::io::Write;

use clap::Args;
use headwater_protocol::{Message, Part, Role};
use serde_json::{Value, json};

use crate::{
    commands::remote::RemoteArgs,
    failure::{CommandFailure, ExitVerdict},
    style::{BLUE, CYAN, DIM, GREEN, abbreviate, printable, terminal_width, wrap},
};

/// Show the messages of a session.
#[derive(Debug, Args)]
pub(super) struct ShowMessages {
    /// The id of the session.
    session: String,

    #[command(flatten)]
    remote: RemoteArgs,
}

impl ShowMessages {
    pub(super) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let session = self.remote.client().session(&self.session);
        if self.remote.json {
            let messages = async { Ok(json!({ "messages": session.messages().await? })) };
            return self.remote.print(messages, |_: &Value, _| Ok(()));
        }
        self.remote.print(async { Ok(session.messages().await?) }, |messages, out| {
            messages.iter().try_for_each(|message| write(message, out))
        })
    }
}

fn write(message: &Message, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let style = if message.role == Role::User { GREEN } else { BLUE };
    writeln!(
        out,
        "{style}{}{style:#}  {DIM}{}{DIM:#}",
        message.role.as_str(),
        printable(message.id.as_str())
    )?;
    let room = terminal_width().saturating_sub(2);
    for part in &message.parts {
        let (style, text) = match part {
            Part::Text(block) => (crate::style::PLAIN, block.text.clone()),
            Part::Reasoning(block) => (DIM, block.text.clone()),
            Part::Tool(tool) => {
                let value = |value: &Option<Value>| value.as_ref().map(Value::to_string).unwrap_or_default();
                let line = format!("{}({}) {}", tool.name, value(&tool.input), value(&tool.output));
                (CYAN, abbreviate(&line.replace('\n', " "), room))
            }
            Part::File(file) => (BLUE, file.filename.clone().unwrap_or_else(|| file.media_type.clone())),
            Part::SourceUrl(source) | Part::SourceDocument(source) => {
                (BLUE, source.title.clone().or_else(|| source.url.clone()).unwrap_or_default())
            }
            Part::Question(question) => {
                (crate::style::YELLOW, question.interrupt.question.clone().unwrap_or_default())
            }
            // Objects and data are for programs: --json has them.
            _ => continue,
        };
        for line in wrap(&text, room) {
            writeln!(out, "  {style}{line}{style:#}")?;
        }
    }
    writeln!(out)?;
    Ok(())
}
