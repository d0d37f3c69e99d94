//! What the speakers of chat completions do differently.

/// How one speaker of OpenAI's chat completions departs from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// What the limit of the answer is called.
    pub(super) max_tokens: &'static str,
    /// It must be asked to count tokens of a stream.
    pub(super) asks_for_usage: bool,
    /// Its word for "some tool".
    pub(super) some_tool: &'static str,
    /// It takes a choice of tools at all.
    pub(super) has_tool_choice: bool,
    /// It takes a JSON Schema for the answer.
    pub(super) has_schemas: bool,
    /// It takes files that are neither pictures nor sound.
    pub(super) has_files: bool,
    pub(super) effort: Effort,
    pub(super) thoughts: Thoughts,
    /// The ids of its calls have exactly nine letters and digits.
    pub(super) has_short_ids: bool,
    /// Its models that think refuse some options.
    pub(super) is_openai: bool,
}

/// How it is told how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// `reasoning_effort` with all of our words.
    Words,
    /// `reasoning_effort`, but there is nothing between none and low.
    NoMinimal,
    /// `reasoning_effort` with `none` or `high`.
    NoneOrHigh,
    /// `thinking`, on or off.
    Switch,
}

/// How the thoughts of earlier turns go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thoughts {
    /// Not at all.
    Never,
    /// In a field of the message.
    Field(&'static str),
    /// As a part of the content.
    Part,
}

impl Dialect {
    /// OpenAI itself.
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

    /// Anybody else who says to be compatible with OpenAI.
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

    /// Ollama, by its compatible side.
    pub const OLLAMA: Self = Self {
        has_tool_choice: false,
        has_files: false,
        effort: Effort::NoMinimal,
        thoughts: Thoughts::Field("reasoning"),
        ..Self::COMPATIBLE
    };
}
