//! The kinds of nodes, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::duration::Length;
use crate::file::{
    place::{Named, Placed, text_or_map},
    template::{Expression, Template, ValueTemplate},
};

/// A node: what it does, in exactly one of the fields from `reason` to `function`, and how it is treated.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct NodeText {
    /// What it does, for people.
    pub(in crate::file) description: Option<String>,
    /// Asks a model.
    pub(in crate::file) reason: Option<Box<ReasonText>>,
    /// Asks a person, and waits for the answer.
    pub(in crate::file) interrupt: Option<Placed<InterruptText>>,
    /// Shows an object, or changes one that is shown.
    pub(in crate::file) structured: Option<StructuredText>,
    /// Shows a message.
    pub(in crate::file) message: Option<Template>,
    /// Chooses the edge to follow.
    pub(in crate::file) route: Option<Placed<RouteText>>,
    /// Goes on with another workflow when this one has ended.
    pub(in crate::file) transition: Option<TransitionText>,
    /// Waits for so long.
    pub(in crate::file) wait: Option<Length>,
    /// Calls a function of the program.
    pub(in crate::file) function: Option<Placed<String>>,
    /// Keeps what the node gave, under a name. An object that is not saved is merged into the data.
    pub(in crate::file) save: Option<SaveText>,
    /// The run's public result, which readers get with its end. It may name `output`, what the node gave.
    pub(in crate::file) result: Option<ValueTemplate>,
    /// How often the node is tried: once.
    pub(in crate::file) retry: Option<RetryText>,
    /// How long the node may run; waiting for a person does not count.
    pub(in crate::file) timeout: Option<Length>,
    /// What happens when it has failed for good: the run stops.
    pub(in crate::file) on_error: Option<OnErrorText>,
}

/// A model call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct ReasonText {
    /// The model, by its name under `models`.
    pub(in crate::file) model: Placed<String>,
    /// Models that are asked in turn when the one before has failed for good.
    #[serde(default)]
    pub(in crate::file) fallback: Vec<Placed<String>>,
    /// What becomes of a text that a dying model leaves: it is taken back (restart), or gone on from (continue).
    pub(in crate::file) failover: Option<FailoverText>,
    /// How often each model is asked when it fails in a way that may pass: twice.
    pub(in crate::file) attempts: Option<u32>,
    /// Tells the model how to behave.
    pub(in crate::file) system: Option<Template>,
    /// What it is asked; otherwise what the person wrote.
    pub(in crate::file) prompt: Option<Template>,
    /// Whether it sees the conversation before this run; it does.
    pub(in crate::file) history: Option<bool>,
    /// The JSON Schema of its answer. An answer without one is a text.
    pub(in crate::file) schema: Option<Placed<Map<String, Value>>>,
    /// How often it is asked again when the answer does not fit: never.
    pub(in crate::file) output_retries: Option<u32>,
    /// Shows the object that it writes, field by field as it grows.
    pub(in crate::file) structured: Option<Placed<FieldsText>>,
    /// The tools that it may call, by their names under `tools`.
    #[serde(default)]
    pub(in crate::file) tools: Vec<Placed<String>>,
    /// The MCP servers whose tools it may call, by their names under `mcp`.
    #[serde(default)]
    pub(in crate::file) mcp: Vec<Placed<String>>,
    /// Whether it may call the tools that the page brings along. It may, unless it answers with an object or unseen.
    pub(in crate::file) client_tools: Option<bool>,
    /// Which of them it shall call.
    pub(in crate::file) tool_choice: Option<ToolChoiceText>,
    /// How tools are used.
    pub(in crate::file) tool_options: Option<ToolOptionsText>,
    /// Whether it asks a person first.
    pub(in crate::file) interrupt: Option<AskText>,
    /// Whether readers see anything of it; they do.
    pub(in crate::file) emit: Option<bool>,
    /// Whether readers see it grow; they do.
    pub(in crate::file) stream: Option<bool>,
    /// How it answers.
    pub(in crate::file) options: Option<ModelOptionsText>,
    /// Gives up after so long.
    pub(in crate::file) timeout: Option<Length>,
}

/// How a model answers.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct ModelOptionsText {
    /// How freely it chooses its words.
    pub(in crate::file) temperature: Option<f64>,
    /// How long its answer may be.
    pub(in crate::file) max_output_tokens: Option<u64>,
    /// Words at which it stops.
    #[serde(default)]
    pub(in crate::file) stop: Vec<String>,
    /// How much it thinks, in a word.
    pub(in crate::file) effort: Option<EffortText>,
    /// How much it thinks, in tokens.
    pub(in crate::file) thinking_tokens: Option<u64>,
    /// What only one provider understands, by the provider's name.
    #[serde(default)]
    pub(in crate::file) provider: Map<String, Value>,
}

/// How much a model thinks.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::file) enum EffortText {
    None,
    Minimal,
    Low,
    Medium,
    High,
}

/// What becomes of a text when its model dies in the middle.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::file) enum FailoverText {
    Restart,
    Continue,
}

/// Which tools a model shall call: those that it wants, none, at least one, or this one.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::file) enum ToolChoiceText {
    Auto,
    None,
    Required,
    Tool(Placed<String>),
}

/// How tools are used.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct ToolOptionsText {
    /// How often the model is asked at most: 8 times.
    pub(in crate::file) max_steps: Option<u32>,
    /// Whether every call needs a person's approval, or none does; otherwise the tool says it.
    pub(in crate::file) approval: Option<bool>,
    /// How long a person has to decide about a call.
    pub(in crate::file) approval_expires: Option<Length>,
    /// Whether readers see the calls; they do.
    pub(in crate::file) emit: Option<bool>,
    /// Whether the node fails when the model still wants tools after the last step.
    pub(in crate::file) fail_at_max_steps: Option<bool>,
}

/// The fields of an object that are shown as they grow. Paths are dotted; `*` is any one segment.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct FieldsText {
    /// What the object is, in the page's words.
    #[serde(rename = "type")]
    pub(in crate::file) data_type: String,
    /// The name of the stream; otherwise one is made.
    pub(in crate::file) stream: Option<String>,
    /// The name of the schema for the page.
    pub(in crate::file) schema: Option<SchemaNameText>,
    /// Fields that are shown when they are complete.
    #[serde(default)]
    pub(in crate::file) set: Vec<String>,
    /// Texts that are shown while they grow.
    #[serde(default)]
    pub(in crate::file) text: Vec<String>,
    /// Lists whose items are shown as they are completed.
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

/// Whether a model must ask a person, and what may be asked and answered.
#[derive(Debug, Clone)]
pub(in crate::file) struct AskText {
    pub(in crate::file) mode: AskModeText,
    pub(in crate::file) request: Option<Placed<Map<String, Value>>>,
    pub(in crate::file) response: Option<Placed<Map<String, Value>>>,
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
    /// Whether it must.
    mode: AskModeText,
    /// The JSON Schema of its question.
    request: Option<Placed<Map<String, Value>>>,
    /// The JSON Schema of the answer.
    response: Option<Placed<Map<String, Value>>>,
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

/// A question to a person: a text, a choice where there are options, several choices with `multiple`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct InterruptText {
    /// The question.
    pub(in crate::file) ask: Template,
    /// What there is to choose from. The id that is chosen is the condition of the edge to follow.
    #[serde(default)]
    pub(in crate::file) options: Vec<OptionText>,
    /// What there is to choose from, as an expression: a list of objects with `id`, `label` and maybe `description`.
    pub(in crate::file) options_from: Option<Expression>,
    /// Whether several may be chosen.
    #[serde(default)]
    pub(in crate::file) multiple: bool,
    /// How long the question is open.
    pub(in crate::file) expires: Option<Length>,
    /// Whether the person may decline; the condition is then `declined`. Otherwise declining ends the run.
    #[serde(default)]
    pub(in crate::file) declinable: bool,
    /// The JSON Schema of the answer.
    pub(in crate::file) response: Option<Placed<Map<String, Value>>>,
    /// The name of the schema for the page.
    pub(in crate::file) schema: Option<SchemaNameText>,
    /// What the page may want to know.
    #[serde(default)]
    pub(in crate::file) meta: Map<String, Value>,
}

/// One thing to choose.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct OptionText {
    /// What the answer is.
    pub(in crate::file) id: Placed<String>,
    /// What the person sees.
    pub(in crate::file) label: Template,
    /// A line about it.
    pub(in crate::file) description: Option<Template>,
}

/// An object that is shown. First the fields are set, then texts and items are appended, then it is finished.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct StructuredText {
    /// What the object is, in the page's words.
    #[serde(rename = "type")]
    pub(in crate::file) data_type: String,
    /// The name of the stream, so that several nodes change one object; otherwise one is made.
    pub(in crate::file) stream: Option<Template>,
    /// The name of the schema for the page.
    pub(in crate::file) schema: Option<SchemaNameText>,
    /// Fields that are set, by their paths.
    #[serde(default)]
    pub(in crate::file) set: Named<ValueTemplate>,
    /// Texts that are appended to text fields.
    #[serde(default)]
    pub(in crate::file) text: Named<Template>,
    /// Items that are appended to list fields.
    #[serde(default)]
    pub(in crate::file) append: Named<ValueTemplate>,
    /// The finished object.
    pub(in crate::file) finish: Option<ValueTemplate>,
}

/// How the edge is chosen: `by` an expression, by the first of `cases` that holds, or by a `model`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct RouteText {
    /// An expression that gives the condition itself.
    pub(in crate::file) by: Option<Expression>,
    /// Conditions that are tried in turn.
    #[serde(default)]
    pub(in crate::file) cases: Vec<CaseText>,
    /// The model that chooses, by its name under `models`.
    pub(in crate::file) model: Option<Placed<String>>,
    /// Tells the model more than the list of conditions.
    pub(in crate::file) system: Option<Template>,
    /// What the model is asked; otherwise what the person wrote.
    pub(in crate::file) prompt: Option<Template>,
    /// The conditions that the model chooses among, and when each is right.
    #[serde(default)]
    pub(in crate::file) among: Named<String>,
}

/// One condition.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct CaseText {
    /// When it holds; without it, always.
    pub(in crate::file) when: Option<Expression>,
    /// The condition that is given.
    pub(in crate::file) then: Placed<String>,
}

/// Another workflow that goes on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct TransitionText {
    /// The workflow.
    pub(in crate::file) to: Placed<String>,
    /// What is handed over; otherwise the data.
    pub(in crate::file) payload: Option<ValueTemplate>,
}

/// Where what a node gave is kept.
#[derive(Debug, Clone)]
pub(in crate::file) enum SaveText {
    /// In the data, for the nodes after it.
    Data(String),
    /// In the workflow's state, for all nodes of the run.
    State(String),
    /// In the state that is shared with the page.
    Shared(String),
}

/// Where what a node gave is kept, and under which name.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SavePlace")]
enum SaveFields {
    /// In the data, for the nodes after it.
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
    /// How often in all.
    pub(in crate::file) times: u32,
    /// The pause before the second try.
    pub(in crate::file) delay: Option<Length>,
    /// By how much the pause grows with each try.
    pub(in crate::file) backoff: Option<f64>,
}

/// What happens when a node has failed for good.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(in crate::file) enum OnErrorText {
    /// The run fails.
    Stop,
    /// The reader is told, and the plain edges are followed.
    Continue,
    /// The reader is told, and the run goes on at this node, whose data has the error as `error`.
    GoTo(Placed<String>),
}
