//! Differences between providers with the chat completions format.

/// How a provider deviates from OpenAI's chat completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChatQuirks {
    /// Field name of the token limit.
    pub(super) max_tokens: &'static str,
    /// Whether usage in a stream must be requested.
    pub(super) asks_for_usage: bool,
    /// Value of `tool_choice` that requires some tool.
    pub(super) some_tool: &'static str,
    /// Whether it accepts a tool choice.
    pub(super) has_tool_choice: bool,
    /// Whether it accepts a JSON Schema for the answer.
    pub(super) has_schemas: bool,
    /// Whether it accepts files other than images and audio.
    pub(super) has_files: bool,
    pub(super) effort: Effort,
    pub(super) thoughts: Thoughts,
    /// Whether call ids must have exactly nine letters and digits.
    pub(super) has_short_ids: bool,
    /// Whether reasoning models reject some options.
    pub(super) is_openai: bool,
}

/// How the reasoning effort is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// `reasoning_effort` with all levels.
    Words,
    /// `reasoning_effort` without `minimal`.
    NoMinimal,
    /// `reasoning_effort` with only `none` and `high`.
    NoneOrHigh,
    /// `thinking`, on or off.
    Switch,
}

/// How reasoning of earlier turns is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thoughts {
    /// It is dropped.
    Never,
    /// In a field of the message.
    Field(&'static str),
    /// As an element of the content.
    Part,
}

impl ChatQuirks {
    /// OpenAI.
    pub const OPENAI: Self = Self {
        max_tokens: "max_completion_tokens",
        asks_for_usage: true,
        some_tool: "required",
        has_tool_choice: true,
        has_schemas: true,
        has_files: true,
        effort: Effort::Words,
        thoughts: Thoughts::Never,
        has_short_ids: false,
        is_openai: true,
    };

    /// Other providers with an OpenAI-compatible API.
    pub const COMPATIBLE: Self = Self {
        max_tokens: "max_tokens",
        thoughts: Thoughts::Field("reasoning_content"),
        is_openai: false,
        ..Self::OPENAI
    };

    /// DeepSeek.
    pub const DEEPSEEK: Self =
        Self { has_schemas: false, has_files: false, effort: Effort::Switch, ..Self::COMPATIBLE };

    /// Groq.
    pub const GROQ: Self = Self {
        max_tokens: "max_completion_tokens",
        has_files: false,
        effort: Effort::NoMinimal,
        thoughts: Thoughts::Field("reasoning"),
        ..Self::COMPATIBLE
    };

    /// Mistral.
    pub const MISTRAL: Self = Self {
        asks_for_usage: false,
        some_tool: "any",
        has_files: false,
        effort: Effort::NoneOrHigh,
        thoughts: Thoughts::Part,
        has_short_ids: true,
        ..Self::COMPATIBLE
    };

    /// Ollama's OpenAI-compatible API.
    pub const OLLAMA: Self = Self {
        has_tool_choice: false,
        has_files: false,
        effort: Effort::NoMinimal,
        thoughts: Thoughts::Field("reasoning"),
        ..Self::COMPATIBLE
    };
}
