//! The AG-UI 1.0 events that we read or write.
//!
//! Absent fields are left out: the client rejects `null`.

use std::borrow::Cow;

use headwater_protocol::{Role, Usage};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::chunk::chunks;

chunks! {
    /// One event of an AG-UI stream.
    enum Chunk by read(Value) -> serde_json::Error {
        "RUN_STARTED" => RunStarted(RunStarted<'a>),
        "RUN_FINISHED" => RunFinished(RunFinished<'a>),
        "RUN_ERROR" => RunError(RunError<'a>),
        "STEP_STARTED" => StepStarted(Step<'a>),
        "STEP_FINISHED" => StepFinished(Step<'a>),
        "TEXT_MESSAGE_START" => TextMessageStart(TextMessageStart<'a>),
        "TEXT_MESSAGE_CONTENT" => TextMessageContent(MessageDelta<'a>),
        "TEXT_MESSAGE_END" => TextMessageEnd(MessageRef<'a>),
        "TEXT_MESSAGE_CHUNK" => TextMessageChunk(TextMessageChunk<'a>),
        "TOOL_CALL_START" => ToolCallStart(ToolCallStart<'a>),
        "TOOL_CALL_ARGS" => ToolCallArgs(ToolCallArgs<'a>),
        "TOOL_CALL_END" => ToolCallEnd(ToolCallEnd<'a>),
        "TOOL_CALL_CHUNK" => ToolCallChunk(ToolCallChunk<'a>),
        "TOOL_CALL_RESULT" => ToolCallResult(ToolCallResult<'a>),
        "STATE_SNAPSHOT" => StateSnapshot(StateSnapshot<'a>),
        "STATE_DELTA" => StateDelta(StateDelta<'a>),
        "MESSAGES_SNAPSHOT" => MessagesSnapshot(MessagesSnapshot<'a>),
        "ACTIVITY_SNAPSHOT" => ActivitySnapshot(ActivitySnapshot<'a>),
        "ACTIVITY_DELTA" => ActivityDelta(ActivityDelta<'a>),
        "REASONING_START" => ReasoningStart(MessageRef<'a>),
        "REASONING_MESSAGE_START" => ReasoningMessageStart(ReasoningMessageStart<'a>),
        "REASONING_MESSAGE_CONTENT" => ReasoningMessageContent(MessageDelta<'a>),
        "REASONING_MESSAGE_END" => ReasoningMessageEnd(MessageRef<'a>),
        "REASONING_MESSAGE_CHUNK" => ReasoningMessageChunk(ReasoningMessageChunk<'a>),
        "REASONING_END" => ReasoningEnd(MessageRef<'a>),
        "REASONING_ENCRYPTED_VALUE" => ReasoningEncryptedValue(ReasoningEncryptedValue<'a>),
        "SUBAGENT_STARTED" => SubagentStarted(SubagentStarted<'a>),
        "SUBAGENT_FINISHED" => SubagentFinished(SubagentFinished<'a>),
        "SUBAGENT_ERROR" => SubagentError(SubagentError<'a>),
        "RAW" => Raw(Raw<'a>),
        "CUSTOM" => Custom(Custom<'a>),
    } else {}

    struct RunStarted<'a> {
        thread_id: text,
        run_id: text,
        parent_run_id?: text,
        protocol_version?: text,
        input?: RunInput<'a>,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct RunFinished<'a> {
        thread_id: text,
        run_id: text,
        result?: Cow<'a, Value>,
        outcome?: FinishedOutcome<'a>,
        usage?: Vec<TokenUsage<'a>>,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct RunError<'a> { message: text, code?: text, #[serde(borrow, flatten)] base: Base<'a>, }
    struct Step<'a> { step_name: text, #[serde(borrow, flatten)] base: Base<'a>, }
    struct TextMessageStart<'a> {
        message_id: text,
        role?: text,
        name?: text,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct MessageDelta<'a> { message_id: text, delta: text, #[serde(borrow, flatten)] base: Base<'a>, }
    struct MessageRef<'a> { message_id: text, #[serde(borrow, flatten)] base: Base<'a>, }
    struct TextMessageChunk<'a> {
        message_id?: text,
        role?: text,
        delta?: text,
        name?: text,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct ToolCallStart<'a> {
        tool_call_id: text,
        tool_call_name: text,
        parent_message_id?: text,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct ToolCallArgs<'a> { tool_call_id: text, delta: text, #[serde(borrow, flatten)] base: Base<'a>, }
    struct ToolCallEnd<'a> { tool_call_id: text, #[serde(borrow, flatten)] base: Base<'a>, }
    struct ToolCallChunk<'a> {
        tool_call_id?: text,
        tool_call_name?: text,
        parent_message_id?: text,
        delta?: text,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct ToolCallResult<'a> {
        message_id: text,
        tool_call_id: text,
        content: Content<'a>,
        role?: text,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct StateSnapshot<'a> { snapshot: Cow<'a, Value>, #[serde(borrow, flatten)] base: Base<'a>, }
    struct StateDelta<'a> { delta: Cow<'a, [Value]>, #[serde(borrow, flatten)] base: Base<'a>, }
    struct MessagesSnapshot<'a> {
        #[serde(borrow)] messages: WireMessages<'a>,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct ActivitySnapshot<'a> {
        message_id: text,
        activity_type: text,
        content: Cow<'a, Value>,
        replace?: bool,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct ActivityDelta<'a> {
        message_id: text,
        activity_type: text,
        patch: Cow<'a, [Value]>,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct ReasoningMessageStart<'a> { message_id: text, role: text, #[serde(borrow, flatten)] base: Base<'a>, }
    struct ReasoningMessageChunk<'a> { message_id?: text, delta?: text, #[serde(borrow, flatten)] base: Base<'a>, }
    struct ReasoningEncryptedValue<'a> {
        subtype: text,
        entity_id: text,
        encrypted_value: text,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct SubagentStarted<'a> {
        name: text,
        description?: text,
        parent_subagent_run_id?: text,
        parent_tool_call_id?: text,
        parent_message_id?: text,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct SubagentFinished<'a> {
        result?: Cow<'a, Value>,
        outcome?: Cow<'a, Value>,
        #[serde(borrow, flatten)] base: Base<'a>,
    }
    struct SubagentError<'a> { message: text, code?: text, #[serde(borrow, flatten)] base: Base<'a>, }
    struct Raw<'a> { event: Cow<'a, Value>, source?: text, #[serde(borrow, flatten)] base: Base<'a>, }
    struct Custom<'a> { name: text, value: Cow<'a, Value>, #[serde(borrow, flatten)] base: Base<'a>, }
    /// A message in a snapshot or a request. Its fields depend on its role.
    struct WireMessage<'a> {
        id: text,
        role: Role,
        content?: Content<'a>,
        name?: text,
        tool_calls?: Vec<WireCall<'a>>,
        tool_call_id?: text,
        error?: text,
        activity_type?: text,
        encrypted_value?: text,
        metadata?: Map<String, Value>,
        subagent_run_id?: text,
    }
    struct WireCall<'a> {
        id: text,
        r#type: text,
        function: Function<'a>,
        encrypted_value?: text,
        metadata?: Map<String, Value>,
    }
    struct Function<'a> { name: text, arguments: text, }
    /// An open question of a run.
    struct Interrupt<'a> {
        id: text,
        reason: text,
        message?: text,
        tool_call_id?: text,
        response_schema?: Cow<'a, Value>,
        expires_at?: text,
        metadata?: Map<String, Value>,
    }
    /// The request, as `RUN_STARTED` repeats it.
    struct RunInput<'a> { #[serde(borrow)] messages: WireMessages<'a>, }
    struct TokenUsage<'a> {
        provider?: text,
        input_tokens?: u64,
        output_tokens?: u64,
        total_tokens?: u64,
        reasoning_tokens?: u64,
        cached_input_tokens?: u64,
        cache_write_input_tokens?: u64,
    }

    /// Fields that every event may have.
    struct Base<'a> {
        /// In milliseconds since 1970.
        timestamp?: i64,
        /// Merged into the message or call that the event belongs to.
        metadata?: Map<String, Value>,
        subagent_run_id?: text,
    }
}

/// Reads the fields of an event.
fn read<'de, T: Deserialize<'de>>(event: Value) -> Result<T, serde_json::Error> {
    T::deserialize(event)
}

impl Base<'_> {
    /// A string under `metadata.tanstack`, where TanStack's client looks for values without an AG-UI field.
    pub(super) fn tanstack(&self, key: &str) -> Option<&str> {
        self.metadata.as_ref()?.get("tanstack")?.get(key)?.as_str()
    }

    pub(super) fn set_tanstack(&mut self, key: &str, word: &str) {
        let metadata = self.metadata.get_or_insert_default();
        metadata.insert("tanstack".to_owned(), serde_json::json!({ key: word }));
    }
}

/// Messages; those with an unknown role are skipped, as the client does.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct WireMessages<'a>(pub(super) Vec<WireMessage<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for WireMessages<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut list = Vec::<Value>::deserialize(deserializer)?;
        let known = |role: &Value| !role.is_string() || Role::deserialize(role).is_ok();
        list.retain(|message| message.get("role").is_none_or(known));
        let read = list.into_iter().map(WireMessage::deserialize).collect::<Result<_, _>>();
        read.map(Self).map_err(serde::de::Error::custom)
    }
}

impl<'a> WireMessage<'a> {
    pub(super) fn new(id: impl Into<Cow<'a, str>>, role: Role) -> Self {
        Self { id: id.into(), role, ..Self::default() }
    }
}

/// How a run ended. A missing or unknown outcome counts as success, as in the client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub(super) enum FinishedOutcome<'a> {
    Success {
        /// The calls that wait for an output of the page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pending_tool_call_ids: Option<Vec<Cow<'a, str>>>,
    },
    Interrupt {
        #[serde(borrow)]
        interrupts: Vec<Interrupt<'a>>,
    },
    Cancelled {},
    #[serde(other)]
    Other,
}

/// The largest integer that JavaScript represents exactly; the client rejects larger ones.
pub(super) const SAFE_INTEGER: u64 = (1 << 53) - 1;

impl From<&Usage> for TokenUsage<'_> {
    fn from(usage: &Usage) -> Self {
        let safe = |tokens: Option<u64>| tokens.map(|tokens| tokens.min(SAFE_INTEGER));
        Self {
            provider: None,
            input_tokens: safe(usage.input_tokens),
            output_tokens: safe(usage.output_tokens),
            total_tokens: safe(usage.total_tokens),
            reasoning_tokens: safe(usage.reasoning_tokens),
            cached_input_tokens: safe(usage.cached_input_tokens),
            cache_write_input_tokens: safe(usage.cache_write_tokens),
        }
    }
}

/// Adds up the usage of several models.
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
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    /// Parts, or the object of an activity.
    Json(Cow<'a, Value>),
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::Text(Cow::Borrowed(""))
    }
}
