//! Decoding of a dialect's streams, from any sender.

use headwater_protocol::{Error, ErrorKind, Frame, Rules, Tail};
use serde_json::Value;

use crate::{
    client_request::ClientRequest,
    decode::Decode,
    dialect::Dialect,
    lint::{Lint, LintRule},
};

/// A dialect as its clients read it: how its frames are recognised, decoded, checked and reduced.
///
/// ```
/// use headwater_dialects::{DecodeOutput, Decoder};
/// use headwater_protocol::{Framing, RunState};
///
/// let reader = headwater_dialects::reader("kortyx").unwrap();
/// let mut decoder = Decoder::new(reader, Framing::Ndjson);
/// let mut decoded = DecodeOutput::default();
/// decoder.feed(b"{\"type\":\"message\",\"content\":\"Hi\"}\n", &mut decoded);
/// let mut state = RunState::with_rules(reader.rules());
/// decoded.records.iter().for_each(|record| state.apply(record).unwrap());
/// assert_eq!(state.messages()[0].plain_text(), "Hi");
/// ```
pub trait Reader: Dialect {
    /// How certain it is, from 0 to 100, that the frame belongs to this dialect.
    fn recognise(&self, frame: &Frame<'_>) -> u8;

    /// What its clients do with a last block without a final blank line.
    fn tail(&self) -> Tail {
        Tail::Discard
    }

    /// Whether a connection that closes before an end event has cut the stream. Otherwise any end counts.
    fn needs_end_event(&self) -> bool {
        false
    }

    /// Whether its clients read a cut response again from its beginning, because the wire has no cursor.
    fn resumes_by_replay(&self) -> bool {
        false
    }

    /// Whether the messages of its requests are texts alone, without files, tool calls and decisions.
    fn sends_only_text(&self) -> bool {
        false
    }

    /// A fresh decoder.
    fn decoder(&self) -> Box<dyn Decode>;

    /// Where its clients build different messages from the same events.
    fn rules(&self) -> Rules {
        Rules { objects_leave_no_part: true, ..Rules::default() }
    }

    /// A fresh linter.
    fn linter(&self) -> Box<dyn Lint>;

    /// The rules of its linter.
    fn lint_rules(&self) -> &'static [LintRule];

    /// The body that its own client sends to the chat route.
    ///
    /// ```
    /// use headwater_dialects::ClientRequest;
    /// use headwater_protocol::{Message, Role};
    ///
    /// let messages = [Message::text("m1", Role::User, "Hi")];
    /// let request = ClientRequest { session: "s1", messages: &messages, ..ClientRequest::default() };
    /// let body = headwater_dialects::reader("ai-sdk").unwrap().client_request(&request).unwrap();
    /// assert_eq!(body["messages"][0]["parts"][0]["text"], "Hi");
    /// ```
    ///
    /// # Errors
    /// If the dialect has no way to send it.
    fn client_request(&self, _request: &ClientRequest<'_>) -> Result<Value, Error> {
        Err(unsupported(self.name(), "another one"))
    }
}

/// The error of a dialect without requests of its own.
pub(crate) fn unsupported(dialect: &str, instead: &str) -> Error {
    Error::new(
        ErrorKind::Request,
        format!("requests in the {dialect} dialect are not written: use {instead}"),
    )
}
