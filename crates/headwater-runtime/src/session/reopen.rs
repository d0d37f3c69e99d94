//! Going back to where a run waited: a new run whose journal is a copy of the old one's up to there.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use headwater_protocol::{
    ApprovalRequested, CheckpointId, Event, MessageId, Origin, RequestId, RunId, StructuredInvalidated,
};
use headwater_store::{Class, JournalId, Lease};
use serde_json::Value;

use super::{checkpoint::GivenAnswer, head::Head, progress::records};
use crate::{
    Error, Result,
    agent::{AgentInner, client_request},
    error::ErrorKind,
    hooks::answering,
    journal::{Effect, RecordEncoder, RecordReader, StoredRecord, Wait, WaitKind},
    run::request_id,
};

impl AgentInner {
    /// Makes a run that stands where a checkpoint's run waited, answers it, and lets it go on.
    pub(crate) async fn copy_run(
        self: &Arc<Self>,
        head: &Head,
        of: &CheckpointId,
        run: &RunId,
        answers: &[GivenAnswer],
    ) -> Result<()> {
        let waited = self.node(of).await?.checkpoint;
        if answers.is_empty() {
            self.note_copy(&head.key(), run).await?;
        }
        let journal = JournalId::from(run.as_str());
        if self.store.info(&journal).await?.is_some_and(|info| info.tail.last > 0) {
            // Half of a copy, whose process died.
            match self.store.delete(&journal).await {
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Held { .. }) => {
                    return Err(Error::new(ErrorKind::Busy, error.to_string()));
                }
                deleted => deleted?,
            }
        }
        let copy = Copying { head, from: &waited.run, to: run, renamed: HashMap::new() };
        let bodies = copy.bodies(&*self.store, waited.seq, answers).await?;
        let lease = self.claim_copy(&journal).await?;
        self.store.append(&lease, Class::Fact, &bodies)?.await?;
        self.store.release(&lease).await?;
        self.go_on(run).await;
        Ok(())
    }

    async fn claim_copy(&self, journal: &JournalId) -> Result<Lease> {
        use headwater_store::ErrorKind::{Closed, Held};
        match self.store.claim(journal, &self.owner, self.options.lease).await {
            Ok(lease) if lease.first == 1 => Ok(lease),
            Ok(lease) => {
                self.store.release(&lease).await?;
                Err(Error::new(ErrorKind::Exists, format!("the copy {journal} was made by another process")))
            }
            Err(error) if matches!(error.kind(), Held { .. } | Closed) => {
                Err(Error::new(ErrorKind::Busy, error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

struct Copying<'a> {
    head: &'a Head,
    from: &'a RunId,
    to: &'a RunId,
    /// The names that are another run's, and what they are here.
    renamed: HashMap<String, String>,
}

impl Copying<'_> {
    async fn bodies(
        mut self,
        store: &dyn headwater_store::Store,
        seq: u64,
        answers: &[GivenAnswer],
    ) -> Result<Vec<Bytes>> {
        let mut records = records(store, self.from).await?;
        if records.last().is_none_or(|record| record.seq < seq) {
            let message = format!(
                "run {} is no longer kept, so the session cannot go back to where it waited: go back further",
                self.from
            );
            return Err(Error::new(ErrorKind::UnknownCheckpoint, message).with_code("checkpoint.run-gone"));
        }
        records.retain(|record| record.seq <= seq);
        let mut asked: Vec<(String, Wait)> = Vec::new();
        let mut reader = RecordReader::default();
        for record in &records {
            match reader.stored(record)?.effect {
                Some(Effect::Asked { key, wait }) => {
                    self.rename(&key, &wait);
                    asked.push((key, *wait));
                }
                Some(Effect::Answered { request, .. }) => asked.retain(|(_, wait)| wait.request != request),
                _ => {}
            }
        }
        // What is answered now stays asked; all else is asked anew, with a new token.
        let given: Vec<_> = answers
            .iter()
            .filter_map(|given| {
                let (_, wait) = asked.iter().find(|(key, _)| *key == given.key)?;
                Some((wait.clone(), given.answer.clone()))
            })
            .collect();
        let open: Vec<RequestId> = asked
            .iter()
            .map(|(_, wait)| wait.request.clone())
            .filter(|request| !given.iter().any(|(wait, _)| wait.request == *request))
            .collect();
        let mut bodies = CopiedBodies::default();
        let mut reader = RecordReader::default();
        for record in &records {
            let stored = reader.stored(record)?;
            let starts = matches!(stored.event, Some(Event::RunStarted(_)));
            if keeps(&stored, &open) {
                bodies.push(self.renamed(stored)?)?;
            }
            if starts {
                for gone in &self.head.invalidated {
                    let (stream, checkpoint) = (gone.stream.clone(), gone.checkpoint.clone());
                    let gone = StructuredInvalidated { stream, checkpoint, ..Default::default() };
                    let event = Some(Event::StructuredInvalidated(gone));
                    bodies.push(StoredRecord { event, ..StoredRecord::default() })?;
                }
            }
        }
        let before = bodies.last();
        let origin = Origin { message: Some(self.message(&records)?), ..Origin::default() };
        for (wait, answer) in given {
            let event = answering(&wait, &answer);
            let origin = if event.is_some() { origin.clone() } else { Origin::default() };
            let effect = Some(Effect::Answered { request: wait.request.clone(), answer });
            bodies.push(self.renamed(StoredRecord {
                event,
                origin,
                effect,
                ..StoredRecord::default()
            })?)?;
        }
        let total = bodies.last();
        let header = RecordEncoder::effect(&Effect::Copied { run: self.from.clone(), seq, before, total })?;
        Ok(std::iter::once(header).chain(bodies.bodies).collect())
    }

    fn rename(&mut self, key: &str, wait: &Wait) {
        let new = match &wait.kind {
            WaitKind::ClientTool { tool, .. } => client_request(self.to, &tool.call),
            _ => request_id(self.to, key),
        };
        self.renamed.insert(wait.request.to_string(), new.to_string());
    }

    /// The message that the run goes on with: readers have seen it under this name.
    fn message(&self, records: &[headwater_store::Record]) -> Result<MessageId> {
        let mut reader = RecordReader::default();
        for record in records {
            if let Some(Effect::Begun(begun)) = reader.stored(record)?.effect {
                return Ok(begun.message.unwrap_or_else(|| format!("msg_{}", self.from).into()));
            }
        }
        Ok(format!("msg_{}", self.from).into())
    }

    /// A record as the copy has it.
    fn renamed(&self, stored: StoredRecord) -> Result<StoredRecord> {
        // Nearly all records are deltas, and name nothing.
        if matches!((&stored.event, &stored.effect), (Some(Event::BlockDelta(_)), None)) {
            return Ok(stored);
        }
        let mut json = serde_json::to_value(&stored).map_err(|error| unreadable(&error))?;
        self.replace(&mut json);
        let mut stored: StoredRecord = serde_json::from_value(json).map_err(|error| unreadable(&error))?;
        if let Some(Effect::Begun(begun)) = &mut stored.effect {
            begun.message.get_or_insert_with(|| format!("msg_{}", self.from).into());
            begun.session = Some(self.head.id.clone());
            begun.owner.clone_from(&self.head.owner);
            begun.invalidated.clone_from(&self.head.invalidated);
        }
        if let Some(Event::RunStarted(started)) = &mut stored.event {
            started.run = Some(self.to.clone());
            started.session = Some(self.head.id.clone());
        }
        Ok(stored)
    }

    /// Names are random enough that a string which is one is that name, wherever it stands.
    fn replace(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(new) = self.renamed.get(text) {
                    text.clone_from(new);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.replace(field)),
            _ => {}
        }
    }
}

/// The records of a copy, after the one that says that it is one.
#[derive(Default)]
struct CopiedBodies {
    encoder: RecordEncoder,
    bodies: Vec<Bytes>,
}

impl CopiedBodies {
    /// The sequence number of the last record.
    fn last(&self) -> u64 {
        self.bodies.len() as u64 + 1
    }

    fn push(&mut self, mut stored: StoredRecord) -> Result<()> {
        let seq = self.last() + 1;
        let body = match (&mut stored.event, &stored.effect) {
            (Some(event), effect) => {
                let (emit, origin) = (stored.emit.as_ref(), &stored.origin);
                let (body, base) = self.encoder.event(seq, event, origin, emit, effect.as_ref())?;
                self.encoder.appended(base);
                body
            }
            (None, Some(effect)) => RecordEncoder::effect(effect)?,
            (None, None) => return Ok(()),
        };
        self.bodies.push(body);
        Ok(())
    }
}

/// Whether a record is copied: all but what the old run waited for, and sums of what is copied.
fn keeps(stored: &StoredRecord, open: &[RequestId]) -> bool {
    let asks = match &stored.effect {
        Some(Effect::Asked { wait, .. }) => open.contains(&wait.request),
        Some(Effect::Copied { .. }) => true,
        _ => false,
    };
    let shows = match &stored.event {
        Some(
            Event::RunWaiting(_)
            | Event::Checkpoint(_)
            | Event::StructuredInvalidated(StructuredInvalidated { checkpoint: Some(_), .. }),
        ) => true,
        Some(Event::InterruptRequested(interrupt)) => open.contains(&interrupt.request),
        Some(Event::ApprovalRequested(ApprovalRequested { approval, .. })) => {
            open.iter().any(|request| request.as_str() == approval.as_str())
        }
        _ => false,
    };
    let snapshot = stored.effect.is_none() && stored.event.is_none();
    !(asks || shows || snapshot)
}

fn unreadable(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Store, format!("a record cannot be copied: {error}"))
        .with_code("journal.unreadable")
}
