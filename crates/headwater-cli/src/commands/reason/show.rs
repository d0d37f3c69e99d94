//! Prints an answer as it arrives: text on standard output, everything else on standard error.

use std::io::{self, Write};

use headwater_models::ModelEvent;
use headwater_tools::ToolOutput;
use serde_json::Value;

use super::answer::{ReasonAnswer, ToolUse};
use crate::style::{self, BOLD, CYAN, DIM, GREEN, RED, printable};

/// The number of characters of a tool's output that are shown.
const SHOWN: usize = 300;

/// Prints an answer, unless it is printed as JSON at the end.
pub(super) struct Show {
    quiet: bool,
    /// The kind of content on the current, unfinished line.
    open: OpenLine,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum OpenLine {
    Nothing,
    Text,
    Aside,
}

impl Show {
    pub(super) fn new(quiet: bool) -> Self {
        Self { quiet, open: OpenLine::Nothing }
    }

    pub(super) fn event(&mut self, event: &ModelEvent) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        match event {
            ModelEvent::TextDelta { delta, .. } => {
                self.line(OpenLine::Text)?;
                let mut out = anstream::stdout().lock();
                write!(out, "{}", printable(delta))?;
                out.flush()
            }
            ModelEvent::ReasoningDelta { delta, .. } => {
                self.line(OpenLine::Aside)?;
                aside(&format!("{DIM}{}{DIM:#}", printable(delta)))
            }
            ModelEvent::ToolCallStart { name, .. } => {
                self.line(OpenLine::Nothing)?;
                self.open = OpenLine::Aside;
                aside(&format!("{CYAN}→ {}{CYAN:#} ", printable(name)))
            }
            ModelEvent::ToolCallDelta { delta, .. } => {
                self.open = OpenLine::Aside;
                aside(&printable(delta))
            }
            ModelEvent::ToolCallEnd { .. } | ModelEvent::ReasoningEnd { .. } | ModelEvent::TextEnd { .. } => {
                self.line(OpenLine::Nothing)
            }
            ModelEvent::SourceUrl { url, title, .. } => {
                self.line(OpenLine::Nothing)?;
                let title = title.as_deref().unwrap_or_default();
                aside(&format!("{DIM}source: {} {}{DIM:#}\n", printable(title), printable(url)))
            }
            ModelEvent::File { media_type, url } => {
                self.line(OpenLine::Nothing)?;
                let url = style::abbreviate(&printable(url), 80);
                aside(&format!("{DIM}file: {} {url}{DIM:#}\n", printable(media_type)))
            }
            _ => Ok(()),
        }
    }

    /// Prints the result of a tool.
    pub(super) fn result(&mut self, call: &ToolUse, output: &ToolOutput) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        self.line(OpenLine::Nothing)?;
        let text = match &output.output {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let (mark, text) = (
            if output.is_error { RED } else { GREEN },
            style::abbreviate(&printable(&text).replace('\n', " "), SHOWN),
        );
        aside(&format!("{mark}← {}{mark:#} {text}\n", printable(&call.name)))
    }

    /// Prints what is only known at the end: sources, usage, errors.
    pub(super) fn end(&mut self, answer: &ReasonAnswer) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        self.line(OpenLine::Nothing)?;
        for warning in &answer.warnings {
            style::warning(&format!("{}: {}", warning.feature, warning.message));
        }
        if let Some(message) = answer.error.as_ref().and_then(|error| error.get("message")?.as_str()) {
            style::error(&message);
        }
        let usage = &answer.usage;
        if let (Some(read), Some(written)) = (usage.input_tokens, usage.output_tokens) {
            let tokens = if read == 1 { "token" } else { "tokens" };
            aside(&format!(
                "{DIM}{BOLD}{read}{BOLD:#}{DIM} {tokens} read, {BOLD}{written}{BOLD:#}{DIM} written{DIM:#}\n"
            ))?;
        }
        Ok(())
    }

    /// Ends the current line if a different kind of content follows.
    fn line(&mut self, next: OpenLine) -> io::Result<()> {
        let before = std::mem::replace(&mut self.open, next);
        if before == next {
            return Ok(());
        }
        match before {
            OpenLine::Nothing => Ok(()),
            OpenLine::Text => {
                let mut out = anstream::stdout().lock();
                writeln!(out)?;
                out.flush()
            }
            OpenLine::Aside => aside("\n"),
        }
    }
}

fn aside(text: &str) -> io::Result<()> {
    let mut out = anstream::stderr().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
