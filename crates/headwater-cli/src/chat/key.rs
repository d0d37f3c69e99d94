//! What the keys mean.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

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

/// The meaning of an event; most have none.
pub(super) fn input(event: Event) -> Option<ChatInput> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key_input(key),
        Event::Paste(text) => Some(ChatInput::Paste(text)),
        Event::Resize(width, height) => Some(ChatInput::Resize(width, height)),
        _ => None,
    }
}

fn key_input(key: KeyEvent) -> Option<ChatInput> {
    use EditCommand as Edit;

    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    // AltGr is reported as both.
    let edit = match (key.code, control && !alt, alt && !control) {
        (KeyCode::Char('c'), true, _) => return Some(ChatInput::Interrupt),
        (KeyCode::Char('d'), true, _) => return Some(ChatInput::EndOfInput),
        (KeyCode::Char('l'), true, _) => return Some(ChatInput::Redraw),
        (KeyCode::Char('p'), true, _) | (KeyCode::Up, ..) => return Some(ChatInput::Up),
        (KeyCode::Char('n'), true, _) | (KeyCode::Down, ..) => return Some(ChatInput::Down),
        (KeyCode::Tab, ..) => return Some(ChatInput::Complete),
        (KeyCode::Enter, _, true) | (KeyCode::Char('j'), true, _) => Edit::Insert('\n'),
        (KeyCode::Enter, ..) if key.modifiers.contains(KeyModifiers::SHIFT) => Edit::Insert('\n'),
        (KeyCode::Enter, ..) => return Some(ChatInput::Submit),
        (KeyCode::Char('a'), true, _) | (KeyCode::Home, ..) => Edit::Home,
        (KeyCode::Char('e'), true, _) | (KeyCode::End, ..) => Edit::End,
        (KeyCode::Char('b'), _, true) | (KeyCode::Left, true, _) | (KeyCode::Left, _, true) => Edit::WordLeft,
        (KeyCode::Char('f'), _, true) | (KeyCode::Right, true, _) | (KeyCode::Right, _, true) => {
            Edit::WordRight
        }
        (KeyCode::Char('b'), true, _) | (KeyCode::Left, ..) => Edit::Left,
        (KeyCode::Char('f'), true, _) | (KeyCode::Right, ..) => Edit::Right,
        (KeyCode::Char('w'), true, _) | (KeyCode::Backspace, _, true) => Edit::DeleteWord,
        (KeyCode::Char('u'), true, _) => Edit::DeleteToStart,
        (KeyCode::Char('k'), true, _) => Edit::DeleteToEnd,
        (KeyCode::Char('h'), true, _) | (KeyCode::Backspace, ..) => Edit::Backspace,
        (KeyCode::Delete, ..) => Edit::Delete,
        (KeyCode::Char(char), false, false) => Edit::Insert(char),
        _ => return None,
    };
    Some(ChatInput::Edit(edit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Option<ChatInput> {
        input(Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn keys_have_the_meaning_of_a_shell() {
        assert_eq!(pressed(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(ChatInput::Interrupt));
        assert_eq!(
            pressed(KeyCode::Char('c'), KeyModifiers::NONE),
            Some(ChatInput::Edit(EditCommand::Insert('c')))
        );
        assert_eq!(
            pressed(KeyCode::Enter, KeyModifiers::ALT),
            Some(ChatInput::Edit(EditCommand::Insert('\n')))
        );
        assert_eq!(pressed(KeyCode::Enter, KeyModifiers::NONE), Some(ChatInput::Submit));
        // `@` on a German keyboard.
        let alt_gr = KeyModifiers::CONTROL | KeyModifiers::ALT;
        assert_eq!(pressed(KeyCode::Char('@'), alt_gr), Some(ChatInput::Edit(EditCommand::Insert('@'))));
        assert_eq!(pressed(KeyCode::F(1), KeyModifiers::NONE), None);
    }
}
