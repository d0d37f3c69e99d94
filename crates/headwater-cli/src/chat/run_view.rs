//! One run as lines: what of it is finished, and what may still change.
//!
//! Finished lines are printed once, in the order of the parts. A part that may still change, and all parts after it, are live:
//! they are drawn again with each frame.

use std::collections::{HashMap, HashSet};

use headwater_protocol::{
    BlockKind, Message, Part, PartState, QuestionState, Role, RunState, StructuredStatus, TextPart,
};

use super::{
    markdown::{MarkdownLook, MarkdownProgress},
    parts,
    styled::StyledLine,
};
use crate::style::{BOLD, CYAN, DIM};

/// Identifies a part of a run: its message, its kind, and its own id.
type PartKey = (String, &'static str, String);

/// How parts follow each other: lines of the same kind need no blank line between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartSpacing {
    Block,
    Tool,
    Reference,
}

/// The parts of a run that were printed.
#[derive(Debug, Default)]
pub(super) struct RunView {
    printed: HashSet<PartKey>,
    texts: HashMap<PartKey, MarkdownProgress>,
    /// Whether the messages of the user are shown: they are for a run that was sent elsewhere.
    shows_user: bool,
    last: Option<PartSpacing>,
}

impl RunView {
    /// The view of a run that was sent elsewhere.
    pub(super) fn attached() -> Self {
        Self { shows_user: true, ..Self::default() }
    }

    /// The lines that are finished since the last call: all of them once the run is `over`.
    pub(super) fn take_finished(
        &mut self,
        state: &RunState,
        over: bool,
        look: MarkdownLook,
    ) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        // Data may be replaced until the end, so it is printed last.
        let is_data = |part: &Part| matches!(part, Part::Data(_));
        let (data, parts): (Vec<_>, Vec<_>) =
            self.parts(state).into_iter().partition(|(.., part)| is_data(part));
        let last = data.into_iter().filter(|_| over);
        for (key, message, part) in parts.into_iter().chain(last) {
            if self.printed.contains(&key) {
                continue;
            }
            if let Some((kind, text)) = block(message, part) {
                let complete = over || text.state == PartState::Done;
                let mut progress = self.texts.get(&key).cloned().unwrap_or_default();
                let begins = !progress.has_begun();
                let closed = progress.take_closed(&text.text, complete, block_look(kind, look));
                self.texts.insert(key.clone(), progress);
                if !closed.is_empty() {
                    lines.extend(self.space(PartSpacing::Block, begins));
                    lines.extend(styled_block(kind, closed));
                }
                if !complete {
                    break;
                }
            } else if over || is_finished(part, state) {
                let finished = part_lines(part, state, "·", look);
                if !finished.is_empty() {
                    lines.extend(self.space(spacing(part), true));
                    lines.extend(finished);
                }
            } else {
                break;
            }
            self.printed.insert(key);
        }
        lines
    }

    /// The lines that may still change.
    pub(super) fn live_lines(&self, state: &RunState, spinner: &str, look: MarkdownLook) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        let mut last = self.last;
        for (key, message, part) in self.parts(state) {
            if self.printed.contains(&key) || matches!(part, Part::Data(_)) {
                continue;
            }
            let mut begins = true;
            let rendered = match block(message, part) {
                Some((kind, text)) => {
                    let progress = self.texts.get(&key).cloned().unwrap_or_default();
                    begins = !progress.has_begun();
                    styled_block(kind, progress.open_lines(&text.text, block_look(kind, look)))
                }
                None => part_lines(part, state, spinner, look),
            };
            if rendered.is_empty() {
                continue;
            }
            let spacing = spacing(part);
            if begins && needs_blank(last, spacing) {
                lines.push(StyledLine::default());
            }
            last = Some(spacing);
            lines.extend(rendered);
        }
        lines
    }

    /// Forgets the parts that were retracted. Gives whether some of their text was printed.
    pub(super) fn forget_retracted(&mut self, state: &RunState) -> bool {
        let known: HashSet<PartKey> = self.parts(state).into_iter().map(|(key, ..)| key).collect();
        let mut was_printed = false;
        self.texts.retain(|key, progress| {
            let stays = known.contains(key);
            was_printed |= !stays && progress.has_begun();
            stays
        });
        self.printed.retain(|key| known.contains(key));
        was_printed
    }

    /// Something else was printed, so the next part needs a blank line before it.
    pub(super) fn interrupted(&mut self) {
        self.last = Some(PartSpacing::Block);
    }

    fn space(&mut self, next: PartSpacing, begins: bool) -> Option<StyledLine> {
        let blank = begins && needs_blank(self.last, next);
        self.last = Some(next);
        blank.then(StyledLine::default)
    }

    fn parts<'s>(&self, state: &'s RunState) -> Vec<(PartKey, &'s Message, &'s Part)> {
        let shown = |message: &&Message| match message.role {
            Role::Assistant | Role::Reasoning => true,
            Role::User => self.shows_user,
            _ => false,
        };
        let messages = state.messages().iter().filter(shown);
        let parts = messages.flat_map(|message| {
            let keyed = message.parts.iter().enumerate();
            keyed.filter_map(move |(at, part)| Some((part_key(message, at, part)?, message, part)))
        });
        parts.collect()
    }
}

/// The lines of a finished conversation.
pub(super) fn messages(messages: &[Message], look: MarkdownLook) -> Vec<StyledLine> {
    let mut view = RunView::attached();
    let state = RunState::default().with_messages(messages.to_vec());
    view.take_finished(&state, true, look)
}

/// The lines of a message of the user.
pub(super) fn user_lines(text: &str, look: MarkdownLook) -> Vec<StyledLine> {
    let (first, rest) = (StyledLine::of(CYAN.bold(), "› "), StyledLine::plain("  "));
    StyledLine::of(BOLD, text.trim_end()).wrap_behind(&first, &rest, look.width)
}

fn part_key(message: &Message, at: usize, part: &Part) -> Option<PartKey> {
    let attempt = part.attempt().map(ToString::to_string).unwrap_or_default();
    let (kind, id) = match part {
        Part::Text(text) => ("text", format!("{} {attempt}", text.id)),
        Part::Reasoning(text) => ("reasoning", format!("{} {attempt}", text.id)),
        Part::Tool(tool) => ("tool", tool.call.to_string()),
        Part::SourceUrl(source) | Part::SourceDocument(source) => {
            ("source", format!("{} {attempt}", source.source))
        }
        Part::File(_) => ("file", format!("{at} {attempt}")),
        Part::Data(data) => ("data", format!("{} {}", data.name, data.id.as_deref().unwrap_or_default())),
        Part::Structured(structured) => ("structured", structured.stream.clone()),
        Part::Question(question) => ("question", question.interrupt.request.to_string()),
        _ => return None,
    };
    Some((message.id.to_string(), kind, id))
}

fn is_finished(part: &Part, state: &RunState) -> bool {
    match part {
        Part::Tool(tool) => tool.state.is_settled() && !tool.preliminary,
        Part::Structured(part) => {
            let status =
                state.structured().get(&part.stream).map(headwater_protocol::StructuredState::status);
            status.is_none_or(|status| status != StructuredStatus::Streaming)
        }
        Part::Question(question) => question.state != QuestionState::Open,
        _ => true,
    }
}

fn spacing(part: &Part) -> PartSpacing {
    match part {
        Part::Tool(_) => PartSpacing::Tool,
        Part::SourceUrl(_) | Part::SourceDocument(_) | Part::File(_) | Part::Data(_) => {
            PartSpacing::Reference
        }
        _ => PartSpacing::Block,
    }
}

fn needs_blank(last: Option<PartSpacing>, next: PartSpacing) -> bool {
    last.is_some_and(|last| last != next || next == PartSpacing::Block)
}

/// The lines of a part that is not text. A question that is open is asked at the prompt instead.
fn part_lines(part: &Part, state: &RunState, spinner: &str, look: MarkdownLook) -> Vec<StyledLine> {
    match part {
        Part::Tool(tool) => parts::tool(tool, spinner, look),
        Part::Structured(part) => {
            let known = state.structured().get(&part.stream);
            let value = known.and_then(|known| known.data()).or(part.data.as_ref());
            let mark = if is_finished(&Part::Structured(part.clone()), state) { "◆" } else { spinner };
            parts::structured(&part.data_type, value, mark, look)
        }
        Part::Question(question) if question.state == QuestionState::Open => Vec::new(),
        Part::Question(question) => parts::question(question, look),
        Part::SourceUrl(source) | Part::SourceDocument(source) => parts::source(source, look),
        Part::File(file) => parts::file(file, look),
        // Only the text of the user gets here: that of the agent is a block.
        Part::Text(text) => user_lines(&text.text, look),
        Part::Data(data) if !data.transient => parts::data(data, look),
        _ => Vec::new(),
    }
}

/// Reasoning stands behind a bar.
fn block_look(kind: BlockKind, look: MarkdownLook) -> MarkdownLook {
    match kind {
        BlockKind::Reasoning => MarkdownLook { width: look.width.saturating_sub(2).max(8), ..look },
        BlockKind::Text => look,
    }
}

fn styled_block(kind: BlockKind, lines: Vec<StyledLine>) -> Vec<StyledLine> {
    match kind {
        BlockKind::Text => lines,
        BlockKind::Reasoning => {
            let behind =
                |line: &StyledLine| StyledLine::of(DIM.italic(), format!("┊ {}", line.text()).trim_end());
            lines.iter().map(behind).collect()
        }
    }
}

/// Text of the agent, which is Markdown. That of the user is shown as it was written.
fn block<'p>(message: &Message, part: &'p Part) -> Option<(BlockKind, &'p TextPart)> {
    part.as_block().filter(|_| message.role != Role::User)
}

#[cfg(test)]
mod tests;
