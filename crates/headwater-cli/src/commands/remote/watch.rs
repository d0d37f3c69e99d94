//! A table on the terminal that is kept current.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use crate::{
    failure::CommandFailure,
    style::{self, DIM, YELLOW},
};

/// How often the table is requested.
const INTERVAL: Duration = Duration::from_secs(2);

/// The other screen of the terminal, so that what was on it is there again afterwards.
struct OtherScreen;

impl OtherScreen {
    fn enter() -> io::Result<Self> {
        print("\x1b[?1049h\x1b[?25l")?;
        Ok(Self)
    }
}

impl Drop for OtherScreen {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = print("\x1b[?25h\x1b[?1049l");
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Draws the lines anew every two seconds until Ctrl-C. A server that is away for a while ends nothing.
pub(super) async fn watch(
    noun: &str,
    lines: impl AsyncFn(usize) -> Result<Vec<String>, CommandFailure>,
) -> Result<(), CommandFailure> {
    if !io::stdout().is_terminal() {
        return Err(CommandFailure::new(
            "--watch needs a terminal: leave it out, and repeat the command for a list that is current",
        ));
    }
    let mut stop = std::pin::pin!(tokio::signal::ctrl_c());
    let mut shown = Vec::new();
    let mut screen = None;
    loop {
        let columns = style::terminal_width();
        let drawn = tokio::select! {
            drawn = lines(columns) => drawn,
            _ = &mut stop => return Ok(()),
        };
        let status = match drawn {
            Ok(lines) if lines.is_empty() => {
                shown = vec![format!("{DIM}no {noun}{DIM:#}")];
                String::new()
            }
            Ok(lines) => {
                shown = lines;
                String::new()
            }
            Err(failure) if failure.is_temporary() && screen.is_some() => {
                format!("{YELLOW}{}{YELLOW:#}", style::printable(&failure.to_string()))
            }
            Err(failure) => return Err(failure),
        };
        if screen.is_none() {
            screen = Some(OtherScreen::enter()?);
        }
        draw(&shown, &status)?;
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            _ = &mut stop => return Ok(()),
        }
    }
}

/// Writes as many lines as the terminal has, over those that are there.
fn draw(lines: &[String], status: &str) -> io::Result<()> {
    let rows = terminal_size::terminal_size().map_or(24, |(_, rows)| usize::from(rows.0));
    let mut frame = String::from("\x1b[H");
    for line in lines.iter().take(rows.saturating_sub(2)) {
        frame.push_str(line);
        frame.push_str("\x1b[K\r\n");
    }
    frame.push_str(&format!("\x1b[J{DIM}Ctrl-C ends{DIM:#}  {status}"));
    if anstream::AutoStream::choice(&io::stdout()) == anstream::ColorChoice::Never {
        frame = without_colours(&frame);
    }
    print(&frame)
}

/// Removes colours and leaves what moves the cursor.
fn without_colours(frame: &str) -> String {
    let mut plain = String::new();
    let mut pieces = frame.split("\x1b[");
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.find(|char: char| char.is_ascii_alphabetic()).unwrap_or(0);
        match piece.split_at_checked(end + 1) {
            Some((code, rest)) if code.ends_with('m') => plain.push_str(rest),
            _ => plain.push_str(&format!("\x1b[{piece}")),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::without_colours;

    #[test]
    fn cursor_moves_stay_without_colours() {
        assert_eq!(without_colours("\x1b[Ha\x1b[1mb\x1b[0mc\x1b[K\r\n\x1b[J"), "\x1b[Habc\x1b[K\r\n\x1b[J");
    }
}
