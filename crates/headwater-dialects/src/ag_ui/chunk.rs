//! The events of AG-UI 1.0 that are written or read.
//!
//! A field that is absent is left out: the client takes `null` for a broken event.

use std::borrow::Cow;

use headwater_protocol::{Role, Usage};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// One event of an AG-UI stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Chunk<'a> {
    RunStarted(RunStarted<'a>),
    RunFinished(RunFinished<'a>),
    RunError(RunError<'a>),
    StepStarted(Step<'a>),
    StepFinished(Step<'a>),
    TextMessageStart(TextMessageStart<'a>),
    TextMessageContent(MessageDelta<'a>),
    TextMessageEnd(MessageRef<'a>),
    TextMessageChunk(TextMessageChunk<'a>),
    ToolCallStart(ToolCallStart<'a>),
    ToolCallArgs(ToolCallArgs<'a>),
    ToolCallEnd(ToolCallEnd<'a>),
    ToolCallChunk(ToolCallChunk<'a>),
    ToolCallResult(ToolCallResult<'a>),
    StateSnapshot(StateSnapshot<'a>),
    StateDelta(StateDelta<'a>),
    MessagesSnapshot(MessagesSnapshot<'a>),
    ActivitySnapshot(ActivitySnapshot<'a>),
    ActivityDelta(ActivityDelta<'a>),
    ReasoningStart(MessageRef<'a>),
    ReasoningMessageStart(ReasoningMessageStart<'a>),
    ReasoningMessageContent(MessageDelta<'a>),
    ReasoningMessageEnd(MessageRef<'a>),
    ReasoningMessageChunk(ReasoningMessageChunk<'a>),
    ReasoningEnd(MessageRef<'a>),
    ReasoningEncryptedValue(ReasoningEncryptedValue<'a>),
    SubagentStarted(SubagentStarted<'a>),
    SubagentFinished(SubagentFinished<'a>),
    SubagentError(SubagentError<'a>),
    Raw(Raw<'a>),
    Custom(Custom<'a>),
}

/// What every event may have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Base<'a> {
    /// In milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<i64>,
    /// Merged into the message or the call that the event is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subagent_run_id: Option<Cow<'a, str>>,
}

impl Base<'_> {
    /// A word under `metadata.tanstack`, where TanStack's client looks for what AG-UI has no field for.
    pub(super) fn tanstack(&self, key: &str) -> Option<&str> {
        self.metadata.as_ref()?.get("tanstack")?.get(key)?.as_str()
    }

    pub(super) fn set_tanstack(&mut self, key: &str, word: &str) {
        let metadata = self.metadata.get_or_insert_default();
        metadata.insert("tanstack".to_owned(), serde_json::json!({ key: word }));
    }
}

/// Structs with the required fields in braces and the optional ones in brackets.
macro_rules! wire {
    ($($(#[$attribute:meta])* $name:ident
        { $($field:ident: $type:ty),* $(,)? } [ $($optional:ident: $optional_type:ty),* $(,)? ] $($base:ident)?;)*
    ) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub(super) struct $name<'a> {
            $(pub(super) $field: $type,)*
            $(
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub(super) $optional: Option<$optional_type>,
            )*
            $(#[serde(flatten)] pub(super) $base: Base<'a>,)?
        }
    )*};
}

wire! {
    RunStarted { thread_id: Cow<'a, str>, run_id: Cow<'a, str> }
        [parent_run_id: Cow<'a, str>, protocol_version: Cow<'a, str>, input: RunInput<'a>] base;
    RunFinished { thread_id: Cow<'a, str>, run_id: Cow<'a, str> }
        [result: Cow<'a, Value>, outcome: Outcome<'a>, usage: Vec<TokenUsage<'a>>] base;
    RunError { message: Cow<'a, str> } [code: Cow<'a, str>] base;
    Step { step_name: Cow<'a, str> } [] base;
    TextMessageStart { message_id: Cow<'a, str> } [role: Cow<'a, str>, name: Cow<'a, str>] base;
    MessageDelta { message_id: Cow<'a, str>, delta: Cow<'a, str> } [] base;
    MessageRef { message_id: Cow<'a, str> } [] base;
    TextMessageChunk {}
        [message_id: Cow<'a, str>, role: Cow<'a, str>, delta: Cow<'a, str>, name: Cow<'a, str>] base;
    ToolCallStart { tool_call_id: Cow<'a, str>, tool_call_name: Cow<'a, str> }
        [parent_message_id: Cow<'a, str>] base;
    ToolCallArgs { tool_call_id: Cow<'a, str>, delta: Cow<'a, str> } [] base;
    ToolCallEnd { tool_call_id: Cow<'a, str> } [] base;
    ToolCallChunk {} [
        tool_call_id: Cow<'a, str>,
        tool_call_name: Cow<'a, str>,
        parent_message_id: Cow<'a, str>,
        delta: Cow<'a, str>,
    ] base;
    ToolCallResult { message_id: Cow<'a, str>, tool_call_id: Cow<'a, str>, content: Content<'a> }
        [role: Cow<'a, str>] base;
    StateSnapshot { snapshot: Cow<'a, Value> } [] base;
    StateDelta { delta: Cow<'a, [Value]> } [] base;
    MessagesSnapshot { messages: WireMessages<'a> } [] base;
    ActivitySnapshot { message_id: Cow<'a, str>, activity_type: Cow<'a, str>, content: Cow<'a, Value> }
        [replace: bool] base;
    ActivityDelta { message_id: Cow<'a, str>, activity_type: Cow<'a, str>, patch: Cow<'a, [Value]> } [] base;
    ReasoningMessageStart { message_id: Cow<'a, str>, role: Cow<'a, str> } [] base;
    ReasoningMessageChunk {} [message_id: Cow<'a, str>, delta: Cow<'a, str>] base;
    ReasoningEncryptedValue { subtype: Cow<'a, str>, entity_id: Cow<'a, str>, encrypted_value: Cow<'a, str> }
        [] base;
    SubagentStarted { name: Cow<'a, str> } [
        description: Cow<'a, str>,
        parent_subagent_run_id: Cow<'a, str>,
        parent_tool_call_id: Cow<'a, str>,
        parent_message_id: Cow<'a, str>,
    ] base;
    SubagentFinished {} [result: Cow<'a, Value>, outcome: Cow<'a, Value>] base;
    SubagentError { message: Cow<'a, str> } [code: Cow<'a, str>] base;
    Raw { event: Cow<'a, Value> } [source: Cow<'a, str>] base;
    Custom { name: Cow<'a, str>, value: Cow<'a, Value> } [] base;

    /// A message in a snapshot or a request. Which fields it has depends on its role.
    WireMessage { id: Cow<'a, str>, role: Role } [
        content: Content<'a>,
        name: Cow<'a, str>,
        tool_calls: Vec<WireCall<'a>>,
        tool_call_id: Cow<'a, str>,
        error: Cow<'a, str>,
        activity_type: Cow<'a, str>,
        encrypted_value: Cow<'a, str>,
        metadata: Map<String, Value>,
        subagent_run_id: Cow<'a, str>,
    ];
    WireCall { id: Cow<'a, str>, r#type: Cow<'a, str>, function: Function<'a> }
        [encrypted_value: Cow<'a, str>, metadata: Map<String, Value>];
    Function { name: Cow<'a, str>, arguments: Cow<'a, str> } [];
    /// A question that a run waits for.
    Interrupt { id: Cow<'a, str>, reason: Cow<'a, str> } [
        message: Cow<'a, str>,
        tool_call_id: Cow<'a, str>,
        response_schema: Cow<'a, Value>,
        expires_at: Cow<'a, str>,
        metadata: Map<String, Value>,
    ];
    /// The request as `RUN_STARTED` repeats it.
    RunInput { messages: WireMessages<'a> } [];
    #[derive(Default)]
    TokenUsage {} [
        provider: Cow<'a, str>,
        input_tokens: u64,
        output_tokens: u64,
        total_tokens: u64,
        reasoning_tokens: u64,
        cached_input_tokens: u64,
        cache_write_input_tokens: u64,
    ];
}

/// Messages without those of a role that is not known, which the client leaves out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct WireMessages<'a>(pub(super) Vec<WireMessage<'a>>);

impl<'de> Deserialize<'de> for WireMessages<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut list = Vec::<Value>::deserialize(deserializer)?;
        let known = |role: &Value| !role.is_string() || Role::deserialize(role).is_ok();
        list.retain(|message| message.get("role").is_none_or(known));
        let read = list.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
        read.map(Self).map_err(serde::de::Error::custom)
    }
}

impl<'a> WireMessage<'a> {
    pub(super) fn new(id: impl Into<Cow<'a, str>>, role: Role) -> Self {
        Self {
            id: id.into(),
            role,
            content: None,
            name: None,
            tool_calls: None,
            tool_call_id: None,
            error: None,
            activity_type: None,
            encrypted_value: None,
            metadata: None,
            subagent_run_id: None,
        }
    }
}

/// How a run ended. Without one it ended well, and so it did to a client that does not know the word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub(super) enum Outcome<'a> {
    Success {
        /// The calls whose outputs the page owes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pending_tool_call_ids: Option<Vec<Cow<'a, str>>>,
    },
    Interrupt {
        interrupts: Vec<Interrupt<'a>>,
    },
    Cancelled {},
    #[serde(other)]
    Other,
}

/// The largest integer that JavaScript holds exactly; the client refuses larger ones.
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
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    /// Parts, or an activity's object.
    Json(Cow<'a, Value>),
}
