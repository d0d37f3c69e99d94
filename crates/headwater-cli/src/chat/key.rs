//! What the bytes of a terminal mean: keys, and text that is pasted.

use super::editor::EditCommand;

/// An input of the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatInput {
    Edit(EditCommand),
    Paste(String),
    Submit,
    Up,
    Down,
    Complete,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
    /// Ctrl-L.
    Redraw,
    Resize(u16, u16),
}

/// Begins and ends text that is pasted.
const PASTE: (&[u8], &[u8]) = (b"\x1B[200~", b"\x1B[201~");

/// The longest sequence of a key; what is longer is not one.
const LONGEST: usize = 32;

/// The longest text that is pasted at once.
const LONGEST_PASTE: usize = 1 << 20;

/// Reads inputs from bytes, which may be cut anywhere.
#[derive(Debug, Default)]
pub(super) struct KeyReader {
    pending: Vec<u8>,
}

/// The beginning of the pending bytes.
enum KeyStep {
    /// An input, or bytes without a meaning, and their number.
    Key(Option<ChatInput>, usize),
    /// More bytes are needed.
    Incomplete,
}

impl KeyReader {
    /// Takes bytes, and gives the inputs that are complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<ChatInput> {
        self.pending.extend_from_slice(bytes);
        let mut inputs = Vec::new();
        while let KeyStep::Key(input, length) = step(&self.pending) {
            self.pending.drain(..length);
            inputs.extend(input);
        }
        inputs
    }
}

fn step(bytes: &[u8]) -> KeyStep {
    match bytes {
        [] => KeyStep::Incomplete,
        [0x1B, rest @ ..] => escape(bytes, rest),
        [byte @ (0..=0x1F | 0x7F), ..] => KeyStep::Key(control(*byte), 1),
        _ => char_key(bytes),
    }
}

fn escape(bytes: &[u8], rest: &[u8]) -> KeyStep {
    if bytes.starts_with(PASTE.0) {
        return paste(bytes);
    }
    match rest {
        [] => KeyStep::Incomplete,
        [b'[' | b'O', sequence @ ..] => {
            let Some(end) = sequence.iter().position(|byte| (0x40..=0x7E).contains(byte)) else {
                return if bytes.len() < LONGEST {
                    KeyStep::Incomplete
                } else {
                    KeyStep::Key(None, bytes.len())
                };
            };
            let parameters = std::str::from_utf8(sequence.get(..end).unwrap_or_default()).unwrap_or_default();
            let last = sequence.get(end).copied().unwrap_or_default();
            KeyStep::Key(sequence_key(parameters, last), end + 3)
        }
        // Alt and a key.
        [b'\r' | b'\n', ..] => KeyStep::Key(Some(ChatInput::Edit(EditCommand::Insert('\n'))), 2),
        [b'b', ..] => KeyStep::Key(Some(ChatInput::Edit(EditCommand::WordLeft)), 2),
        [b'f', ..] => KeyStep::Key(Some(ChatInput::Edit(EditCommand::WordRight)), 2),
        [0x7F | 0x08, ..] => KeyStep::Key(Some(ChatInput::Edit(EditCommand::DeleteWord)), 2),
        // Escape alone, and another key after it.
        _ => KeyStep::Key(None, 1),
    }
}

fn paste(bytes: &[u8]) -> KeyStep {
    let text = bytes.get(PASTE.0.len()..).unwrap_or_default();
    let end = text.windows(PASTE.1.len()).position(|window| window == PASTE.1);
    let read = |text: &[u8]| Some(ChatInput::Paste(String::from_utf8_lossy(text).into_owned()));
    match end {
        Some(end) => {
            KeyStep::Key(read(text.get(..end).unwrap_or_default()), PASTE.0.len() + end + PASTE.1.len())
        }
        None if text.len() > LONGEST_PASTE => KeyStep::Key(read(text), bytes.len()),
        None => KeyStep::Incomplete,
    }
}

/// A key that is sent as a sequence: its parameters, such as `1;5` with Ctrl, and its last byte.
fn sequence_key(parameters: &str, last: u8) -> Option<ChatInput> {
    let mut numbers = parameters.split(';');
    let first = numbers.next().unwrap_or_default();
    let is_modified = numbers.next().is_some_and(|modifiers| modifiers != "1");
    let edit = match (last, first) {
        (b'A', _) => return Some(ChatInput::Up),
        (b'B', _) => return Some(ChatInput::Down),
        (b'C', _) if is_modified => EditCommand::WordRight,
        (b'C', _) => EditCommand::Right,
        (b'D', _) if is_modified => EditCommand::WordLeft,
        (b'D', _) => EditCommand::Left,
        (b'H', _) | (b'~', "1" | "7") => EditCommand::Home,
        (b'F', _) | (b'~', "4" | "8") => EditCommand::End,
        (b'~', "3") => EditCommand::Delete,
        _ => return None,
    };
    Some(ChatInput::Edit(edit))
}

/// A key with Ctrl, and those that terminals send the same way.
fn control(byte: u8) -> Option<ChatInput> {
    let edit = match byte {
        0x03 => return Some(ChatInput::Interrupt),
        0x04 => return Some(ChatInput::EndOfInput),
        0x0C => return Some(ChatInput::Redraw),
        b'\t' => return Some(ChatInput::Complete),
        b'\r' => return Some(ChatInput::Submit),
        0x10 => return Some(ChatInput::Up),
        0x0E => return Some(ChatInput::Down),
        b'\n' => EditCommand::Insert('\n'),
        0x01 => EditCommand::Home,
        0x05 => EditCommand::End,
        0x02 => EditCommand::Left,
        0x06 => EditCommand::Right,
        0x17 => EditCommand::DeleteWord,
        0x15 => EditCommand::DeleteToStart,
        0x0B => EditCommand::DeleteToEnd,
        0x08 | 0x7F => EditCommand::Backspace,
        _ => return None,
    };
    Some(ChatInput::Edit(edit))
}

/// A character in UTF-8.
fn char_key(bytes: &[u8]) -> KeyStep {
    let needed = match bytes.first() {
        Some(0xC2..=0xDF) => 2,
        Some(0xE0..=0xEF) => 3,
        Some(0xF0..=0xF4) => 4,
        _ => 1,
    };
    let Some(sequence) = bytes.get(..needed) else { return KeyStep::Incomplete };
    match std::str::from_utf8(sequence).ok().and_then(|text| text.chars().next()) {
        Some(char) => KeyStep::Key(Some(ChatInput::Edit(EditCommand::Insert(char))), needed),
        None => KeyStep::Key(None, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<ChatInput> {
        KeyReader::default().push(bytes)
    }

    #[test]
    fn keys_have_the_meaning_of_a_shell() {
        use EditCommand::{DeleteWord, Home, Insert, Left, WordRight};
        assert_eq!(read(b"\x03\x04"), [ChatInput::Interrupt, ChatInput::EndOfInput]);
        assert_eq!(read("cé".as_bytes()), [Insert('c'), Insert('é')].map(ChatInput::Edit));
        assert_eq!(read(b"\r"), [ChatInput::Submit]);
        assert_eq!(read(b"\x1B\r\n"), [Insert('\n'), Insert('\n')].map(ChatInput::Edit));
        assert_eq!(read(b"\x1B[A\x1BOB"), [ChatInput::Up, ChatInput::Down]);
        assert_eq!(
            read(b"\x1B[D\x1B[1;5C\x1B[H\x17"),
            [Left, WordRight, Home, DeleteWord].map(ChatInput::Edit)
        );
    }

    #[test]
    fn pasted_text_is_one_input_with_its_line_ends() {
        assert_eq!(read(b"\x1B[200~a\rb\x03\x1B[201~"), [ChatInput::Paste("a\rb\x03".into())]);
    }

    #[test]
    fn bytes_may_be_cut_anywhere_and_garbage_is_left_out() {
        let bytes = "é\x1B[1;5D\x1B[200~x\x1B[201~\x1B[99;99zq".as_bytes();
        let mut reader = KeyReader::default();
        let one_by_one: Vec<_> = bytes.iter().flat_map(|byte| reader.push(&[*byte])).collect();
        assert_eq!(one_by_one, read(bytes));
        assert_eq!(one_by_one.last(), Some(&ChatInput::Edit(EditCommand::Insert('q'))));
        assert_eq!(read(b"\xFF\xFEa"), [ChatInput::Edit(EditCommand::Insert('a'))]);
    }
}
