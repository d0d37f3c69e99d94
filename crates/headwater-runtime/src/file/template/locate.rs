//! Finds a part of a template in the file it was read from.

use crate::file::span::{SourceText, TextSpan, WithSpan};

/// Maps a part of a text to the file, which has the text folded, quoted or indented.
pub(super) fn part(source: &SourceText, text_span: &WithSpan<String>, at: usize, length: usize) -> TextSpan {
    let span = text_span.span;
    let raw = source.text.get(span.start..).unwrap_or_default();
    let raw = raw.get(..span.length).unwrap_or(raw);
    align(raw, &text_span.value, at).map_or(span, |at| TextSpan::of(&source.text, span.start + at, length))
}

/// The byte of `raw` that `at` in `text` came from. They differ in white space, quotes and escapes only.
fn align(raw: &str, text: &str, at: usize) -> Option<usize> {
    let mut rest = raw.char_indices().peekable();
    if let Some((_, quote @ ('"' | '\''))) = rest.peek().copied()
        && !text.starts_with(quote)
    {
        rest.next();
    }
    let doubled = raw.starts_with('\'');
    for (offset, wanted) in text.char_indices() {
        let (mut found, mut char) = *rest.peek()?;
        while char != wanted && (char.is_whitespace() || char == '\\') && !wanted.is_whitespace() {
            rest.next();
            (found, char) = *rest.peek()?;
        }
        if offset >= at {
            return Some(found);
        }
        let escaped = char == '\\' && wanted.is_whitespace();
        if escaped {
            rest.next();
        }
        if escaped || char == wanted || char.is_whitespace() {
            rest.next();
            if doubled && wanted == '\'' {
                rest.next();
            }
        } else if !wanted.is_whitespace() {
            return None;
        }
    }
    Some(rest.peek().map_or(raw.len(), |(found, _)| *found))
}

/// Finds a name in a template as a whole word that does not follow a dot.
pub(super) fn find_word(text: &str, name: &str, in_braces: bool) -> Option<usize> {
    let begin = if in_braces { text.find("{{").into_iter().chain(text.find("{%")).min()? } else { 0 };
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    let found = text.match_indices(name).filter(|(at, _)| *at >= begin).find(|(at, _)| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(|char| is_part(char) || char == '.') && !after.is_some_and(is_part)
    });
    found.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_position_is_found_for_every_yaml_style() {
        let cases = [
            ("say: plain {{ x }}", "plain {{ x }}"),
            ("say: \"quo\\nted {{ x }}\"", "quo\nted {{ x }}"),
            ("say: 'it''s {{ x }}'", "it's {{ x }}"),
            ("say: |\n  first\n    second {{ x }}\n", "first\n  second {{ x }}\n"),
            ("say: >\n  folded\n  text {{ x }}\n", "folded text {{ x }}\n"),
            ("say: multi\n  line {{ x }}", "multi line {{ x }}"),
            ("say: \"é \\\"a\\\" {{ x }}\"", "é \"a\" {{ x }}"),
        ];
        for (file, text) in cases {
            let source = SourceText { name: "a.yaml".into(), text: file.into() };
            let read: std::collections::BTreeMap<String, WithSpan<String>> =
                serde_saphyr::from_str(file).unwrap();
            let template = &read["say"];
            assert_eq!(template.value, text);
            let span = part(&source, template, text.find('x').unwrap(), 1);
            assert_eq!(file.get(span.start..=span.start), Some("x"), "{file}");
            let line = file.lines().nth(span.line - 1).unwrap();
            assert_eq!(line.chars().nth(span.column - 1), Some('x'), "{file}");
        }
    }

    #[test]
    fn names_are_found_as_whole_words() {
        assert_eq!(find_word("x {{ data.x + x }}", "x", true), Some(14));
        assert_eq!(find_word("xy > x", "x", false), Some(5));
    }
}
