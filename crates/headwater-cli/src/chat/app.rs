//! The chat without I/O: inputs and updates of the run go in, actions and frames come out.

mod frame;
mod lists;

use std::{
    collections::{HashSet, VecDeque},
    time::{Duration, Instant},
};

use headwater_client::{AgentPage, Answer, ConnectionStatus, Error, PendingRequest, SessionSummary, Update};
use headwater_protocol::{ErrorEvent, Event, Part, RunState, RunStatus, ToolPart};

use super::{
    action::{ChatAction, ChatFailure, ChatReply},
    editor::{EditCommand, LineEditor},
    key::ChatInput,
    markdown::MarkdownLook,
    parts,
    request::{self, RequestPrompt},
    run_view::{self, RunView},
    slash::{self, SlashCommand},
    styled::StyledLine,
};
use crate::style::{DIM, GREEN, RED, YELLOW};

/// Who is talked to.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChatTarget {
    /// The server, for people.
    pub(crate) server: String,
    /// Whether sessions outlive this process.
    pub(crate) is_kept: bool,
    pub(crate) agent: Option<String>,
    pub(crate) session: Option<String>,
}

/// The chat on the screen.
#[derive(Debug)]
pub(super) struct ChatApp {
    target: ChatTarget,
    agents: AgentPage,
    colour: bool,
    width: usize,
    height: usize,
    editor: LineEditor,
    /// The text at the prompt when a request of the run came.
    draft: Option<String>,
    run: Option<FollowedRun>,
    prompt: Option<RequestPrompt>,
    /// Position and number of the requests.
    position: (usize, usize),
    /// The answer was sent, and the run has not taken it yet.
    is_answered: bool,
    /// The page tools that were answered by themselves.
    declined: HashSet<String>,
    /// Messages that are sent when the run has ended.
    queue: VecDeque<String>,
    /// The request under way.
    busy: Option<&'static str>,
    connection: Option<LostConnection>,
    activity: Option<String>,
    /// Finished lines of the chat itself.
    out: Vec<StyledLine>,
    has_printed: bool,
    sessions: Vec<SessionSummary>,
    tools: Vec<ToolPart>,
    quits_next: bool,
    spinner: usize,
}

#[derive(Debug)]
struct FollowedRun {
    id: String,
    view: RunView,
    is_attached: bool,
    is_stopping: bool,
    since: Instant,
}

#[derive(Debug)]
struct LostConnection {
    problem: String,
    retry_at: Instant,
}

impl ChatApp {
    pub(super) fn new(
        target: ChatTarget,
        agents: AgentPage,
        colour: bool,
        (width, height): (u16, u16),
    ) -> Self {
        Self {
            target,
            agents,
            colour,
            width: width.into(),
            height: height.into(),
            editor: LineEditor::default(),
            draft: None,
            run: None,
            prompt: None,
            position: (0, 0),
            is_answered: false,
            declined: HashSet::new(),
            queue: VecDeque::new(),
            busy: None,
            connection: None,
            activity: None,
            out: Vec::new(),
            has_printed: false,
            sessions: Vec::new(),
            tools: Vec::new(),
            quits_next: false,
            spinner: 0,
        }
    }

    /// The agent and the session of the next message.
    pub(super) fn target(&self) -> &ChatTarget {
        &self.target
    }

    fn look(&self) -> MarkdownLook {
        MarkdownLook { width: self.width.saturating_sub(1).clamp(20, 100), colour: self.colour }
    }

    /// Prints lines after a blank one.
    fn print(&mut self, lines: impl IntoIterator<Item = StyledLine>) {
        if self.has_printed {
            self.out.push(StyledLine::default());
        }
        self.out.extend(lines);
        self.has_printed = true;
        if let Some(run) = &mut self.run {
            run.view.interrupted();
        }
    }

    /// Prints a note of a few words.
    fn note(&mut self, style: anstyle::Style, mark: &str, text: &str) {
        let mark = StyledLine::of(style, mark).add(style, " ");
        let rest = StyledLine::plain("  ");
        let lines = StyledLine::of(style, text).wrap_behind(&mark, &rest, self.look().width);
        self.print(lines);
    }

    fn fail(&mut self, text: &str) {
        self.note(RED, "✗", text);
    }

    /// Handles an input of the terminal.
    pub(super) fn on_input(&mut self, input: ChatInput) -> Vec<ChatAction> {
        if input != ChatInput::Interrupt {
            self.quits_next = false;
        }
        match input {
            ChatInput::Edit(EditCommand::Insert(' ')) if self.editor.is_empty() && self.toggles() => {}
            ChatInput::Edit(edit) => self.editor.apply(edit),
            ChatInput::Paste(text) => self.editor.paste(&text),
            ChatInput::Up => self.on_arrow(false),
            ChatInput::Down => self.on_arrow(true),
            ChatInput::Complete => {
                if let Some(whole) = slash::complete(&self.editor.text()) {
                    self.editor.set(&whole);
                }
            }
            ChatInput::Submit => return self.on_submit(),
            ChatInput::Interrupt => return self.on_interrupt(),
            ChatInput::EndOfInput if self.editor.is_empty() => return vec![ChatAction::Quit],
            ChatInput::EndOfInput => self.editor.apply(EditCommand::Delete),
            ChatInput::Redraw => return vec![ChatAction::Redraw],
            ChatInput::Resize(width, height) => (self.width, self.height) = (width.into(), height.into()),
        }
        Vec::new()
    }

    fn toggles(&mut self) -> bool {
        !self.is_answered && self.prompt.as_mut().is_some_and(RequestPrompt::toggle)
    }

    fn on_arrow(&mut self, down: bool) {
        let moved = self.editor.is_empty() && self.prompt.as_mut().is_some_and(|prompt| prompt.step(down));
        if !moved {
            self.editor.apply(if down { EditCommand::Newer } else { EditCommand::Older });
        }
    }

    /// Ctrl-C: stops the run; without one, or pressed again, it ends the chat.
    fn on_interrupt(&mut self) -> Vec<ChatAction> {
        if self.quits_next {
            return vec![ChatAction::Quit];
        }
        if self.run.is_some() {
            self.quits_next = true;
            return self.stop();
        }
        if self.editor.is_empty() {
            self.quits_next = true;
        }
        self.editor.clear();
        Vec::new()
    }

    fn stop(&mut self) -> Vec<ChatAction> {
        match &mut self.run {
            Some(run) => {
                run.is_stopping = true;
                vec![ChatAction::Stop]
            }
            None => {
                self.fail("no run is active");
                Vec::new()
            }
        }
    }

    fn on_submit(&mut self) -> Vec<ChatAction> {
        let typed = self.editor.text();
        if let Some(command) = slash::parse(&typed) {
            self.editor.submit();
            return match command {
                Ok(command) => self.on_command(command),
                Err(problem) => {
                    self.fail(&problem);
                    Vec::new()
                }
            };
        }
        if let Some(prompt) = self.prompt.as_mut().filter(|_| !self.is_answered) {
            let answer = prompt.submit(&typed);
            if prompt.problem.is_none() {
                self.editor.clear();
            }
            let request = Box::new(prompt.request().clone());
            return answer.map(|answer| self.answer(*request, answer)).unwrap_or_default();
        }
        if typed.trim().is_empty() {
            return Vec::new();
        }
        self.editor.submit();
        if self.run.is_some() || self.busy.is_some() {
            self.queue.push_back(typed);
            return Vec::new();
        }
        self.send(typed)
    }

    fn answer(&mut self, request: PendingRequest, answer: Answer) -> Vec<ChatAction> {
        self.is_answered = true;
        vec![ChatAction::Answer(Box::new((request, answer)))]
    }

    fn send(&mut self, text: String) -> Vec<ChatAction> {
        let lines = run_view::user_lines(&text, self.look());
        self.print(lines);
        self.begin("sending", ChatAction::Send(text))
    }

    fn begin(&mut self, what: &'static str, action: ChatAction) -> Vec<ChatAction> {
        self.busy = Some(what);
        vec![action]
    }

    fn on_command(&mut self, command: SlashCommand) -> Vec<ChatAction> {
        let is_idle = self.run.is_none() && self.busy.is_none();
        match command {
            SlashCommand::Quit => return vec![ChatAction::Quit],
            SlashCommand::Help => self.print_help(),
            SlashCommand::Tools => self.print_tools(),
            SlashCommand::Stop => return self.stop(),
            SlashCommand::Detach => return self.detach(),
            SlashCommand::Decline => match self.prompt.as_ref().filter(|_| !self.is_answered) {
                Some(prompt) => {
                    let (request, answer) = (Box::new(prompt.request().clone()), prompt.decline());
                    return self.answer(*request, answer);
                }
                None => self.fail("nothing waits for an answer"),
            },
            SlashCommand::Sessions(None) => return self.begin("reading", ChatAction::ListSessions),
            SlashCommand::Agents(None) => return self.begin("reading", ChatAction::ListAgents),
            _ if !is_idle => self.fail("a run is active: `/stop` or `/detach` first"),
            SlashCommand::Attach(run) => return self.begin("attaching", ChatAction::Attach(run)),
            SlashCommand::Sessions(Some(name)) => {
                let id = self.session_of(&name);
                return self.begin("opening", ChatAction::Open(id));
            }
            SlashCommand::Agents(Some(name)) => self.choose_agent(&name),
            SlashCommand::New => {
                self.target.session = None;
                self.note(DIM, "◦", "a new session");
            }
            _ if self.target.session.is_none() => self.fail("this session has no messages yet"),
            SlashCommand::Undo => return self.begin("undoing", ChatAction::Undo),
            SlashCommand::Retry => return self.begin("sending", ChatAction::Retry),
            SlashCommand::Fork => return self.begin("forking", ChatAction::Fork),
        }
        Vec::new()
    }

    fn detach(&mut self) -> Vec<ChatAction> {
        let Some(run) = self.run.take() else {
            self.fail("no run is active");
            return Vec::new();
        };
        self.end_requests();
        self.note(DIM, "◦", &format!("detached: `/attach {}` follows the run again", run.id));
        vec![ChatAction::Detach]
    }

    /// Handles the outcome of an action.
    pub(super) fn on_reply(&mut self, reply: &ChatReply) -> Vec<ChatAction> {
        if !matches!(reply, ChatReply::Stopped | ChatReply::Answered) {
            self.busy = None;
        }
        match reply {
            ChatReply::Run { run, session, attached } => {
                self.follow(run.id().as_str(), *attached);
                if session.is_some() {
                    self.target.session.clone_from(session);
                }
            }
            // The stream shows both.
            ChatReply::Stopped | ChatReply::Answered => {}
            ChatReply::Undone(message) => {
                self.note(YELLOW, "↶", "the last turn is undone");
                if let (Some(message), true) = (message, self.editor.is_empty()) {
                    self.editor.set(message);
                }
            }
            ChatReply::Forked(session) => {
                self.target.session = Some(session.id.clone());
                self.note(GREEN, "⑂", &format!("continuing in the copy {}", session.id));
            }
            ChatReply::Sessions(sessions) => self.print_sessions(sessions),
            ChatReply::Opened { session, messages, run } => {
                self.target.session = Some(session.clone());
                self.note(DIM, "◦", &format!("session {session}"));
                let lines = run_view::messages(messages, self.look());
                if !lines.is_empty() {
                    self.print(lines);
                }
                if let Some(run) = run {
                    self.follow(run.id().as_str(), true);
                }
            }
            ChatReply::Agents(agents) => {
                self.agents = agents.clone();
                self.print_agents();
            }
            ChatReply::Failed(failure) => self.on_failure(failure),
        }
        self.send_next()
    }

    fn follow(&mut self, id: &str, is_attached: bool) {
        let mut view = if is_attached { RunView::attached() } else { RunView::default() };
        view.interrupted();
        self.run = Some(FollowedRun {
            id: id.to_owned(),
            view,
            is_attached,
            is_stopping: false,
            since: Instant::now(),
        });
        if is_attached {
            self.note(DIM, "◦", &format!("following run {id}"));
        }
    }

    fn on_failure(&mut self, ChatFailure { action, error }: &ChatFailure) {
        match action {
            ChatAction::Answer(..) if error.code() == "request.answered" => return,
            ChatAction::Answer(..) => {
                self.is_answered = false;
                if let Some(prompt) = &mut self.prompt {
                    prompt.refuse(error.to_string());
                    return;
                }
            }
            ChatAction::Send(text) if self.editor.is_empty() => self.editor.set(text),
            ChatAction::Stop => {
                if let Some(run) = &mut self.run {
                    run.is_stopping = false;
                }
            }
            _ => {}
        }
        // Sending one message after the other to a server that refuses them helps nothing.
        self.queue.clear();
        self.fail(&error.to_string());
    }

    fn send_next(&mut self) -> Vec<ChatAction> {
        if self.run.is_some() || self.busy.is_some() {
            return Vec::new();
        }
        self.queue.pop_front().map(|text| self.send(text)).unwrap_or_default()
    }

    /// Handles an update of the run, which is already part of its state.
    pub(super) fn on_update(
        &mut self,
        update: &Update,
        state: &RunState,
        pending: &[PendingRequest],
    ) -> Vec<ChatAction> {
        match update {
            Update::Event(update) if !update.replay => self.on_event(&update.record.event, state),
            Update::Connection(ConnectionStatus::Open) => {
                if self.connection.take().is_some() {
                    self.flush(state);
                    self.note(GREEN, "↻", "connected again");
                }
                self.activity = None;
            }
            Update::Connection(ConnectionStatus::Queued) => {
                self.activity = Some("waits behind another run of this session".to_owned());
            }
            Update::Connection(ConnectionStatus::Lost { error, retry_in }) => {
                let retry_at = Instant::now() + *retry_in;
                self.connection = Some(LostConnection { problem: error.to_string(), retry_at });
            }
            _ => {}
        }
        self.on_pending(pending)
    }

    fn on_event(&mut self, event: &Event, state: &RunState) {
        match event {
            Event::AttemptRetracted(retracted) => {
                let was_printed = self.run.as_mut().is_some_and(|run| run.view.forget_retracted(state));
                self.flush(state);
                let reason = retracted.reason.as_deref().unwrap_or("the model failed");
                let void = if was_printed { "; the text above does not count" } else { "" };
                self.note(YELLOW, "↺", &format!("{reason}: trying again{void}"));
            }
            Event::Warning(warning) => {
                self.flush(state);
                self.note(YELLOW, "!", &warning.message);
            }
            Event::Error(ErrorEvent { error, terminal: false }) => {
                self.flush(state);
                self.fail(&error.message);
            }
            Event::Status(status) => self.activity = status.message.clone().or_else(|| status.state.clone()),
            Event::ToolOutput(_) | Event::ToolOutputError(_) | Event::ToolDenied(_) => {
                let parts = state.messages().iter().flat_map(|message| &message.parts);
                self.tools = parts.filter_map(Part::as_tool).cloned().collect();
            }
            _ => {}
        }
    }

    /// Prints the finished lines of the run, so that a note comes after them.
    fn flush(&mut self, state: &RunState) {
        let look = self.look();
        if let Some(run) = &mut self.run {
            let lines = run.view.take_finished(state, false, look);
            self.has_printed |= !lines.is_empty();
            self.out.extend(lines);
        }
    }

    fn on_pending(&mut self, pending: &[PendingRequest]) -> Vec<ChatAction> {
        let Some(run) = &self.run else { return Vec::new() };
        let answers_page_tools = !run.is_attached;
        let mut actions = Vec::new();
        let mut open = Vec::new();
        for one in pending {
            let PendingRequest::ClientTool { call, name, .. } = one else {
                open.push(one);
                continue;
            };
            if !answers_page_tools {
                open.push(one);
            } else if self.declined.insert(call.clone()) {
                let answer = Answer::output_error(request::not_available(name));
                actions.push(ChatAction::Answer(Box::new((one.clone(), answer))));
            }
        }
        let current = self
            .prompt
            .as_ref()
            .and_then(|prompt| open.iter().position(|one| request::id(one) == prompt.id()));
        match (current, open.first()) {
            (Some(at), _) => self.position = (at + 1, open.len()),
            (None, Some(first)) => {
                self.end_requests();
                self.prompt = Some(RequestPrompt::new((*first).clone()));
                self.position = (1, open.len());
                self.draft = Some(self.editor.text()).filter(|text| !text.is_empty());
                self.editor.clear();
            }
            (None, None) => self.end_requests(),
        }
        actions
    }

    /// Nothing waits for an answer any more: the text that was typed before is at the prompt again.
    fn end_requests(&mut self) {
        self.is_answered = false;
        if self.prompt.take().is_none() {
            return;
        }
        self.editor.clear();
        if let Some(draft) = self.draft.take() {
            self.editor.set(&draft);
        }
    }

    /// The run has ended.
    pub(super) fn on_run_end(&mut self, state: &RunState) -> Vec<ChatAction> {
        self.end_run(state);
        let run = state.run();
        match run.status {
            RunStatus::Failed => {
                let error = run.error.as_ref().map_or("the run failed", |error| error.message.as_str());
                self.fail(error);
            }
            RunStatus::Cancelled => self.note(YELLOW, "■", "stopped"),
            _ => {}
        }
        self.send_next()
    }

    /// The run can no longer be followed.
    pub(super) fn on_run_lost(&mut self, error: &Error, state: &RunState) {
        let id = self.run.as_ref().map(|run| run.id.clone()).unwrap_or_default();
        self.end_run(state);
        self.queue.clear();
        self.fail(&format!("{error}; `/attach {id}` tries again"));
    }

    /// Prints the rest of the run, which is no longer followed.
    pub(super) fn end_run(&mut self, state: &RunState) {
        let look = self.look();
        if let Some(run) = &mut self.run {
            let lines = run.view.take_finished(state, true, look);
            self.has_printed |= !lines.is_empty();
            self.out.extend(lines);
        }
        self.end_requests();
        self.run = None;
        (self.connection, self.activity) = (None, None);
    }

    /// Turns the spinners.
    pub(super) fn on_tick(&mut self) {
        self.spinner = self.spinner.wrapping_add(1);
    }

    /// Whether something on the screen moves by itself.
    pub(super) fn is_animated(&self) -> bool {
        self.run.is_some() || self.busy.is_some()
    }

    fn elapsed(&self) -> Duration {
        self.run.as_ref().map(|run| run.since.elapsed()).unwrap_or_default()
    }

    fn print_tools(&mut self) {
        let look = self.look();
        if self.tools.is_empty() {
            return self.fail("the last run called no tools");
        }
        let lines: Vec<_> = self.tools.iter().flat_map(|tool| parts::tool_details(tool, look)).collect();
        self.print(lines);
    }
}

#[cfg(test)]
mod tests;
