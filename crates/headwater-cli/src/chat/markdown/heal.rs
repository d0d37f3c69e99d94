//! Closes the marks that a text under way has opened, so that half of a word in bold is not shown with its stars.

use std::borrow::Cow;

/// The text with its last `**` and backtick closed. Marks at its very end, which open nothing yet, are dropped.
pub(super) fn heal(text: &str) -> Cow<'_, str> {
    let mut fence: Option<&str> = None;
    for line in text.lines().map(str::trim_start) {
        match fence {
            Some(mark) if line.starts_with(mark) => fence = None,
            Some(_) => {}
            None => fence = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark)),
        }
    }
    if fence.is_some() {
        return Cow::Borrowed(text);
    }
    let start = text.rfind("\n\n").map_or(0, |at| at + 2);
    let (code, bold) = open_marks(text.get(start..).unwrap_or_default());
    if !code && !bold {
        return Cow::Borrowed(text);
    }
    let mark = if code { "`" } else { "**" };
    let body = text.trim_end_matches(['*', '`']);
    // A mark that has no text after it opens nothing yet.
    let cut = text.len() - body.len();
    if cut > 0 && (code || cut >= mark.len()) {
        return Cow::Owned(body.to_owned());
    }
    let body = body.trim_end();
    Cow::Owned(format!("{body}{}{}", if code { "`" } else { "" }, if bold { "**" } else { "" }))
}

/// Whether a code span and bold text are open at the end of a paragraph.
fn open_marks(text: &str) -> (bool, bool) {
    let (mut code, mut bold) = (false, false);
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' if !code => {
                chars.next();
            }
            '`' => code = !code,
            '*' if !code && chars.peek() == Some(&'*') => {
                chars.next();
                bold = !bold;
            }
            _ => {}
        }
    }
    (code, bold)
}

#[cfg(test)]
mod tests {
    use super::heal;

    #[test]
    fn open_marks_are_closed_and_empty_ones_dropped() {
        assert_eq!(heal("a **bo"), "a **bo**");
        assert_eq!(heal("a **bold** b"), "a **bold** b");
        assert_eq!(heal("a `co"), "a `co`");
        assert_eq!(heal("a **"), "a ");
        assert_eq!(heal("a `"), "a ");
        assert_eq!(heal("**a `b"), "**a `b`**");
        assert_eq!(heal("```\n**a"), "```\n**a");
        assert_eq!(heal("done `a\n\nnext"), "done `a\n\nnext");
    }
}
