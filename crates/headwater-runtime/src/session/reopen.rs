//! Going back to where a run waited: a new run whose journal is a copy of the old one's up to there.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use headwater_protocol::{
    ApprovalRequested, CheckpointId, Event, MessageId, RequestId, RunId, StructuredInvalidated,
};
use headwater_store::{Class, JournalId, Lease};
use serde_json::{Value, json};

use super::{
    checkpoint::GivenAnswer,
    head::Head,
    progress::{Written, records},
};
use crate::{
    Error, Result,
    agent::{AgentInner, client_request},
    error::ErrorKind,
    hooks::answering,
    journal::{Begun, Effect, Wait, WaitKind},
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
        for record in &records {
            match Written::read(record)?.effect {
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
        let mut bodies = Vec::new();
        for record in &records {
            let written = Written::read(record)?;
            if keeps(&written, &open) {
                bodies.push(self.body(&record.body, &written)?);
            }
            if matches!(written.event, Some(Event::RunStarted(_))) {
                for gone in &self.head.invalidated {
                    let (stream, checkpoint) = (gone.stream.clone(), gone.checkpoint.clone());
                    bodies.push(encode(
                        &json!({ "event": Event::StructuredInvalidated(StructuredInvalidated { stream, checkpoint, ..Default::default() }) }),
                    )?);
                }
            }
        }
        let before = bodies.len() as u64 + 1;
        for (wait, answer) in given {
            let event = answering(&wait, &answer);
            let origin = json!({ "message": self.message(&records)? });
            let effect = Effect::Answered { request: wait.request.clone(), answer };
            let mut body = json!({ "effect": effect });
            if let (Some(event), Some(body)) = (event, body.as_object_mut()) {
                body.insert("event".into(), serde_json::to_value(event).unwrap_or_default());
                body.insert("origin".into(), origin);
            }
            self.replace(&mut body);
            bodies.push(encode(&body)?);
        }
        let total = bodies.len() as u64 + 1;
        let header = Effect::Copied { run: self.from.clone(), seq, before, total };
        bodies.insert(0, encode(&json!({ "effect": header }))?);
        Ok(bodies)
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
        for record in records {
            if let Some(Effect::Begun(begun)) = Written::read(record)?.effect {
                return Ok(begun.message.unwrap_or_else(|| format!("msg_{}", self.from).into()));
            }
        }
        Ok(format!("msg_{}", self.from).into())
    }

    fn body(&self, bytes: &Bytes, written: &Written) -> Result<Bytes> {
        let mut body: Value = crate::codec::decode(bytes).map_err(|error| unreadable(&error))?;
        self.replace(&mut body);
        if let Some(Effect::Begun(begun)) = &written.effect {
            let begun = Begun {
                message: begun.message.clone().or_else(|| Some(format!("msg_{}", self.from).into())),
                session: Some(self.head.id.clone()),
                owner: self.head.owner.clone(),
                invalidated: self.head.invalidated.clone(),
                ..(**begun).clone()
            };
            if let Some(slot) = body.get_mut("effect") {
                *slot = serde_json::to_value(Effect::Begun(Box::new(begun))).unwrap_or_default();
            }
        }
        if let Some(Event::RunStarted(started)) = &written.event
            && let Some(slot) = body.get_mut("event")
        {
            let mut started = started.clone();
            started.run = Some(self.to.clone());
            started.session = Some(self.head.id.clone());
            *slot = serde_json::to_value(Event::RunStarted(started)).unwrap_or_default();
        }
        encode(&body)
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

/// Whether a record is copied: all but what the old run waited for, and sums of what is copied.
fn keeps(written: &Written, open: &[RequestId]) -> bool {
    let asks = match &written.effect {
        Some(Effect::Asked { wait, .. }) => open.contains(&wait.request),
        Some(Effect::Copied { .. }) => true,
        _ => false,
    };
    let shows = match &written.event {
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
    let snapshot = written.effect.is_none() && written.event.is_none();
    !(asks || shows || snapshot)
}

fn encode(body: &Value) -> Result<Bytes> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|error| {
        Error::new(ErrorKind::State, format!("a record of a copy does not serialise: {error}"))
    })
}

fn unreadable(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Store, format!("a record cannot be copied: {error}"))
        .with_code("journal.unreadable")
}
