//! One-time work of a hook: read from the journal, or done and recorded.

use std::future::Future;

use headwater_protocol::{Event, Origin, RequestId, WarningEvent};
use headwater_store::Receipt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{DivergenceKind, NodeVisit};
use crate::{Error, Result, error::ErrorKind, journal::HookOutcome, limits};

impl NodeVisit {
    /// The journal's entry for a key.
    pub(crate) fn recorded(
        &self,
        key: &str,
        kind: &str,
        fingerprint: Option<&str>,
    ) -> Result<Option<Result<Value>>> {
        self.state().asked_for.insert(key.to_owned());
        let Some(hook) = self.run.fold().hooks.get(key).cloned() else {
            return Ok(None);
        };
        if hook.kind != kind {
            return Err(self.other_kind(key, &hook.kind, kind));
        }
        // Restored state may make the code skip a hook: then the next one of its name finds the wrong record.
        let may_be_another = self.park.as_ref().is_some_and(|park| park.may_skip(key));
        if let (Some(now), Some(then)) = (fingerprint, hook.fingerprint.as_deref())
            && now != then
        {
            let message = format!(
                "`{key}` was called with other input than the journal has; its recorded result is used"
            );
            let strict = self.run.options().strict_replay || self.run.rehearsal.is_some();
            if strict || may_be_another {
                let recorded = match hook.outcome {
                    HookOutcome::Value(value) => Some(value),
                    HookOutcome::Error(error) => serde_json::to_value(error.info()).ok(),
                };
                return Err(self.differs(DivergenceKind::Input, key, recorded, None, &message));
            }
            tracing::warn!(run = %self.run.id, key, "a hook was called with something else than the journal says");
            let code = Some("replay.changed".to_owned());
            let warning = Event::Warning(WarningEvent { message, code, ..Default::default() });
            drop(self.run.journal.fact(&self.origin(), warning)?);
        }
        Ok(Some(match hook.outcome {
            HookOutcome::Value(value) => Ok(value),
            HookOutcome::Error(error) => Err(error),
        }))
    }

    /// Stops the run because code and journal differ.
    pub(crate) fn diverged(&self, what: &str) -> Error {
        self.differs(DivergenceKind::Unreadable, &self.name, Some(what.into()), None, what)
    }

    /// Stops the run because code and journal differ at a key.
    pub(crate) fn differs(
        &self,
        kind: DivergenceKind,
        key: &str,
        recorded: Option<Value>,
        asked: Option<Value>,
        what: &str,
    ) -> Error {
        let error = match &self.run.rehearsal {
            Some(rehearsal) => rehearsal.note(kind, key, recorded, asked),
            None => {
                let message = format!("{what}: was the code of node `{}` changed?", self.visit.node);
                Error::new(ErrorKind::Diverged, message)
            }
        };
        self.run.fail(&error);
        error
    }

    /// Refuses new work in a run that was stopped or has failed, and any work in one that is only replayed.
    pub(crate) async fn may_begin(&self, key: &str, kind: &str) -> Result<()> {
        if let Some(rehearsal) = &self.run.rehearsal {
            if rehearsal.was_left(&self.name) {
                return Err(self.differs(DivergenceKind::New, key, None, Some(kind.into()), ""));
            }
            // The journal ends here, so there is nothing further to compare.
            rehearsal.goes_beyond(key);
            let _waiting = self.waiting(&RequestId::from("beyond-the-journal"));
            return std::future::pending().await;
        }
        if self.run.cancel.is_cancelled() {
            self.run.fail(&Error::new(ErrorKind::Stopped, "the run was stopped"));
        }
        self.run.fatal().map_or(Ok(()), Err)
    }

    /// Does work once: returns the recorded result, or does the work and returns when its result is durable.
    pub(crate) async fn once<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        kind: &str,
        fingerprint: Option<String>,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let origin = Origin::default();
        let work = async { (work.await, None) };
        let (given, receipt) = self.record_once(key, kind, fingerprint, &origin, work).await?;
        if let Some(receipt) = receipt {
            // Readers see the result after this, so the node must not be parked meanwhile.
            let _running = self.running();
            self.keep(receipt.await)?;
        }
        given
    }

    /// Does work once, with an event in the same record as the result. The result is returned at once, and is
    /// durable before later work or output: so an answer that ends its run is one commit with that end.
    pub(crate) async fn once_with_event<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        kind: &str,
        fingerprint: Option<String>,
        origin: &Origin,
        work: impl Future<Output = (Result<T>, Option<Event>)>,
    ) -> Result<T> {
        let (given, receipt) = self.record_once(key, kind, fingerprint, origin, work).await?;
        if let Some(receipt) = receipt {
            self.run.settle_later(receipt);
        }
        given
    }

    /// The recorded result for a key, or a new one with the receipt of its record.
    async fn record_once<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        kind: &str,
        fingerprint: Option<String>,
        origin: &Origin,
        work: impl Future<Output = (Result<T>, Option<Event>)>,
    ) -> Result<(Result<T>, Option<Receipt>)> {
        if let Some(recorded) = self.recorded(key, kind, fingerprint.as_deref())? {
            if let Err(error) = &recorded
                && error.is_fatal()
            {
                self.run.fail(error);
            }
            return Ok((self.revive(key, recorded?), None));
        }
        self.may_begin(key, kind).await?;
        let _running = self.running();
        self.keep(self.run.settled().await)?;
        let (given, event) = work.await;
        let fatal = given.as_ref().err().filter(|error| error.is_fatal()).cloned();
        // An oversized result is recorded too: a driver after a crash must not repeat the work.
        if let Some(error) = fatal.as_ref().filter(|error| error.kind() != ErrorKind::TooLarge) {
            self.run.fail(error);
            return Ok((given, None));
        }
        let outcome = match &given {
            Ok(value) => HookOutcome::Value(self.value(key, value)?),
            Err(error) => HookOutcome::Error(error.clone()),
        };
        let told = event.map(|event| (origin, event));
        let receipt = self.keep(self.run.done(key, kind, fingerprint, outcome, told))?;
        if let Some(error) = &fatal {
            self.run.fail(error);
        }
        Ok((given, Some(receipt)))
    }

    /// Does synchronous work exactly once; durable before anything that follows.
    pub(crate) fn once_now<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        kind: &str,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        if let Some(recorded) = self.recorded(key, kind, None)? {
            return self.revive(key, recorded?);
        }
        if self.run.rehearsal.as_ref().is_some_and(|rehearsal| rehearsal.was_left(&self.name)) {
            return Err(self.differs(DivergenceKind::New, key, None, Some(kind.into()), ""));
        }
        let given = work()?;
        let outcome = HookOutcome::Value(self.value(key, &given)?);
        let receipt = self.run.done(key, kind, None, outcome, None);
        self.keep(receipt.map(drop))?;
        Ok(given)
    }

    /// Appends an event once: the event itself is the record.
    pub(crate) fn emit_once(&self, key: &str, kind: &str, origin: &Origin, event: Event) -> Result<()> {
        if self.recorded(key, kind, None)?.is_none() && self.run.rehearsal.is_none() {
            let receipt =
                self.run.done(key, kind, None, HookOutcome::Value(Value::Null), Some((origin, event)));
            self.keep(receipt.map(drop))?;
        }
        Ok(())
    }

    /// An error of the store ends the run.
    pub(crate) fn keep<T>(&self, result: Result<T, impl Into<Error>>) -> Result<T> {
        result.map_err(|error| {
            let error = error.into();
            self.run.fail(&error);
            error
        })
    }

    fn value(&self, key: &str, given: &impl Serialize) -> Result<Value> {
        let value = serde_json::to_value(given).map_err(|error| {
            Error::new(ErrorKind::State, format!("what `{key}` gave does not serialise: {error}"))
        })?;
        limits::check(&limits::stored_hook(), &format!("what `{key}` gave"), &value)?;
        Ok(value)
    }

    fn revive<T: DeserializeOwned>(&self, key: &str, recorded: Value) -> Result<T> {
        serde_json::from_value(recorded).map_err(|error| {
            self.diverged(&format!("what the journal holds for `{key}` cannot be read any more: {error}"))
        })
    }
}
