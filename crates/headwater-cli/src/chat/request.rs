//! What a run waits for, asked at the prompt.

use headwater_client::{Answer, PendingRequest};
use headwater_protocol::{Interrupt, InterruptKind};
use serde_json::{Value, json};

use super::{
    form::FormProgress,
    markdown::{self, MarkdownLook},
    object::{self, indented, summary},
    styled::StyledLine,
};
use crate::style::{BOLD, CYAN, DIM, PLAIN, RED, YELLOW};

/// A request of the run while a person answers it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RequestPrompt {
    request: PendingRequest,
    kind: RequestKind,
    options: Vec<RequestOption>,
    /// The option that Enter takes. An approval has none at first: a key pressed too early must not approve.
    highlight: Option<usize>,
    /// Why the last answer was not taken.
    pub(super) problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum RequestKind {
    Text,
    Choice,
    MultiChoice,
    Form(FormProgress),
    Approval,
    PageTool,
}

#[derive(Debug, Clone, PartialEq)]
struct RequestOption {
    id: String,
    label: String,
    description: Option<String>,
    chosen: bool,
}

impl RequestOption {
    fn new(id: &str, label: &str, description: Option<String>) -> Self {
        Self { id: id.to_owned(), label: label.to_owned(), description, chosen: false }
    }
}

impl RequestPrompt {
    pub(super) fn new(request: PendingRequest) -> Self {
        let (kind, options) = match &request {
            PendingRequest::Question(interrupt) => question(interrupt),
            PendingRequest::Approval { .. } => (
                RequestKind::Approval,
                vec![RequestOption::new("yes", "Yes, call it", None), RequestOption::new("no", "No", None)],
            ),
            _ => (RequestKind::PageTool, Vec::new()),
        };
        let highlight = matches!(kind, RequestKind::Choice | RequestKind::MultiChoice).then_some(0);
        Self { request, kind, options, highlight, problem: None }
    }

    /// The request that is asked for.
    pub(super) fn request(&self) -> &PendingRequest {
        &self.request
    }

    /// Identifies the request among those of its run.
    pub(super) fn id(&self) -> &str {
        id(&self.request)
    }

    /// Moves to another option. Gives whether there are options.
    pub(super) fn step(&mut self, down: bool) -> bool {
        let count = self.options.len();
        if count == 0 {
            return false;
        }
        self.highlight = Some(match self.highlight {
            None => 0,
            Some(at) if down => (at + 1) % count,
            Some(at) => (at + count - 1) % count,
        });
        true
    }

    /// Chooses the option under the highlight, or does not choose it any longer. Gives whether several can be chosen.
    pub(super) fn toggle(&mut self) -> bool {
        if self.kind != RequestKind::MultiChoice {
            return false;
        }
        if let Some(option) = self.highlight.and_then(|at| self.options.get_mut(at)) {
            option.chosen = !option.chosen;
        }
        true
    }

    /// The server did not take the answer.
    pub(super) fn refuse(&mut self, problem: String) {
        if let RequestKind::Form(form) = &mut self.kind {
            form.restart();
        }
        self.problem = Some(problem);
    }

    /// The answer that a typed text gives. A form gives it once all of its fields were asked for.
    pub(super) fn submit(&mut self, typed: &str) -> Option<Answer> {
        match self.read(typed) {
            Ok(answer) => {
                self.problem = None;
                answer
            }
            Err(problem) => {
                self.problem = Some(problem);
                None
            }
        }
    }

    /// The answer of a person who does not want to answer.
    pub(super) fn decline(&self) -> Answer {
        match &self.request {
            PendingRequest::Approval { .. } => Answer::deny(""),
            PendingRequest::ClientTool { name, .. } => Answer::output_error(not_available(name)),
            _ => Answer::declined(),
        }
    }

    fn read(&mut self, typed: &str) -> Result<Option<Answer>, String> {
        let text = typed.trim();
        match &mut self.kind {
            RequestKind::Text if text.is_empty() => Err("type an answer, or `/decline`".to_owned()),
            RequestKind::Text => Ok(Some(Answer::value(typed))),
            RequestKind::Form(form) => Ok(form.submit(typed)?.map(Answer::value)),
            RequestKind::Choice => {
                let option = match text {
                    "" => self.highlight.and_then(|at| self.options.get(at)).ok_or("choose an option")?,
                    _ => self.option(text)?,
                };
                Ok(Some(Answer::value(option.id.clone())))
            }
            RequestKind::MultiChoice => {
                let ids: Vec<Value> = match text {
                    "" => {
                        let chosen = self.options.iter().filter(|option| option.chosen);
                        chosen.map(|option| json!(option.id)).collect()
                    }
                    _ => {
                        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                        items.map(|item| Ok(json!(self.option(item)?.id))).collect::<Result<_, String>>()?
                    }
                };
                Ok(Some(Answer::value(ids)))
            }
            RequestKind::Approval => self.read_approval(text).map(Some),
            RequestKind::PageTool => match serde_json::from_str::<Value>(text) {
                Ok(output) => Ok(Some(Answer::output(output))),
                Err(_) => Err("type the output as JSON, or `/decline`".to_owned()),
            },
        }
    }

    fn read_approval(&self, text: &str) -> Result<Answer, String> {
        if text.starts_with('{') {
            let input: Value =
                serde_json::from_str(text).map_err(|error| format!("the input is not JSON: {error}"))?;
            return Ok(Answer::approve_with(input));
        }
        let (word, reason) = text.split_once([' ', ',']).unwrap_or((text, ""));
        let highlight = self.highlight.map(|at| if at == 0 { "yes" } else { "no" });
        match word.to_lowercase().as_str() {
            "" if highlight == Some("yes") => Ok(Answer::approve()),
            "" if highlight == Some("no") => Ok(Answer::deny("")),
            "y" | "yes" | "1" if reason.is_empty() => Ok(Answer::approve()),
            "n" | "no" | "2" => Ok(Answer::deny(reason.trim())),
            _ => Err("type `y`, `n`, or `n` and a reason".to_owned()),
        }
    }

    /// The option of this number, id or label.
    fn option(&self, text: &str) -> Result<&RequestOption, String> {
        let same = |option: &&RequestOption| {
            option.id.eq_ignore_ascii_case(text) || option.label.eq_ignore_ascii_case(text)
        };
        let nth = || self.options.get(text.parse::<usize>().ok()?.checked_sub(1)?);
        let begins = || {
            let lower = text.to_lowercase();
            let mut fitting =
                self.options.iter().filter(|option| option.label.to_lowercase().starts_with(&lower));
            fitting.next().filter(|_| fitting.next().is_none())
        };
        let found = self.options.iter().find(same).or_else(nth).or_else(begins);
        found.ok_or_else(|| {
            format!("`{text}` is not among the options: type a number from 1 to {}", self.options.len())
        })
    }

    /// The question with its options, and what to type.
    pub(super) fn lines(&self, position: (usize, usize), look: MarkdownLook) -> Vec<StyledLine> {
        let mut lines = self.question_lines(position, look);
        for (at, option) in self.options.iter().enumerate() {
            let highlight = self.highlight == Some(at);
            let mark = if highlight { "❯" } else { " " };
            let chosen = match (&self.kind, option.chosen) {
                (RequestKind::MultiChoice, true) => "☑ ",
                (RequestKind::MultiChoice, false) => "☐ ",
                _ => "",
            };
            let style = if highlight { CYAN.bold() } else { PLAIN };
            let mut line = StyledLine::of(CYAN, &format!("  {mark} "));
            line.push(style, &format!("{chosen}{}. {}", at + 1, option.label));
            if let Some(description) = &option.description {
                line.push(DIM, &format!("  {description}"));
            }
            lines.push(line.truncate(look.width));
        }
        if let Some(problem) = &self.problem {
            let indent = StyledLine::plain("  ");
            lines.extend(StyledLine::of(RED, problem).wrap_behind(&indent, &indent, look.width));
        }
        let hint = StyledLine::dim(&format!("  {}", self.hint()));
        lines.push(hint.truncate(look.width));
        lines
    }

    fn question_lines(&self, (at, of): (usize, usize), look: MarkdownLook) -> Vec<StyledLine> {
        let count = if of > 1 { format!(" ({at} of {of})") } else { String::new() };
        let mark = StyledLine::of(YELLOW, "? ");
        let within = MarkdownLook { width: look.width.saturating_sub(2).max(8), ..look };
        let mut lines = match &self.request {
            PendingRequest::Question(interrupt) => {
                let text = interrupt.question.as_deref().unwrap_or("The run asks for an answer.");
                markdown::render(text, within)
            }
            PendingRequest::Approval { name, .. } => {
                vec![StyledLine::plain("Allow the call of ").add(BOLD, name).add(PLAIN, "?")]
            }
            PendingRequest::ClientTool { name, .. } => {
                let head = StyledLine::plain("The run waits for ").add(BOLD, name);
                vec![head.add(PLAIN, ", a tool of the page: not available here")]
            }
            _ => vec![StyledLine::plain("The run waits for something that this version does not know.")],
        };
        if let (Some(line), false) = (lines.last_mut(), count.is_empty()) {
            line.push(DIM, &count);
        }
        if let PendingRequest::Approval { input: Some(input), .. }
        | PendingRequest::ClientTool { input: Some(input), .. } = &self.request
        {
            lines.extend(indented(object::lines(input, within), "  "));
        }
        if let RequestKind::Form(form) = &self.kind {
            lines.extend(form_lines(form, within));
        }
        let mut prefix = mark;
        let behind = |line: StyledLine| {
            let mut out = std::mem::replace(&mut prefix, StyledLine::plain("  "));
            out.append(line);
            out
        };
        lines.into_iter().map(behind).collect()
    }

    fn hint(&self) -> String {
        match &self.kind {
            RequestKind::Text => "type an answer · /decline".to_owned(),
            RequestKind::Choice => "↑ ↓ and Enter, or a number · /decline".to_owned(),
            RequestKind::MultiChoice => {
                "↑ ↓, Space to choose and Enter, or numbers: 1, 3 · /decline".to_owned()
            }
            RequestKind::Approval => "y or n · n REASON · {…} to allow it with another input".to_owned(),
            RequestKind::PageTool => {
                "/decline answers that it is not available · or type its output as JSON".to_owned()
            }
            RequestKind::Form(form) => {
                let Some((field, ..)) = form.current() else { return String::new() };
                let empty = match &field.default {
                    Some(default) => format!(" · Enter: {}", summary(default)),
                    None if field.required => String::new(),
                    None => " · Enter leaves it out".to_owned(),
                };
                format!("{}{empty} · /decline", field.kind.hint())
            }
        }
    }
}

/// What the model gets for a call of a page tool.
pub(super) fn not_available(name: &str) -> String {
    format!("`{name}` is a tool of the page, and the client is a terminal: it is not available")
}

/// Identifies a request among those of its run.
pub(super) fn id(request: &PendingRequest) -> &str {
    match request {
        PendingRequest::ClientTool { call, .. } => call,
        other => other.request().unwrap_or_default(),
    }
}

fn question(interrupt: &Interrupt) -> (RequestKind, Vec<RequestOption>) {
    let options = interrupt.options.iter();
    let options =
        options.map(|one| RequestOption::new(&one.id, &one.label, one.description.clone())).collect();
    let kind = match (interrupt.kind, &interrupt.response_schema) {
        (InterruptKind::MultiChoice, _) => RequestKind::MultiChoice,
        (InterruptKind::Choice, _) if interrupt.multiple => RequestKind::MultiChoice,
        (InterruptKind::Choice, _) => RequestKind::Choice,
        (InterruptKind::Text, Some(schema)) => RequestKind::Form(FormProgress::new(schema)),
        (InterruptKind::Text, None) => RequestKind::Text,
    };
    (kind, options)
}

/// The fields so far, and the one that is asked for.
fn form_lines(form: &FormProgress, look: MarkdownLook) -> Vec<StyledLine> {
    let filled = form.values().iter().map(|(name, value)| {
        StyledLine::dim(&format!("{name}  ")).add(PLAIN, &summary(value)).truncate(look.width)
    });
    let mut lines: Vec<_> = filled.collect();
    if let Some((field, at, of)) = form.current()
        && let Some(name) = &field.name
    {
        let mut line = StyledLine::of(BOLD, name).add(DIM, &format!(" {at}/{of}"));
        if let Some(description) = &field.description {
            line.push(PLAIN, &format!("  {description}"));
        }
        lines.extend(line.wrap(look.width));
    }
    lines
}

#[cfg(test)]
mod tests;
