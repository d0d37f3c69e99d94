//! The kinds of nodes.

use headwater_models::ReasoningEffort;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::duration::Length;
use crate::file::{
    span::{NameMap, WithSpan, text_or_map},
    template::{Expression, Template, ValueTemplate},
};

/// A node: exactly one of the fields from `reason` to `function` defines its kind; the others are options.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct NodeText {
    /// A description for people.
    pub(in crate::file) description: Option<String>,
    /// Calls a model.
    pub(in crate::file) reason: Option<Box<ReasonText>>,
    /// Asks a person and waits for the answer.
    pub(in crate::file) interrupt: Option<WithSpan<InterruptText>>,
    /// Shows an object, or changes one that is shown.
    pub(in crate::file) structured: Option<StructuredText>,
    /// Shows a message.
    pub(in crate::file) message: Option<Template>,
    /// Chooses the edge to follow.
    pub(in crate::file) route: Option<WithSpan<RouteText>>,
    /// Continues with another workflow when this one has ended.
    pub(in crate::file) transition: Option<TransitionText>,
    /// Waits for a duration.
    pub(in crate::file) wait: Option<Length>,
    /// Calls a function of the program.
    pub(in crate::file) function: Option<WithSpan<String>>,
    /// Saves the node's output under a name. An object that is not saved is merged into the data.
    pub(in crate::file) save: Option<SaveText>,
    /// The run's public result, sent to readers when the run ends. Its templates may use `output`, the node's
    /// output.
    pub(in crate::file) result: Option<ValueTemplate>,
    /// How often the node is tried. Default: once.
    pub(in crate::file) retry: Option<RetryText>,
    /// Time limit of the node. Time spent waiting for a person does not count.
    pub(in crate::file) timeout: Option<Length>,
    /// What to do when the last try has failed. Default: the run fails.
    pub(in crate::file) on_error: Option<OnErrorText>,
}

/// A model call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct ReasonText {
    /// The model, by its name under `models`.
    pub(in crate::file) model: WithSpan<String>,
    /// Models to try in turn when the previous one has failed.
    #[serde(default)]
    pub(in crate::file) fallback: Vec<WithSpan<String>>,
    /// What to do with partial text when a model fails midway: retract it (`restart`), or continue from it
    /// (`continue`).
    pub(in crate::file) failover: Option<FailoverText>,
    /// How often each model is tried on temporary errors. Default: 2.
    pub(in crate::file) attempts: Option<u32>,
    pub(in crate::file) system: Option<Template>,
    /// The prompt. Default: the person's message.
    pub(in crate::file) prompt: Option<Template>,
    /// Whether the model gets the conversation before this run. Default: yes.
    pub(in crate::file) history: Option<bool>,
    /// The JSON Schema of the answer. Without one, the answer is text.
    pub(in crate::file) schema: Option<WithSpan<Map<String, Value>>>,
    /// How often to ask again when the answer does not match the schema. Default: 0.
    pub(in crate::file) output_retries: Option<u32>,
    /// Shows the object field by field while the model writes it.
    pub(in crate::file) structured: Option<WithSpan<FieldsText>>,
    /// The tools it may call, by their names under `tools`.
    #[serde(default)]
    pub(in crate::file) tools: Vec<WithSpan<String>>,
    /// The MCP servers whose tools it may call, by their names under `mcp`.
    #[serde(default)]
    pub(in crate::file) mcp: Vec<WithSpan<String>>,
    /// Whether it may call tools that the page supplies. Default: yes, unless its answer is an object or
    /// hidden.
    pub(in crate::file) client_tools: Option<bool>,
    /// Which tool the model must call, if any.
    pub(in crate::file) tool_choice: Option<ToolChoiceText>,
    /// Options of tool calls.
    pub(in crate::file) tool_options: Option<ToolOptionsText>,
    /// Whether the model asks a person first.
    pub(in crate::file) interrupt: Option<AskText>,
    /// Whether readers see the answer. Default: yes.
    pub(in crate::file) emit: Option<bool>,
    /// Whether readers see the answer while it is written. Default: yes.
    pub(in crate::file) stream: Option<bool>,
    /// Options of the model.
    pub(in crate::file) options: Option<ModelOptionsText>,
    /// Time limit of the model call.
    pub(in crate::file) timeout: Option<Length>,
}

/// Options of a model.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct ModelOptionsText {
    /// Sampling temperature.
    pub(in crate::file) temperature: Option<f64>,
    /// Maximum length of the answer in tokens.
    pub(in crate::file) max_output_tokens: Option<u64>,
    /// Strings that end the answer.
    #[serde(default)]
    pub(in crate::file) stop: Vec<String>,
    /// Reasoning effort.
    pub(in crate::file) effort: Option<EffortText>,
    /// Reasoning budget in tokens.
    pub(in crate::file) thinking_tokens: Option<u64>,
    /// Options that are specific to a provider, by its name.
    #[serde(default)]
    pub(in crate::file) provider: Map<String, Value>,
}

/// Reasoning effort.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::file) enum EffortText {
    None,
    Minimal,
    Low,
    Medium,
    High,
}

impl From<EffortText> for ReasoningEffort {
    fn from(effort: EffortText) -> Self {
        match effort {
            EffortText::None => Self::None,
            EffortText::Minimal => Self::Minimal,
            EffortText::Low => Self::Low,
            EffortText::Medium => Self::Medium,
            EffortText::High => Self::High,
        }
    }
}

/// What to do with partial text when its model fails midway.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::file) enum FailoverText {
    Restart,
    Continue,
}

/// Which tools a model must call: any it wants, none, at least one, or this one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::file) enum ToolChoiceText {
    Auto,
    None,
    Required,
    Tool(WithSpan<String>),
}

/// Options of tool calls.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct ToolOptionsText {
    /// Maximum number of model calls. Default: 8.
    pub(in crate::file) max_steps: Option<u32>,
    /// Whether every call needs a person's approval, or none does. Default: as defined by the tool.
    pub(in crate::file) approval: Option<bool>,
    /// How long an approval stays open.
    pub(in crate::file) approval_expires: Option<Length>,
    /// Whether readers see the calls. Default: yes, except on pages that show calls only on demand (Kortyx).
    pub(in crate::file) emit: Option<bool>,
    /// Whether the node fails if the model still calls tools at the last step.
    pub(in crate::file) fail_at_max_steps: Option<bool>,
}

/// The fields of an object that are shown while they grow. Paths are dotted; `*` matches any one segment.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct FieldsText {
    /// The type of the object, as the page knows it.
    #[serde(rename = "type")]
    pub(in crate::file) data_type: String,
    /// The id of the stream. Default: generated.
    pub(in crate::file) stream: Option<String>,
    /// The name of the schema for the page.
    pub(in crate::file) schema: Option<SchemaNameText>,
    /// Fields that are shown once complete.
    #[serde(default)]
    pub(in crate::file) set: Vec<String>,
    /// Texts that are shown while they grow.
    #[serde(default)]
    pub(in crate::file) text: Vec<String>,
    /// Lists whose items are shown one by one.
    #[serde(default)]
    pub(in crate::file) append: Vec<String>,
}

/// The name of a schema for the page.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct SchemaNameText {
    pub(in crate::file) id: String,
    pub(in crate::file) version: String,
}

/// Whether the model must ask a person, and the schemas of question and answer.
#[derive(Debug, Clone)]
pub(in crate::file) struct AskText {
    pub(in crate::file) mode: AskModeText,
    pub(in crate::file) request: Option<WithSpan<Map<String, Value>>>,
    pub(in crate::file) response: Option<WithSpan<Map<String, Value>>>,
    pub(in crate::file) schema: Option<SchemaNameText>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::file) enum AskModeText {
    Required,
    Optional,
}

/// How a model asks a person.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Ask")]
struct AskFields {
    /// Whether it must ask.
    mode: AskModeText,
    /// The JSON Schema of the question.
    request: Option<WithSpan<Map<String, Value>>>,
    /// The JSON Schema of the answer.
    response: Option<WithSpan<Map<String, Value>>>,
    /// The name of the schema for the page.
    schema: Option<SchemaNameText>,
}

impl From<AskFields> for AskText {
    fn from(fields: AskFields) -> Self {
        let AskFields { mode, request, response, schema } = fields;
        Self { mode, request, response, schema }
    }
}

impl<'de> Deserialize<'de> for AskText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expecting = "`required`, `optional`, or a mapping with `mode`";
        text_or_map::<_, _, AskFields>(deserializer, expecting, |text| {
            let mode = match text {
                "required" => AskModeText::Required,
                "optional" => AskModeText::Optional,
                other => return Err(format!("`{other}` is neither `required` nor `optional`")),
            };
            Ok(Self { mode, request: None, response: None, schema: None })
        })
    }
}

impl JsonSchema for AskText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AskOrMode".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (mode, fields) =
            (generator.subschema_for::<AskModeText>(), generator.subschema_for::<AskFields>());
        schemars::json_schema!({ "anyOf": [mode, fields] })
    }
}

/// A question to a person: text, one of several options, or several of them with `multiple`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct InterruptText {
    pub(in crate::file) ask: Template,
    /// The options. The id of the chosen one is the condition of the edge to follow.
    #[serde(default)]
    pub(in crate::file) options: Vec<OptionText>,
    /// The options as an expression: a list of objects with `id`, `label` and optionally `description`.
    pub(in crate::file) options_from: Option<Expression>,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub(in crate::file) multiple: bool,
    /// How long the question stays open.
    pub(in crate::file) expires: Option<Length>,
    /// Whether the person may decline; the condition is then `declined`. Otherwise declining ends the run.
    #[serde(default)]
    pub(in crate::file) declinable: bool,
    /// The JSON Schema of the answer.
    pub(in crate::file) response: Option<WithSpan<Map<String, Value>>>,
    /// The name of the schema for the page.
    pub(in crate::file) schema: Option<SchemaNameText>,
    /// Additional data for the page.
    #[serde(default)]
    pub(in crate::file) meta: Map<String, Value>,
}

/// One option of a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct OptionText {
    /// The value of the answer.
    pub(in crate::file) id: WithSpan<String>,
    /// The text the person sees.
    pub(in crate::file) label: Template,
    /// A line of explanation.
    pub(in crate::file) description: Option<Template>,
}

/// An object to show. Fields are set first, then texts and items are appended, then it is finished.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct StructuredText {
    /// The type of the object, as the page knows it.
    #[serde(rename = "type")]
    pub(in crate::file) data_type: String,
    /// The id of the stream, so that several nodes can change one object. Default: generated.
    pub(in crate::file) stream: Option<Template>,
    /// The name of the schema for the page.
    pub(in crate::file) schema: Option<SchemaNameText>,
    /// Fields to set, by path.
    #[serde(default)]
    pub(in crate::file) set: NameMap<ValueTemplate>,
    /// Texts to append to text fields, by path.
    #[serde(default)]
    pub(in crate::file) text: NameMap<Template>,
    /// Items to append to list fields, by path.
    #[serde(default)]
    pub(in crate::file) append: NameMap<ValueTemplate>,
    /// The finished object.
    pub(in crate::file) finish: Option<ValueTemplate>,
}

/// How the edge is chosen: by an expression (`by`), by the first of `cases` that holds, or by a `model`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct RouteText {
    /// An expression whose value is the condition.
    pub(in crate::file) by: Option<Expression>,
    /// Conditions, tried in order.
    #[serde(default)]
    pub(in crate::file) cases: Vec<CaseText>,
    /// The model that chooses, by its name under `models`.
    pub(in crate::file) model: Option<WithSpan<String>>,
    /// Instructions to the model in addition to the list of conditions.
    pub(in crate::file) system: Option<Template>,
    /// The prompt. Default: the person's message.
    pub(in crate::file) prompt: Option<Template>,
    /// The conditions that the model chooses among, each with a description of when it applies.
    #[serde(default)]
    pub(in crate::file) among: NameMap<String>,
}

/// One condition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct CaseText {
    /// When it applies. Without one, always.
    pub(in crate::file) when: Option<Expression>,
    /// The resulting condition.
    pub(in crate::file) then: WithSpan<String>,
}

/// A transition to another workflow.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct TransitionText {
    /// The workflow.
    pub(in crate::file) to: WithSpan<String>,
    /// The input of that workflow. Default: the data.
    pub(in crate::file) payload: Option<ValueTemplate>,
}

/// Where to save a node's output.
#[derive(Debug, Clone)]
pub(in crate::file) enum SaveText {
    /// In the data, for the following nodes.
    Data(String),
    /// In the workflow's state, for all nodes of the run.
    State(String),
    /// In the state that is shared with the page.
    Shared(String),
}

/// Where to save a node's output, and under which name.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SavePlace")]
enum SaveFields {
    /// In the data, for the following nodes.
    Data(String),
    /// In the workflow's state, for all nodes of the run.
    State(String),
    /// In the state that is shared with the page.
    Shared(String),
}

impl From<SaveFields> for SaveText {
    fn from(fields: SaveFields) -> Self {
        match fields {
            SaveFields::Data(name) => Self::Data(name),
            SaveFields::State(name) => Self::State(name),
            SaveFields::Shared(name) => Self::Shared(name),
        }
    }
}

impl<'de> Deserialize<'de> for SaveText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expecting = "a name, or `data: name`, `state: name` or `shared: name`";
        text_or_map::<_, _, SaveFields>(deserializer, expecting, |name| Ok(Self::Data(name.to_owned())))
    }
}

impl JsonSchema for SaveText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Save".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let fields = generator.subschema_for::<SaveFields>();
        schemars::json_schema!({ "anyOf": [{ "type": "string" }, fields] })
    }
}

/// How often a node is tried.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct RetryText {
    /// Number of tries in all.
    pub(in crate::file) times: u32,
    /// The pause before the second try.
    pub(in crate::file) delay: Option<Length>,
    /// The factor by which the pause grows with each try.
    pub(in crate::file) backoff: Option<f64>,
}

/// What to do when the last try of a node has failed.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::file) enum OnErrorText {
    /// The run fails.
    Stop,
    /// Report the error to readers and follow the unconditional edges.
    Continue,
    /// Report the error to readers and continue at this node, whose data has the error as `error`.
    GoTo(WithSpan<String>),
}
