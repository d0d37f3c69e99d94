//! Following a run.

use std::{
    collections::{HashSet, VecDeque},
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use headwater_protocol::{Message, Role, RunState};
use serde_json::Value;

use crate::{
    Answer, Error, PendingRequest, Result, RunHandle, ToolSet,
    connection::{Connection, ConnectionEvent},
    http::{Request, accept_events, path, query},
    platform::BoxFuture,
    run_reader::{RunReader, is_waiting},
    update::{ConnectionStatus, Update},
};

/// How often a run that left the queue may be unknown before it counts as removed.
const MISSING_LIMIT: u32 = 5;

/// The updates of a run, in order, each once.
///
/// A connection that is cut is made again and continues after the last event. Dropping the stream detaches; the run
/// continues. [`next`](Self::next) may be dropped and called again at any time, so it can be a branch of `select!`.
///
/// ```no_run
/// use headwater_client::{Answer, PendingRequest, RunHandle, Update};
///
/// # async fn example(run: RunHandle) -> headwater_client::Result<()> {
/// let mut stream = run.follow();
/// while let Some(update) = stream.next().await? {
///     for pending in stream.pending() {
///         if let PendingRequest::Approval { request, name, .. } = pending {
///             println!("allow {name}?");
///             run.approve(&request).await?;
///         }
///     }
/// }
/// println!("{:?}: {}", stream.state().run().status, stream.text());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RunStream {
    run: RunHandle,
    reader: RunReader,
    connection: Connection,
    /// Updates that are not events.
    notices: VecDeque<Update>,
    tools: ToolSet,
    /// The calls that were executed, or are being executed.
    executed: HashSet<String>,
    jobs: Jobs,
    ends_at_wait: bool,
    /// The pending check of the session's queue.
    queue_check: Option<QueueCheck>,
    is_queued: bool,
    missing: u32,
    /// The error that ends the stream, once the updates before it were yielded.
    failure: Option<Error>,
    is_done: bool,
}

struct QueueCheck(BoxFuture<Result<bool>>);

impl RunHandle {
    /// Follows the run from its first event to its end, through any number of connections.
    ///
    /// Dropping the stream detaches: the run continues.
    #[must_use]
    pub fn follow(&self) -> RunStream {
        RunStream::new(self.clone())
    }
}

impl std::fmt::Debug for QueueCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("QueueCheck")
    }
}

/// Calls of client tools in progress, until they are answered.
#[derive(Default)]
struct Jobs(FuturesUnordered<BoxFuture<Result<()>>>);

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Jobs({})", self.0.len())
    }
}

impl RunStream {
    pub(crate) fn new(run: RunHandle) -> Self {
        let options = run.client().http.options.clone();
        Self {
            reader: RunReader::with_limits(options.max_event_bytes, options.max_response_bytes),
            connection: Connection::new(options),
            notices: VecDeque::new(),
            tools: ToolSet::new(),
            executed: HashSet::new(),
            jobs: Jobs::default(),
            ends_at_wait: false,
            queue_check: None,
            is_queued: run.is_queued(),
            missing: 0,
            failure: None,
            is_done: false,
            run,
        }
    }

    /// Starts with the current state, in the fewest events, instead of the first event.
    #[must_use]
    pub fn from_now(mut self) -> Self {
        self.reader.begin_now();
        self
    }

    /// Starts after this cursor of an earlier stream.
    #[must_use]
    pub fn after(mut self, cursor: &str) -> Self {
        self.reader.begin_after(cursor);
        self
    }

    /// Starts the state with the messages of the conversation so far.
    #[must_use]
    pub fn messages(mut self, messages: Vec<Message>) -> Self {
        self.reader = self.reader.with_messages(messages);
        self
    }

    /// Executes these tools when the run waits for their output.
    #[must_use]
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = tools;
        self
    }

    /// Ends when the run waits for something that is not one of the [`tools`](Self::tools), instead of staying until it
    /// is answered.
    #[must_use]
    pub fn until_wait(mut self) -> Self {
        self.ends_at_wait = true;
        self
    }

    /// The run.
    #[must_use]
    pub fn run(&self) -> &RunHandle {
        &self.run
    }

    /// The state after the last update.
    #[must_use]
    pub fn state(&self) -> &RunState {
        self.reader.state()
    }

    /// The text that the run has written so far.
    #[must_use]
    pub fn text(&self) -> String {
        let messages = self.state().messages().iter();
        messages.filter(|message| message.role == Role::Assistant).map(Message::plain_text).collect()
    }

    /// The open requests of the run.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingRequest> {
        PendingRequest::list(self.state())
    }

    /// The cursor of the last event, for [`after`](Self::after) in another process or at another time.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        self.reader.cursor()
    }

    /// The next update; `None` at the end.
    ///
    /// # Errors
    /// If the server refuses, if the stream is not one of a run, or if the connection cannot be made again within
    /// [`give_up_after`](crate::Options::give_up_after). After [`reconnect`](Self::reconnect) the stream continues.
    pub async fn next(&mut self) -> Result<Option<Update>> {
        poll_fn(|cx| self.poll_update(cx)).await.transpose()
    }

    /// Continues after an error.
    pub fn reconnect(&mut self) {
        self.is_done = false;
        self.connection.close();
        self.connection.progress();
    }

    /// Reads to the end, and returns the final state.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn finish(mut self) -> Result<RunState> {
        while self.next().await?.is_some() {}
        Ok(self.reader.into_state())
    }

    fn poll_update(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Update>>> {
        loop {
            if let Some(update) = self.notices.pop_front().or_else(|| self.reader.next_update()) {
                self.on_update(&update);
                return Poll::Ready(Some(Ok(update)));
            }
            if let Some(error) = self.failure.take() {
                self.is_done = true;
                return Poll::Ready(Some(Err(error)));
            }
            if self.is_done || self.reader.has_ended() {
                return Poll::Ready(None);
            }
            while let Poll::Ready(Some(answered)) = self.jobs.0.poll_next_unpin(cx) {
                if let Err(error) = answered {
                    return Poll::Ready(Some(Err(error)));
                }
            }
            if let Some(QueueCheck(check)) = &mut self.queue_check {
                let checked = ready!(check.as_mut().poll(cx));
                self.queue_check = None;
                if let Err(error) = checked.and_then(|is_queued| self.on_queue(is_queued)) {
                    self.fail(error);
                    continue;
                }
            }
            let Self { run, reader, connection, .. } = self;
            let open = || run.client().http.open(request(run, reader));
            let event = ready!(connection.poll(cx, open));
            if let Err(error) = self.on_connection(event) {
                self.fail(error);
            }
        }
    }

    fn fail(&mut self, error: Error) {
        self.connection.close();
        self.failure = Some(error);
    }

    fn on_connection(&mut self, event: ConnectionEvent) -> Result<()> {
        match event {
            ConnectionEvent::Open(_) => {
                self.reader.connected();
                self.is_queued = false;
                self.notices.push_back(Update::Connection(ConnectionStatus::Open));
                Ok(())
            }
            ConnectionEvent::Bytes(bytes) => {
                let read = self.reader.push(&bytes);
                self.connection.set_server_delay(self.reader.retry_delay());
                read
            }
            ConnectionEvent::Ended(error) => {
                let cut = || Error::retryable("stream.cut", "the stream ended before the run did");
                self.lost(error.unwrap_or_else(cut))
            }
            ConnectionEvent::Refused(error) if self.is_queued && error.code() == "run.unknown" => {
                self.check_queue();
                Ok(())
            }
            ConnectionEvent::Refused(error) if error.is_retryable() => self.lost(error),
            ConnectionEvent::Refused(error) => Err(error),
        }
    }

    fn lost(&mut self, error: Error) -> Result<()> {
        let retry_in = self.connection.retry(&error)?;
        self.notices.push_back(Update::Connection(ConnectionStatus::Lost { error, retry_in }));
        Ok(())
    }

    /// Looks whether the run is still in the queue: one that is unknown there too was removed.
    fn check_queue(&mut self) {
        let run = self.run.clone();
        self.queue_check = Some(QueueCheck(Box::pin(async move {
            let Some(session) = run.session() else { return Ok(false) };
            let queue = run.client().session(session).queue().await?;
            Ok(queue.iter().any(|queued| queued.run == run.id().as_str()))
        })));
    }

    fn on_queue(&mut self, is_queued: bool) -> Result<()> {
        self.missing = if is_queued { 0 } else { self.missing + 1 };
        if self.missing >= MISSING_LIMIT {
            let message = format!("run {} was removed from the queue", self.run.id());
            return Err(Error::new("run.unknown", message));
        }
        if is_queued {
            self.notices.push_back(Update::Connection(ConnectionStatus::Queued));
        }
        self.connection.pause(Duration::from_millis(250));
        Ok(())
    }

    fn on_update(&mut self, update: &Update) {
        let Update::Event(event) = update else { return };
        if !event.replay {
            self.connection.progress();
        }
        if is_waiting(&event.record.event) {
            let left = self.execute_tools();
            self.is_done |= left && self.ends_at_wait;
        }
    }

    /// Executes the tools requested by the run. Returns whether it waits for anything else.
    fn execute_tools(&mut self) -> bool {
        let mut left = false;
        for pending in self.pending() {
            let PendingRequest::ClientTool { call, name, input } = pending else {
                left = true;
                continue;
            };
            if self.executed.contains(&call) {
                continue;
            }
            let Some(work) = self.tools.call(&name, input.unwrap_or(Value::Null)) else {
                left = true;
                continue;
            };
            self.executed.insert(call.clone());
            let run = self.run.clone();
            self.jobs.0.push(Box::pin(async move {
                let answer = match work.await {
                    Ok(output) => Answer::output(output),
                    Err(error) => Answer::output_error(error),
                };
                match run.answer_call(&call, &answer).await {
                    // Another client of the same session was faster, or the run was stopped.
                    Err(error)
                        if matches!(error.code(), "request.answered" | "request.unknown" | "run.ended") =>
                    {
                        Ok(())
                    }
                    answered => answered,
                }
            }));
        }
        left
    }
}

fn request(run: &RunHandle, reader: &RunReader) -> Request {
    let after = reader.begins_now().then(|| "now".to_owned());
    // A run that waits continues when it is answered, perhaps by another client.
    let query = query([("until", Some("end".to_owned())), ("after", after)]);
    let request = accept_events(Request::get(path(["runs", run.id().as_str(), "events"]) + &query));
    match reader.cursor() {
        Some(cursor) => request.header("last-event-id", cursor),
        None => request,
    }
}

impl Stream for RunStream {
    type Item = Result<Update>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_update(cx)
    }
}
