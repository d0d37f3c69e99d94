//! A page that continues one conversation: what it sends with each message, as the page of its dialect does.

use serde_json::{Value, json};

use crate::{
    load::{Request, says_all},
    model::{DIGITS, MARK, Order},
};

/// The messages that a page sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sends {
    /// Only the new one.
    Newest,
    /// All that it shows, the new one last.
    Transcript,
}

impl Sends {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Newest => "the newest message",
            Self::Transcript => "the whole transcript",
        }
    }
}

/// What the pages of each dialect send. The AI SDK's page sends all unless it is configured otherwise.
pub(crate) const PAGES: [(&str, Sends); 7] = [
    ("kortyx", Sends::Newest),
    ("mui", Sends::Newest),
    ("ai-sdk", Sends::Newest),
    ("ai-sdk", Sends::Transcript),
    ("agents", Sends::Transcript),
    ("tanstack", Sends::Transcript),
    ("ag-ui", Sends::Transcript),
];

/// A conversation as a page holds it.
#[derive(Debug)]
pub(crate) struct Conversation {
    dialect: &'static str,
    sends: Sends,
    session: String,
    /// The messages that it shows, as JSON, with a comma after each.
    shown: String,
    turns: usize,
}

impl Conversation {
    pub(crate) fn new(dialect: &'static str, sends: Sends, session: &str) -> Self {
        Self { dialect, sends, session: session.to_owned(), shown: String::new(), turns: 0 }
    }

    /// What the page sends as its next message.
    pub(crate) fn request(&mut self, order: &Order) -> Request {
        self.turns += 1;
        let message = said(self.dialect, self.turns, &order.text()).to_string();
        let messages = match self.sends {
            Sends::Newest => message,
            Sends::Transcript => {
                self.shown.push_str(&message);
                let messages = self.shown.clone();
                self.shown.push(',');
                messages
            }
        };
        says_all(self.dialect, &self.session, self.turns, self.sends, &messages)
    }

    /// Shows the answer.
    pub(crate) fn answered(&mut self, response: &str, order: &Order) {
        if self.sends == Sends::Newest {
            return;
        }
        // Some dialects have the whole text once more at the end.
        let ends = memchr::memchr_iter(MARK, response.as_bytes()).take(order.deltas);
        let words = ends.filter_map(|end| response.get(end.checked_sub(DIGITS)?..=end));
        let text: String = words.flat_map(|word| [word, " "]).collect();
        assert!(!text.is_empty(), "no answer in {response}");
        let id = response.split_once(r#""messageId":""#).and_then(|(_, rest)| rest.split('"').next());
        let id = id.map_or_else(|| format!("a{}", self.turns), str::to_owned);
        let message = match self.dialect {
            "ai-sdk" | "agents" => json!({ "id": id, "role": "assistant",
                "parts": [{ "type": "step-start" }, { "type": "text", "text": text, "state": "done" }] }),
            "tanstack" => json!({ "role": "assistant", "content": text }),
            _ => json!({ "id": id, "role": "assistant", "content": text }),
        };
        self.shown.push_str(&message.to_string());
        self.shown.push(',');
    }
}

/// A person's message.
pub(crate) fn said(dialect: &str, turn: usize, text: &str) -> Value {
    let id = format!("u{turn}");
    match dialect {
        "ai-sdk" | "agents" | "mui" => {
            json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] })
        }
        "kortyx" | "tanstack" => json!({ "role": "user", "content": text }),
        _ => json!({ "id": id, "role": "user", "content": text }),
    }
}
