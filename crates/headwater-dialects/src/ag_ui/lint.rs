//! The rules of an AG-UI stream.

use std::collections::HashSet;

use headwater_protocol::{ErrorKind, Frame, Framing};
use memchr::memmem;
use serde_json::{Map, Value};

use super::{
    chunk::{Chunk, FinishedOutcome},
    decode::{WireEvent, fields, typed},
    event_order::Order,
};
use crate::lint::{Findings, Lint, rules};

rules! {
    "lf-only": "lines end with LF: the client cuts events at LF LF and nowhere else",
    "json": "every `data:` is one JSON object: no `[DONE]`, no ping, no empty data",
    "type": "every event has a `type`",
    "known-type": "every type is one of AG-UI 1.0: older clients die of others",
    "field": "every field is what the client's schemas want; what is absent is left out, not null",
    "order": "runs, messages, calls, thoughts, steps and subagents begin and end in order",
    "same-ids": "the end of a run names the run and the thread that its beginning named",
    "unique-interrupts": "no two interrupts share an id",
    "distinct-ids": "no message has the id of a tool call",
    "size": "an event has at most 10 Mi characters",
    "terminal": "the run ends with RUN_FINISHED or RUN_ERROR: the client takes a cut for success",
}

const SPOKEN: [&str; 4] = ["developer", "system", "assistant", "user"];

const MOST: usize = 10 * 1024 * 1024;

/// Checks AG-UI streams.
#[derive(Debug, Default)]
pub(super) struct AgUiLinter {
    order: Order,
    /// The client has rejected the stream.
    dead: bool,
    foreign_line_ends: bool,
    thread: Option<String>,
    run: Option<String>,
    messages: HashSet<String>,
    calls: HashSet<String>,
}

impl AgUiLinter {
    fn event(&mut self, name: &str, event: Map<String, Value>, findings: &mut Findings) {
        // Only these fields may hold any value.
        let anything = ["value", "event", "snapshot"];
        if let Some((key, _)) =
            event.iter().find(|(key, value)| value.is_null() && !anything.contains(&key.as_str()))
        {
            self.dead = true;
            return findings.add("field", format!("{name} with `{key}`: null"), "no such field, or a value");
        }
        let chunk = match typed(name, event) {
            Ok(WireEvent::Chunk(chunk)) => chunk,
            Ok(WireEvent::Other(_)) => {
                return findings.add("known-type", format!("`{name}`"), "a type of AG-UI 1.0");
            }
            Err(error) => {
                self.dead = true;
                return findings.add("field", error.message().to_owned(), "the fields of the event");
            }
        };
        let role = match &*chunk {
            Chunk::TextMessageStart(start) => start.role.as_deref().map(|role| (role, &SPOKEN[..])),
            Chunk::ReasoningMessageStart(start) => Some((&*start.role, &["reasoning"][..])),
            _ => None,
        };
        if let Some((role, known)) = role.filter(|(role, known)| !known.contains(role)) {
            findings.add("field", format!("{name} with the role `{role}`"), known.join(", "));
        }
        self.identities(&chunk, findings);
        if let Err(seen) = self.order.event(name, &chunk) {
            self.dead = true;
            findings.add("order", seen, "an event that may come here");
        }
    }

    fn identities(&mut self, chunk: &Chunk<'_>, findings: &mut Findings) {
        match chunk {
            Chunk::RunStarted(started) => {
                let thread = self.thread.get_or_insert_with(|| started.thread_id.to_string());
                if *thread != started.thread_id {
                    let seen = format!("a run in the thread '{}'", started.thread_id);
                    findings.add("same-ids", seen, format!("the thread '{thread}'"));
                }
                self.run = Some(started.run_id.to_string());
            }
            Chunk::RunFinished(finished) => {
                let held =
                    [("thread", &self.thread, &finished.thread_id), ("run", &self.run, &finished.run_id)];
                for (what, held, said) in held {
                    if let Some(held) = held.as_ref().filter(|held| *held != said) {
                        let seen = format!("the end of the {what} '{said}'");
                        findings.add("same-ids", seen, format!("'{held}'"));
                    }
                }
                if let Some(FinishedOutcome::Interrupt { interrupts }) = &finished.outcome {
                    let mut ids = HashSet::new();
                    for twice in interrupts.iter().filter(|interrupt| !ids.insert(&interrupt.id)) {
                        let seen = format!("two interrupts with the id '{}'", twice.id);
                        findings.add("unique-interrupts", seen, "another id for each");
                    }
                }
            }
            Chunk::TextMessageStart(start) => self.message(&start.message_id, findings),
            Chunk::ReasoningMessageStart(start) => self.message(&start.message_id, findings),
            Chunk::ToolCallResult(result) => self.message(&result.message_id, findings),
            Chunk::ToolCallStart(start) => self.call(&start.tool_call_id, findings),
            _ => {}
        }
    }

    fn call(&mut self, id: &str, findings: &mut Findings) {
        if self.calls.insert(id.to_owned()) && self.messages.contains(id) {
            let seen = format!("a call with the id of the message '{id}'");
            findings.add("distinct-ids", seen, "an id of its own");
        }
    }

    fn message(&mut self, id: &str, findings: &mut Findings) {
        if self.messages.insert(id.to_owned()) && self.calls.contains(id) {
            let seen = format!("a message with the id of the call '{id}'");
            findings.add("distinct-ids", seen, "an id of its own");
        }
    }
}

impl Lint for AgUiLinter {
    fn stream(&mut self, framing: Framing, stream: &[u8]) {
        let has = |needle: &[u8]| memmem::find(stream, needle).is_some();
        // `\r\n\n` is fine, since JSON treats a carriage return as white space; a blank line with one is not.
        self.foreign_line_ends = framing == Framing::Sse && (has(b"\n\r\n") || has(b"\r\r"));
    }

    fn frame(&mut self, frame: &Frame<'_>, findings: &mut Findings) {
        if self.foreign_line_ends {
            self.foreign_line_ends = false;
            findings.add("lf-only", "a blank line with a carriage return", "LF alone");
        }
        if self.dead {
            return;
        }
        if frame.data.len() > MOST && frame.data.chars().count() > MOST {
            findings.add("size", "an event that is larger", "smaller events");
        }
        match fields(frame.data) {
            Ok((name, event)) => self.event(&name, event, findings),
            Err(error) => {
                self.dead = true;
                let rule = if error.kind() == ErrorKind::Json { "json" } else { "type" };
                findings.add(rule, error.message().to_owned(), "one JSON object with a `type`");
            }
        }
    }

    fn end(&mut self, findings: &mut Findings) {
        if !self.dead && (self.order.is_running() || !self.order.has_begun()) {
            findings.add("terminal", "the end of the stream", "RUN_FINISHED or RUN_ERROR before it");
        }
    }
}
