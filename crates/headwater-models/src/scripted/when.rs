//! Conditions of a rule.

use std::fmt;

use serde::Deserialize;

use super::situation::Situation;

/// The conditions of a rule; all must hold.
///
/// ```
/// use headwater_models::scripted::When;
///
/// let second_try = When::input_contains("refund").and(When::attempt(1));
/// assert_eq!(second_try.to_string(), r#"input contains "refund" and attempt is 1"#);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WhenFields")]
pub struct When(Vec<Condition>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    Input(TextMatch),
    System(TextMatch),
    Attempt(u32),
    Pass(usize),
    Turn(usize),
    Call(u64),
    AfterTool { name: String, result_contains: Option<String> },
    Schema(bool),
    Tool(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TextMatch {
    Equals(String),
    Contains(String),
    StartsWith(String),
}

/// The conditions as written in YAML.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct WhenFields {
    input: Option<String>,
    input_contains: Option<String>,
    input_starts_with: Option<String>,
    system_contains: Option<String>,
    attempt: Option<u32>,
    pass: Option<usize>,
    turn: Option<usize>,
    call: Option<u64>,
    after_tool: Option<String>,
    result_contains: Option<String>,
    schema: Option<bool>,
    tool: Option<String>,
}

impl When {
    /// Always holds.
    #[must_use]
    pub fn always() -> Self {
        Self::default()
    }

    /// The user's last message equals this text.
    #[must_use]
    pub fn input(text: impl Into<String>) -> Self {
        Self(vec![Condition::Input(TextMatch::Equals(text.into()))])
    }

    /// The user's last message contains this text.
    #[must_use]
    pub fn input_contains(text: impl Into<String>) -> Self {
        Self(vec![Condition::Input(TextMatch::Contains(text.into()))])
    }

    /// The user's last message begins with this text.
    #[must_use]
    pub fn input_starts_with(text: impl Into<String>) -> Self {
        Self(vec![Condition::Input(TextMatch::StartsWith(text.into()))])
    }

    /// The system messages contain this text.
    #[must_use]
    pub fn system_contains(text: impl Into<String>) -> Self {
        Self(vec![Condition::System(TextMatch::Contains(text.into()))])
    }

    /// This many attempts failed before; 0 is the first attempt.
    #[must_use]
    pub fn attempt(attempt: u32) -> Self {
        Self(vec![Condition::Attempt(attempt)])
    }

    /// The model has answered the user's last message this often: 0 first, 1 after the first tools.
    #[must_use]
    pub fn pass(pass: usize) -> Self {
        Self(vec![Condition::Pass(pass)])
    }

    /// It is the user's n-th message, from 1.
    #[must_use]
    pub fn turn(turn: usize) -> Self {
        Self(vec![Condition::Turn(turn)])
    }

    /// This model was called this often before, with any request. A script of such rules repeats one run and
    /// must be recreated for the next.
    #[must_use]
    pub fn call(call: u64) -> Self {
        Self(vec![Condition::Call(call)])
    }

    /// The tool returned a result since the model's last answer.
    #[must_use]
    pub fn after_tool(name: impl Into<String>) -> Self {
        Self(vec![Condition::AfterTool { name: name.into(), result_contains: None }])
    }

    /// The tool returned a result that contains this text since the model's last answer.
    #[must_use]
    pub fn tool_gave(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self(vec![Condition::AfterTool { name: name.into(), result_contains: Some(text.into()) }])
    }

    /// Whether the request asks for a JSON answer.
    #[must_use]
    pub fn schema(wanted: bool) -> Self {
        Self(vec![Condition::Schema(wanted)])
    }

    /// A tool of this name is offered.
    #[must_use]
    pub fn tool_offered(name: impl Into<String>) -> Self {
        Self(vec![Condition::Tool(name.into())])
    }

    /// Both conditions hold.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(super) fn holds(&self, situation: &Situation<'_>) -> bool {
        self.0.iter().all(|condition| condition.holds(situation))
    }
}

impl Condition {
    fn holds(&self, situation: &Situation<'_>) -> bool {
        match self {
            Self::Input(text) => text.fits(&situation.input()),
            Self::System(text) => text.fits(&situation.system()),
            Self::Attempt(attempt) => situation.attempt() == *attempt,
            Self::Pass(pass) => situation.pass() == *pass,
            Self::Turn(turn) => situation.turn() == *turn,
            Self::Call(call) => situation.call() == *call,
            Self::AfterTool { name, result_contains } => situation.fresh_result(name).is_some_and(|result| {
                result_contains.as_ref().is_none_or(|wanted| result.contains(wanted.as_str()))
            }),
            Self::Schema(wanted) => situation.offers_schema() == *wanted,
            Self::Tool(name) => situation.offers_tool(name),
        }
    }
}

impl TextMatch {
    fn fits(&self, text: &str) -> bool {
        match self {
            Self::Equals(wanted) => text == wanted,
            Self::Contains(wanted) => text.contains(wanted.as_str()),
            Self::StartsWith(wanted) => text.starts_with(wanted.as_str()),
        }
    }
}

impl TryFrom<WhenFields> for When {
    type Error = &'static str;

    fn try_from(fields: WhenFields) -> Result<Self, Self::Error> {
        if fields.result_contains.is_some() && fields.after_tool.is_none() {
            return Err("`result_contains` needs `after_tool`: name the tool that returns the result");
        }
        let mut conditions = Vec::new();
        conditions.extend(fields.input.map(|text| Condition::Input(TextMatch::Equals(text))));
        conditions.extend(fields.input_contains.map(|text| Condition::Input(TextMatch::Contains(text))));
        conditions.extend(fields.input_starts_with.map(|text| Condition::Input(TextMatch::StartsWith(text))));
        conditions.extend(fields.system_contains.map(|text| Condition::System(TextMatch::Contains(text))));
        conditions.extend(fields.attempt.map(Condition::Attempt));
        conditions.extend(fields.pass.map(Condition::Pass));
        conditions.extend(fields.turn.map(Condition::Turn));
        conditions.extend(fields.call.map(Condition::Call));
        let result_contains = fields.result_contains;
        conditions.extend(fields.after_tool.map(|name| Condition::AfterTool { name, result_contains }));
        conditions.extend(fields.schema.map(Condition::Schema));
        conditions.extend(fields.tool.map(Condition::Tool));
        Ok(Self(conditions))
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("always");
        }
        for (index, condition) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" and ")?;
            }
            write!(f, "{condition}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(text) => write!(f, "input {text}"),
            Self::System(text) => write!(f, "system {text}"),
            Self::Attempt(attempt) => write!(f, "attempt is {attempt}"),
            Self::Pass(pass) => write!(f, "pass is {pass}"),
            Self::Turn(turn) => write!(f, "turn is {turn}"),
            Self::Call(call) => write!(f, "call is {call}"),
            Self::AfterTool { name, result_contains: None } => write!(f, "after tool {name:?}"),
            Self::AfterTool { name, result_contains: Some(text) } => {
                write!(f, "after tool {name:?} returned {text:?}")
            }
            Self::Schema(true) => f.write_str("a schema is given"),
            Self::Schema(false) => f.write_str("no schema is given"),
            Self::Tool(name) => write!(f, "tool {name:?} is offered"),
        }
    }
}

impl fmt::Display for TextMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equals(text) => write!(f, "is {text:?}"),
            Self::Contains(text) => write!(f, "contains {text:?}"),
            Self::StartsWith(text) => write!(f, "starts with {text:?}"),
        }
    }
}
