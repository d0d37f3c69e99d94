//! Terminal output: colours, widths, and escaping of control characters.

use std::{
    fmt::Display,
    io::{self, BufWriter, Write},
};

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const PLAIN: Style = Style::new();
pub(crate) const RED: Style = AnsiColor::Red.on_default();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
pub(crate) const BLUE: Style = AnsiColor::Blue.on_default();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
pub(crate) const MAGENTA: Style = AnsiColor::Magenta.on_default();

/// Standard output: coloured for people, plain for JSON.
pub(crate) fn stdout(json: bool) -> Box<dyn Write> {
    if json {
        Box::new(BufWriter::new(io::stdout().lock()))
    } else {
        Box::new(BufWriter::new(anstream::stdout().lock()))
    }
}

/// Prints a text in one write, so that log lines of other threads cannot interleave.
pub(crate) fn print_whole(text: &str) -> io::Result<()> {
    let plain = anstream::AutoStream::choice(&io::stdout()) == anstream::ColorChoice::Never;
    let text = if plain { anstream::adapter::strip_str(text).to_string() } else { text.to_owned() };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints an error.
pub(crate) fn error(message: &dyn Display) {
    print_labelled("error", RED.bold(), message);
}

/// Prints a warning.
pub(crate) fn warning(message: &dyn Display) {
    print_labelled("warning", YELLOW.bold(), message);
}

/// Prints a note.
pub(crate) fn note(message: &str) {
    print_labelled("note", DIM, &message);
}

fn print_labelled(label: &str, style: Style, message: &dyn Display) {
    let message = printable(&message.to_string());
    // If standard error is closed there is nowhere to report it.
    let _ = writeln!(anstream::stderr(), "{style}{label}:{style:#} {message}");
}

/// The width of the terminal.
pub(crate) fn terminal_width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    asked.or_else(seen).unwrap_or(100).clamp(40, 140)
}

/// The first bytes of an input, quoted for a message.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let head = bytes.trim_ascii_start();
    let head = String::from_utf8_lossy(head.get(..40).unwrap_or(head)).into_owned();
    format!("{:?}", head.chars().take(24).collect::<String>())
}

/// Escapes everything that could move the terminal's cursor, change its colours or reverse its writing
/// direction. Line ends and tabs stay.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|char| match char {
            '\n' | '\t' => char,
            '\0'..='\x1F' => char::from_u32(0x2400 + u32::from(char)).unwrap_or(char::REPLACEMENT_CHARACTER),
            '\x7F' => '\u{2421}',
            '\u{80}'..='\u{9F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
                char::REPLACEMENT_CHARACTER
            }
            _ => char,
        })
        .collect()
}

/// The number of columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Wraps a text to this many columns, between words where possible.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    text.replace("\r\n", "\n").split('\n').flat_map(|line| wrap_line(&printable(line), columns)).collect()
}

fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    for word in line.replace('\t', "    ").split_inclusive(' ') {
        let needed = width(word.trim_end());
        if used > 0 && used + needed > columns {
            lines.push(std::mem::take(&mut current));
            used = 0;
        }
        for char in word.chars() {
            let needed = char.width().unwrap_or(0);
            if char != ' ' && used + needed > columns && used > 0 {
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push(char);
            used += needed;
        }
    }
    lines.push(current);
    lines.iter_mut().for_each(|line| line.truncate(line.trim_end().len()));
    lines
}

/// The beginning of a text, in at most this many columns.
pub(crate) fn abbreviate(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let kept = text.chars().take_while(|char| {
        used += char.width().unwrap_or(0);
        used <= columns
    });
    kept.chain(['…']).collect()
}

/// A count with its noun: `1 frame`, `12,400 bytes`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(number))
}

/// A number with thousands separators.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_long_words_anywhere() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap("a\r\n\nb", 4), ["a", "", "b"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn printable_escapes_terminal_control() {
        assert_eq!(printable("a\x1B[2Jb\u{202E}c\u{9B}\n"), "a␛[2Jb\u{FFFD}c\u{FFFD}\n");
    }

    #[test]
    fn abbreviations_fit_the_columns() {
        assert_eq!(abbreviate("abcdef", 6), "abcdef");
        assert_eq!(abbreviate("abcdef", 5), "abcd…");
        assert_eq!(abbreviate("日本語", 5), "日本…");
    }

    #[test]
    fn counts_have_separators_and_plurals() {
        assert_eq!(count(1, "frame"), "1 frame");
        assert_eq!(count(1_234_567, "byte"), "1,234,567 bytes");
    }
}
