//! The view of a run for a reader.

use headwater_dialects::{ContentMode, Dialect, EncodeOptions, Profile, ReaderNames};
use headwater_protocol::{Event, EventKind, Framing, Message, Record, RunId, RunState};

use crate::Visibility;

/// The view of a run for a reader: its dialect and ids.
#[derive(Debug, Clone)]
pub(crate) struct ReaderView {
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) profile: &'static Profile,
    pub(crate) framing: Framing,
    pub(crate) content: ContentMode,
    pub(crate) names: ReaderNames,
    /// The client's copy of the conversation.
    pub(crate) messages: Vec<Message>,
    /// A reasoning message of the run that the client has already.
    pub(crate) thought: Option<String>,
    pub(crate) visibility: Visibility,
    pub(crate) seam: String,
    pub(crate) hold: bool,
    /// Whether `RunWaiting` is sent. A reader that stays until the end does not get it if the dialect uses
    /// the same chunk for waiting and ending.
    pub(crate) waits: bool,
    /// Whether a response ends at the first wait, even if it was answered since: its frames are the same for
    /// every reader.
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

    /// The record in this view; `None` if it is hidden.
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

    /// Whether a record is visible in this view.
    pub(crate) fn sees(&self, record: &Record) -> bool {
        self.visibility.filter(record.clone()).is_some()
    }

    /// A state in this view.
    pub(crate) fn see_state(&self, state: &RunState) -> RunState {
        let mut seen = RunState::with_rules(state.rules());
        for record in state.replay().into_iter().filter_map(|record| self.see(record)) {
            // Cannot fail: the record was accepted before.
            let _ = seen.apply(&record);
        }
        seen
    }

    /// The key of views with equal bytes.
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
