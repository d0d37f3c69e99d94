//! A script: rules, each with what it says.

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use headwater_protocol::{FinishReason, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::{
    fault::Fault,
    template::{JsonTemplate, Template},
    when::When,
};
use crate::Warning;

/// What a scripted model says to what. The first rule whose conditions hold answers.
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

    /// Adds a rule after the others.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(Arc::new(rule));
        self
    }

    /// Says how many characters a delta has. Otherwise it has a word.
    #[must_use]
    pub fn chunk(mut self, characters: usize) -> Self {
        self.chunk = NonZeroUsize::new(characters);
        self
    }

    /// Says how long to wait before each delta. Otherwise there is no wait.
    #[must_use]
    pub fn pace(mut self, wait: Duration) -> Self {
        self.pace = Some(wait);
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }

    /// How a rule's texts are said.
    pub(super) fn rhythm(&self, rule: &Rule, whole: bool) -> Rhythm {
        if whole {
            return Rhythm { chunk: NonZeroUsize::new(usize::MAX), pace: None };
        }
        let pace = rule.pace.or(self.pace).filter(|wait| !wait.is_zero());
        Rhythm { chunk: rule.chunk.or(self.chunk), pace }
    }
}

/// How a text is cut into pieces, and how long to wait before each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rhythm {
    /// In characters; otherwise in words.
    pub(super) chunk: Option<NonZeroUsize>,
    pub(super) pace: Option<Duration>,
}

/// What is said when some conditions hold: steps, in order, and how the answer ends.
///
/// A fault that follows a text, a thought or a tool call strikes in the middle of it: that part never ends.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    pub(super) when: When,
    pub(super) say: Vec<Step>,
    chunk: Option<NonZeroUsize>,
    #[serde(deserialize_with = "milliseconds")]
    pace: Option<Duration>,
    pub(super) finish: Option<FinishReason>,
    pub(super) usage: Option<Usage>,
    pub(super) metadata: Option<Value>,
}

impl Rule {
    /// A rule that answers when the conditions hold.
    #[must_use]
    pub fn when(when: When) -> Self {
        Self { when, ..Self::default() }
    }

    /// A rule that answers everything.
    #[must_use]
    pub fn always() -> Self {
        Self::default()
    }

    /// Says a text. `{input}`, `{turn}`, `{attempt}` and `{tool.NAME}` stand for parts of the request.
    #[must_use]
    pub fn text(self, text: impl AsRef<str>) -> Self {
        self.step(Step::Text(Words { text: Template::new(text.as_ref()), metadata: None }))
    }

    /// Thinks a thought.
    #[must_use]
    pub fn reasoning(self, text: impl AsRef<str>) -> Self {
        self.step(Step::Reasoning(Words { text: Template::new(text.as_ref()), metadata: None }))
    }

    /// Thinks a thought with what the provider wants back, such as a signature.
    #[must_use]
    pub fn signed_reasoning(self, text: impl AsRef<str>, metadata: Value) -> Self {
        self.step(Step::Reasoning(Words { text: Template::new(text.as_ref()), metadata: Some(metadata) }))
    }

    /// Says a value as JSON text. Its strings may have places for parts of the request, like a text.
    #[must_use]
    pub fn json(self, value: impl Into<Value>) -> Self {
        self.step(Step::Json(value.into().into()))
    }

    /// Calls a tool.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, input: impl Into<Value>) -> Self {
        self.step(Step::Tool(Call::new(name, input)))
    }

    /// Calls several tools at once: the pieces of their inputs take turns.
    #[must_use]
    pub fn tools(self, calls: impl IntoIterator<Item = Call>) -> Self {
        self.step(Step::Tools(calls.into_iter().collect()))
    }

    /// Names a page that the answer rests on.
    #[must_use]
    pub fn source(self, url: impl Into<String>, title: impl Into<String>) -> Self {
        let source = Source { url: Some(url.into()), title: Some(title.into()), ..Source::default() };
        self.step(Step::Source(source))
    }

    /// Names a document that the answer rests on, with the passage.
    #[must_use]
    pub fn document(self, title: impl Into<String>, text: impl Into<String>) -> Self {
        let source = Source { title: Some(title.into()), text: Some(text.into()), ..Source::default() };
        self.step(Step::Source(source))
    }

    /// Gives a file.
    #[must_use]
    pub fn file(self, media_type: impl Into<String>, url: impl Into<String>) -> Self {
        self.step(Step::File(File { media_type: media_type.into(), url: url.into() }))
    }

    /// Says that an option was not honoured.
    #[must_use]
    pub fn warning(self, feature: impl Into<String>, message: impl Into<String>) -> Self {
        self.step(Step::Warning(Warning::new(feature, message)))
    }

    /// Waits.
    #[must_use]
    pub fn delay(self, wait: Duration) -> Self {
        self.step(Step::Delay(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Goes wrong. What comes after it is never said.
    #[must_use]
    pub fn fault(self, fault: Fault) -> Self {
        self.step(Step::Fault(fault))
    }

    /// Says how many characters a delta of this rule has.
    #[must_use]
    pub fn chunk(mut self, characters: usize) -> Self {
        self.chunk = NonZeroUsize::new(characters);
        self
    }

    /// Says how long to wait before each delta of this rule.
    #[must_use]
    pub fn pace(mut self, wait: Duration) -> Self {
        self.pace = Some(wait);
        self
    }

    /// Says why the answer ends. Otherwise it is tool calls if there are some, or stop.
    #[must_use]
    pub fn finish(mut self, reason: FinishReason) -> Self {
        self.finish = Some(reason);
        self
    }

    /// Says what the answer used. Otherwise words are counted.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Says what else the provider said about the answer, by the provider's name.
    #[must_use]
    pub fn metadata(mut self, metadata: impl Into<Value>) -> Self {
        self.metadata = Some(metadata.into());
        self
    }

    fn step(mut self, step: Step) -> Self {
        self.say.push(step);
        self
    }

    /// Whether the step after this one is a fault, which leaves the parts of this one open.
    pub(super) fn is_cut_short(&self, step: usize) -> bool {
        matches!(self.say.get(step + 1), Some(Step::Fault(_)))
    }

    /// Whether somebody must run a tool before the model can go on.
    pub(super) fn wants_tools(&self) -> bool {
        self.say.iter().any(|step| match step {
            Step::Tool(call) => call.output.is_none(),
            Step::Tools(calls) => calls.iter().any(|call| call.output.is_none()),
            _ => false,
        })
    }
}

/// One thing that a rule says.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Step {
    Reasoning(Words),
    Text(Words),
    Json(JsonTemplate),
    Tool(Call),
    Tools(Vec<Call>),
    Source(Source),
    File(File),
    Warning(Warning),
    /// In milliseconds.
    Delay(u64),
    Fault(Fault),
}

/// A text, and what the provider says about it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Words {
    pub(super) text: Template,
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
    pub(super) raw: Option<Template>,
    #[serde(default)]
    pub(super) id: Option<Template>,
    #[serde(default)]
    pub(super) output: Option<JsonTemplate>,
    #[serde(default)]
    pub(super) metadata: Option<Value>,
}

impl Call {
    /// A call of a tool with an input. Its strings may have places for parts of the request.
    #[must_use]
    pub fn new(name: impl Into<String>, input: impl Into<Value>) -> Self {
        let input = Some(JsonTemplate::from(input.into()));
        Self { name: name.into(), input, raw: None, id: None, output: None, metadata: None }
    }

    /// A call of a tool with an input that need not be JSON.
    #[must_use]
    pub fn raw(name: impl Into<String>, text: impl AsRef<str>) -> Self {
        let raw = Some(Template::new(text.as_ref()));
        Self { name: name.into(), input: None, raw, id: None, output: None, metadata: None }
    }

    /// Gives the call an id. Otherwise it is made from the request.
    #[must_use]
    pub fn id(mut self, id: impl AsRef<str>) -> Self {
        self.id = Some(Template::new(id.as_ref()));
        self
    }

    /// Lets the provider run the tool, with this outcome.
    #[must_use]
    pub fn output(mut self, output: impl Into<Value>) -> Self {
        self.output = Some(JsonTemplate::from(output.into()));
        self
    }

    /// Says what the provider says about the call and wants back.
    #[must_use]
    pub fn metadata(mut self, metadata: impl Into<Value>) -> Self {
        self.metadata = Some(metadata.into());
        self
    }
}

/// A page, or without an address a document.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Source {
    pub(super) url: Option<String>,
    pub(super) title: Option<String>,
    pub(super) media_type: Option<String>,
    pub(super) filename: Option<String>,
    pub(super) text: Option<String>,
    pub(super) metadata: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) media_type: String,
    pub(super) url: String,
}

fn milliseconds<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
}
