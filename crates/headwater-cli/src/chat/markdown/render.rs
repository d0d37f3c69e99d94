//! One parse of Markdown, as lines.

use anstyle::Style;
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

use super::{MarkdownLook, StyledLine, options, table::table};
use crate::style::{BOLD, CYAN, DIM, PLAIN};

/// Renders all blocks, with blank lines between them.
pub(super) fn render(text: &str, look: MarkdownLook) -> Vec<StyledLine> {
    let mut renderer = Renderer::new(look);
    for event in Parser::new_ext(text, options()) {
        renderer.on_event(event);
    }
    renderer.flush();
    renderer.lines
}

/// What encloses a line.
#[derive(Debug, Clone)]
enum Container {
    Quote,
    /// The number of the next item; bullets have none.
    List(Option<u64>),
    /// The marker, until it is written, and its width.
    Item(Option<String>, usize),
}

#[derive(Debug, Default)]
struct TableRows {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<StyledLine>>,
}

#[derive(Debug)]
struct Renderer {
    look: MarkdownLook,
    lines: Vec<StyledLine>,
    /// The text of the current paragraph, heading, item or cell.
    inline: StyledLine,
    styles: Vec<Style>,
    containers: Vec<Container>,
    /// Whether a blank line goes before the next block.
    gap: bool,
    code: Option<String>,
    table: Option<TableRows>,
    /// The targets of open links, and where their text begins.
    links: Vec<(String, String)>,
}

impl Renderer {
    fn new(look: MarkdownLook) -> Self {
        Self {
            look,
            lines: Vec::new(),
            inline: StyledLine::default(),
            styles: Vec::new(),
            containers: Vec::new(),
            gap: false,
            code: None,
            table: None,
            links: Vec::new(),
        }
    }

    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.on_start(tag),
            Event::End(tag) => self.on_end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(code) => {
                let text = if self.look.colour { code.to_string() } else { format!("`{code}`") };
                let style = self.style() | CYAN.get_effects();
                self.inline.push(style.fg_color(CYAN.get_fg_color()), &text);
            }
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.text("\n"),
            Event::Rule => {
                self.begin_block();
                let rule = "─".repeat(self.room().min(40));
                self.write(StyledLine::dim(&rule));
                self.gap = true;
            }
            Event::TaskListMarker(done) => self.text(if done { "☑ " } else { "☐ " }),
            Event::Html(html) | Event::InlineHtml(html) => self.inline.push(DIM, &html),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]")),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
        }
    }

    fn on_start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                let style = match level {
                    HeadingLevel::H1 => BOLD.underline(),
                    _ => BOLD,
                };
                if !self.look.colour {
                    self.inline.push(PLAIN, &format!("{} ", "#".repeat(level as usize)));
                }
                self.styles.push(style);
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.containers.push(Container::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                self.code = Some(String::new());
                if let CodeBlockKind::Fenced(language) = kind
                    && let Some(language) = language.split_whitespace().next()
                {
                    self.write(StyledLine::dim(&format!("  {language}")));
                }
            }
            Tag::List(first) => {
                self.flush();
                if !self.is_in_item() {
                    self.begin_block();
                }
                self.gap = false;
                self.containers.push(Container::List(first));
            }
            Tag::Item => {
                self.gap = false;
                let depth = self.containers.iter().filter(|one| matches!(one, Container::List(_))).count();
                let marker = match self.containers.last_mut() {
                    Some(Container::List(Some(number))) => {
                        *number += 1;
                        format!("{}. ", number.saturating_sub(1))
                    }
                    _ => if depth > 1 { "◦ " } else { "• " }.to_owned(),
                };
                let columns = super::super::styled::columns(&marker);
                self.containers.push(Container::Item(Some(marker), columns));
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(TableRows { alignments, rows: Vec::new() });
            }
            Tag::TableHead => {
                self.styles.push(BOLD);
                self.begin_row();
            }
            Tag::TableRow => self.begin_row(),
            Tag::Emphasis => self.nest(Style::italic),
            Tag::Strong => self.nest(Style::bold),
            Tag::Strikethrough => self.nest(Style::strikethrough),
            Tag::Link { dest_url, .. } => {
                self.links.push((dest_url.to_string(), self.inline.text()));
                self.nest(Style::underline);
            }
            Tag::Image { dest_url, .. } => {
                self.text("[image: ");
                self.links.push((dest_url.to_string(), self.inline.text()));
                self.nest(Style::italic);
            }
            _ => {}
        }
    }

    fn on_end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.end_block();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.containers.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.flush();
                self.containers.pop();
                self.gap = !self.is_in_item();
            }
            TagEnd::Item => {
                if matches!(self.containers.last(), Some(Container::Item(Some(_), _)))
                    && self.inline.is_empty()
                {
                    self.write(StyledLine::default());
                }
                self.flush();
                self.containers.pop();
            }
            TagEnd::Table => {
                if let Some(TableRows { alignments, rows }) = self.table.take() {
                    for line in table(&rows, &alignments, self.room()) {
                        self.write(line);
                    }
                }
                self.gap = true;
            }
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => self.end_link(""),
            TagEnd::Image => self.end_link("]"),
            _ => {}
        }
    }

    /// Writes the target of a link behind its text, unless that is the text.
    fn end_link(&mut self, close: &str) {
        self.styles.pop();
        let Some((target, before)) = self.links.pop() else { return };
        self.text(close);
        let text = self.inline.text();
        let shown = text.get(before.len()..).unwrap_or_default();
        if !target.is_empty() && shown != target && format!("mailto:{shown}") != target {
            self.inline.push(DIM, &format!(" ({target})"));
        }
    }

    fn end_code(&mut self) {
        let code = self.code.take().unwrap_or_default();
        for line in code.trim_end_matches('\n').split('\n') {
            let indent = StyledLine::plain("  ");
            let line = StyledLine::of(CYAN, line);
            for line in line.wrap_behind(&indent, &indent, self.room()) {
                self.write(line.trim_end());
            }
        }
        self.gap = true;
    }

    fn begin_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.rows.push(Vec::new());
        }
    }

    fn is_in_item(&self) -> bool {
        matches!(self.containers.last(), Some(Container::Item(..)))
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(PLAIN)
    }

    fn nest(&mut self, with: fn(Style) -> Style) {
        self.styles.push(with(self.style()));
    }

    fn text(&mut self, text: &str) {
        self.inline.push(self.style(), text);
    }

    fn begin_block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            self.write(StyledLine::default());
        }
    }

    fn end_block(&mut self) {
        self.flush();
        self.gap = true;
    }

    /// Writes the text of the current block.
    fn flush(&mut self) {
        let inline = std::mem::take(&mut self.inline);
        if inline.is_empty() {
            return;
        }
        for line in inline.wrap(self.room()) {
            self.write(line);
        }
    }

    /// The columns that the containers leave.
    fn room(&self) -> usize {
        let used: usize = self
            .containers
            .iter()
            .map(|container| match container {
                Container::Quote => 2,
                Container::List(_) => 0,
                Container::Item(_, columns) => *columns,
            })
            .sum();
        self.look.width.saturating_sub(used).max(8)
    }

    /// Writes a line within its containers. The first line of an item has the marker.
    fn write(&mut self, line: StyledLine) {
        let mut out = StyledLine::default();
        for container in &mut self.containers {
            match container {
                Container::Quote => out.push(DIM, "│ "),
                Container::List(_) => {}
                Container::Item(marker, columns) => match marker.take() {
                    Some(marker) => out.push(PLAIN, &marker),
                    None => out.push(PLAIN, &" ".repeat(*columns)),
                },
            }
        }
        if line.is_empty() {
            // Blank lines have no spaces at their end.
            let text = out.text();
            let end = text.trim_end();
            out = if end.is_empty() { StyledLine::default() } else { StyledLine::dim(end) };
        }
        out.append(line);
        self.lines.push(out);
    }
}
