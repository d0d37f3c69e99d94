//! Markdown as styled lines, block by block while it arrives.
//!
//! A block at the top level is closed once another one begins after it. Closed blocks never change, so they are rendered once;
//! only the last one is parsed again while it grows.

mod heal;
mod render;
mod table;

use pulldown_cmark::{Event, Options, Parser};

pub(super) use table::table;

use super::styled::StyledLine;

/// How Markdown is rendered.
#[derive(Debug, Clone, Copy)]
pub(super) struct MarkdownLook {
    /// The columns of a line.
    pub(super) width: usize,
    /// Whether styles are visible; without them headings and code keep their marks.
    pub(super) colour: bool,
}

/// How far a text that grows has been rendered for good.
#[derive(Debug, Clone, Default)]
pub(super) struct MarkdownProgress {
    /// The bytes of the closed blocks.
    closed: usize,
    /// Whether a block was rendered, so that the next one needs a blank line before it.
    has_blocks: bool,
}

impl MarkdownProgress {
    /// The lines of the blocks that closed since the last call: all of them if the text is `complete`.
    pub(super) fn take_closed(&mut self, text: &str, complete: bool, look: MarkdownLook) -> Vec<StyledLine> {
        // A text that is rebuilt after a reconnect is shorter for a moment.
        let Some(rest) = text.get(self.closed..) else { return Vec::new() };
        let end = if complete { rest.len() } else { last_block(decided(rest)) };
        let Some(blocks) = rest.get(..end).filter(|blocks| !blocks.trim().is_empty()) else {
            return Vec::new();
        };
        self.closed += end;
        let lines = spaced(render::render(blocks, look), self.has_blocks);
        self.has_blocks |= !lines.is_empty();
        lines
    }

    /// The lines of the block that may still grow. Marks that were opened in it are closed.
    pub(super) fn open_lines(&self, text: &str, look: MarkdownLook) -> Vec<StyledLine> {
        let rest = text.get(self.closed..).unwrap_or_default();
        if rest.trim().is_empty() {
            return Vec::new();
        }
        spaced(render::render(&heal::heal(rest), look), self.has_blocks)
    }

    /// Whether something was rendered for good.
    pub(super) fn has_begun(&self) -> bool {
        self.has_blocks
    }
}

/// A whole text.
pub(super) fn render(text: &str, look: MarkdownLook) -> Vec<StyledLine> {
    render::render(text, look)
}

fn spaced(mut lines: Vec<StyledLine>, blank: bool) -> Vec<StyledLine> {
    if blank && !lines.is_empty() {
        lines.insert(0, StyledLine::default());
    }
    lines
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// The text without the begin of a line that is still marks only: `|` may become a row of the table above it.
fn decided(text: &str) -> &str {
    let start = text.rfind('\n').map_or(0, |newline| newline + 1);
    let (before, line) = text.split_at(start);
    if line.contains(char::is_alphabetic) { text } else { before }
}

/// Where the last block at the top level begins.
fn last_block(text: &str) -> usize {
    let (mut start, mut depth) = (0, 0usize);
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        if depth == 0 {
            start = range.start;
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    // The indentation is part of the block.
    text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

#[cfg(test)]
mod tests;
