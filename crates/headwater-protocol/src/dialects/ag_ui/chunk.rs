//! The events of AG-UI 1.0, all 31 types with all their fields.
//!
//! Every field that may be absent is left out when it is: the client takes `null` for a broken event.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    notes::{Metadata, Notes, RawEvent},
    wire::{Interrupt, WireMessage},
};
use crate::event::{Event, Usage};

/// One event of an AG-UI stream.
///
/// ```
/// use headwater_protocol::dialects::ag_ui::{Chunk, MessageDelta};
///
/// let chunk = Chunk::TextMessageContent(MessageDelta::new("m1", "Hello"));
/// assert_eq!(
///     serde_json::to_string(&chunk).unwrap(),
///     r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hello"}"#,
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Chunk<'a> {
    /// The run began.
    RunStarted(RunStarted<'a>),
    /// The run came to its end, or waits.
    RunFinished(RunFinished<'a>),
    /// The run failed.
    RunError(RunError<'a>),
    /// A step of the run begins.
    StepStarted(Step<'a>),
    /// The step ended.
    StepFinished(Step<'a>),
    /// A text message begins, or goes on.
    TextMessageStart(TextMessageStart<'a>),
    /// More of its text.
    TextMessageContent(MessageDelta<'a>),
    /// Its text is complete.
    TextMessageEnd(MessageRef<'a>),
    /// All three in one.
    TextMessageChunk(TextMessageChunk<'a>),
    /// A tool call begins, or goes on.
    ToolCallStart(ToolCallStart<'a>),
    /// More of its arguments.
    ToolCallArgs(ToolCallArgs<'a>),
    /// Its arguments are complete.
    ToolCallEnd(ToolCallEnd<'a>),
    /// All three in one.
    ToolCallChunk(ToolCallChunk<'a>),
    /// What the tool gave.
    ToolCallResult(ToolCallResult<'a>),
    /// The shared state is replaced.
    StateSnapshot(StateSnapshot<'a>),
    /// The shared state changes.
    StateDelta(StateDelta<'a>),
    /// The conversation as it stands.
    MessagesSnapshot(MessagesSnapshot<'a>),
    /// An activity begins, or is replaced.
    ActivitySnapshot(ActivitySnapshot<'a>),
    /// An activity changes.
    ActivityDelta(ActivityDelta<'a>),
    /// A span of thinking begins.
    ReasoningStart(MessageRef<'a>),
    /// A message of thoughts begins.
    ReasoningMessageStart(ReasoningMessageStart<'a>),
    /// More of its text.
    ReasoningMessageContent(MessageDelta<'a>),
    /// Its text is complete.
    ReasoningMessageEnd(MessageRef<'a>),
    /// All three in one.
    ReasoningMessageChunk(ReasoningMessageChunk<'a>),
    /// The span of thinking ended.
    ReasoningEnd(MessageRef<'a>),
    /// What the provider wants to see again, unread.
    ReasoningEncryptedValue(ReasoningEncryptedValue<'a>),
    /// A subagent begins.
    SubagentStarted(SubagentStarted<'a>),
    /// The subagent ended.
    SubagentFinished(SubagentFinished<'a>),
    /// The subagent failed.
    SubagentError(SubagentError<'a>),
    /// An event of another system.
    Raw(Raw<'a>),
    /// An event of the application.
    Custom(Custom<'a>),
}

/// What every event may have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Base<'a> {
    /// When it happened, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
    /// The event that it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_event: Option<RawEvent<'a>>,
    /// Merged into the message or the call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata<'a>>,
    /// The subagent that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<Cow<'a, str>>,
}

impl<'a> Base<'a> {
    /// Our notes in `metadata`.
    #[must_use]
    pub fn kept(&self) -> Option<&Notes<'a>> {
        self.metadata.as_ref()?.headwater.as_deref()
    }

    /// Our notes in `rawEvent`.
    #[must_use]
    pub fn passing(&self) -> Option<&Notes<'a>> {
        match self.raw_event.as_ref()? {
            RawEvent::Notes(notes) => Some(notes),
            RawEvent::Other(_) => None,
        }
    }
}

macro_rules! chunks {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name<'a> {
            $($(#[$field_doc])* pub $field: $type,)*
            /// What every event may have.
            #[serde(flatten)]
            pub base: Base<'a>,
        }
    )*};
}

chunks! {
    /// `RUN_STARTED`
    RunStarted {
        /// The conversation.
        thread_id: Cow<'a, str>,
        /// The run.
        run_id: Cow<'a, str>,
        /// The run that it goes on from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_run_id: Option<Cow<'a, str>>,
        /// The version that the server speaks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        protocol_version: Option<Cow<'a, str>>,
        /// The request, repeated.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<RunInput<'a>>,
    }
    /// `RUN_FINISHED`
    RunFinished {
        /// The conversation.
        thread_id: Cow<'a, str>,
        /// The run.
        run_id: Cow<'a, str>,
        /// Its result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Cow<'a, Value>>,
        /// How it ended; without it, well.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Outcome<'a>>,
        /// What it used, one entry for each model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Vec<TokenUsage<'a>>>,
    }
    /// `RUN_ERROR`
    RunError {
        /// A line for people.
        message: Cow<'a, str>,
        /// A machine-readable code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Cow<'a, str>>,
        /// What it used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Vec<TokenUsage<'a>>>,
    }
    /// `STEP_STARTED` and `STEP_FINISHED`
    Step {
        /// Its name; no two open steps share one.
        step_name: Cow<'a, str>,
    }
    /// `TEXT_MESSAGE_START`
    TextMessageStart {
        /// The message.
        message_id: Cow<'a, str>,
        /// Who speaks: `developer`, `system`, `assistant` or `user`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<Cow<'a, str>>,
        /// The speaker's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<Cow<'a, str>>,
    }
    /// `TEXT_MESSAGE_CONTENT` and `REASONING_MESSAGE_CONTENT`
    MessageDelta {
        /// The message.
        message_id: Cow<'a, str>,
        /// The text to append.
        delta: Cow<'a, str>,
    }
    /// `TEXT_MESSAGE_END`, `REASONING_START`, `REASONING_MESSAGE_END` and `REASONING_END`
    MessageRef {
        /// The message, or the span.
        message_id: Cow<'a, str>,
    }
    /// `TEXT_MESSAGE_CHUNK`
    TextMessageChunk {
        /// The message; without it, the one that is open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<Cow<'a, str>>,
        /// Who speaks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<Cow<'a, str>>,
        /// The text to append.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta: Option<Cow<'a, str>>,
        /// The speaker's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<Cow<'a, str>>,
    }
    /// `TOOL_CALL_START`
    ToolCallStart {
        /// The call.
        tool_call_id: Cow<'a, str>,
        /// The tool.
        tool_call_name: Cow<'a, str>,
        /// The assistant's message that makes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<Cow<'a, str>>,
    }
    /// `TOOL_CALL_ARGS`
    ToolCallArgs {
        /// The call.
        tool_call_id: Cow<'a, str>,
        /// A piece of JSON text.
        delta: Cow<'a, str>,
    }
    /// `TOOL_CALL_END`
    ToolCallEnd {
        /// The call.
        tool_call_id: Cow<'a, str>,
    }
    /// `TOOL_CALL_CHUNK`
    ToolCallChunk {
        /// The call; without it, the one that is open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call_id: Option<Cow<'a, str>>,
        /// The tool.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool_call_name: Option<Cow<'a, str>>,
        /// The assistant's message that makes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<Cow<'a, str>>,
        /// A piece of JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta: Option<Cow<'a, str>>,
    }
    /// `TOOL_CALL_RESULT`
    ToolCallResult {
        /// The message that holds it.
        message_id: Cow<'a, str>,
        /// The call.
        tool_call_id: Cow<'a, str>,
        /// A text, or since 1.0 a list of parts.
        content: Content<'a>,
        /// Always `tool`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<Cow<'a, str>>,
    }
    /// `STATE_SNAPSHOT`
    StateSnapshot {
        /// The whole state.
        snapshot: Cow<'a, Value>,
    }
    /// `STATE_DELTA`
    StateDelta {
        /// A JSON Patch.
        delta: Cow<'a, [Value]>,
    }
    /// `MESSAGES_SNAPSHOT`
    MessagesSnapshot {
        /// The whole conversation; what is missing is deleted.
        messages: Vec<WireMessage<'a>>,
    }
    /// `ACTIVITY_SNAPSHOT`
    ActivitySnapshot {
        /// The message.
        message_id: Cow<'a, str>,
        /// What kind of activity it is.
        activity_type: Cow<'a, str>,
        /// An object.
        content: Cow<'a, Value>,
        /// Whether it replaces a message of that id; without it, it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replace: Option<bool>,
    }
    /// `ACTIVITY_DELTA`
    ActivityDelta {
        /// The message.
        message_id: Cow<'a, str>,
        /// What kind of activity it is from now on.
        activity_type: Cow<'a, str>,
        /// A JSON Patch.
        patch: Cow<'a, [Value]>,
    }
    /// `REASONING_MESSAGE_START`
    ReasoningMessageStart {
        /// The message.
        message_id: Cow<'a, str>,
        /// Always `reasoning`.
        role: Cow<'a, str>,
    }
    /// `REASONING_MESSAGE_CHUNK`
    ReasoningMessageChunk {
        /// The message; without it, the one that is open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<Cow<'a, str>>,
        /// The text to append.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delta: Option<Cow<'a, str>>,
    }
    /// `REASONING_ENCRYPTED_VALUE`
    ReasoningEncryptedValue {
        /// What it is kept with: `tool-call` or `message`.
        subtype: Cow<'a, str>,
        /// That call or message.
        entity_id: Cow<'a, str>,
        /// The value.
        encrypted_value: Cow<'a, str>,
    }
    /// `SUBAGENT_STARTED`
    SubagentStarted {
        /// Its name.
        name: Cow<'a, str>,
        /// What it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<Cow<'a, str>>,
        /// The subagent that began it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_subagent_run_id: Option<Cow<'a, str>>,
        /// The call that began it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_tool_call_id: Option<Cow<'a, str>>,
        /// The message that began it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_message_id: Option<Cow<'a, str>>,
    }
    /// `SUBAGENT_FINISHED`
    SubagentFinished {
        /// Its result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Cow<'a, Value>>,
        /// How it ended: `success`, or `suspended` with the questions that it waits for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outcome: Option<Cow<'a, Value>>,
    }
    /// `SUBAGENT_ERROR`
    SubagentError {
        /// A line for people.
        message: Cow<'a, str>,
        /// A machine-readable code.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Cow<'a, str>>,
    }
    /// `RAW`
    Raw {
        /// The event.
        event: Cow<'a, Value>,
        /// The system that it comes from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<Cow<'a, str>>,
    }
    /// `CUSTOM`
    Custom {
        /// What kind of event it is.
        name: Cow<'a, str>,
        /// The event.
        value: Payload<'a>,
    }
}

impl<'a> MessageDelta<'a> {
    /// A piece of text for a message.
    pub fn new(message_id: impl Into<Cow<'a, str>>, delta: impl Into<Cow<'a, str>>) -> Self {
        Self { message_id: message_id.into(), delta: delta.into(), base: Base::default() }
    }
}

/// The request as `RUN_STARTED` repeats it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunInput<'a> {
    /// The conversation.
    pub messages: Vec<WireMessage<'a>>,
    /// Everything else.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum Outcome<'a> {
    /// Well.
    Success {
        /// The calls whose outputs the page owes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pending_tool_call_ids: Option<Vec<Cow<'a, str>>>,
    },
    /// It waits for answers.
    Interrupt {
        /// The questions, at least one.
        interrupts: Vec<Interrupt<'a>>,
    },
    /// It was stopped.
    Cancelled {},
}

/// Tokens used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenUsage<'a> {
    /// Who provides the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Cow<'a, str>>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Cow<'a, str>>,
    /// Tokens read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Tokens of the output that were thoughts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Tokens of the input that came from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Tokens of the input that were put into a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_input_tokens: Option<u64>,
}

/// The largest integer that JavaScript holds exactly; the client refuses larger ones.
pub(super) const SAFE_INTEGER: u64 = (1 << 53) - 1;

impl From<&Usage> for TokenUsage<'_> {
    fn from(usage: &Usage) -> Self {
        let safe = |tokens: Option<u64>| tokens.map(|tokens| tokens.min(SAFE_INTEGER));
        Self {
            provider: None,
            model: None,
            input_tokens: safe(usage.input_tokens),
            output_tokens: safe(usage.output_tokens),
            total_tokens: safe(usage.total_tokens),
            reasoning_tokens: safe(usage.reasoning_tokens),
            cached_input_tokens: safe(usage.cached_input_tokens),
            cache_write_input_tokens: safe(usage.cache_write_tokens),
        }
    }
}

/// What several models used is what the run used.
pub(super) fn total(list: &[TokenUsage<'_>]) -> Option<Usage> {
    let add = |sum: &mut Option<u64>, more: Option<u64>| {
        if let Some(more) = more {
            *sum = Some(sum.unwrap_or(0).saturating_add(more));
        }
    };
    let mut usage = Usage::default();
    for entry in list {
        add(&mut usage.input_tokens, entry.input_tokens);
        add(&mut usage.output_tokens, entry.output_tokens);
        add(&mut usage.total_tokens, entry.total_tokens);
        add(&mut usage.reasoning_tokens, entry.reasoning_tokens);
        add(&mut usage.cached_input_tokens, entry.cached_input_tokens);
        add(&mut usage.cache_write_tokens, entry.cache_write_input_tokens);
    }
    (!list.is_empty()).then_some(usage)
}

/// The content of a message or a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// Parts; or an activity's object.
    Json(Cow<'a, Value>),
}

/// What a custom event holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload<'a> {
    /// Anything.
    Json(Cow<'a, Value>),
    /// One of our events, carried.
    Event(&'a Event),
}

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(value) => value.serialize(serializer),
            Self::Event(event) => event.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Payload<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::Json(Cow::Owned(value)))
    }
}
