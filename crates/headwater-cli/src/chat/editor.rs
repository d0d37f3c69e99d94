//! The line editor of the prompt: text, cursor, history, and how they are laid out.

use super::styled::char_columns;

/// The most entries that are remembered.
const HISTORY: usize = 500;

/// The text at the prompt.
#[derive(Debug, Default)]
pub(super) struct LineEditor {
    text: Vec<char>,
    /// Before which character the cursor is.
    cursor: usize,
    history: Vec<String>,
    /// The entry of the history that is shown, and the text that was there before.
    recalled: Option<(usize, String)>,
}

/// A change of the text or the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EditCommand {
    Insert(char),
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    DeleteWord,
    DeleteToStart,
    DeleteToEnd,
    Older,
    Newer,
}

/// The text in rows of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditorRows {
    pub(super) rows: Vec<String>,
    /// Row and column of the cursor.
    pub(super) cursor: (usize, usize),
}

impl LineEditor {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// Replaces the text; the cursor is at its end.
    pub(super) fn set(&mut self, text: &str) {
        self.text = text.chars().collect();
        self.cursor = self.text.len();
        self.recalled = None;
    }

    pub(super) fn clear(&mut self) {
        self.set("");
    }

    /// Takes the text, and remembers it.
    pub(super) fn submit(&mut self) -> String {
        let text = self.text();
        self.clear();
        if !text.trim().is_empty() && self.history.last() != Some(&text) {
            self.history.push(text.clone());
            let surplus = self.history.len().saturating_sub(HISTORY);
            self.history.drain(..surplus);
        }
        text
    }

    /// Inserts text that was pasted, with its line ends.
    pub(super) fn paste(&mut self, text: &str) {
        for char in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            self.apply(EditCommand::Insert(char));
        }
    }

    pub(super) fn apply(&mut self, command: EditCommand) {
        match command {
            EditCommand::Insert(char) => {
                // Other control characters have no place in a message.
                if char == '\n' || !char.is_control() {
                    self.text.insert(self.cursor, char);
                    self.cursor += 1;
                } else if char == '\t' {
                    (0..4).for_each(|_| self.apply(EditCommand::Insert(' ')));
                }
            }
            EditCommand::Backspace => self.delete(self.cursor.saturating_sub(1), self.cursor),
            EditCommand::Delete => self.delete(self.cursor, self.cursor + 1),
            EditCommand::Left => self.cursor = self.cursor.saturating_sub(1),
            EditCommand::Right => self.cursor = (self.cursor + 1).min(self.text.len()),
            EditCommand::WordLeft => self.cursor = self.word_start(),
            EditCommand::WordRight => self.cursor = self.word_end(),
            EditCommand::Home => self.cursor = self.line_start(),
            EditCommand::End => self.cursor = self.line_end(),
            EditCommand::DeleteWord => self.delete(self.word_start(), self.cursor),
            EditCommand::DeleteToStart => self.delete(self.line_start(), self.cursor),
            EditCommand::DeleteToEnd => self.delete(self.cursor, self.line_end()),
            EditCommand::Older => self.recall_older(),
            EditCommand::Newer => self.recall_newer(),
        }
    }

    fn delete(&mut self, from: usize, to: usize) {
        let to = to.min(self.text.len());
        if from < to {
            self.text.drain(from..to);
            self.cursor = from;
        }
    }

    fn before(&self) -> &[char] {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn after(&self) -> &[char] {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    fn word_start(&self) -> usize {
        let end = self.before().iter().rposition(|char| !char.is_whitespace()).map_or(0, |last| last + 1);
        let word = self.text.get(..end).unwrap_or_default();
        word.iter().rposition(|char| char.is_whitespace()).map_or(0, |space| space + 1)
    }

    fn word_end(&self) -> usize {
        let after = self.after();
        let start = after.iter().position(|char| !char.is_whitespace()).unwrap_or(after.len());
        let word = after.get(start..).unwrap_or_default();
        self.cursor + start + word.iter().position(|char| char.is_whitespace()).unwrap_or(word.len())
    }

    fn line_start(&self) -> usize {
        self.before().iter().rposition(|&char| char == '\n').map_or(0, |newline| newline + 1)
    }

    fn line_end(&self) -> usize {
        let after = self.after();
        self.cursor + after.iter().position(|&char| char == '\n').unwrap_or(after.len())
    }

    fn recall_older(&mut self) {
        let (at, draft) = match self.recalled.take() {
            Some((at, draft)) => (at.saturating_sub(1), draft),
            None => (self.history.len().saturating_sub(1), self.text()),
        };
        if let Some(entry) = self.history.get(at).cloned() {
            self.set(&entry);
            self.recalled = Some((at, draft));
        }
    }

    fn recall_newer(&mut self) {
        let Some((at, draft)) = self.recalled.take() else { return };
        match self.history.get(at + 1).cloned() {
            Some(entry) => {
                self.set(&entry);
                self.recalled = Some((at + 1, draft));
            }
            None => self.set(&draft),
        }
    }

    /// The text in rows of this many columns, at most `height` of them around the cursor.
    pub(super) fn rows(&self, width: usize, height: usize) -> EditorRows {
        let (mut rows, mut used) = (vec![String::new()], 0);
        let mut cursor = (0, 0);
        for (at, &char) in self.text.iter().enumerate() {
            let needed = char_columns(char);
            if char == '\n' || used + needed > width {
                if at == self.cursor && char == '\n' {
                    cursor = (rows.len() - 1, used);
                }
                rows.push(String::new());
                used = 0;
            }
            if char == '\n' {
                continue;
            }
            if at == self.cursor {
                cursor = (rows.len() - 1, used);
            }
            if let Some(row) = rows.last_mut() {
                row.push(char);
            }
            used += needed;
        }
        if self.cursor == self.text.len() {
            if used >= width {
                rows.push(String::new());
                used = 0;
            }
            cursor = (rows.len() - 1, used);
        }
        let height = height.max(1);
        let first = (cursor.0 + 1).saturating_sub(height).min(rows.len().saturating_sub(height));
        let rows: Vec<_> = rows.into_iter().skip(first).take(height).collect();
        EditorRows { rows, cursor: (cursor.0 - first, cursor.1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> LineEditor {
        let mut editor = LineEditor::default();
        editor.paste(text);
        editor
    }

    fn after(text: &str, commands: &[EditCommand]) -> (String, usize) {
        let mut editor = typed(text);
        commands.iter().for_each(|&command| editor.apply(command));
        (editor.text(), editor.cursor)
    }

    #[test]
    fn words_and_lines_are_deleted_and_passed() {
        use EditCommand::{
            Backspace, Delete, DeleteToEnd, DeleteToStart, DeleteWord, Home, Left, WordLeft, WordRight,
        };
        assert_eq!(after("one two ", &[DeleteWord]), ("one ".to_owned(), 4));
        assert_eq!(after("one two", &[WordLeft, DeleteToEnd]), ("one ".to_owned(), 4));
        assert_eq!(after("one two", &[Home, WordRight, DeleteToStart]), (" two".to_owned(), 0));
        assert_eq!(after("añb", &[Left, Backspace, Delete]), ("a".to_owned(), 1));
        assert_eq!(after("a\nb", &[Home]), ("a\nb".to_owned(), 2));
        assert_eq!(after("", &[Backspace, Delete, Left, WordLeft, DeleteWord]), (String::new(), 0));
    }

    #[test]
    fn control_characters_are_not_inserted() {
        assert_eq!(after("a\u{1B}[31m\tb\r\nc", &[]).0, "a[31m    b\nc");
    }

    #[test]
    fn history_returns_to_the_draft() {
        let mut editor = typed("first");
        assert_eq!(editor.submit(), "first");
        editor.paste("second");
        editor.submit();
        editor.paste("draft");
        editor.apply(EditCommand::Older);
        editor.apply(EditCommand::Older);
        editor.apply(EditCommand::Older);
        assert_eq!(editor.text(), "first");
        editor.apply(EditCommand::Newer);
        assert_eq!(editor.text(), "second");
        editor.apply(EditCommand::Newer);
        assert_eq!(editor.text(), "draft");
    }

    #[test]
    fn rows_wrap_and_keep_the_cursor_in_sight() {
        let editor = typed("abcdef");
        assert_eq!(editor.rows(4, 5), EditorRows { rows: vec!["abcd".into(), "ef".into()], cursor: (1, 2) });
        let editor = typed("日本語");
        assert_eq!(editor.rows(4, 5), EditorRows { rows: vec!["日本".into(), "語".into()], cursor: (1, 2) });
        let editor = typed("abcd");
        assert_eq!(
            editor.rows(4, 5),
            EditorRows { rows: vec!["abcd".into(), String::new()], cursor: (1, 0) }
        );
        let editor = typed("a\nb\nc");
        assert_eq!(editor.rows(9, 2), EditorRows { rows: vec!["b".into(), "c".into()], cursor: (1, 1) });
    }
}
