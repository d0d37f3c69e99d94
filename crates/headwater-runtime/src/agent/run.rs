//! Starting a run, and looking at one.

use std::{collections::VecDeque, time::Duration};

use futures_core::Stream;
use headwater_protocol::{
    AnswerFormat, ClientTool, Event, EventKind, Message, Record, RunId, RunState, RunStatus, SessionId,
    StructuredStreams,
};
use headwater_store::{JournalId, Page, ReadLimit, Store, Tail};
use headwater_tools::Schema;
use serde_json::Value;

use super::{Agent, AgentInner};
use crate::{
    Error, RawJson, Result,
    error::ErrorKind,
    journal::{Begun, Entry, RecordReader, is_answer},
    limits,
};

/// What a run is to do.
///
/// ```
/// use headwater_runtime::Start;
/// use serde_json::json;
///
/// let start = Start::new("Write a launch email").workflow("email").runtime_context(json!({ "userId": "u1" }));
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Start {
    run: Option<RunId>,
    workflow: Option<String>,
    begun: Begun,
    /// Whether it says what the route approved.
    approved: bool,
    /// Whether it says anything of the page.
    of_page: bool,
}

impl Start {
    /// Runs on what a person wrote.
    pub fn new(input: impl Into<String>) -> Self {
        Self { begun: Begun { input: input.into(), ..Begun::default() }, ..Self::default() }
    }

    /// Names the workflow; otherwise the agent's default.
    pub fn workflow(mut self, id: impl Into<String>) -> Self {
        self.workflow = Some(id.into());
        self
    }

    /// Names the run; otherwise a fresh name.
    pub fn run(mut self, run: impl Into<RunId>) -> Self {
        self.run = Some(run.into());
        self
    }

    /// Says to which session it belongs.
    pub fn session(mut self, session: impl Into<SessionId>) -> Self {
        self.begun.session = Some(session.into());
        self
    }

    /// Says whose it is.
    pub fn owner(mut self, owner: impl Into<String>) -> Self {
        self.begun.owner = Some(owner.into());
        self
    }

    /// Names the HTTP request that asks for it. An error of the run carries it to readers, and the log has the error under it.
    pub fn request(mut self, request: impl Into<String>) -> Self {
        self.begun.request = Some(request.into());
        self
    }

    /// Takes it apart: the workflow, and what the run is asked for.
    pub(crate) fn into_parts(self) -> (Option<String>, Begun) {
        (self.workflow, self.begun)
    }

    /// What a run is asked for that was asked for before: what is said now counts, and what is not said is as it was. What
    /// a page says of itself is one thing: a tool that it does not name any more is gone.
    pub(crate) fn instead_of(self, workflow: Option<String>, before: Begun) -> (Option<String>, Begun) {
        let now = self.begun;
        let mut begun = before;
        begun.input = now.input;
        begun.request = now.request;
        if self.approved {
            begun.runtime_context = now.runtime_context;
        }
        if self.of_page {
            begun.client_context = now.client_context;
            begun.client_tools = now.client_tools;
            begun.tool_choice = now.tool_choice;
            begun.answer_format = now.answer_format;
        }
        if !now.data.is_null() {
            begun.data = now.data;
        }
        (self.workflow.or(workflow), begun)
    }

    pub(crate) fn input(&self) -> &str {
        &self.begun.input
    }

    /// The workflow that it names.
    pub(crate) fn named_workflow(&self) -> Option<&str> {
        self.workflow.as_deref()
    }

    /// Refuses what no run can be begun with: an invalid choice of tools, data that is no object or larger than a run's
    /// state may be, and JSON that is nested too deeply to be read back.
    pub(crate) fn check(&self, agent: &AgentInner) -> Result<()> {
        let begun = &self.begun;
        let limit = agent.options.max_state_bytes;
        let size = begun.data.get().len();
        if size > limit {
            let message = format!(
                "the data has {size} bytes, a run may have {limit}: keep large things elsewhere and pass their names"
            );
            return Err(Error::new(ErrorKind::Limit, message).with_code("state.too-large"));
        }
        for (what, raw) in [("the data", &begun.data), ("the client context", &begun.client_context)] {
            if !raw.is_object() {
                return Err(Error::new(ErrorKind::Input, format!("{what} must be a JSON object")));
            }
        }
        for (what, raw) in [
            ("the data", &begun.data),
            ("the client context", &begun.client_context),
            ("the runtime context", &begun.runtime_context),
        ] {
            limits::check_text(&limits::kept(), what, raw.get().as_bytes())?;
        }
        if let Some(schema) = begun.answer_format.as_ref().and_then(|format| format.schema.as_ref()) {
            Schema::new(schema.clone()).map_err(|error| {
                let message = format!("the schema of the answer is not one: {error}");
                Error::new(ErrorKind::Input, message).with_code("answer-format.invalid")
            })?;
        }
        if let Some(choice) = &begun.tool_choice {
            headwater_models::ToolChoice::parse(choice)
                .map_err(|error| Error::new(ErrorKind::Input, error).with_code("tool-choice.invalid"))?;
        }
        Ok(())
    }

    /// Gives the conversation before it.
    pub fn messages(mut self, messages: Vec<Message>) -> Self {
        self.begun.messages = messages;
        self
    }

    /// Gives data to the first node: a JSON object.
    pub fn data(mut self, data: impl Into<RawJson>) -> Self {
        self.begun.data = data.into();
        self
    }

    /// Gives what the route approved. Never sent to a reader.
    pub fn runtime_context(mut self, context: impl Into<RawJson>) -> Self {
        self.begun.runtime_context = context.into();
        self.approved = true;
        self
    }

    /// Gives what the client said about itself: a JSON object.
    pub fn client_context(mut self, context: impl Into<RawJson>) -> Self {
        self.begun.client_context = context.into();
        self.of_page = true;
        self
    }

    /// Names the tools that the page can execute.
    pub fn client_tools(mut self, tools: Vec<ClientTool>) -> Self {
        self.begun.client_tools = tools;
        self.of_page = true;
        self
    }

    /// Says which tool the model shall use, in the page's words.
    pub fn tool_choice(mut self, choice: Value) -> Self {
        self.begun.tool_choice = Some(choice);
        self.of_page = true;
        self
    }

    /// Says in which form the client wants the answer. It goes to the models whose text readers see, unless the node wants
    /// a form of its own.
    pub fn answer_format(mut self, format: AnswerFormat) -> Self {
        self.begun.answer_format = Some(format);
        self.of_page = true;
        self
    }
}

/// A run of an agent. Holding it costs nothing, and dropping it stops nothing.
#[derive(Debug, Clone)]
pub struct Run {
    id: RunId,
    agent: Agent,
    /// A wait that was told before this is over.
    since: u64,
}

/// How far a run came: what it said, and whether it ended or waits.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The state that its journal adds up to.
    pub state: RunState,
}

impl Outcome {
    /// How it stands.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        self.state.run().status
    }

    /// All text that it said, in order.
    #[must_use]
    pub fn text(&self) -> String {
        self.state.messages().iter().map(Message::plain_text).collect()
    }

    /// The objects that it showed.
    #[must_use]
    pub fn structured(&self) -> &StructuredStreams {
        self.state.structured()
    }
}

impl Agent {
    /// Starts a run. It is durable when this returns, and goes on by itself.
    ///
    /// # Errors
    /// When there is no such workflow, a run of that name is there already, the tool choice is invalid, data or context
    /// exceeds a limit, or the store fails.
    pub async fn start(&self, start: Start) -> Result<Run> {
        let workflow = self.0.chosen_workflow(start.workflow.as_deref())?;
        start.check(&self.0)?;
        let run = match start.run {
            Some(run) => run,
            None => crate::id::fresh_run()?,
        };
        let mut begun = start.begun;
        begun.workflow = workflow.id().to_owned();
        begun.version = workflow.version().to_owned();
        begun.agent.clone_from(&self.0.name);
        begun.created = self.0.now();
        self.0.begin(run.clone(), begun).await?;
        Ok(self.run(run))
    }

    /// A run by its name. Nothing is looked up yet.
    #[must_use]
    pub fn run(&self, id: impl Into<RunId>) -> Run {
        Run { id: id.into(), agent: self.clone(), since: 0 }
    }
}

impl Run {
    pub(super) fn since(mut self, since: u64) -> Self {
        self.since = since;
        self
    }

    /// The sequence before which a wait is over: a reader that comes back to a wait told before it is not at its end.
    #[must_use]
    pub fn since_seq(&self) -> u64 {
        self.since
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The agent that it is of.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Waits for a [stopped](Agent::stop) run to end; `true` if the stop ended it, `None` on timeout.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn ended_by_stop(&self, within: Duration) -> Result<Option<bool>> {
        use futures_util::StreamExt as _;
        let ended = async {
            let mut events = std::pin::pin!(self.events(self.since));
            while let Some(record) = events.next().await {
                match record?.event.kind() {
                    EventKind::RunCancelled => return Ok(true),
                    kind if kind.ends_run() => return Ok(false),
                    _ => {}
                }
            }
            Ok(false)
        };
        tokio::time::timeout(within, ended).await.ok().transpose()
    }

    /// Whether it waits for an answer that nobody has given yet.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn waits(&self) -> Result<bool> {
        let waits = self.agent.0.fold(&self.id).await?.waits();
        Ok(waits && !self.agent.has_mail(&self.id).await?)
    }

    /// The events after a sequence, as they come, until the run waits or ends.
    pub fn events(&self, after: u64) -> impl Stream<Item = Result<Record>> + Send + use<> {
        let following = Following {
            agent: self.agent.clone(),
            run: self.id.clone(),
            journal: JournalId::from(self.id.as_str()),
            after,
            epoch: 0,
            since: self.since,
            ready: VecDeque::new(),
            reader: RecordReader::default(),
            waits: false,
            over: false,
        };
        futures_util::stream::unfold(following, |mut following| async move {
            let next = following.next().await.transpose()?;
            Some((next, following))
        })
    }

    /// Waits until the run waits for somebody or has ended, and gives what it said.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn outcome(&self) -> Result<Outcome> {
        use futures_util::StreamExt as _;
        let mut state = RunState::default();
        let mut events = std::pin::pin!(self.events(0));
        while let Some(record) = events.next().await {
            let record = record?;
            // The journal has only what its writer's state could take.
            let _ = state.apply(&record);
        }
        Ok(Outcome { state })
    }

    /// All records of the run so far.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn entries(&self) -> Result<Vec<Entry>> {
        let journal = JournalId::from(self.id.as_str());
        let (mut after, mut entries, mut reader) = (0, Vec::new(), RecordReader::default());
        loop {
            let page = self.agent.0.store.read(&journal, after, ReadLimit::default()).await;
            let page = page.map_err(|error| read_error(&self.id, error))?;
            for record in &page.records {
                after = record.seq;
                entries.push(reader.entry(record)?);
            }
            if after >= page.tail.last {
                return Ok(entries);
            }
        }
    }

    /// The sequence number of the record by which the run last reported that it waits.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn last_wait(&self) -> Result<Option<u64>> {
        Ok(self.agent.0.fold(&self.id).await?.last_wait)
    }

    /// The whole conversation of the run so far, with the events that made it.
    ///
    /// # Errors
    /// When there is no such run, or the store fails.
    pub async fn recorded(&self) -> Result<Vec<Event>> {
        let entries = self.entries().await?;
        Ok(entries
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Event(record) => Some(record.event),
                _ => None,
            })
            .collect())
    }
}

/// How long a reader waits for a record before it reads again: a store may deliver a notification late or not at all.
const POLL: Duration = Duration::from_secs(5);

/// How long it waits where the store cannot wait for it.
const PAUSE: Duration = Duration::from_millis(20);

/// A reader of a run: a place in its journal.
struct Following {
    agent: Agent,
    run: RunId,
    journal: JournalId,
    after: u64,
    /// The epoch of the last record; 0 before the first.
    epoch: u64,
    since: u64,
    ready: VecDeque<Record>,
    reader: RecordReader,
    /// The last event said that the run waits.
    waits: bool,
    over: bool,
}

impl Following {
    async fn next(&mut self) -> Result<Option<Record>> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Ok(Some(record));
            }
            if self.over {
                return Ok(None);
            }
            let read = self.read().await;
            self.over |= read.is_err();
            read?;
        }
    }

    async fn read(&mut self) -> Result<()> {
        let store = &self.agent.0.store;
        let read = || store.read(&self.journal, self.after, ReadLimit::default());
        let mut page = read().await;
        if let Ok(empty) = &page
            && empty.records.is_empty()
            && !empty.tail.closed
        {
            let after = self.after.min(empty.tail.last);
            let waited = tokio::time::timeout(POLL, store.wait(&self.journal, after)).await;
            if let Ok(Err(_)) = waited {
                // Mostly the read fails as well, and says why.
                tokio::time::sleep(PAUSE).await;
            }
            page = read().await;
        }
        let page = match page {
            Ok(page) => page,
            // A store may refuse to read after records that it has lost.
            Err(error) => {
                let unread = Page { records: Vec::new(), tail: Tail { last: 0, closed: false } };
                let lost = lost_after(&**store, &self.journal, &unread, self.after, self.epoch).await;
                let Ok(Some(kept)) = lost else { return Err(read_error(&self.run, error)) };
                (self.after, self.epoch) = (kept, 0);
                return Ok(());
            }
        };
        if let Some(kept) = lost_after(&**store, &self.journal, &page, self.after, self.epoch).await? {
            (self.after, self.epoch) = (kept, 0);
            return Ok(());
        }
        self.reader.prepare(&**store, &self.journal, &page).await?;
        for record in &page.records {
            (self.after, self.epoch) = (record.seq, record.epoch);
            // The wait is over, though nothing was told since.
            self.waits &= !is_answer(record);
            if let Some(record) = self.reader.visible_event(record)? {
                let kind = record.event.kind();
                self.waits = kind == EventKind::RunWaiting && record.seq > self.since;
                self.over |= kind.ends_run();
                self.ready.push_back(*record);
            }
        }
        if self.after >= page.tail.last {
            self.over |= page.tail.closed || (self.waits && self.wait_lasts().await?);
        }
        Ok(())
    }

    /// Whether nothing has come for which the run waits. What was sent and not yet taken up ends the wait.
    async fn wait_lasts(&self) -> Result<bool> {
        if self.agent.has_mail(&self.run).await? {
            return Ok(false);
        }
        // It may have been taken up between the two.
        let info = self.agent.0.store.info(&self.journal).await?;
        Ok(info.is_none_or(|info| info.tail.last <= self.after))
    }
}

/// Where a reader goes on that was given records which were never kept: deltas of a driver that was fenced out before it had
/// written them. The new driver retracts their attempt, under sequence numbers that the reader has already seen.
///
/// `page` was read after `after`, and `epoch` is that of the record `after`; 0 if it is not known. `None` if nothing was lost.
///
/// # Errors
/// When the store fails.
pub async fn lost_after(
    store: &dyn Store,
    journal: &JournalId,
    page: &Page,
    after: u64,
    epoch: u64,
) -> Result<Option<u64>> {
    let is_next = page.records.first().is_none_or(|record| record.epoch == epoch);
    if epoch == 0 || (is_next && page.tail.last >= after) {
        return Ok(None);
    }
    let Some(info) = store.info(journal).await? else { return Ok(None) };
    let next = info.epochs.iter().skip_while(|start| start.epoch != epoch).nth(1);
    Ok(next.filter(|next| next.first <= after).map(|next| next.first - 1))
}

/// A journal that is not there is a run that is not there.
pub(super) fn read_error(run: &RunId, error: headwater_store::Error) -> Error {
    match error.kind() {
        headwater_store::ErrorKind::Unknown => unknown(run),
        _ => error.into(),
    }
}

pub(crate) fn unknown(run: &RunId) -> Error {
    Error::new(ErrorKind::UnknownRun, format!("there is no run {run}: it never was, or is no longer kept"))
}
