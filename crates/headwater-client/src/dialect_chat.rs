//! A conversation with any server that supports a dialect.

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    future::poll_fn,
    task::{Context, Poll, ready},
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use headwater_dialects::{ClientRequest, InterruptAnswer, Reader};
use headwater_protocol::{
    ApprovalAnswered, ClientTool, Event, Executor, Interrupt, Message, Part, Record, Role, RunState,
    ToolOutput, ToolOutputError, ToolState,
};
use serde_json::{Value, json};

use crate::{
    Client, Error, PendingRequest, Result, ToolSet,
    client::new_key,
    connection::{Connection, ConnectionEvent},
    dialect_reader::{DialectReader, rules},
    http::{Http, Request, accept_events, encode_segment},
    platform::BoxFuture,
    update::{ConnectionStatus, Update},
};

/// Why a TanStack server interrupts a run for a tool of its client.
const CLIENT_TOOL: &str = "tanstack:client_tool_execution";

/// A conversation with a server that supports a dialect: the AI SDK's, TanStack's, an AG-UI server, or
/// Headwater's own.
///
/// The URL of the client is the chat route of the server. The conversation is stored here, because such
/// servers receive all of it with each message.
///
/// A cut response is continued if the server supports it: a Headwater server by cursor, one of the AI SDK by
/// its `…/{id}/stream`, which sends the response again. Otherwise a cut is the error `stream.cut`.
///
/// ```no_run
/// use headwater_client::Client;
///
/// # async fn example() -> headwater_client::Result<()> {
/// let mut chat = Client::new("http://127.0.0.1:3000/api/chat").dialect("ai-sdk")?;
/// chat.send("Hello");
/// while let Some(update) = chat.next().await? {
///     println!("{update:?}");
/// }
/// println!("{}", chat.text());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DialectChat {
    http: Http,
    dialect: &'static dyn Reader,
    id: String,
    reader: DialectReader,
    connection: Connection,
    /// The request of the response that is being read.
    request: Option<Request>,
    /// The request that continues it after a cut.
    resume: Option<ResumeRequest>,
    phase: Phase,
    notices: VecDeque<Update>,
    /// The questions of the response that were not answered.
    questions: Vec<Interrupt>,
    answers: Vec<InterruptAnswer>,
    /// The calls that these answers are about.
    answered_calls: HashSet<String>,
    /// Something was answered since the last request.
    has_answers: bool,
    tools: ToolSet,
    specs: Vec<ClientTool>,
    shared: Option<Value>,
    jobs: Jobs,
    /// The calls that were executed: a server that asks for one again is not obeyed forever.
    executed: HashSet<String>,
    /// Whether the response is complete, and its calls are not processed yet.
    is_unchecked: bool,
    /// Number of events of the response since it started or restarted, and the maximum over all restarts.
    events: usize,
    most_events: usize,
    failure: Option<Error>,
    /// Whether a response to the last request has started.
    is_answered: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Reading,
}

#[derive(Debug)]
struct ResumeRequest {
    request: Request,
    /// Whether the response starts from the beginning, without a cursor.
    replays: bool,
}

#[derive(Default)]
struct Jobs(FuturesUnordered<BoxFuture<(String, std::result::Result<Value, String>)>>);

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Jobs({})", self.0.len())
    }
}

impl Client {
    /// A conversation with a server of this dialect (`ai-sdk`, `ag-ui`, `kortyx`, …) at the URL of the
    /// client.
    ///
    /// # Errors
    /// `dialect.unknown` if there is no such dialect.
    pub fn dialect(&self, name: &str) -> Result<DialectChat> {
        let Some(dialect) = headwater_dialects::reader(name).filter(|_| name != "native") else {
            let known: Vec<_> = headwater_dialects::CHAT.iter().map(|dialect| dialect.name()).collect();
            let message = format!("unknown dialect `{name}`: use one of {}", known.join(", "));
            return Err(Error::new("dialect.unknown", message));
        };
        Ok(DialectChat::new(self.http.clone(), dialect))
    }
}

impl DialectChat {
    fn new(http: Http, dialect: &'static dyn Reader) -> Self {
        let limits = (http.options.max_event_bytes, http.options.max_response_bytes);
        Self {
            reader: DialectReader::new(dialect, Vec::new(), limits),
            connection: Connection::new(http.options.clone()),
            http,
            dialect,
            id: new_key(),
            request: None,
            resume: None,
            phase: Phase::Idle,
            notices: VecDeque::new(),
            questions: Vec::new(),
            answers: Vec::new(),
            answered_calls: HashSet::new(),
            has_answers: false,
            tools: ToolSet::new(),
            specs: Vec::new(),
            shared: None,
            jobs: Jobs::default(),
            executed: HashSet::new(),
            is_unchecked: false,
            events: 0,
            most_events: 0,
            failure: None,
            is_answered: false,
        }
    }

    /// Sets the id of the conversation.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = id.into();
        self
    }

    /// Starts with the messages of an earlier conversation.
    #[must_use]
    pub fn messages(mut self, messages: Vec<Message>) -> Self {
        self.reader = self.new_reader(messages);
        self
    }

    /// Executes these tools when a response waits for their output. `specs` describe them to servers that take the tools
    /// of their clients.
    #[must_use]
    pub fn tools(mut self, tools: ToolSet, specs: Vec<ClientTool>) -> Self {
        (self.tools, self.specs) = (tools, specs);
        self
    }

    /// Starts with the questions that an earlier response left open, so that they can be answered.
    #[must_use]
    pub fn questions(mut self, questions: Vec<Interrupt>) -> Self {
        self.questions = questions;
        self
    }

    /// Sends this state along, in dialects whose clients share a state with the agent.
    #[must_use]
    pub fn shared_state(mut self, state: Value) -> Self {
        self.shared = Some(state);
        self
    }

    /// The questions of the response that were not answered.
    #[must_use]
    pub fn open_questions(&self) -> &[Interrupt] {
        &self.questions
    }

    /// Whether the server has started to answer the last request.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.is_answered
    }

    /// The conversation, with the response so far.
    #[must_use]
    pub fn state(&self) -> &RunState {
        self.reader.state()
    }

    /// The text of the last message of the server.
    #[must_use]
    pub fn text(&self) -> String {
        let answer = self.state().messages().iter().rev().take_while(|message| message.role != Role::User);
        let mut texts: Vec<_> =
            answer.filter(|message| message.role == Role::Assistant).map(Message::plain_text).collect();
        texts.reverse();
        texts.concat()
    }

    /// The open requests of the response, once it is read to its end.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingRequest> {
        if self.phase != Phase::Idle {
            return Vec::new();
        }
        let mut open: Vec<_> = self.questions.iter().map(|question| self.request_of(question)).collect();
        for tool in self.last_parts().filter_map(Part::as_tool) {
            let (call, name, input) = (tool.call.to_string(), tool.name.clone(), tool.input.clone());
            let approval = tool.approval.as_ref().and_then(|approval| approval.id.as_ref());
            let is_asked = self.questions.iter().any(|question| question.call.as_ref() == Some(&tool.call));
            if is_asked || self.answered_calls.contains(&call) {
                continue;
            }
            if let (ToolState::ApprovalRequested, Some(id)) = (tool.state, approval) {
                open.push(PendingRequest::Approval { request: id.to_string(), call, name, input });
            } else if tool.state == ToolState::InputAvailable && tool.executor != Executor::Provider {
                // A call without an output at the end of a response is the client's to execute.
                open.push(PendingRequest::ClientTool { call, name, input });
            }
        }
        open
    }

    /// A question, or the call or approval that it is about.
    fn request_of(&self, question: &Interrupt) -> PendingRequest {
        let tool = question.call.as_ref().and_then(|call| self.state().tool(call));
        match (tool, question.reason.as_deref()) {
            (Some(tool), Some(CLIENT_TOOL)) => PendingRequest::ClientTool {
                call: tool.call.to_string(),
                name: tool.name.clone(),
                input: tool.input_so_far(),
            },
            (Some(tool), Some("tool_call" | "approval_required")) => PendingRequest::Approval {
                request: question.request.to_string(),
                call: tool.call.to_string(),
                name: tool.name.clone(),
                input: tool.input_so_far(),
            },
            _ => PendingRequest::Question(Box::new(question.clone())),
        }
    }

    fn last_parts(&self) -> impl Iterator<Item = &Part> {
        let messages = self.state().messages().iter().rev();
        messages.take_while(|message| message.role != Role::User).flat_map(|message| &message.parts)
    }

    /// The unreadable parts of the response, which were skipped.
    #[must_use]
    pub fn problems(&self) -> &[headwater_protocol::Error] {
        self.reader.problems()
    }

    /// Adds a message of the user. [`next`](Self::next) sends it and reads the response.
    pub fn send(&mut self, text: impl Into<String>) {
        self.send_message(Message::text(format!("msg_{}", new_key()), Role::User, text.into()));
    }

    /// As [`send`](Self::send), with a message that has an id, and may have files.
    pub fn send_message(&mut self, message: Message) {
        let mut messages = self.state().messages().to_vec();
        messages.push(message);
        // A server may use the id of a call again in another turn.
        self.executed.clear();
        self.reader = self.new_reader(messages);
        self.start();
    }

    /// Approves or denies a tool call; the request is that of [`PendingRequest::Approval`].
    ///
    /// # Errors
    /// `request.unknown` if nothing waits for it.
    pub fn approve(&mut self, request: &str, approved: bool, reason: Option<&str>) -> Result<()> {
        if self.questions.iter().any(|question| question.request == *request) {
            let mut answer = json!({ "approved": approved });
            if let (Some(reason), Value::Object(fields)) = (reason, &mut answer) {
                fields.insert("reason".to_owned(), reason.into());
            }
            return self.answer(request, Some(answer));
        }
        let found = self.last_parts().filter_map(Part::as_tool).find_map(|tool| {
            let id = tool.approval.as_ref()?.id.as_ref().filter(|id| **id == *request)?;
            Some((id.clone(), tool.call.clone()))
        });
        let Some((approval, call)) = found else { return Err(unknown(request)) };
        let reason = reason.map(str::to_owned);
        self.apply_answer(ApprovalAnswered { approval, call: Some(call), approved, reason }.into());
        Ok(())
    }

    /// Answers a question; without an answer, declines to.
    ///
    /// # Errors
    /// `request.unknown` if nothing waits for it.
    pub fn answer(&mut self, request: &str, answer: Option<Value>) -> Result<()> {
        let found = self.questions.iter().position(|question| question.request == *request);
        let Some(found) = found else { return Err(unknown(request)) };
        let question = self.questions.remove(found);
        self.answered_calls.extend(question.call.as_ref().map(ToString::to_string));
        let cancelled = answer.is_none();
        self.answers.push(InterruptAnswer {
            request: question.request,
            token: question.token,
            answer,
            cancelled,
        });
        self.has_answers = true;
        Ok(())
    }

    /// Sends the output of a client tool, or the error that it failed with.
    ///
    /// # Errors
    /// `request.unknown` if nothing waits for it.
    pub fn add_tool_output(&mut self, call: &str, output: std::result::Result<Value, String>) -> Result<()> {
        let is_of_call = |question: &&Interrupt| question.call.as_ref().is_some_and(|known| *known == *call);
        if let Some(request) = self.questions.iter().find(is_of_call).map(|question| question.request.clone())
        {
            let answer = output.unwrap_or_else(|error| json!({ "error": error }));
            return self.answer(request.as_str(), Some(answer));
        }
        let tool = self.last_parts().filter_map(Part::as_tool).find(|tool| tool.call == *call);
        let Some(tool) = tool else { return Err(unknown(call)) };
        let (call, name) = (tool.call.clone(), Some(tool.name.clone()));
        self.apply_answer(match output {
            Ok(output) => ToolOutput { name, ..ToolOutput::new(call, output) }.into(),
            Err(error) => ToolOutputError { call, name, error }.into(),
        });
        Ok(())
    }

    /// Applies an answer to the conversation, for the next request.
    fn apply_answer(&mut self, event: Event) {
        let messages = self.state().messages().to_vec();
        // An ended run takes no events, so the messages go into a new state.
        let mut state = RunState::with_rules(rules(self.dialect)).with_messages(messages);
        // The call exists, so the event applies.
        let _ = state.apply(&Record::new(0, event));
        self.reader.set_state(state);
        self.has_answers = true;
    }

    /// The next update; `None` at the end of the response. Pending answers are sent first, once nothing else
    /// is waited for.
    ///
    /// # Errors
    /// If the server refuses, if its response is not a stream of the dialect, or if it was cut and cannot be continued.
    pub async fn next(&mut self) -> Result<Option<Update>> {
        poll_fn(|cx| self.poll_update(cx)).await.transpose()
    }

    fn poll_update(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Update>>> {
        loop {
            if let Some(update) = self.notices.pop_front().or_else(|| self.reader.next_update()) {
                if matches!(update, Update::Event(_)) {
                    self.note_event();
                }
                return Poll::Ready(Some(Ok(update)));
            }
            if let Some(error) = self.failure.take() {
                return Poll::Ready(Some(Err(error)));
            }
            if self.phase == Phase::Idle {
                if std::mem::take(&mut self.is_unchecked) {
                    self.questions = self.state().interrupts().to_vec();
                    self.execute_tools();
                }
                if !self.jobs.0.is_empty() {
                    if let Some((call, output)) = ready!(self.jobs.0.poll_next_unpin(cx)) {
                        // Cannot fail: the call was found in the same state.
                        let _ = self.add_tool_output(&call, output);
                    }
                    continue;
                }
                if self.has_answers && self.pending().is_empty() {
                    self.begin_answers();
                    continue;
                }
                return Poll::Ready(None);
            }
            let Some(request) = self.next_request() else { return Poll::Ready(None) };
            let Self { http, connection, .. } = self;
            let event = ready!(connection.poll(cx, || http.open(request.clone())));
            if let Err(error) = self.on_connection(event) {
                self.connection.close();
                self.phase = Phase::Idle;
                self.failure = Some(error);
            }
        }
    }

    /// Counts an event. Events of a replay are no progress, or a server that stalls at the same place would
    /// be retried forever.
    fn note_event(&mut self) {
        self.events += 1;
        if self.events > self.most_events {
            self.most_events = self.events;
            self.connection.progress();
        }
    }

    fn new_reader(&self, messages: Vec<Message>) -> DialectReader {
        let options = &self.http.options;
        DialectReader::new(self.dialect, messages, (options.max_event_bytes, options.max_response_bytes))
    }

    fn begin_answers(&mut self) {
        self.reader = self.new_reader(self.state().messages().to_vec());
        self.start();
    }

    fn start(&mut self) {
        self.connection.close();
        self.connection.progress();
        let run = new_key();
        let request = ClientRequest {
            session: &self.id,
            run: &run,
            messages: self.reader.state().messages(),
            answers: &self.answers,
            tools: &self.specs,
            state: self.shared.as_ref(),
        };
        match self.dialect.client_request(&request) {
            Ok(body) => {
                self.request = Some(accept_events(Request::post("", &body)));
                self.phase = Phase::Reading;
            }
            Err(error) => self.failure = Some(Error::new("request.invalid", error.to_string())),
        }
        (self.resume, self.is_answered) = (None, false);
        (self.events, self.most_events) = (0, 0);
        self.questions.clear();
        self.answers.clear();
        self.answered_calls.clear();
        self.has_answers = false;
    }

    /// The request of the next connection.
    fn next_request(&self) -> Option<Request> {
        let Some(resume) = &self.resume else { return self.request.clone() };
        let request = resume.request.clone();
        Some(match self.reader.cursor() {
            Some(cursor) if !resume.replays => request.header("last-event-id", cursor),
            _ => request,
        })
    }

    fn on_connection(&mut self, event: ConnectionEvent) -> Result<()> {
        match event {
            ConnectionEvent::Open(head) => {
                self.is_answered = true;
                if self.resume.is_some() && head.status == 204 {
                    return Err(cut(
                        "the response ended before it was complete, and the server has no more of it",
                    ));
                }
                match &self.resume {
                    None => self.resume = self.resume_request(head.run.as_deref()),
                    Some(ResumeRequest { replays: true, .. }) => {
                        self.reader.restarted();
                        self.events = 0;
                    }
                    Some(_) => self.reader.continued(),
                }
                self.notices.push_back(Update::Connection(ConnectionStatus::Open));
                Ok(())
            }
            ConnectionEvent::Bytes(bytes) => self.reader.push(&bytes),
            ConnectionEvent::Ended(None) if self.reader.finish()? => {
                self.phase = Phase::Idle;
                self.is_unchecked = true;
                self.connection.close();
                Ok(())
            }
            ConnectionEvent::Ended(error) => {
                self.lost(error.unwrap_or_else(|| cut("the response ended before it was complete")))
            }
            // A request without a response may not have been read: it is not sent twice.
            ConnectionEvent::Refused(error) if self.resume.is_some() && error.is_retryable() => {
                self.lost(error)
            }
            ConnectionEvent::Refused(error) => Err(error),
        }
    }

    fn lost(&mut self, error: Error) -> Result<()> {
        let can_resume = match &self.resume {
            None => false,
            Some(resume) => resume.replays || self.reader.cursor().is_some(),
        };
        if !can_resume {
            return Err(error);
        }
        let retry_in = self.connection.retry(&error)?;
        self.notices.push_back(Update::Connection(ConnectionStatus::Lost { error, retry_in }));
        Ok(())
    }

    /// How to continue this response after a cut, if the server has a way.
    fn resume_request(&self, run: Option<&str>) -> Option<ResumeRequest> {
        let name = self.dialect.name();
        let url = self.http.base();
        let (path, query) = url.split_once('?').map_or((url, ""), |(path, query)| (path, query));
        // Its wire has no cursors; its clients read the response again.
        let is_replayed = name == "ai-sdk";
        if let (false, Some(run), Some((root, _))) =
            (is_replayed, run, path.rsplit_once(&format!("/v1/{name}/")))
        {
            let profile = query.split('&').find(|pair| pair.starts_with("profile="));
            let profile = profile.map(|profile| format!("&{profile}")).unwrap_or_default();
            let run = encode_segment(run);
            let url = format!("{root}/v1/runs/{run}/events?dialect={name}&until=wait{profile}");
            return Some(ResumeRequest { request: accept_events(Request::get_url(url)), replays: false });
        }
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        let url = format!("{path}/{}/stream{query}", encode_segment(&self.id));
        is_replayed.then(|| ResumeRequest { request: accept_events(Request::get_url(url)), replays: true })
    }

    /// Executes the requested tools, as far as they are registered.
    fn execute_tools(&mut self) {
        for pending in self.pending() {
            if let PendingRequest::ClientTool { call, name, input } = pending
                && !self.executed.contains(&call)
                && let Some(work) = self.tools.call(&name, input.unwrap_or(Value::Null))
            {
                self.executed.insert(call.clone());
                self.jobs.0.push(Box::pin(async move { (call, work.await) }));
            }
        }
    }
}

fn cut(message: &str) -> Error {
    Error::retryable("stream.cut", message)
}

fn unknown(request: &str) -> Error {
    Error::new("request.unknown", format!("nothing waits for `{request}`"))
}
