//! Rollback to a waiting run: a new run whose journal copies the old one up to the wait.

use std::collections::HashMap;

use bytes::Bytes;
use headwater_protocol::{
    ApprovalRequested, CheckpointId, Event, Origin, RequestId, RunId, StructuredInvalidated,
};
use headwater_store::{Class, JournalId, Lease, ReadLimit, Store};
use serde_json::Value;

use super::{Sessions, head::Head, turn_message::GivenAnswer};
use crate::{
    Error, Result,
    error::ErrorKind,
    journal::{Effect, Fold, FoldReader, RecordEncoder, RecordReader, StoredRecord, Wait, WaitKind},
    question::{answered_event, client_request, request_id},
};

/// Deltas of one text are merged in a copy up to this many bytes.
const MAX_COPIED_TEXT: usize = 64 << 10;

impl Sessions {
    /// Creates a run in the state of a checkpoint's waiting run, answers it and lets it continue.
    pub(crate) async fn copy_run(
        &self,
        head: &Head,
        of: &CheckpointId,
        run: &RunId,
        answers: &[GivenAnswer],
    ) -> Result<()> {
        let waited = self.tree.node(of).await?.checkpoint.clone();
        if answers.is_empty() {
            self.record_copy(&head.key(), run).await?;
        }
        let journal = JournalId::from(run.as_str());
        if self.env.store.info(&journal).await?.is_some_and(|info| info.tail.last > 0) {
            // An incomplete copy, left by a process that died.
            match self.env.store.delete(&journal).await {
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Held { .. }) => {
                    return Err(Error::new(ErrorKind::Busy, error.to_string()));
                }
                deleted => deleted?,
            }
        }
        let copy = RunCopy { head, from: &waited.run, to: run, renamed: HashMap::new() };
        // An older snapshot would also work, but only the position of the newest one is known.
        let snapshot = self.runs.last_snapshot(&waited.run).await?;
        let snapshot = if snapshot <= waited.seq { snapshot } else { 0 };
        let bodies = copy.bodies(&*self.env.store, snapshot, waited.seq, answers).await?;
        let lease = self.claim_copy(&journal).await?;
        self.env.store.append(&lease, Class::Fact, &bodies)?.await?;
        self.env.store.release(&lease).await?;
        self.runs.wake_or_resume(run).await;
        Ok(())
    }

    async fn claim_copy(&self, journal: &JournalId) -> Result<Lease> {
        match self.runs.journals.claim(journal).await? {
            Some(lease) if lease.first == 1 => Ok(lease),
            Some(lease) => {
                self.env.store.release(&lease).await?;
                Err(Error::new(ErrorKind::Exists, format!("the copy {journal} was made by another process")))
            }
            None => Err(Error::new(ErrorKind::Busy, format!("the copy {journal} has ended already"))),
        }
    }
}

struct RunCopy<'a> {
    head: &'a Head,
    from: &'a RunId,
    to: &'a RunId,
    /// Ids of the old run, mapped to their ids in the copy.
    renamed: HashMap<String, String>,
}

impl RunCopy<'_> {
    async fn bodies(
        mut self,
        store: &dyn Store,
        snapshot: u64,
        seq: u64,
        answers: &[GivenAnswer],
    ) -> Result<Vec<Bytes>> {
        let waited = self.waited(store, snapshot, seq).await?;
        for (key, wait) in &waited.asked {
            self.rename(key, wait);
        }
        let asked: Vec<_> =
            waited.asked.iter().filter(|(_, wait)| !waited.answers.contains_key(&wait.request)).collect();
        // Requests answered now keep their ids; the others are sent again, with a new token.
        let given: Vec<_> = answers
            .iter()
            .filter_map(|given| {
                let (_, wait) = asked.iter().find(|(key, _)| **key == given.key)?;
                Some(((*wait).clone(), given.answer.clone()))
            })
            .collect();
        let open: Vec<RequestId> = asked
            .iter()
            .map(|(_, wait)| wait.request.clone())
            .filter(|request| !given.iter().any(|(wait, _)| wait.request == *request))
            .collect();
        let mut bodies = self.copied(store, seq, &open).await?;
        let before = bodies.last();
        let message = waited.spec.and_then(|spec| spec.message.clone());
        // Readers already know the message by this id.
        let message = message.unwrap_or_else(|| format!("msg_{}", self.from).into());
        let origin = Origin { message: Some(message), ..Origin::default() };
        for (wait, answer) in given {
            let event = answered_event(&wait, &answer);
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

    /// The folded state of the copied run when it waited.
    async fn waited(&self, store: &dyn Store, snapshot: u64, seq: u64) -> Result<Fold> {
        let journal = JournalId::from(self.from.as_str());
        let read = async { FoldReader::open(store, &journal, snapshot).await?.read_up_to(seq).await };
        match read.await {
            Err(error) if error.code() != "store.unknown" => Err(error),
            Ok(fold) if fold.last >= seq => Ok(fold),
            _ => {
                let message = format!(
                    "run {} is no longer kept, so the session cannot go back to where it waited: go back further",
                    self.from
                );
                Err(Error::new(ErrorKind::UnknownCheckpoint, message).with_code("checkpoint.run-gone"))
            }
        }
    }

    /// The records up to a sequence number, as written to the copy. Deltas of one text become one record,
    /// since the copy has no readers yet.
    async fn copied(&self, store: &dyn Store, seq: u64, open: &[RequestId]) -> Result<CopiedBodies> {
        let journal = JournalId::from(self.from.as_str());
        let (mut bodies, mut reader) = (CopiedBodies::default(), RecordReader::default());
        let (mut after, mut growing) = (0, None::<StoredRecord>);
        while after < seq {
            let page = store.read(&journal, after, ReadLimit::default()).await?;
            if page.records.is_empty() {
                break;
            }
            for record in page.records.iter().take_while(|record| record.seq <= seq) {
                if let (Some(text), Some(more)) =
                    (growing.as_mut().and_then(StoredRecord::growing_text), reader.more(record))
                    && text.len() < MAX_COPIED_TEXT
                {
                    text.push_str(more);
                    continue;
                }
                if let Some(delta) = growing.take() {
                    bodies.push(delta)?;
                }
                let mut stored = reader.stored(record)?;
                if stored.growing_text().is_some() {
                    growing = Some(stored);
                } else {
                    self.copy_one(stored, open, &mut bodies)?;
                }
            }
            after = page.records.last().map_or(seq, |record| record.seq);
        }
        match growing {
            Some(delta) => bodies.push(delta).map(|()| bodies),
            None => Ok(bodies),
        }
    }

    fn copy_one(&self, stored: StoredRecord, open: &[RequestId], bodies: &mut CopiedBodies) -> Result<()> {
        let starts = matches!(stored.event, Some(Event::RunStarted(_)));
        if keeps(&stored, open) {
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
        Ok(())
    }

    fn rename(&mut self, key: &str, wait: &Wait) {
        let new = match &wait.kind {
            WaitKind::ClientTool { tool, .. } => client_request(self.to, &tool.call),
            _ => request_id(self.to, key),
        };
        self.renamed.insert(wait.request.to_string(), new.to_string());
    }

    /// A record with the ids of the copy.
    fn renamed(&self, stored: StoredRecord) -> Result<StoredRecord> {
        let mut json = serde_json::to_value(&stored).map_err(|error| unreadable(&error))?;
        self.replace(&mut json);
        let mut stored: StoredRecord = serde_json::from_value(json).map_err(|error| unreadable(&error))?;
        if let Some(Effect::Begun(spec)) = &mut stored.effect {
            spec.message.get_or_insert_with(|| format!("msg_{}", self.from).into());
            spec.session = Some(self.head.id.clone());
            spec.owner.clone_from(&self.head.owner);
            spec.invalidated.clone_from(&self.head.invalidated);
        }
        if let Some(Event::RunStarted(started)) = &mut stored.event {
            started.run = Some(self.to.clone());
            started.session = Some(self.head.id.clone());
        }
        Ok(stored)
    }

    /// Ids are random enough that a string equal to one is that id, wherever it occurs.
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

/// The records of a copy, after the one that marks it as a copy.
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

/// Whether a record is copied: all but snapshots and the open requests of the old run.
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
