//! How a reader sees a run.

use headwater_dialects::{ContentMode, Dialect, EncodeOptions, Profile, ReaderNames};
use headwater_protocol::{Event, EventKind, Framing, Message, Record, RunId, RunState};

use crate::Visibility;

/// How a reader sees a run: the dialect, and the names by which the reader knows things.
#[derive(Debug, Clone)]
pub(crate) struct ReaderView {
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) profile: &'static Profile,
    pub(crate) framing: Framing,
    pub(crate) content: ContentMode,
    pub(crate) names: ReaderNames,
    /// The conversation that the reader holds already.
    pub(crate) messages: Vec<Message>,
    /// A thought of the run that the reader holds already.
    pub(crate) thought: Option<String>,
    pub(crate) visibility: Visibility,
    pub(crate) seam: String,
    pub(crate) hold: bool,
    /// Whether `RunWaiting` is sent. A reader that stays until the end does not get it where the dialect uses the same
    /// chunk for waiting and ending.
    pub(crate) waits: bool,
    /// Whether a response ends at the first wait, even if that was answered since: its frames are the same for every
    /// reader.
    pub(crate) ends_at_wait: bool,
}

impl ReaderView {
    /// Options for an encoder.
    pub(crate) fn options(&self) -> EncodeOptions {
        let mut options = EncodeOptions::default();
        options.profile = Some(self.profile);
        options.framing = Some(self.framing);
        options.content = self.content;
        options.seam.clone_from(&self.seam);
        options.hold = self.hold;
        options.messages.clone_from(&self.messages);
        options.thought.clone_from(&self.thought);
        options
    }

    /// The record as this reader sees it, if it does.
    pub(crate) fn see(&self, record: Record) -> Option<Record> {
        if !self.waits && record.event.kind() == EventKind::RunWaiting {
            return None;
        }
        let mut record = self.visibility.filter(record)?;
        if let Event::RunStarted(started) = &mut record.event {
            let ReaderNames { run, request, endpoint, model } = &self.names;
            if let Some(run) = run {
                started.run = Some(RunId::from(run.as_str()));
            }
            if request.is_some() {
                started.request.clone_from(request);
            }
            if endpoint.is_some() {
                started.endpoint.clone_from(endpoint);
            }
            if model.is_some() {
                started.model.clone_from(model);
            }
            if started.conversation.is_none() {
                started.conversation = started.session.as_ref().map(|session| session.as_str().to_owned());
            }
        }
        Some(record)
    }

    /// Whether this reader sees anything of a record.
    pub(crate) fn sees(&self, record: &Record) -> bool {
        self.visibility.filter(record.clone()).is_some()
    }

    /// A state as this reader sees it.
    pub(crate) fn see_state(&self, state: &RunState) -> RunState {
        let mut seen = RunState::with_rules(state.rules());
        for record in state.replay().into_iter().filter_map(|record| self.see(record)) {
            // It was taken once.
            let _ = seen.apply(&record);
        }
        seen
    }

    /// What two readers must have in common to be sent the same bytes.
    pub(crate) fn key(&self) -> String {
        use std::hash::{DefaultHasher, Hash as _, Hasher as _};
        let mut hasher = DefaultHasher::new();
        self.names.hash(&mut hasher);
        self.content.hash(&mut hasher);
        self.visibility.hash(&mut hasher);
        for message in &self.messages {
            message.id.hash(&mut hasher);
        }
        format!("{}/{}/{}/{:x}", self.dialect.name(), self.profile.name, self.framing, hasher.finish())
    }
}
