//! Lines of styled text, and how they are wrapped.

use anstyle::Style;
use unicode_width::UnicodeWidthChar as _;

use crate::style::{self, DIM, PLAIN};

/// Text of one line, in pieces of one style each.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct StyledLine {
    spans: Vec<(Style, String)>,
}

impl StyledLine {
    /// A line of one style. Control characters of the text are escaped.
    pub(super) fn of(style: Style, text: &str) -> Self {
        Self::default().add(style, text)
    }

    /// A line without a style.
    pub(super) fn plain(text: &str) -> Self {
        Self::of(PLAIN, text)
    }

    /// A line that is less important.
    pub(super) fn dim(text: &str) -> Self {
        Self::of(DIM, text)
    }

    /// The line with more text.
    #[must_use]
    pub(super) fn add(mut self, style: Style, text: &str) -> Self {
        self.push(style, text);
        self
    }

    /// Adds text. Control characters are escaped, tabs become spaces; line ends stay for [`wrap`](Self::wrap).
    pub(super) fn push(&mut self, style: Style, text: &str) {
        let text = style::printable(text).replace('\t', "    ");
        if text.is_empty() {
            return;
        }
        match self.spans.last_mut() {
            Some((last, known)) if *last == style => known.push_str(&text),
            _ => self.spans.push((style, text)),
        }
    }

    /// Adds another line's text.
    pub(super) fn append(&mut self, other: Self) {
        for (style, text) in other.spans {
            self.push(style, &text);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The text without its styles.
    pub(super) fn text(&self) -> String {
        self.spans.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The columns that it takes.
    pub(super) fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| columns(text)).sum()
    }

    /// The text for a terminal, with escapes for its styles or without any.
    pub(super) fn render(&self, colour: bool) -> String {
        if !colour {
            return self.text();
        }
        self.spans.iter().map(|(style, text)| format!("{style}{text}{style:#}")).collect()
    }

    /// The line without spaces at its end.
    #[must_use]
    pub(super) fn trim_end(mut self) -> Self {
        while let Some((_, text)) = self.spans.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            self.spans.pop();
        }
        self
    }

    /// The beginning, in at most this many columns.
    #[must_use]
    pub(super) fn truncate(self, limit: usize) -> Self {
        if self.width() <= limit {
            return self;
        }
        let mut out = Self::default();
        let mut left = limit.saturating_sub(1);
        for (style, text) in self.spans {
            let fits: String = text
                .chars()
                .take_while(|&char| {
                    let needed = char_columns(char);
                    let fits = needed <= left;
                    left = if fits { left - needed } else { 0 };
                    fits
                })
                .collect();
            let whole = fits.len() == text.len();
            out.push(style, &fits);
            if !whole {
                break;
            }
        }
        out.add(DIM, "…")
    }

    /// Wraps to this many columns, between words where possible.
    pub(super) fn wrap(&self, limit: usize) -> Vec<Self> {
        let mut wrapping = LineWrapper { limit: limit.max(1), ..LineWrapper::default() };
        for (style, text) in &self.spans {
            text.chars().for_each(|char| wrapping.push(*style, char));
        }
        wrapping.end_line();
        wrapping.lines
    }

    /// Wraps behind a prefix for the first line and one for the others.
    pub(super) fn wrap_behind(&self, first: &Self, rest: &Self, limit: usize) -> Vec<Self> {
        let used = first.width().max(rest.width());
        let lines = self.wrap(limit.saturating_sub(used).max(8));
        let prefixes = std::iter::once(first).chain(std::iter::repeat(rest));
        let joined = lines.into_iter().zip(prefixes).map(|(line, prefix)| {
            let mut out = prefix.clone();
            out.append(line);
            out
        });
        joined.collect()
    }
}

/// Lines while they are wrapped.
#[derive(Debug, Default)]
struct LineWrapper {
    limit: usize,
    lines: Vec<StyledLine>,
    line: Vec<(Style, char)>,
    used: usize,
    /// The characters since the last space, which move to the next line together.
    word: usize,
}

impl LineWrapper {
    fn push(&mut self, style: Style, char: char) {
        if char == '\n' {
            self.end_line();
            return;
        }
        let needed = char_columns(char);
        // A space at the end of a line is not visible.
        if char != ' ' && self.used + needed > self.limit {
            self.break_line();
        }
        self.line.push((style, char));
        self.used += needed;
        self.word = if char == ' ' { 0 } else { self.word + 1 };
    }

    /// Ends the line before the current word, or in it if it fills the line.
    fn break_line(&mut self) {
        let word = if self.word < self.line.len() { self.word } else { 0 };
        let rest = self.line.split_off(self.line.len() - word);
        self.end_line();
        self.used = rest.iter().map(|(_, char)| char_columns(*char)).sum();
        self.word = rest.len();
        self.line = rest;
    }

    fn end_line(&mut self) {
        let mut line = StyledLine::default();
        let end = self.line.iter().rposition(|(_, char)| *char != ' ').map_or(0, |last| last + 1);
        for (style, char) in self.line.drain(..).take(end) {
            line.push(style, char.encode_utf8(&mut [0; 4]));
        }
        self.lines.push(line);
        (self.used, self.word) = (0, 0);
    }
}

/// The columns of a text.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(char_columns).sum()
}

/// The columns of a character. A terminal may join emoji into fewer, never into more.
pub(super) fn char_columns(char: char) -> usize {
    char.width().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::BOLD;

    fn texts(lines: &[StyledLine]) -> Vec<String> {
        lines.iter().map(StyledLine::text).collect()
    }

    #[test]
    fn wrapping_keeps_styles_and_breaks_between_words() {
        let line = StyledLine::plain("one ").add(BOLD, "two three").add(PLAIN, " four");
        let lines = line.wrap(8);
        assert_eq!(texts(&lines), ["one two", "three", "four"]);
        assert_eq!(lines[1], StyledLine::of(BOLD, "three"));
        assert_eq!(texts(&StyledLine::plain("abcdefghij k").wrap(4)), ["abcd", "efgh", "ij k"]);
        assert_eq!(texts(&StyledLine::plain("日本語").wrap(4)), ["日本", "語"]);
        assert_eq!(texts(&StyledLine::plain("a\n\nb").wrap(9)), ["a", "", "b"]);
        assert_eq!(texts(&StyledLine::default().wrap(9)), [""]);
    }

    #[test]
    fn prefixes_are_part_of_the_width() {
        let (first, rest) = (StyledLine::plain("• "), StyledLine::plain("  "));
        let lines = StyledLine::plain("alpha beta gamma").wrap_behind(&first, &rest, 12);
        assert_eq!(texts(&lines), ["• alpha beta", "  gamma"]);
    }

    #[test]
    fn truncated_lines_fit() {
        let line = StyledLine::plain("日本").add(BOLD, "abcdef");
        assert_eq!(line.clone().truncate(10), line);
        assert_eq!(line.truncate(6).text(), "日本a…");
    }

    #[test]
    fn escapes_of_the_text_are_shown_and_those_of_styles_can_be_left_out() {
        let line = StyledLine::of(BOLD, "a\x1B[2Jb");
        assert_eq!(line.render(false), "a␛[2Jb");
        assert_eq!(line.render(true), "\x1B[1ma␛[2Jb\x1B[0m");
    }
}
