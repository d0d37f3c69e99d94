//! The rules of the protocol's streams.

use std::collections::{HashMap, HashSet};

use headwater_protocol::Frame;
use serde_json::Value;

use super::END;
use crate::lint::{Findings, Lint, rules};

rules! {
    "framing": "frames of valid UTF-8 within the limits",
    "json": "every frame but `[DONE]` is a JSON object with a string `type`",
    "event-name": "the `event:` line is the `type`",
    "known-type": "only the protocol's types: OpenAI's helper gives up at others",
    "sequence": "each `sequence_number` is one more than the one before",
    "created-first": "`response.created` comes first, unless the stream was resumed",
    "same-response": "every response in the stream has the same `id`",
    "item-order": "an item is added once with an `id`, then filled, then done",
    "item-index": "items are added at the next `output_index`",
    "items-done": "all items are done when the response is completed",
    "nothing-after-end": "nothing but `[DONE]` follows the end of the response",
    "end": "`response.completed`, `.failed` or `.incomplete` at the end",
}

/// The events of an item, besides its start and end.
const WITHIN_ITEM: [&str; 9] = [
    "response.content_part.",
    "response.output_text.",
    "response.refusal.",
    "response.reasoning_summary_part.",
    "response.reasoning_summary_text.",
    "response.reasoning_text.",
    "response.reasoning.",
    "response.function_call_arguments.",
    "response.mcp_call",
];

/// Checks a stream.
#[derive(Debug, Default)]
pub(super) struct ResponsesLinter {
    last: Option<u64>,
    response: Option<String>,
    /// The items by index, and whether they are done.
    items: HashMap<u64, (String, bool)>,
    ids: HashSet<String>,
    ended: bool,
    resumed: bool,
    begun: bool,
}

impl Lint for ResponsesLinter {
    fn frame(&mut self, frame: &Frame<'_>, findings: &mut Findings) {
        if frame.data == END {
            return;
        }
        let value: Value = match serde_json::from_str(frame.data) {
            Ok(value) => value,
            Err(error) => return findings.add("json", error.to_string(), "a JSON object"),
        };
        let Some(kind) = value.get("type").and_then(Value::as_str) else {
            return findings.add("json", "no string `type`", "an event");
        };
        if let Some(name) = frame.event.filter(|name| *name != kind) {
            findings.add("event-name", format!("`{name}`"), format!("`{kind}`"));
        }
        let number = value.get("sequence_number").and_then(Value::as_u64);
        match (number, self.last) {
            (None, _) => findings.add("sequence", "no `sequence_number`", "a whole number"),
            (Some(number), Some(last)) if number != last.saturating_add(1) => {
                findings.add("sequence", format!("{number} after {last}"), "the next number");
            }
            _ => {}
        }
        if !std::mem::replace(&mut self.begun, true) {
            self.resumed = number.is_some_and(|number| number > 0);
            if kind != "response.created" && !self.resumed {
                findings.add("created-first", format!("`{kind}`"), "`response.created`");
            }
        }
        self.last = number.or(self.last);
        if self.ended {
            findings.add("nothing-after-end", format!("`{kind}`"), "the end of the stream");
        }
        match kind {
            "response.output_item.added" | "response.output_item.done" => self.item(kind, &value, findings),
            "response.created" | "response.queued" | "response.in_progress" => self.same(&value, findings),
            "response.completed" | "response.failed" | "response.incomplete" => {
                self.same(&value, findings);
                self.ended = true;
                let open = self.items.values().any(|(_, done)| !done);
                if open && kind == "response.completed" {
                    findings.add("items-done", "an item that is not done", "`response.output_item.done`");
                }
            }
            "error" | "keepalive" => self.ended |= kind == "error",
            kind if WITHIN_ITEM.iter().any(|family| kind.starts_with(family)) => {
                let at = value.get("output_index").and_then(Value::as_u64);
                let known = at.and_then(|at| self.items.get(&at));
                let named = value.get("item_id").and_then(Value::as_str);
                let fits = known.is_some_and(|(id, _)| Some(id.as_str()) == named);
                if !fits && !self.resumed {
                    findings.add(
                        "item-order",
                        format!("`{kind}` of an item that is not there"),
                        "the item first",
                    );
                }
            }
            kind if kind.starts_with("response.") => {}
            kind => findings.add("known-type", format!("`{kind}`"), "an event of the protocol"),
        }
    }

    fn end(&mut self, findings: &mut Findings) {
        if !self.ended {
            findings.add("end", "no end: the stream was cut", "`response.completed`");
        }
    }
}

impl ResponsesLinter {
    fn same(&mut self, value: &Value, findings: &mut Findings) {
        let id = value.pointer("/response/id").and_then(Value::as_str).map(str::to_owned);
        if id.is_none() || self.response.as_ref().is_some_and(|known| Some(known) != id.as_ref()) {
            findings.add("same-response", format!("{id:?}"), format!("{:?}", self.response));
        }
        self.response = self.response.take().or(id);
    }

    fn item(&mut self, kind: &str, value: &Value, findings: &mut Findings) {
        let at = value.get("output_index").and_then(Value::as_u64);
        let id = value.pointer("/item/id").and_then(Value::as_str);
        let (Some(at), Some(id)) = (at, id) else {
            return findings.add("item-order", format!("`{kind}` without index or id"), "both");
        };
        if kind == "response.output_item.added" {
            if !self.resumed && at != self.items.len() as u64 {
                findings.add("item-index", format!("{at}"), format!("{}", self.items.len()));
            }
            if !self.ids.insert(id.to_owned()) {
                findings.add("item-order", format!("`{id}` is added again"), "an id of its own");
            }
            self.items.insert(at, (id.to_owned(), false));
            return;
        }
        match self.items.get_mut(&at) {
            Some((known, done)) if known == id && !*done => *done = true,
            None if self.resumed => {}
            _ => findings.add("item-order", format!("`{id}` is done, and is not open"), "one that was added"),
        }
    }
}
