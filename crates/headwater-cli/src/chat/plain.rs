//! The chat without a terminal: a message for each line of standard input, and only text on standard output.

use std::{
    collections::HashSet,
    io::{self, BufRead as _, Write},
};

use headwater_client::{Client, PendingRequest, RunHandle, RunStream, Update};
use headwater_protocol::{Event, Part, PartState, Role, RunState, RunStatus};
use tokio::sync::mpsc;

use super::{
    app::ChatTarget,
    markdown::MarkdownLook,
    request::{self, RequestPrompt},
    server,
    slash::{self, SlashCommand},
    styled::StyledLine,
};
use crate::{
    failure::{CommandFailure, ExitVerdict},
    style,
};

/// Questions are not wrapped.
const LOOK: MarkdownLook = MarkdownLook { width: 10_000, colour: false };

/// How a line or a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlainStep {
    Done,
    Failed,
    /// The input ended, or `/quit` was typed.
    Quit,
}

/// Reads messages until the input ends. A run that fails, or that nothing answers, is the verdict.
pub(super) async fn run(client: Client, mut target: ChatTarget) -> Result<ExitVerdict, CommandFailure> {
    let mut lines = read_lines();
    let mut verdict = ExitVerdict::Sound;
    while let Some(line) = lines.recv().await {
        let step = match slash::parse(&line) {
            Some(Ok(SlashCommand::Quit)) => break,
            Some(Ok(command)) => on_command(&client, &mut target, command).await?,
            Some(Err(problem)) => {
                style::error(&problem);
                PlainStep::Failed
            }
            None if line.trim().is_empty() => PlainStep::Done,
            None => {
                let (run, session) = server::send(&client, &target, &line).await?;
                target.session = Some(session);
                follow(&run, &mut lines).await?
            }
        };
        match step {
            PlainStep::Done => {}
            PlainStep::Failed => verdict = ExitVerdict::AtFault,
            PlainStep::Quit => return Ok(ExitVerdict::AtFault),
        }
    }
    Ok(verdict)
}

/// The commands that make sense between two lines.
async fn on_command(
    client: &Client,
    target: &mut ChatTarget,
    command: SlashCommand,
) -> Result<PlainStep, CommandFailure> {
    let session = || client.session(target.session.clone().unwrap_or_default());
    match command {
        SlashCommand::New => target.session = None,
        SlashCommand::Agents(Some(name)) => (target.agent, target.session) = (Some(name), None),
        SlashCommand::Undo if target.session.is_some() => drop(session().undo().await?),
        SlashCommand::Fork if target.session.is_some() => {
            target.session = Some(session().fork("latest").await?.id);
        }
        _ => {
            style::error(&"without a terminal there are only /new, /agents NAME, /undo, /fork and /quit");
            return Ok(PlainStep::Failed);
        }
    }
    Ok(PlainStep::Done)
}

/// Prints the text of a run. Lines that come while it waits are answers.
async fn follow(
    run: &RunHandle,
    lines: &mut mpsc::UnboundedReceiver<String>,
) -> Result<PlainStep, CommandFailure> {
    let mut stream = run.follow();
    let mut text = PlainText::default();
    while let Some(update) = stream.next().await? {
        match &update {
            Update::Connection(headwater_client::ConnectionStatus::Lost { error, retry_in }) => {
                style::warning(&format!("connection lost, retrying in {retry_in:.1?}: {error}"));
            }
            Update::Event(event)
                if matches!(event.record.event, Event::AttemptFinished { .. } | Event::BlockEnded(_)) =>
            {
                text.print(stream.state(), false)?;
            }
            Update::Event(event) if matches!(event.record.event, Event::RunWaiting(_)) => {
                text.print(stream.state(), false)?;
                if answer(&stream, lines).await? == PlainStep::Quit {
                    return Ok(PlainStep::Quit);
                }
            }
            _ => {}
        }
    }
    let state = stream.state();
    text.print(state, true)?;
    match state.run().status {
        RunStatus::Failed => {
            let error = state.run().error.as_ref().map_or("the run failed", |error| error.message.as_str());
            style::error(&error);
            Ok(PlainStep::Failed)
        }
        RunStatus::Cancelled => {
            style::error(&"the run was stopped");
            Ok(PlainStep::Failed)
        }
        _ => Ok(PlainStep::Done),
    }
}

/// Asks for all that the run waits for.
async fn answer(
    stream: &RunStream,
    lines: &mut mpsc::UnboundedReceiver<String>,
) -> Result<PlainStep, CommandFailure> {
    let pending = stream.pending();
    let count = pending.len();
    for (at, pending) in pending.into_iter().enumerate() {
        if let PendingRequest::ClientTool { name, .. } = &pending {
            style::warning(&request::not_available(name));
            let answer = RequestPrompt::new(pending.clone()).decline();
            server::answer(stream.run(), &pending, &answer).await?;
            continue;
        }
        let mut prompt = RequestPrompt::new(pending.clone());
        loop {
            print_lines(&prompt.lines((at + 1, count), LOOK))?;
            let Some(line) = lines.recv().await else {
                style::error(&format!("the input ended while run {} waits for an answer", stream.run().id()));
                return Ok(PlainStep::Quit);
            };
            let answer = match slash::parse(&line) {
                Some(Ok(SlashCommand::Decline)) => Some(prompt.decline()),
                Some(Ok(SlashCommand::Quit)) => return Ok(PlainStep::Quit),
                Some(Ok(SlashCommand::Stop)) => {
                    stream.run().stop().await?;
                    return Ok(PlainStep::Done);
                }
                _ => prompt.submit(&line),
            };
            let Some(answer) = answer else { continue };
            match server::answer(stream.run(), &pending, &answer).await {
                Ok(()) => break,
                Err(error) => prompt.refuse(error.to_string()),
            }
        }
    }
    Ok(PlainStep::Done)
}

fn print_lines(lines: &[StyledLine]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in lines {
        writeln!(out, "{}", line.text())?;
    }
    out.flush()
}

/// The texts of a run that were printed. Text of an attempt is printed once the attempt can no longer be retracted.
#[derive(Debug, Default)]
struct PlainText {
    printed: HashSet<(String, String)>,
}

impl PlainText {
    fn print(&mut self, state: &RunState, over: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let messages = state.messages().iter().filter(|message| message.role == Role::Assistant);
        for (message, part) in
            messages.flat_map(|message| message.parts.iter().map(move |part| (message, part)))
        {
            let Part::Text(text) = part else { continue };
            let attempt = text.attempt.as_ref().map(ToString::to_string).unwrap_or_default();
            let is_final = over || (text.state == PartState::Done && self.is_settled(state, &attempt));
            let key = (message.id.to_string(), format!("{} {attempt}", text.id));
            if is_final && self.printed.insert(key) {
                writeln!(out, "{}", style::printable(text.text.trim_end()))?;
            }
        }
        out.flush()
    }

    /// Whether an attempt has succeeded: something of another one follows, or the run waits.
    fn is_settled(&self, state: &RunState, attempt: &str) -> bool {
        attempt.is_empty() || state.run().status != RunStatus::Running
    }
}

/// Reads lines on a thread of its own, which ends with the process.
fn read_lines() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().split(b'\n') {
            let Ok(line) = line else { return };
            let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
