//! A message and its parts, as a page renders them.

use headwater_json::PartialValue;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    event::{BlockKind, DataEvent, Executor, Interrupt, Role, ToolCall},
    id::{ApprovalId, AttemptId, MessageId, PartId, ToolCallId},
    json_struct::json_struct,
};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// Who speaks.
    pub role: Role,
    /// How far it is.
    pub status: MessageStatus,
    /// What the application keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// The speaker as the wire described it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Value>,
    /// What it says and does, in order.
    pub parts: Vec<Part>,
}

impl Message {
    /// A message without parts.
    #[must_use]
    pub fn new(id: impl Into<MessageId>, role: Role, status: MessageStatus) -> Self {
        Self { id: id.into(), role, status, metadata: None, author: None, parts: Vec::new() }
    }

    /// A complete message of one text.
    ///
    /// ```
    /// use headwater_protocol::{Message, Role};
    ///
    /// assert_eq!(Message::text("m1", Role::User, "Hello").plain_text(), "Hello");
    /// ```
    #[must_use]
    pub fn text(id: impl Into<MessageId>, role: Role, text: impl Into<String>) -> Self {
        let mut message = Self::new(id, role, MessageStatus::Sent);
        message.parts.push(Part::Text(TextPart { text: text.into(), ..TextPart::done("text") }));
        message
    }

    /// The message's text parts, joined.
    #[must_use]
    pub fn plain_text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The newest part of a tool call.
    #[must_use]
    pub fn tool(&self, call: &str) -> Option<&ToolPart> {
        self.parts.iter().rev().filter_map(Part::as_tool).find(|tool| tool.call == *call)
    }
}

/// How far a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MessageStatus {
    /// A person's message on its way.
    Sending,
    /// It is being written.
    Streaming,
    /// It is complete.
    Sent,
    /// It was stopped.
    Cancelled,
    /// It failed, or the stream was cut.
    Error,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Part {
    /// Text of the answer.
    Text(TextPart),
    /// Thoughts.
    Reasoning(TextPart),
    /// A tool call, through its whole life.
    Tool(Box<ToolPart>),
    /// A web page that the answer rests on.
    SourceUrl(SourcePart),
    /// A document that the answer rests on.
    SourceDocument(SourcePart),
    /// A file.
    File(FilePart),
    /// Data of the application's own.
    Data(DataEvent),
    /// An object that is built while it is streamed.
    Structured(StructuredPart),
    /// A question that was put to a person.
    Question(Box<QuestionPart>),
    /// A step begins here.
    StepStart,
    /// A part that only its dialect knows, as it came. It is kept as `{"type":"other","value":…}`, because it has a
    /// `type` of its own.
    Other {
        /// The part.
        value: Value,
    },
}

impl Part {
    /// A block of that kind.
    pub(crate) fn block(kind: BlockKind, text: TextPart) -> Self {
        match kind {
            BlockKind::Text => Self::Text(text),
            BlockKind::Reasoning => Self::Reasoning(text),
        }
    }

    /// The block that it is, if it is one.
    #[must_use]
    pub fn as_block(&self) -> Option<(BlockKind, &TextPart)> {
        match self {
            Self::Text(text) => Some((BlockKind::Text, text)),
            Self::Reasoning(text) => Some((BlockKind::Reasoning, text)),
            _ => None,
        }
    }

    /// The tool call that it is, if it is one.
    #[must_use]
    pub fn as_tool(&self) -> Option<&ToolPart> {
        match self {
            Self::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    /// The attempt that said it.
    #[must_use]
    pub fn attempt(&self) -> Option<&AttemptId> {
        match self {
            Self::Text(part) | Self::Reasoning(part) => part.attempt.as_ref(),
            Self::Tool(part) => part.attempt.as_ref(),
            Self::SourceUrl(part) | Self::SourceDocument(part) => part.attempt.as_ref(),
            Self::File(part) => part.attempt.as_ref(),
            // What becomes of a structured stream when its attempt dies is an event of its own.
            Self::Data(_)
            | Self::Structured(_)
            | Self::Question(_)
            | Self::StepStart
            | Self::Other { .. } => None,
        }
    }
}

/// Whether a part may still grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PartState {
    /// It may.
    #[default]
    Streaming,
    /// It is complete.
    Done,
}

json_struct! {
    /// A block of text or reasoning.
    pub struct TextPart {
        /// The block's id on the wire.
        pub id: PartId,
        /// Its text so far.
        pub text: String,
        /// Whether it may still grow.
        pub state: PartState,
        /// What the provider said about it last.
        pub metadata?: Value,
        /// The attempt that said it.
        pub attempt?: AttemptId,
    }
}

impl TextPart {
    /// An empty block that may grow.
    #[must_use]
    pub fn open(id: impl Into<PartId>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }

    /// An empty block that is complete.
    #[must_use]
    pub fn done(id: impl Into<PartId>) -> Self {
        Self { state: PartState::Done, ..Self::open(id) }
    }
}

/// Where a tool call is in its life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ToolState {
    /// The model writes its input.
    #[default]
    InputStreaming,
    /// The input is there.
    InputAvailable,
    /// A person is asked.
    ApprovalRequested,
    /// The person answered.
    ApprovalResponded,
    /// There is an output.
    OutputAvailable,
    /// It failed.
    OutputError,
    /// It was refused.
    OutputDenied,
}

impl ToolState {
    /// The name on the wires that have these states.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InputStreaming => "input-streaming",
            Self::InputAvailable => "input-available",
            Self::ApprovalRequested => "approval-requested",
            Self::ApprovalResponded => "approval-responded",
            Self::OutputAvailable => "output-available",
            Self::OutputError => "output-error",
            Self::OutputDenied => "output-denied",
        }
    }

    /// Whether the call had an effect or an end, which is never taken back.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::OutputAvailable | Self::OutputError | Self::OutputDenied)
    }
}

json_struct! {
    /// The approval that a call needs.
    pub struct Approval {
        /// The request, where the wire gave one.
        pub id?: ApprovalId,
        /// The decision, once it is made.
        pub approved?: bool,
        /// Why.
        pub reason?: String,
        /// Binds the request to the run, the call and its input.
        pub signature?: String,
        /// A policy answers, not a person.
        pub automatic: flag,
        /// What the page keeps with it beyond that.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        pub extra: Map<String, Value>,
    }

    /// A tool call, through its whole life.
    pub struct ToolPart {
        /// The call.
        pub call: ToolCallId,
        /// The tool.
        pub name: String,
        /// Where it is in its life.
        pub state: ToolState,
        /// The tool was not known when the page was built.
        pub dynamic?: bool,
        /// Who executes it.
        #[serde(default)]
        pub executor: Executor,
        /// A title for people.
        pub title?: String,
        /// The input's JSON text as far as it was streamed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub input_text: String,
        /// The input.
        pub input?: json,
        /// The output.
        pub output?: json,
        /// The output as structured content, where the tool gave both.
        pub structured?: json,
        /// The output is a failure that the tool reports.
        pub is_error: flag,
        /// More output will come.
        pub preliminary: flag,
        /// Why it failed.
        pub error?: String,
        /// The approval that it needs.
        pub approval?: Approval,
        /// What the provider said about the call.
        pub metadata?: Value,
        /// What the provider said about the output.
        pub output_metadata?: Value,
        /// The node did not ask for it to be shown: a page that shows calls on demand only does not show this one.
        pub quiet: flag,
        /// The attempt that made it.
        pub attempt?: AttemptId,
    }
}

impl ToolPart {
    /// A call of which nothing but its tool is known.
    ///
    /// ```
    /// use headwater_protocol::{ToolPart, ToolState};
    ///
    /// assert_eq!(ToolPart::new("call_1", "search").state, ToolState::InputStreaming);
    /// ```
    #[must_use]
    pub fn new(call: impl Into<ToolCallId>, name: impl Into<String>) -> Self {
        Self { call: call.into(), name: name.into(), ..Self::default() }
    }

    /// What is called, without what became of it.
    #[must_use]
    pub fn tool_call(&self) -> ToolCall {
        ToolCall {
            call: self.call.clone(),
            name: self.name.clone(),
            dynamic: self.dynamic,
            executor: self.executor,
            title: self.title.clone(),
            metadata: self.metadata.clone(),
            quiet: self.quiet,
        }
    }

    /// The input so far: whole once it is there, and while it is streamed what its text has said of it.
    ///
    /// A string shows as it grows; a number or a literal only when it has ended, so nothing is shown that the model did
    /// not say.
    ///
    /// ```
    /// use headwater_protocol::ToolPart;
    /// use serde_json::json;
    ///
    /// let mut part = ToolPart::new("call_1", "search");
    /// part.input_text.push_str("{\"query\":\"open pay");
    /// assert_eq!(part.input_so_far(), Some(json!({ "query": "open pay" })));
    /// ```
    #[must_use]
    pub fn input_so_far(&self) -> Option<Value> {
        // A call that is complete without an input has one that is not JSON, and half of it is no input.
        let complete = self.state == ToolState::InputAvailable || self.state.is_settled();
        if self.input.is_some() || complete {
            return self.input.clone();
        }
        let mut value = PartialValue::new();
        // Text that is not JSON has said what it said before that.
        let _ = value.push(&self.input_text);
        value.value().cloned()
    }
}

json_struct! {
    /// A source of the answer; which fields are set depends on whether it is a page or a document.
    #[serde(default)]
    pub struct SourcePart {
        /// The source.
        pub source: String,
        /// Its address.
        pub url?: String,
        /// Its title.
        pub title?: String,
        /// Its media type.
        pub media_type?: String,
        /// Its file name.
        pub filename?: String,
        /// The passage.
        pub text?: String,
        /// The tool call that found it.
        pub call?: ToolCallId,
        /// What the provider said about it.
        pub metadata?: Value,
        /// The attempt that gave it.
        pub attempt?: AttemptId,
    }

    /// A file.
    #[serde(default)]
    pub struct FilePart {
        /// Its address, or a `data:` URL.
        pub url: String,
        /// Its media type.
        pub media_type: String,
        /// Its name.
        pub filename?: String,
        /// Its id, where it has one.
        pub id?: String,
        /// It belongs to the reasoning, not to the answer.
        pub reasoning: flag,
        /// What the provider said about it.
        pub metadata?: Value,
        /// The attempt that gave it.
        pub attempt?: AttemptId,
    }

    /// An object that is built while it is streamed.
    #[serde(default)]
    pub struct StructuredPart {
        /// The stream that builds it.
        pub stream: String,
        /// What kind of object it is.
        pub data_type: String,
        /// The object, in a message that has left its run. While it is in a [`RunState`](crate::RunState), the object is
        /// there: [`RunState::structured`](crate::RunState::structured).
        pub data?: json,
    }
}

/// How far a question is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum QuestionState {
    /// It waits for an answer.
    #[default]
    Open,
    /// It was answered.
    Answered,
    /// It was not answered in time.
    Expired,
}

json_struct! {
    /// A question that was put to a person.
    pub struct QuestionPart {
        /// The question. It has a token only while it is open.
        pub interrupt: Interrupt,
        /// How far it is.
        #[serde(default)]
        pub state: QuestionState,
        /// The answer.
        pub answer?: json,
    }
}

/// The tool under which a question is shown on pages that know tools and no questions.
pub const ASK_USER: &str = "ask_user";

impl QuestionPart {
    /// The question as a call of a tool that the page executes: its input is the question, its output the answer. The
    /// call has the id of the question, so the output of the call is the answer to it.
    ///
    /// ```
    /// use headwater_protocol::{Interrupt, QuestionPart, QuestionState, ToolState};
    ///
    /// let interrupt = Interrupt::text("req_1", "Which city?");
    /// let part = QuestionPart { interrupt, state: QuestionState::Answered, answer: Some("Oslo".into()) };
    /// let tool = part.to_tool();
    /// assert_eq!((tool.name.as_str(), tool.state), ("ask_user", ToolState::OutputAvailable));
    /// assert_eq!(tool.input.unwrap()["question"], "Which city?");
    /// ```
    #[must_use]
    pub fn to_tool(&self) -> ToolPart {
        let mut tool = ToolPart::new(self.interrupt.request.as_str(), ASK_USER);
        tool.executor = Executor::Client;
        tool.input = Some(self.interrupt.to_tool_input());
        match self.state {
            QuestionState::Open => tool.state = ToolState::InputAvailable,
            QuestionState::Answered => {
                tool.state = ToolState::OutputAvailable;
                tool.output = Some(self.answer.clone().unwrap_or(Value::Null));
            }
            QuestionState::Expired => {
                tool.state = ToolState::OutputError;
                tool.error = Some("The question expired.".to_owned());
            }
        }
        tool
    }
}

#[cfg(test)]
mod tests;
