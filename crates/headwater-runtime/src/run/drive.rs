//! The run loop: enters nodes, runs them concurrently, and records their results, until the run ends or
//! waits.

use std::{collections::HashMap, future::Future, pin::Pin, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use headwater_protocol::{
    ErrorEvent, Event, FinishReason, RequestId, RunFinished, RunWaiting, ToolCallId, WarningEvent,
};
use headwater_store::{Expect, Receipt, ValuePages};
use tokio::sync::Notify;

use super::{
    Runs,
    execute::{NodeOutcome, execute},
    finish::{finish, stop_event},
    show::show,
    walk::{Walk, WalkEnd},
};
use crate::{
    Error, Next, OnError, Result,
    error::ErrorKind,
    journal::{Effect, RecordedWalk, SavedEntry, SavedWalk, Visit, WaitKind, WalkStep},
    keys,
    node::{ActiveRun, EntryState, NodeVisit},
    question::{QueuedAnswer, answered_event},
    telemetry,
};

/// How long tools may take to finish when the run is stopped.
const GRACE: Duration = Duration::from_secs(2);

/// Number of recorded steps after which they are replaced by the resulting position.
const MAX_STEPS: usize = 256;

/// How a drive ended.
#[derive(Debug)]
pub(crate) enum DriveOutcome {
    /// The run ended. Its last event may not be durable yet.
    Ended(Receipt),
    /// The run waits for an answer, until this time at most.
    Waiting { until: u64 },
}

type Execution = Pin<Box<dyn Future<Output = (Arc<NodeVisit>, NodeOutcome)> + Send>>;

struct RunDriver {
    runs: Arc<Runs>,
    run: Arc<ActiveRun>,
    walk: Walk,
    executing: FuturesUnordered<Execution>,
    entries: HashMap<Visit, EntryState>,
    parked: Vec<(Visit, Vec<RequestId>)>,
    failures: HashMap<Visit, u32>,
    /// Whether the inbox may have new entries.
    check_inbox: bool,
}

/// Drives a run until it ends or waits.
///
/// # Errors
/// When the journal cannot be written: another process has taken over, or the store has stopped. Everything else ends
/// the run.
pub(crate) async fn drive(
    runs: Arc<Runs>,
    run: Arc<ActiveRun>,
    walk: Walk,
    recorded: RecordedWalk,
    resumed: bool,
    wake: Arc<Notify>,
) -> Result<DriveOutcome> {
    let mut driver = RunDriver {
        runs,
        run,
        walk,
        executing: FuturesUnordered::new(),
        entries: HashMap::new(),
        parked: Vec::new(),
        failures: HashMap::new(),
        check_inbox: resumed,
    };
    let driven = match driver.replay(recorded) {
        Ok(()) => driver.go(&wake).await,
        Err(error) => Err(error),
    };
    match driven {
        Ok(driven) => Ok(driven),
        Err(error) => driver.fail(error).await,
    }
}

impl RunDriver {
    /// Walks along the recorded steps, without running anything.
    fn replay(&mut self, recorded: RecordedWalk) -> Result<()> {
        let mut open = Vec::new();
        if let Some(base) = recorded.base {
            open.extend(base.entries.iter().map(|entry| entry.visit.clone()));
            self.restore(*base)?;
        }
        let mut recorded = recorded.steps.into_iter().peekable();
        while let Some(walked) = recorded.next() {
            match walked {
                WalkStep::Entered(visit) => {
                    let entry = self.walk.enter(&visit)?;
                    open.push(visit.clone());
                    self.entries.insert(visit, entry);
                }
                WalkStep::Failed(visit) => *self.failures.entry(visit).or_default() += 1,
                WalkStep::Left(left) => {
                    self.entries.remove(&left.visit);
                    open.retain(|visit| *visit != left.visit);
                    self.walk.leave(&left)?;
                    // The workflow after the handover is that of the next recorded node.
                    if let (true, Some(WalkStep::Entered(next))) = (self.walk.is_over(), recorded.peek()) {
                        let (id, version) = next.workflow.split_once('@').unwrap_or((&next.workflow, ""));
                        self.transit(Some((id.to_owned(), version.to_owned())))?;
                    }
                }
            }
        }
        for entry in open.iter().filter_map(|visit| self.entries.get(visit).cloned()).collect::<Vec<_>>() {
            self.start(entry, Duration::ZERO)?;
        }
        Ok(())
    }

    /// Continues from a saved walk, which replaced earlier steps.
    fn restore(&mut self, mut saved: SavedWalk) -> Result<()> {
        let (id, version) = saved.workflow.split_once('@').unwrap_or((&saved.workflow, ""));
        let workflow = self.runs.workflows.version(id, version)?;
        self.entries =
            saved.entries.drain(..).map(|entry| (entry.visit.clone(), EntryState::from(entry))).collect();
        self.failures = saved.failures.drain(..).collect();
        self.walk = Walk::restore(workflow, saved);
        Ok(())
    }

    /// Replaces the steps of a long walk by its position: a snapshot need not contain all of them.
    fn save_walk(&self) {
        let mut fold = self.run.fold();
        if fold.walk.steps.len() < MAX_STEPS || self.walk.is_over() {
            return;
        }
        let mut saved = self.walk.save();
        let entry = |visit: &Visit| self.entries.get(visit).cloned().map(SavedEntry::from);
        saved.entries = fold.position.iter().filter_map(entry).collect();
        let is_open = |visit: &Visit| fold.position.contains(visit);
        let failures = self.failures.iter().filter(|(visit, _)| is_open(visit));
        saved.failures = failures.map(|(visit, count)| (visit.clone(), *count)).collect();
        fold.walk = RecordedWalk { base: Some(Box::new(saved)), steps: Vec::new() };
    }

    /// Continues with the workflow named by a transition; `Some` if the walk has finished instead.
    fn transit(&mut self, version: Option<(String, String)>) -> Result<Option<WalkEnd>> {
        match self.walk.ended() {
            WalkEnd::Transition(transition) => {
                let workflow = match version {
                    Some((id, version)) => self.runs.workflows.version(&id, &version)?,
                    None => self.runs.workflows.newest(&transition.to)?,
                };
                let limit = self.run.options().max_transitions;
                self.walk.transit(workflow, transition.payload, limit)?;
                Ok(None)
            }
            ended @ WalkEnd::Finished { .. } => Ok(Some(ended)),
        }
    }

    async fn go(&mut self, wake: &Notify) -> Result<DriveOutcome> {
        loop {
            if let Some(error) = self.run.fatal() {
                return self.fail(error).await;
            }
            if std::mem::take(&mut self.check_inbox) {
                if let Some(reason) = self.absorb().await? {
                    return self.stop(reason).await;
                }
                self.unpark()?;
            }
            self.enter_all()?;
            if self.executing.is_empty() {
                if self.parked.is_empty() {
                    match self.transit(None)? {
                        None => continue,
                        Some(WalkEnd::Finished { result, reason }) => {
                            // A stop accepted before the end takes precedence.
                            if let Some(reason) = self.absorb().await? {
                                return self.stop(reason).await;
                            }
                            let reason = Some(reason.unwrap_or(FinishReason::Stop));
                            let usage =
                                Some(self.run.journal.usage()).filter(|usage| *usage != Default::default());
                            return self
                                .end(Event::RunFinished(RunFinished {
                                    reason,
                                    usage,
                                    data: result,
                                    ..Default::default()
                                }))
                                .await;
                        }
                        Some(WalkEnd::Transition(_)) => continue,
                    }
                }
                // An answer may have arrived while the last node was being parked.
                if let Some(reason) = self.absorb().await? {
                    return self.stop(reason).await;
                }
                if !self.unpark()? {
                    return self.wait().await;
                }
            }
            tokio::select! {
                Some((node, executed)) = self.executing.next() => self.executed(&node, executed).await?,
                () = wake.notified() => self.check_inbox = true,
            }
        }
    }

    fn enter_all(&mut self) -> Result<()> {
        while let Some(visit) = self.walk.next_visit() {
            drop(self.run.journal.effect(Effect::Entered { visit: visit.clone() })?);
            let entry = self.walk.enter(&visit)?;
            self.entries.insert(visit, entry.clone());
            self.start(entry, Duration::ZERO)?;
        }
        Ok(())
    }

    fn start(&mut self, entry: EntryState, pause: Duration) -> Result<()> {
        let Some(node) = self.walk.workflow().graph().nodes.get(&entry.visit.node) else {
            let message = format!("the journal has a visit of `{}`, which is no longer a node", entry.visit);
            return Err(Error::new(ErrorKind::Diverged, message));
        };
        let (handler, options) = (node.run.clone(), node.options.clone());
        let retried = self.failures.contains_key(&entry.visit);
        let execution = execute(self.run.clone(), entry, retried, handler, options);
        self.executing.push(if pause.is_zero() {
            Box::pin(execution)
        } else {
            Box::pin(async move {
                tokio::time::sleep(pause).await;
                execution.await
            })
        });
        Ok(())
    }

    async fn executed(&mut self, node: &Arc<NodeVisit>, executed: NodeOutcome) -> Result<()> {
        match executed {
            NodeOutcome::Parked(requests) => {
                node.park(&requests)?;
                self.parked.push((node.visit.clone(), requests));
                // An answer may have arrived just before the question was in the journal.
                self.check_inbox = true;
            }
            NodeOutcome::Left(next) => self.left(node, *next, None)?,
            NodeOutcome::Failed(error) if error.is_fatal() => return Err(error),
            NodeOutcome::Failed(error) => self.failed(node, error).await?,
        }
        Ok(())
    }

    async fn failed(&mut self, node: &Arc<NodeVisit>, error: Error) -> Result<()> {
        let visit = &node.visit;
        let Some(options) =
            self.walk.workflow().graph().nodes.get(&visit.node).map(|node| node.options.clone())
        else {
            return Err(error);
        };
        let failed = self.failures.entry(visit.clone()).or_default();
        *failed += 1;
        let failed = *failed;
        if failed < options.retry.attempts {
            telemetry::node_failed(self.run.labels(), &visit.node, &error);
            let effect = Effect::Failed { visit: visit.clone(), error: error.clone() };
            let message = format!("node `{}` failed and is tried again: {error}", visit.node);
            let warning = Event::Warning(WarningEvent {
                message,
                code: Some("node.retried".to_owned()),
                ..Default::default()
            });
            self.run.journal.effect_with_event(effect, &node.origin(), warning)?.await?;
            if let Some(entry) = self.entries.get(visit).cloned() {
                self.start(entry, options.retry.pause(failed))?;
            }
            return Ok(());
        }
        match options.on_error {
            OnError::Stop => Err(error),
            OnError::Continue | OnError::GoTo(_) => self.left(node, Next::go(), Some(error)),
        }
    }

    fn left(&mut self, node: &Arc<NodeVisit>, next: Next, error: Option<Error>) -> Result<()> {
        let origin = node.origin();
        next.check_limits()?;
        show(node, &next, &self.runs.workflows)?;
        if let (None, Some(what)) = (&error, node.unemitted()) {
            return Err(node.diverged(&what));
        }
        let left = node.leave(next, error);
        self.walk.leave(&left)?;
        let limit = self.run.options().max_state_bytes;
        let size = self.walk.size();
        if size > limit {
            let message = format!(
                "after node `{}` the run's data and state have {size} bytes, {limit} are allowed: keep large things \
                 elsewhere and pass their names",
                node.visit.node
            );
            return Err(Error::new(ErrorKind::Limit, message).with_code("state.too-large"));
        }
        if let Some(error) = &left.error {
            telemetry::node_failed(self.run.labels(), &node.visit.node, error);
        }
        let info = left.error.as_ref().map(|error| self.run.error_info(error));
        let told = info.map(|error| Event::Error(ErrorEvent { error, ..Default::default() }));
        let told = told.map(|event| (&origin, event));
        drop(self.run.record(Effect::Left(Box::new(left)), told)?);
        self.entries.remove(&node.visit);
        self.save_walk();
        Ok(())
    }

    /// Moves the run's inbox into its journal. Returns the reason of a stop.
    async fn absorb(&mut self) -> Result<Option<Option<String>>> {
        let store = self.runs.env.store.clone();
        let mut pages = ValuePages::new(&*store, keys::inbox(&self.run.id));
        let mut last = None;
        let mut taken = Vec::new();
        while let Some(page) = pages.next().await? {
            for (key, value) in &page {
                let Some((_, request)) = keys::read_inbox(key) else { continue };
                let Some(request) = request else {
                    let reason = String::from_utf8_lossy(&value.bytes).into_owned();
                    return Ok(Some(Some(reason).filter(|reason| !reason.is_empty())));
                };
                let sent: QueuedAnswer = match crate::codec::decode(&value.bytes) {
                    Ok(sent) => sent,
                    Err(error) => {
                        // It would fail on every read. The question can be answered again.
                        tracing::error!(run = %self.run.id, request = ?request.as_str(), error = ?error.to_string(), "removed an answer that cannot be read");
                        store.remove(key, Expect::Any).await?;
                        continue;
                    }
                };
                let wait = {
                    let fold = self.run.fold();
                    if fold.answers.contains_key(&request) {
                        taken.push((request, sent));
                        continue;
                    }
                    fold.asked.values().find(|wait| wait.request == request).cloned()
                };
                // An answer can precede the question's journal record: the next read of the inbox finds both.
                let Some(wait) = wait else { continue };
                let effect = Effect::Answered { request: request.clone(), answer: sent.answer.clone() };
                let origin = self.run.origin();
                let told = answered_event(&wait, &sent.answer).map(|event| (&origin, event));
                last = Some(self.run.record(effect, told)?);
                taken.push((request, sent));
            }
        }
        if let Some(receipt) = last {
            receipt.await?;
            self.run.answered.notify_waiters();
        }
        for (request, sent) in taken {
            // The recorded answer counts, also if this one came later.
            let answer = self.run.fold().answers.get(&request).cloned();
            self.runs.questions.close(&self.run.id, &request, answer.as_ref(), Some(&sent)).await?;
        }
        Ok(None)
    }

    /// Runs parked nodes again if their questions have answers.
    fn unpark(&mut self) -> Result<bool> {
        let (go, stay): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.parked).into_iter().partition(|(_, requests)| {
                let fold = self.run.fold();
                requests.iter().any(|request| fold.answers.contains_key(request))
            });
        self.parked = stay;
        let any = !go.is_empty();
        for (visit, _) in go {
            if let Some(entry) = self.entries.get(&visit).cloned() {
                self.start(entry, Duration::ZERO)?;
            }
        }
        Ok(any)
    }

    /// Every node waits for an answer: records the wait, and leaves the run.
    async fn wait(&mut self) -> Result<DriveOutcome> {
        let env = &self.runs.env;
        let mut until = env.now().saturating_add(env.options.max_wait.as_millis() as u64);
        let mut tool_calls: Vec<ToolCallId> = Vec::new();
        {
            let fold = self.run.fold();
            for wait in fold.open_waits() {
                until = until.min(wait.expires.unwrap_or(u64::MAX));
                if let WaitKind::ClientTool { tool, .. } = &wait.kind {
                    tool_calls.push(tool.call.clone());
                }
            }
        }
        tool_calls.sort();
        let usage = Some(self.run.journal.usage()).filter(|usage| *usage != Default::default());
        self.run.journal.snapshot_for_wait()?;
        if let Some(checkpoint) = self.runs.checkpoint_event(&self.run).await? {
            drop(self.run.append(checkpoint)?);
        }
        self.run.phase.settle();
        self.run.append(Event::RunWaiting(RunWaiting { tool_calls, usage, ..Default::default() }))?.await?;
        Ok(DriveOutcome::Waiting { until })
    }

    /// Stops the run: models and tools are cancelled, and get a moment to end.
    async fn stop(&mut self, reason: Option<String>) -> Result<DriveOutcome> {
        self.run.cancel.cancel();
        let grace = tokio::time::sleep(GRACE);
        let mut grace = std::pin::pin!(grace);
        loop {
            tokio::select! {
                done = self.executing.next() => match done {
                    // A finished node keeps its result.
                    Some((node, NodeOutcome::Left(next))) => self.left(&node, *next, None)?,
                    Some(_) => {}
                    None => break,
                },
                () = &mut grace => break,
            }
        }
        self.end(stop_event(reason)).await
    }

    async fn fail(&mut self, error: Error) -> Result<DriveOutcome> {
        match error.kind() {
            ErrorKind::Store => Err(error),
            ErrorKind::Stopped => {
                self.run.cancel.cancel();
                self.end(Event::RunCancelled { reason: Some(error.message().to_owned()) }).await
            }
            _ => {
                let info = self.run.error_info(&error);
                self.run.record_failure(error);
                self.end(Event::RunFailed(info)).await
            }
        }
    }

    /// Writes the final event.
    async fn end(&mut self, end: Event) -> Result<DriveOutcome> {
        self.run.cancel.cancel();
        // Running models and tools are dropped before the final event is written.
        self.executing.clear();
        finish(&self.runs, &self.run, end).await.map(DriveOutcome::Ended)
    }
}
