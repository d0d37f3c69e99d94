//! Scripts and their rules.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use headwater_protocol::{FinishReason, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::{
    fault::Fault,
    template::{JsonTemplate, ScriptTemplate},
    when::When,
};
use crate::Warning;

/// The rules of a scripted model. The first rule whose conditions hold answers.
///
/// ```
/// use headwater_models::scripted::{Rule, Script, When};
/// use serde_json::json;
///
/// let script = Script::new("weather")
///     .rule(Rule::when(When::after_tool("weather")).text("It is {tool.weather}."))
///     .rule(Rule::when(When::input_contains("weather")).tool("weather", json!({ "city": "Oslo" })))
///     .rule(Rule::always().text("I only know about the weather."));
/// assert_eq!(script.name(), "weather");
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    name: String,
    #[serde(default)]
    chunk: Option<NonZeroUsize>,
    #[serde(default, deserialize_with = "milliseconds")]
    pace: Option<Duration>,
    #[serde(default)]
    rules: Vec<Arc<Rule>>,
}

impl Script {
    /// A script without rules.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), chunk: None, pace: None, rules: Vec::new() }
    }

    /// Appends a rule.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(Arc::new(rule));
        self
    }

    /// Sets the number of characters per delta. Default: one word.
    #[must_use]
    pub fn chunk(mut self, characters: usize) -> Self {
        self.chunk = NonZeroUsize::new(characters);
        self
    }

    /// Sets the delay before each delta. Default: none.
    #[must_use]
    pub fn pace(mut self, wait: Duration) -> Self {
        self.pace = Some(wait);
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// How the texts of a rule are streamed.
    pub(super) fn rhythm(&self, rule: &Rule, whole: bool) -> Rhythm {
        if whole {
            return Rhythm { chunk: NonZeroUsize::new(usize::MAX), pace: None };
        }
        let pace = rule.pace.or(self.pace).filter(|wait| !wait.is_zero());
        Rhythm { chunk: rule.chunk.or(self.chunk), pace }
    }
}

/// How a text is split into deltas, and the delay before each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rhythm {
    /// Number of characters; one word if absent.
    pub(super) chunk: Option<NonZeroUsize>,
    pub(super) pace: Option<Duration>,
}

/// An answer: conditions, steps in order, and the finish reason.
///
/// A fault after a text, reasoning or tool call interrupts that part: it never ends.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    pub(super) when: When,
    pub(super) say: Vec<ScriptStep>,
    chunk: Option<NonZeroUsize>,
    #[serde(deserialize_with = "milliseconds")]
    pace: Option<Duration>,
    pub(super) finish: Option<FinishReason>,
    pub(super) usage: Option<Usage>,
    pub(super) metadata: Option<Value>,
}

impl Rule {
    /// A rule that answers if the conditions hold.
    #[must_use]
    pub fn when(when: When) -> Self {
        Self { when, ..Self::default() }
    }

    /// A rule that answers every request.
    #[must_use]
    pub fn always() -> Self {
        Self::default()
    }

    /// Emits text. `{input}`, `{turn}`, `{attempt}` and `{tool.NAME}` are replaced by parts of the request.
    #[must_use]
    pub fn text(self, text: impl AsRef<str>) -> Self {
        self.step(ScriptStep::Text(ScriptText { text: ScriptTemplate::new(text.as_ref()), metadata: None }))
    }

    /// Emits reasoning.
    #[must_use]
    pub fn reasoning(self, text: impl AsRef<str>) -> Self {
        self.step(ScriptStep::Reasoning(ScriptText {
            text: ScriptTemplate::new(text.as_ref()),
            metadata: None,
        }))
    }

    /// Emits reasoning with provider metadata to send back, such as a signature.
    #[must_use]
    pub fn signed_reasoning(self, text: impl AsRef<str>, metadata: Value) -> Self {
        self.step(ScriptStep::Reasoning(ScriptText {
            text: ScriptTemplate::new(text.as_ref()),
            metadata: Some(metadata),
        }))
    }

    /// Emits a value as JSON text. Its strings may contain placeholders.
    #[must_use]
    pub fn json(self, value: impl Into<Value>) -> Self {
        self.step(ScriptStep::Json(value.into().into()))
    }

    /// Calls a tool.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, input: impl Into<Value>) -> Self {
        self.step(ScriptStep::Tool(Call::new(name, input)))
    }

    /// Calls several tools at once, with interleaved deltas.
    #[must_use]
    pub fn tools(self, calls: impl IntoIterator<Item = Call>) -> Self {
        self.step(ScriptStep::Tools(calls.into_iter().collect()))
    }

    /// Cites a web page.
    #[must_use]
    pub fn source(self, url: impl Into<String>, title: impl Into<String>) -> Self {
        let source =
            ScriptSource { url: Some(url.into()), title: Some(title.into()), ..ScriptSource::default() };
        self.step(ScriptStep::Source(source))
    }

    /// Cites a passage of a document.
    #[must_use]
    pub fn document(self, title: impl Into<String>, text: impl Into<String>) -> Self {
        let source =
            ScriptSource { title: Some(title.into()), text: Some(text.into()), ..ScriptSource::default() };
        self.step(ScriptStep::Source(source))
    }

    /// Emits a file.
    #[must_use]
    pub fn file(self, media_type: impl Into<String>, url: impl Into<String>) -> Self {
        self.step(ScriptStep::File(ScriptFile { media_type: media_type.into(), url: url.into() }))
    }

    /// Emits a warning about an option.
    #[must_use]
    pub fn warning(self, feature: impl Into<String>, message: impl Into<String>) -> Self {
        self.step(ScriptStep::Warning(Warning::new(feature, message)))
    }

    /// Waits.
    #[must_use]
    pub fn delay(self, wait: Duration) -> Self {
        self.step(ScriptStep::Delay(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Fails. Later steps are never reached.
    #[must_use]
    pub fn fault(self, fault: Fault) -> Self {
        self.step(ScriptStep::Fault(fault))
    }

    /// Sets the number of characters per delta of this rule.
    #[must_use]
    pub fn chunk(mut self, characters: usize) -> Self {
        self.chunk = NonZeroUsize::new(characters);
        self
    }

    /// Sets the delay before each delta of this rule.
    #[must_use]
    pub fn pace(mut self, wait: Duration) -> Self {
        self.pace = Some(wait);
        self
    }

    /// Sets the finish reason. Default: tool calls if there are any, otherwise stop.
    #[must_use]
    pub fn finish(mut self, reason: FinishReason) -> Self {
        self.finish = Some(reason);
        self
    }

    /// Sets the token usage. Default: the number of words.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Sets metadata of the answer, keyed by provider name.
    #[must_use]
    pub fn metadata(mut self, metadata: impl Into<Value>) -> Self {
        self.metadata = Some(metadata.into());
        self
    }

    fn step(mut self, step: ScriptStep) -> Self {
        self.say.push(step);
        self
    }

    /// Whether the next step is a fault, which leaves the parts of this step open.
    pub(super) fn is_cut_short(&self, step: usize) -> bool {
        matches!(self.say.get(step + 1), Some(ScriptStep::Fault(_)))
    }

    /// Whether the caller must run a tool before the model can continue.
    pub(super) fn wants_tools(&self) -> bool {
        self.say.iter().any(|step| match step {
            ScriptStep::Tool(call) => call.output.is_none(),
            ScriptStep::Tools(calls) => calls.iter().any(|call| call.output.is_none()),
            _ => false,
        })
    }
}

/// One step of a rule.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ScriptStep {
    Reasoning(ScriptText),
    Text(ScriptText),
    Json(JsonTemplate),
    Tool(Call),
    Tools(Vec<Call>),
    Source(ScriptSource),
    File(ScriptFile),
    Warning(Warning),
    /// Milliseconds.
    Delay(u64),
    Fault(Fault),
}

/// A text with provider metadata.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScriptText {
    pub(super) text: ScriptTemplate,
    pub(super) metadata: Option<Value>,
}

/// A tool call of a script.
///
/// ```
/// use headwater_models::scripted::Call;
/// use serde_json::json;
///
/// let call = Call::new("search", json!({ "q": "{input}" })).id("call-{turn}");
/// let broken = Call::raw("search", r#"{"q": "#);
/// # drop((call, broken));
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub(super) name: String,
    #[serde(default)]
    pub(super) input: Option<JsonTemplate>,
    #[serde(default)]
    pub(super) raw: Option<ScriptTemplate>,
    #[serde(default)]
    pub(super) id: Option<ScriptTemplate>,
    #[serde(default)]
    pub(super) output: Option<JsonTemplate>,
    #[serde(default)]
    pub(super) metadata: Option<Value>,
}

impl Call {
    /// A call with an input, whose strings may contain placeholders.
    #[must_use]
    pub fn new(name: impl Into<String>, input: impl Into<Value>) -> Self {
        let input = Some(JsonTemplate::from(input.into()));
        Self { name: name.into(), input, raw: None, id: None, output: None, metadata: None }
    }

    /// A call with an input that need not be JSON.
    #[must_use]
    pub fn raw(name: impl Into<String>, text: impl AsRef<str>) -> Self {
        let raw = Some(ScriptTemplate::new(text.as_ref()));
        Self { name: name.into(), input: None, raw, id: None, output: None, metadata: None }
    }

    /// Sets the id of the call. Default: derived from the request.
    #[must_use]
    pub fn id(mut self, id: impl AsRef<str>) -> Self {
        self.id = Some(ScriptTemplate::new(id.as_ref()));
        self
    }

    /// Makes the provider run the tool, with this output.
    #[must_use]
    pub fn output(mut self, output: impl Into<Value>) -> Self {
        self.output = Some(JsonTemplate::from(output.into()));
        self
    }

    /// Sets provider metadata to send back with the next turn.
    #[must_use]
    pub fn metadata(mut self, metadata: impl Into<Value>) -> Self {
        self.metadata = Some(metadata.into());
        self
    }
}

/// A web page, or a document if it has no URL.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ScriptSource {
    pub(super) url: Option<String>,
    pub(super) title: Option<String>,
    pub(super) media_type: Option<String>,
    pub(super) filename: Option<String>,
    pub(super) text: Option<String>,
    pub(super) metadata: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptFile {
    pub(super) media_type: String,
    pub(super) url: String,
}

fn milliseconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
}
