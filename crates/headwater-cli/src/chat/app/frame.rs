//! The frame of the moment.

use std::time::Instant;

use headwater_protocol::RunState;

use super::{super::screen::ScreenFrame, ChatApp, StyledLine};
use crate::style::{CYAN, DIM, PLAIN, YELLOW};

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

impl ChatApp {
    /// The lines that are finished since the last frame, and the live ones. `state` is that of the run that is followed.
    pub(in crate::chat) fn frame(&mut self, state: Option<&RunState>) -> ScreenFrame {
        let look = self.look();
        let spinner = SPINNER.get(self.spinner % SPINNER.len()).copied().unwrap_or_default();
        let mut finished = std::mem::take(&mut self.out);
        let mut live = Vec::new();
        if let (Some(run), Some(state)) = (&mut self.run, state) {
            finished.extend(run.view.take_finished(state, false, look));
            live = run.view.live_lines(state, spinner, look);
        }
        self.has_printed |= !finished.is_empty();
        let mut foot = self.status_lines(spinner);
        foot.push(StyledLine::default());
        let first = foot.len();
        let mark = if self.prompt.is_some() {
            StyledLine::of(YELLOW.bold(), "? ")
        } else {
            StyledLine::of(CYAN.bold(), "› ")
        };
        let room = self.width.saturating_sub(3).max(4);
        let typed = self.editor.rows(room, (self.height / 3).max(1));
        let mut prefix = mark;
        for row in &typed.rows {
            let line = std::mem::replace(&mut prefix, StyledLine::plain("  "));
            foot.push(line.add(PLAIN, row));
        }
        foot.push(self.footer());
        let cursor = (first + typed.cursor.0, 2 + typed.cursor.1);
        let (live, cursor_row) = fit(live, foot, cursor.0, self.height.saturating_sub(1).max(1));
        // A line that fills the terminal would be joined with the next one when it is resized.
        let limit = self.width.saturating_sub(1).max(1);
        let clip = |line: StyledLine| line.truncate(limit);
        ScreenFrame {
            finished,
            live: live.into_iter().map(clip).collect(),
            cursor: (cursor_row, cursor.1.min(limit)),
        }
    }

    /// What happens now: the request, the connection, the queue.
    fn status_lines(&self, spinner: &str) -> Vec<StyledLine> {
        let look = self.look();
        let mut lines = Vec::new();
        let turning = |text: &str| StyledLine::of(CYAN, spinner).add(DIM, &format!(" {text}"));
        if let Some(lost) = &self.connection {
            let left = lost.retry_at.saturating_duration_since(Instant::now()).as_secs_f64().ceil();
            let when = if left > 0.0 { format!("retrying in {left} s") } else { "retrying".to_owned() };
            let text = format!("connection lost, {when} ({})", lost.problem);
            lines.push(StyledLine::of(YELLOW, &format!("{spinner} {text}")));
        } else if let Some(busy) = self.busy {
            lines.push(turning(busy));
        } else if let Some(run) = &self.run {
            let seconds = self.elapsed().as_secs();
            if run.is_stopping {
                lines.push(turning("stopping · Ctrl-C again to quit"));
            } else if let Some(prompt) = self.prompt.as_ref().filter(|_| !self.is_answered) {
                lines.extend(prompt.lines(self.position, look));
            } else {
                let what = self.activity.as_deref().unwrap_or("working");
                lines.push(turning(&format!("{what} · {seconds} s · Ctrl-C to stop")));
            }
        }
        let waiting =
            self.queue.iter().map(|text| StyledLine::dim(&format!("  next: {}", text.replace('\n', " "))));
        lines.extend(waiting);
        if !lines.is_empty() {
            lines.insert(0, StyledLine::default());
        }
        lines
    }

    fn footer(&self) -> StyledLine {
        if self.quits_next && self.run.is_none() {
            return StyledLine::of(YELLOW, "  Ctrl-C again to quit");
        }
        let agent = self.target.agent.as_deref().unwrap_or("default agent");
        StyledLine::dim(&format!("  /help · {agent} · {}", self.target.server))
    }
}

/// The lines that fit the terminal: all of the foot if possible, and the end of what grows.
fn fit(
    live: Vec<StyledLine>,
    foot: Vec<StyledLine>,
    cursor: usize,
    height: usize,
) -> (Vec<StyledLine>, usize) {
    let room = height.saturating_sub(foot.len());
    let hidden = live.len().saturating_sub(room);
    let mut lines: Vec<_> = live.into_iter().skip(hidden).collect();
    if let (Some(first), true) = (lines.first_mut(), hidden > 0) {
        *first = StyledLine::dim("⋮");
    }
    let cursor = lines.len() + cursor;
    lines.extend(foot);
    // In a terminal of a few rows the prompt is what counts.
    let surplus = lines.len().saturating_sub(height).min(cursor);
    lines.drain(..surplus);
    lines.truncate(height);
    (lines, cursor - surplus)
}
