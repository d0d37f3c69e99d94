//! The greeting, and the lists of agents, sessions and commands.

use headwater_client::SessionSummary;

use super::{super::slash, ChatApp, StyledLine};
use crate::style::{BOLD, CYAN, DIM, PLAIN};

/// The most sessions that are listed.
const SESSIONS: usize = 20;

impl ChatApp {
    /// Prints the server, the agent and things to try.
    pub(in crate::chat) fn greet(&mut self) {
        let version = env!("CARGO_PKG_VERSION");
        let head = StyledLine::of(BOLD, &format!("headwater {version}"))
            .add(DIM, &format!("  {}", self.target.server));
        self.print([head]);
        self.print_agent();
    }

    /// Prints the agent, and what to say to it.
    fn print_agent(&mut self) {
        let name = self.target.agent.clone().unwrap_or_default();
        let Some(agent) = self.agents.agents.iter().find(|agent| agent.name == name) else { return };
        let mut line = StyledLine::of(CYAN, &agent.name);
        if let Some(description) = &agent.description {
            line.push(PLAIN, &format!("  {description}"));
        }
        let indent = StyledLine::plain("  ");
        let mut lines = line.wrap_behind(&StyledLine::default(), &indent, self.look().width);
        if !agent.suggestions.is_empty() {
            let try_it = StyledLine::dim("try: ").add(PLAIN, &agent.suggestions.join(" · "));
            lines.extend(try_it.wrap_behind(&StyledLine::default(), &indent, self.look().width));
        }
        let others = self.agents.agents.len().saturating_sub(1);
        if others > 0 {
            let agents = crate::style::count(others as u64, "other agent");
            lines.push(StyledLine::dim(&format!("{agents}: /agents")));
        }
        self.print(lines);
    }

    pub(super) fn print_agents(&mut self) {
        let indent = StyledLine::plain("  ");
        let mut lines = Vec::new();
        for agent in &self.agents.agents {
            let mark = if self.target.agent.as_ref() == Some(&agent.name) { "❯ " } else { "  " };
            let mut line = StyledLine::of(CYAN, &agent.name);
            if let Some(description) = &agent.description {
                line.push(DIM, &format!("  {description}"));
            }
            lines.extend(line.wrap_behind(&StyledLine::of(CYAN, mark), &indent, self.look().width));
        }
        lines.push(StyledLine::dim("  /agents NAME begins a session with one"));
        self.print(lines);
    }

    pub(super) fn choose_agent(&mut self, name: &str) {
        let known = self.agents.agents.iter().any(|agent| agent.name == name);
        if !known {
            let names: Vec<_> = self.agents.agents.iter().map(|agent| agent.name.as_str()).collect();
            let near = headwater_models::nearest(name, names.iter().copied());
            let hint = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            return self.fail(&format!("unknown agent `{name}`: {hint}`/agents` lists them"));
        }
        self.target.agent = Some(name.to_owned());
        self.target.session = None;
        self.print_agent();
    }

    pub(super) fn print_sessions(&mut self, sessions: &[SessionSummary]) {
        self.sessions = sessions.iter().take(SESSIONS).cloned().collect();
        if self.sessions.is_empty() {
            return self.fail("this agent has no sessions yet");
        }
        let width = self.look().width;
        let line = |(at, session): (usize, &SessionSummary)| {
            let mark = if self.target.session.as_ref() == Some(&session.id) { "❯" } else { " " };
            let label = session.label.as_deref().unwrap_or("without a label");
            let mut line = StyledLine::of(CYAN, &format!("{mark} {:>2}. ", at + 1))
                .add(PLAIN, &label.replace('\n', " "));
            let state = match (&session.active_run, &session.waiting_run) {
                (Some(_), _) => ", active",
                (None, Some(_)) => ", waits for an answer",
                (None, None) => "",
            };
            let turns = crate::style::count(session.turns, "turn");
            line.push(DIM, &format!("  {turns}{state}, {}", session.id));
            line.truncate(width)
        };
        let mut lines: Vec<_> = self.sessions.iter().enumerate().map(line).collect();
        lines.push(StyledLine::dim("  /sessions N opens one"));
        self.print(lines);
    }

    /// The id of a session by its number in the last list; otherwise it is the id.
    pub(super) fn session_of(&self, name: &str) -> String {
        let nth = name.parse::<usize>().ok().and_then(|number| self.sessions.get(number.checked_sub(1)?));
        nth.map_or_else(|| name.to_owned(), |session| session.id.clone())
    }

    pub(super) fn print_help(&mut self) {
        let mut lines: Vec<_> = slash::help()
            .map(|(typed, meaning)| StyledLine::of(CYAN, &format!("  {typed:16}")).add(PLAIN, meaning))
            .collect();
        lines.push(StyledLine::dim(
            "  Alt-Enter or Ctrl-J begins a line, Tab completes a command, ↑ recalls a message",
        ));
        let width = self.look().width;
        self.print(lines.into_iter().map(|line| line.truncate(width)).collect::<Vec<_>>());
    }
}
