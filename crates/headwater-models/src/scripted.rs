//! A model that follows a script: no network, no key, and the same answer to the same request every time
//! (except for rules with `call`).
//!
//! A [`Script`] has rules. The first rule whose conditions hold answers with its steps. Scripts are written
//! in Rust or YAML:
//!
//! ```
//! # use headwater_models::scripted::{Script, ScriptedModel};
//! let script = Script::from_yaml(r#"
//! name: support
//! chunk: 8          # characters in a delta; without it, a word
//! pace: 0           # milliseconds before each delta; without it, none
//! rules:
//!   ## Fails twice; the third attempt is answered by the last rule.
//!   - when: { input_contains: refund, attempt: 0 }
//!     say:
//!       - text: Let me look at
//!       - fault: cut                                  # in the middle of the text
//!   - when: { input_contains: refund, attempt: 1 }
//!     say:
//!       - fault: { error: rate-limit, retry_after: 200, message: slow down }
//!
//!   ## Looks things up, two at once, and then uses what it found.
//!   - when: { after_tool: orders, result_contains: shipped }
//!     say:
//!       - text: "Your order {tool.orders} is on its way."
//!       - source: { url: "https://example.com/shipping", title: Shipping }
//!     usage: { inputTokens: 20, outputTokens: 9 }
//!     metadata: { scripted: { tier: demo } }
//!   - when: { input_starts_with: Where is, tool: orders, pass: 0 }
//!     say:
//!       - reasoning: They want their order.
//!       - tools:
//!           - { name: orders, input: { question: "{input}" } }
//!           - { name: weather, input: { city: Oslo }, id: "call-{turn}" }
//!
//!   ## An answer in JSON, where a schema is given.
//!   - when: { schema: true }
//!     say:
//!       - json: { subject: Hello, bullets: [one, two] }
//!
//!   ## Everything else.
//!   - say:
//!       - delay: 5
//!       - text: "You said: {input}"
//!     finish: stop
//! "#)?;
//! let model = ScriptedModel::new(script);
//! # use headwater_models::Model;
//! assert_eq!(model.name(), "scripted:support");
//! # Ok::<(), headwater_models::scripted::ScriptError>(())
//! ```
//!
//! | `when` | condition |
//! |---|---|
//! | `input`, `input_contains`, `input_starts_with` | the user's last message equals, contains or begins with this text |
//! | `system_contains` | the system messages contain it |
//! | `attempt` | number of failed attempts before this one; 0 is the first attempt |
//! | `pass` | how often the model has answered the user's last message; 1 after the first tools |
//! | `turn` | number of the user's message, from 1 |
//! | `call` | how often this model was called before, with any request; for a script that repeats one run |
//! | `after_tool`, with `result_contains` | the tool returned a result since the model's last answer, with this text in it |
//! | `schema` | whether the request asks for a JSON answer |
//! | `tool` | a tool of this name is offered |
//!
//! | step | emits |
//! |---|---|
//! | `text`, `reasoning` | text or reasoning; `{ text, metadata }` adds provider metadata to send back |
//! | `json` | a value, as text |
//! | `tool` | `{ name, input, id, metadata }`; `raw` instead of `input` need not be JSON; with `output` the provider ran it |
//! | `tools` | several calls whose deltas are interleaved |
//! | `source` | `{ url, title }`, or a document: `{ title, media_type, filename, text }` |
//! | `file` | `{ media_type, url }` |
//! | `warning` | `{ feature, message }` |
//! | `delay` | nothing; waits for this many milliseconds |
//! | `fault` | `stall`, `cut`, `malformed`, or `{ error, message, retry_after, status }`; `error` is a [`ModelErrorKind`] in snake case |
//!
//! In texts and in the strings of JSON values, `{input}`, `{turn}`, `{attempt}` and `{tool.NAME}` are
//! replaced by parts of the request. Token usage is estimated by counting words, unless a rule has `usage`.
//!
//! Delays and paces need a Tokio runtime; a script without them runs anywhere.

mod deserialize;
mod fault;
mod play;
mod script;
mod situation;
mod template;
mod when;
#[cfg(feature = "yaml")]
mod yaml;

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream};
use play::ScriptedAnswer;
use situation::Situation;

pub use fault::Fault;
pub use script::{Call, Rule, Script};
pub use when::When;
#[cfg(feature = "yaml")]
pub use yaml::ScriptError;

/// Number of requests kept for [`ScriptedModel::calls`].
const KEPT_CALLS: usize = 256;

/// A model that follows a script. Clones share the same model.
///
/// ```
/// use headwater_models::{Model, ModelRequest, scripted::{Rule, Script, ScriptedModel}};
///
/// let model = ScriptedModel::new(Script::new("echo").rule(Rule::always().text("{input}")));
/// let stream = model.ask(ModelRequest::new("Hello"));
/// assert_eq!(model.asked(), 0, "nothing is asked before the stream is polled");
/// # drop(stream);
/// ```
#[derive(Clone)]
pub struct ScriptedModel(Arc<ScriptedModelInner>);

struct ScriptedModelInner {
    name: String,
    script: Script,
    asked: AtomicU64,
    calls: Mutex<VecDeque<Arc<ModelRequest>>>,
}

impl ScriptedModel {
    /// A model named `scripted:` plus the script's name.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self(Arc::new(ScriptedModelInner {
            name: format!("scripted:{}", script.name()),
            script,
            asked: AtomicU64::new(0),
            calls: Mutex::default(),
        }))
    }

    /// The last 256 requests, oldest first.
    #[must_use]
    pub fn calls(&self) -> Vec<Arc<ModelRequest>> {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Number of calls so far.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.0.asked.load(Ordering::Relaxed)
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn ask(&self, request: ModelRequest) -> ModelStream {
        Box::pin(ScriptedAnswer::new(Arc::clone(&self.0), request))
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("name", &self.0.name).finish_non_exhaustive()
    }
}

impl ScriptedModelInner {
    /// Stores a request for [`ScriptedModel::calls`] and returns the number of earlier calls.
    fn note(&self, request: &Arc<ModelRequest>) -> u64 {
        let before = self.asked.fetch_add(1, Ordering::Relaxed);
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() == KEPT_CALLS {
            calls.pop_front();
        }
        calls.push_back(Arc::clone(request));
        before
    }

    fn choose(&self, request: &ModelRequest, call: u64) -> Result<Arc<Rule>, ModelError> {
        let situation = Situation::of(request).at_call(call);
        let rule = self.script.rules().iter().find(|rule| rule.when.holds(&situation));
        rule.cloned().ok_or_else(|| self.no_rule(&situation))
    }

    fn no_rule(&self, situation: &Situation<'_>) -> ModelError {
        let rules = self.script.rules().iter().enumerate();
        let rules: Vec<_> = rules.map(|(index, rule)| format!("{}. {}", index + 1, rule.when)).collect();
        let known = if rules.is_empty() { "none".to_owned() } else { rules.join("; ") };
        let message = format!(
            "no rule matches the input {:?} (turn {}, pass {}, attempt {}); rules: {known}. Add a rule without \
             conditions to answer everything else",
            situation.input(),
            situation.turn(),
            situation.pass(),
            situation.attempt(),
        );
        ModelError::new(ModelErrorKind::InvalidRequest, message).provider(&self.name)
    }
}
