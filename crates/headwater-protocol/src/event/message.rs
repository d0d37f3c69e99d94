//! Messages and their parts, as a page renders them.

use headwater_json::PartialValue;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    block::BlockKind,
    content::DataEvent,
    interrupt::Interrupt,
    payload::Role,
    tool::{Executor, ToolCall},
};
use crate::{
    id::{ApprovalId, AttemptId, MessageId, PartId, ToolCallId},
    json_struct::json_struct,
};

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Id of the message.
    pub id: MessageId,
    /// Role of the author.
    pub role: Role,
    /// Progress of the message.
    pub status: MessageStatus,
    /// Application metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// The author in the dialect's own form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Value>,
    /// The parts in order.
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

    /// The text parts, joined.
    #[must_use]
    pub fn plain_text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The latest part of a tool call.
    #[must_use]
    pub fn tool(&self, call: &str) -> Option<&ToolPart> {
        self.parts.iter().rev().filter_map(Part::as_tool).find(|tool| tool.call == *call)
    }
}

/// Progress of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum MessageStatus {
    /// A user's message that is being sent.
    Sending,
    /// It is being generated.
    Streaming,
    /// It is complete.
    Sent,
    /// It was cancelled.
    Cancelled,
    /// It failed, or the stream was truncated.
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
    /// Reasoning.
    Reasoning(TextPart),
    /// A tool call with its current state.
    Tool(Box<ToolPart>),
    /// A web page that the answer cites.
    SourceUrl(SourcePart),
    /// A document that the answer cites.
    SourceDocument(SourcePart),
    /// A file.
    File(FilePart),
    /// Application data.
    Data(DataEvent),
    /// An object that is streamed.
    Structured(StructuredPart),
    /// A question to the user.
    Question(Box<QuestionPart>),
    /// The beginning of a step.
    StepStart,
    /// A part that only its dialect knows. It is serialized as `{"type":"other","value":…}`, because it has
    /// its own `type`.
    Other {
        /// The original part.
        value: Value,
    },
}

impl Part {
    /// A block of this kind.
    pub(crate) fn block(kind: BlockKind, text: TextPart) -> Self {
        match kind {
            BlockKind::Text => Self::Text(text),
            BlockKind::Reasoning => Self::Reasoning(text),
        }
    }

    /// The block, if it is one.
    #[must_use]
    pub fn as_block(&self) -> Option<(BlockKind, &TextPart)> {
        match self {
            Self::Text(text) => Some((BlockKind::Text, text)),
            Self::Reasoning(text) => Some((BlockKind::Reasoning, text)),
            _ => None,
        }
    }

    /// The tool call, if it is one.
    #[must_use]
    pub fn as_tool(&self) -> Option<&ToolPart> {
        match self {
            Self::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    /// The attempt that produced it.
    #[must_use]
    pub fn attempt(&self) -> Option<&AttemptId> {
        match self {
            Self::Text(part) | Self::Reasoning(part) => part.attempt.as_ref(),
            Self::Tool(part) => part.attempt.as_ref(),
            Self::SourceUrl(part) | Self::SourceDocument(part) => part.attempt.as_ref(),
            Self::File(part) => part.attempt.as_ref(),
            // The fate of a structured stream after a failed attempt is an event of its own.
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
    /// It may grow.
    #[default]
    Streaming,
    /// It is complete.
    Done,
}

json_struct! {
    /// A text or reasoning block.
    pub struct TextPart {
        /// Id of the block.
        pub id: PartId,
        /// Text so far.
        pub text: String,
        /// Whether it may still grow.
        pub state: PartState,
        /// Latest provider-specific metadata.
        pub metadata?: Value,
        /// The attempt that produced it.
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

/// The state of a tool call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ToolState {
    /// The model is generating the input.
    #[default]
    InputStreaming,
    /// The input is complete.
    InputAvailable,
    /// The user is asked for approval.
    ApprovalRequested,
    /// The user has decided.
    ApprovalResponded,
    /// The output is available.
    OutputAvailable,
    /// The call failed.
    OutputError,
    /// The call was denied.
    OutputDenied,
}

impl ToolState {
    /// The name in the dialects that have these states.
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

    /// Whether the call has ended. Its effects are never retracted.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        matches!(self, Self::OutputAvailable | Self::OutputError | Self::OutputDenied)
    }
}

json_struct! {
    /// The approval of a call.
    pub struct Approval {
        /// Id of the request, if the dialect has one.
        pub id?: ApprovalId,
        /// The decision, once it is made.
        pub approved?: bool,
        /// Reason for the decision.
        pub reason?: String,
        /// Binds the request to the run, the call and its input.
        pub signature?: String,
        /// Whether a policy decides instead of the user.
        pub automatic: flag,
        /// Additional fields of the page.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        pub extra: Map<String, Value>,
    }

    /// A tool call with its current state.
    pub struct ToolPart {
        /// Id of the call.
        pub call: ToolCallId,
        /// Name of the tool.
        pub name: String,
        /// State of the call.
        pub state: ToolState,
        /// Whether the tool was unknown when the page was built.
        pub dynamic?: bool,
        /// Who runs the tool.
        #[serde(default)]
        pub executor: Executor,
        /// Human-readable title.
        pub title?: String,
        /// JSON text of the input, as far as it was streamed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub input_text: String,
        /// The input.
        pub input?: json,
        /// The output.
        pub output?: json,
        /// The output as structured content, if the tool returned both.
        pub structured?: json,
        /// Whether the output is a failure that the tool reports.
        pub is_error: flag,
        /// Whether more output follows.
        pub preliminary: flag,
        /// Error message of a failed call.
        pub error?: String,
        /// The approval that it needs.
        pub approval?: Approval,
        /// Provider-specific metadata of the call.
        pub metadata?: Value,
        /// Provider-specific metadata of the output.
        pub output_metadata?: Value,
        /// Set if the node did not ask to show the call; pages that show calls on demand hide it.
        pub quiet: flag,
        /// The attempt that made the call.
        pub attempt?: AttemptId,
    }
}

impl ToolPart {
    /// A call of which only id and tool are known.
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

    /// The call without its state.
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

    /// The input so far: complete if available, otherwise the part that was streamed.
    ///
    /// A string is shown as it grows; a number or literal only when it is complete, so that nothing is shown
    /// that the model did not write.
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
        // A completed call without an input had invalid JSON; part of that is not an input.
        let complete = self.state == ToolState::InputAvailable || self.state.is_settled();
        if self.input.is_some() || complete {
            return self.input.clone();
        }
        let mut value = PartialValue::new();
        // If the text is not JSON, the part before the error is used.
        let _ = value.push(&self.input_text);
        value.value().cloned()
    }
}

json_struct! {
    /// A source of the answer. Which fields are set depends on whether it is a page or a document.
    #[serde(default)]
    pub struct SourcePart {
        /// Id of the source.
        pub source: String,
        /// URL of the page.
        pub url?: String,
        /// Title of the source.
        pub title?: String,
        /// Media type of the document.
        pub media_type?: String,
        /// File name of the document.
        pub filename?: String,
        /// The cited passage.
        pub text?: String,
        /// The tool call that found it.
        pub call?: ToolCallId,
        /// Provider-specific metadata.
        pub metadata?: Value,
        /// The attempt that produced it.
        pub attempt?: AttemptId,
    }

    /// A file.
    #[serde(default)]
    pub struct FilePart {
        /// URL of the file, which may be a `data:` URL.
        pub url: String,
        /// Media type of the file.
        pub media_type: String,
        /// Name of the file.
        pub filename?: String,
        /// Id of the file, if it has one.
        pub id?: String,
        /// Whether it belongs to the reasoning instead of the answer.
        pub reasoning: flag,
        /// Provider-specific metadata.
        pub metadata?: Value,
        /// The attempt that produced it.
        pub attempt?: AttemptId,
    }

    /// An object that is streamed.
    #[serde(default)]
    pub struct StructuredPart {
        /// Id of the stream.
        pub stream: String,
        /// Type of the object, chosen by the application.
        pub data_type: String,
        /// The object, if the message was taken out of its run. Inside a [`RunState`](crate::RunState), use
        /// [`RunState::structured`](crate::RunState::structured).
        pub data?: json,
    }
}

/// The state of a question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum QuestionState {
    /// It waits for an answer.
    #[default]
    Open,
    /// It was answered.
    Answered,
    /// It expired without an answer.
    Expired,
}

json_struct! {
    /// A question to the user.
    pub struct QuestionPart {
        /// The question. It has a token only while it is open.
        pub interrupt: Interrupt,
        /// State of the question.
        #[serde(default)]
        pub state: QuestionState,
        /// The answer.
        pub answer?: json,
    }
}

/// Name of the tool that stands for a question on pages that support tools but not questions.
pub const ASK_USER: &str = "ask_user";

impl QuestionPart {
    /// The question as a call of a tool that the page runs: its input is the question, its output the answer.
    /// The call has the id of the question, so the output of the call is the answer.
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
