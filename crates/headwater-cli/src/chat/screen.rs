//! Draws frames: finished lines scroll away once, live lines are drawn again in place.
//!
//! Everything happens relative to the cursor, on the normal screen, so that the terminal's own scrollback holds the chat.

use super::styled::StyledLine;

/// What is drawn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ScreenFrame {
    /// Lines that never change again.
    pub(super) finished: Vec<StyledLine>,
    /// Lines at the bottom that are drawn again with the next frame.
    pub(super) live: Vec<StyledLine>,
    /// Row of the live lines and column of the cursor.
    pub(super) cursor: (usize, usize),
}

/// What the terminal shows of the last frame.
#[derive(Debug)]
pub(super) struct Screen {
    width: usize,
    colour: bool,
    live: Vec<StyledLine>,
    cursor: (usize, usize),
    /// Rows between the first live line and the cursor, as the terminal shows them.
    rows_above: usize,
    is_drawn: bool,
}

/// Output between these is shown at once by terminals that know them; others ignore them.
const BEGIN: &str = "\x1B[?2026h\x1B[?25l";
const END: &str = "\x1B[?25h\x1B[?2026l";

impl Screen {
    pub(super) fn new(width: usize, colour: bool) -> Self {
        Self { width, colour, live: Vec::new(), cursor: (0, 0), rows_above: 0, is_drawn: false }
    }

    /// The terminal has another width now: it breaks lines that no longer fit, and joins them again.
    pub(super) fn resize(&mut self, width: usize) {
        self.width = width.max(1);
        let above = self.live.iter().take(self.cursor.0).map(|line| line.width().max(1).div_ceil(self.width));
        self.rows_above = above.sum::<usize>() + self.cursor.1 / self.width;
        self.is_drawn = false;
    }

    /// The bytes that show a frame; nothing if the terminal shows it already.
    pub(super) fn draw(&mut self, frame: ScreenFrame) -> String {
        let same = self.is_drawn && frame.live == self.live && frame.cursor == self.cursor;
        if same && frame.finished.is_empty() {
            return String::new();
        }
        let mut out = BEGIN.to_owned();
        out.push_str(&self.to_start());
        for line in &frame.finished {
            out.push_str(&line.render(self.colour));
            out.push_str("\r\n");
        }
        let lines: Vec<_> = frame.live.iter().map(|line| line.render(self.colour)).collect();
        out.push_str(&lines.join("\r\n"));
        let below = frame.live.len().saturating_sub(1).saturating_sub(frame.cursor.0);
        if below > 0 {
            out.push_str(&format!("\x1B[{below}A"));
        }
        out.push('\r');
        if frame.cursor.1 > 0 {
            out.push_str(&format!("\x1B[{}C", frame.cursor.1));
        }
        out.push_str(END);
        self.rows_above = frame.cursor.0;
        (self.live, self.cursor, self.is_drawn) = (frame.live, frame.cursor, true);
        out
    }

    /// The bytes that clear the whole screen; the next frame begins at its top.
    pub(super) fn clear(&mut self) -> String {
        (self.rows_above, self.is_drawn) = (0, false);
        "\x1B[2J\x1B[H".to_owned()
    }

    /// The bytes that remove the live lines.
    pub(super) fn remove_live(&mut self) -> String {
        let out = self.to_start();
        (self.live, self.cursor, self.rows_above, self.is_drawn) = (Vec::new(), (0, 0), 0, false);
        out
    }

    fn to_start(&self) -> String {
        let up = match self.rows_above {
            0 => String::new(),
            rows => format!("\x1B[{rows}A"),
        };
        format!("{up}\r\x1B[J")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(finished: &[&str], live: &[&str], cursor: (usize, usize)) -> ScreenFrame {
        let lines = |texts: &[&str]| texts.iter().map(|text| StyledLine::plain(text)).collect();
        ScreenFrame { finished: lines(finished), live: lines(live), cursor }
    }

    fn bare(bytes: &str) -> String {
        bytes.replace(BEGIN, "").replace(END, "")
    }

    #[test]
    fn finished_lines_are_written_once_and_live_lines_replaced() {
        let mut screen = Screen::new(80, false);
        assert_eq!(bare(&screen.draw(frame(&["a"], &["b", "> "], (1, 2)))), "\r\x1B[Ja\r\nb\r\n> \r\x1B[2C");
        assert_eq!(screen.draw(frame(&[], &["b", "> "], (1, 2))), "");
        assert_eq!(
            bare(&screen.draw(frame(&["b"], &["> x", "foot"], (0, 3)))),
            "\x1B[1A\r\x1B[Jb\r\n> x\r\nfoot\x1B[1A\r\x1B[3C"
        );
    }

    #[test]
    fn narrower_terminal_has_broken_the_lines_above_the_cursor() {
        let mut screen = Screen::new(80, false);
        screen.draw(frame(&[], &[&"x".repeat(70), "", "> "], (2, 2)));
        screen.resize(30);
        // Three rows of the long line, and the blank one.
        assert!(bare(&screen.draw(frame(&[], &["> "], (0, 2)))).starts_with("\x1B[4A\r\x1B[J"));
    }

    #[test]
    fn without_colour_there_are_no_styles() {
        let mut screen = Screen::new(80, false);
        let bold = StyledLine::of(crate::style::BOLD, "a");
        let drawn = screen.draw(ScreenFrame { finished: vec![bold], ..ScreenFrame::default() });
        assert!(!drawn.contains("\x1B[1m"), "{drawn:?}");
    }
}
