//! Compares a run that survived crashes with the same run without crashes.

use std::collections::{BTreeMap, BTreeSet};

use headwater_protocol::{AttemptRetracted, AttemptStarted, Event, EventKind, RunState, ToolOutputError};
use headwater_runtime::{Agent, JournalEntry, RecordReader, RecoveryReport};
use headwater_store::{Cursor, JournalId, JournalInfo, Record};
use serde_json::{Value, json};

use super::{RUN, Scenario, World, cursor, records, scenarios::is_about_a_crash};

/// An ended run and everything it left in the store.
pub(super) struct RunEnd {
    records: Vec<Record>,
    info: JournalInfo,
    done: BTreeMap<String, u32>,
    asked: u64,
    /// How many processes died.
    died: u64,
    /// Attempts per crash that may be missing from the journal.
    unrecorded: u64,
    ended: bool,
    /// Entries that should be gone: questions, answers, leases.
    left: Vec<String>,
}

impl RunEnd {
    /// The number of model calls.
    pub(super) fn asked(&self) -> u64 {
        self.asked
    }

    /// Sets how many attempts a failure may leave unrecorded.
    pub(super) fn unrecorded(self, unrecorded: u64) -> Self {
        Self { unrecorded, ..self }
    }

    pub(super) async fn look(agent: &Agent, world: &World, asked: u64, died: u64) -> Self {
        let store = agent.store();
        let mut left = Vec::new();
        // The driver releases the run after closing its journal.
        while agent.driving() > 0 {
            tokio::task::yield_now().await;
        }
        // A notification keeps a run from being deleted. A late answer alone expires with its retention.
        left.extend(store.list("inbox/", None, 100).await.unwrap().into_iter().map(|(key, _)| key));
        left.extend(
            agent.questions(None, 10).await.unwrap().iter().map(|question| question.request.to_string()),
        );
        left.extend(store.expired(10).await.unwrap().iter().map(ToString::to_string));
        let report = agent.recover().await.unwrap();
        if report != RecoveryReport::default() {
            left.push(format!("{report:?}"));
        }
        Self {
            records: records(&**store, 0).await,
            info: store.info(&JournalId::from(RUN)).await.unwrap().unwrap(),
            done: world.done(),
            asked,
            died,
            unrecorded: 2,
            ended: agent.run(RUN).summary().await.unwrap().ended.is_some(),
            left,
        }
    }
}

/// A reader's state when the process it read from died.
pub(super) struct Reader {
    state: RunState,
    cursor: Cursor,
}

impl Reader {
    /// One reader that has read everything, and one that is halfway behind.
    pub(super) fn of(seen: &[Record]) -> Vec<Self> {
        let places = [seen.len(), seen.len() / 2];
        let readers = places.into_iter().filter_map(|place| {
            let seen = &seen[..place];
            let mut state = RunState::default();
            follow(&mut state, seen, 0);
            Some(Self { state, cursor: cursor(seen)? })
        });
        readers.collect()
    }
}

/// Applies the events after a sequence number.
fn follow(state: &mut RunState, records: &[Record], after: u64) {
    let mut reader = RecordReader::default();
    for record in records {
        if let Some(event) = reader.visible_event(record).unwrap()
            && event.seq > after
        {
            state.apply(&event).unwrap();
        }
    }
}

/// Compares a run that survived crashes with one without.
pub(super) fn judge(scenario: &Scenario, calm: &RunEnd, lived: &RunEnd, readers: &[Reader], when: &str) {
    let case = format!("{} stopped after {when}", scenario.name);
    let (before, now) = (JournalCounts::read(calm), JournalCounts::read(lived));

    // It has ended and is cleaned up.
    assert!(lived.info.tail.closed && lived.ended, "{case}");
    assert!(lived.left.is_empty(), "{case}: left behind {:?}", lived.left);
    assert_eq!(now.ends, 1, "{case}: a run ends once");

    // The same messages. Takeovers need space too, so a run that fills its journal produces less.
    let unknown = now.unknown_outcomes();
    let (was, is) = (view(scenario, calm, &unknown), view(scenario, lived, &unknown));
    if scenario.full {
        for end in [&was, &is] {
            assert_eq!(end["run"]["error"]["code"], "run.too-large", "{case}: {}", end["run"]);
        }
    } else {
        assert!(is == was, "{case}: {}\n{}", difference(&is, &was, ""), now.lines().join("\n"));
    }

    // Every reader ends with the same state.
    let whole = whole(&lived.records);
    for reader in readers {
        let place = reader.cursor.place(&RUN.into(), &lived.info).unwrap();
        let mut state = reader.state.clone();
        follow(&mut state, &lived.records, place.after());
        let (is, was) = (json!(state.view()), json!(whole.view()));
        assert!(is == was, "{case}, reader at {place:?}: {}", difference(&is, &was, ""));
    }

    // Nothing is emitted or recorded twice, and nothing is missing.
    if !scenario.flaky && !scenario.full {
        assert_eq!(now.emits, before.emits, "{case}: other emits");
        assert_eq!(now.passes, before.passes, "{case}: other passes");
        assert_eq!(now.counts, before.counts, "{case}: other events\n{}", now.lines().join("\n"));
    }
    let twice: Vec<_> = now.keys.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "{case}: recorded twice {twice:?}");
    // Emitted text stays when the journal is full.
    let open = &now.open_attempts;
    assert!(open.is_empty() || scenario.full, "{case}: neither finished nor retracted {open:?}");

    // A model is called again only for a retracted attempt. On a disk the record of an attempt's start may be
    // lost with the process.
    let may = calm.asked + now.died_attempts + lived.died * lived.unrecorded;
    assert!(lived.asked <= may && lived.asked >= now.passes.len() as u64, "{case}: asked {}", lived.asked);

    effects(&case, calm, lived, &now);
    if !scenario.full {
        all_effects(&case, calm, lived, &now);
    }
}

/// Each tool call and each step ran once; one in progress when the process died may have run again.
fn effects(case: &str, calm: &RunEnd, lived: &RunEnd, now: &JournalCounts) {
    let died = u32::try_from(lived.died).unwrap();
    // Calls are identified by idempotency key; repetitions are counted for each.
    for (what, times) in lived.done.iter().filter(|(what, _)| what.starts_with("tool")) {
        assert!(*times <= 1 + died, "{case}: {times} calls of {what}");
    }
    let (was, is) = (by_kind(&calm.done), by_kind(&lived.done));
    for (what, times) in &is {
        let expected = was.get(what).copied().unwrap_or(0);
        let may = if what.starts_with("tool") { expected } else { expected + died };
        assert!(*times <= may, "{case}: {what} {times} times instead of {expected}");
    }
    for (what, times) in lived.done.iter().filter(|(what, times)| what.starts_with("tool pay") && **times > 1)
    {
        let asked = now.lines().iter().any(|line| line.contains("Call it again?"));
        assert!(asked, "{case}: {what} was made {times} times, without a question");
    }
}

/// Every effect of the undisturbed run happened.
fn all_effects(case: &str, calm: &RunEnd, lived: &RunEnd, now: &JournalCounts) {
    let is = by_kind(&lived.done);
    let spared = u32::try_from(now.unknown_outcomes().len()).unwrap();
    for (what, expected) in by_kind(&calm.done) {
        let times = is.get(&what).copied().unwrap_or(0);
        assert!(times + spared >= expected, "{case}: {what} {times} times instead of {expected}");
    }
}

/// How often each step ran, and how many calls of each tool.
fn by_kind(done: &BTreeMap<String, u32>) -> BTreeMap<String, u32> {
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    for (what, times) in done.iter().filter(|(what, _)| what.starts_with("step") || what.starts_with("tool"))
    {
        let is_tool = what.starts_with("tool");
        let words = what.split(' ').take(if is_tool { 2 } else { 9 });
        *kinds.entry(words.collect::<Vec<_>>().join(" ")).or_default() += if is_tool { 1 } else { *times };
    }
    kinds
}

/// Counts over the contents of a journal.
#[derive(Default)]
struct JournalCounts {
    /// The emits of each visit.
    emits: BTreeMap<String, Vec<Value>>,
    /// The finished passes and their outcomes.
    passes: Vec<String>,
    /// How often each unique key is recorded.
    keys: BTreeMap<String, u32>,
    /// The number of events of each kind that crashes must not change.
    counts: BTreeMap<&'static str, u32>,
    open_attempts: BTreeSet<String>,
    died_attempts: u64,
    ends: u32,
    events: Vec<(u64, Event)>,
}

impl JournalCounts {
    fn read(finished: &RunEnd) -> Self {
        let (mut told, mut reader) = (Self::default(), RecordReader::default());
        for record in &finished.records {
            match reader.entry(record).unwrap() {
                JournalEntry::Event(event) => {
                    // After the tag, an event and its replay data are JSON; a continuation is only text.
                    let body: Value = serde_json::from_slice(&record.body[1..]).unwrap_or_default();
                    told.effect(&body["effect"]);
                    if let Some(visit) = body["emit"]["visit"].as_str() {
                        told.emits.entry(visit.to_owned()).or_default().push(json!(event.event));
                    }
                    told.event(&event.event);
                    told.events.push((record.seq, event.event));
                }
                JournalEntry::Effect(effect) => told.effect(&effect),
                _ => {}
            }
        }
        told.passes.sort();
        told
    }

    fn effect(&mut self, effect: &Value) {
        let Some((kind, effect)) = effect.as_object().and_then(|effect| effect.iter().next()) else { return };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let key = match kind.as_str() {
            "done" if effect["outcome"].get("value").is_some() => text(&effect["key"]),
            "entered" => effect["visit"].to_string(),
            "left" => effect["visit"].to_string(),
            "asked" => text(&effect["key"]),
            "answered" => text(&effect["request"]),
            _ => String::new(),
        };
        if !key.is_empty() {
            *self.keys.entry(format!("{kind} {key}")).or_default() += 1;
        }
        if kind == "done" && effect["kind"] == "pass" {
            self.passes.push(format!("{} {}", effect["key"], effect["outcome"].get("value").is_some()));
        }
    }

    fn event(&mut self, event: &Event) {
        let kind = event.kind();
        match event {
            Event::AttemptStarted(AttemptStarted { attempt, .. }) => {
                self.open_attempts.insert(attempt.to_string());
            }
            Event::AttemptFinished { attempt } => {
                self.open_attempts.remove(attempt.as_str());
            }
            Event::AttemptRetracted(AttemptRetracted { attempt, reason, .. }) => {
                self.open_attempts.remove(attempt.as_str());
                let died = reason.as_deref().is_some_and(|reason| reason.contains("process"));
                self.died_attempts += u64::from(died);
            }
            _ => {}
        }
        self.ends += u32::from(kind.ends_run());
        // A person may be asked about an unfinished call; all other events occur as often as without a crash.
        let about_a_crash = matches!(event, Event::InterruptRequested(asked) if is_about_a_crash(asked));
        let counted = matches!(
            kind,
            EventKind::RunStarted
                | EventKind::MessageStarted
                | EventKind::MessageFinished
                | EventKind::StepStarted
                | EventKind::StepFinished
                | EventKind::InterruptRequested
                | EventKind::ApprovalRequested
                | EventKind::ApprovalAnswered
                | EventKind::Message
                | EventKind::Transition
                | EventKind::Warning
                | EventKind::Error
        );
        if counted && !about_a_crash {
            *self.counts.entry(kind.name()).or_default() += 1;
        }
    }

    /// The tool calls with an unknown outcome.
    fn unknown_outcomes(&self) -> BTreeSet<String> {
        let unknown = self.events.iter().filter_map(|(_, event)| match event {
            Event::ToolOutputError(ToolOutputError { name, error, .. })
                if error.contains("it may have taken effect") =>
            {
                name.clone()
            }
            _ => None,
        });
        unknown.collect()
    }

    fn lines(&self) -> Vec<String> {
        self.events.iter().map(|(seq, event)| format!("{seq:>4} {}", json!(event))).collect()
    }
}

fn whole(records: &[Record]) -> RunState {
    let mut state = RunState::default();
    follow(&mut state, records, 0);
    state
}

/// The state of a run without the parts that crashes may change, such as generated ids.
fn view(scenario: &Scenario, finished: &RunEnd, unknown: &BTreeSet<String>) -> Value {
    let mut view = json!(whole(&finished.records).view());
    if !unknown.is_empty() {
        // A model that gets another tool outcome uses another number of tokens.
        view["run"]["usage"].take();
    }
    for message in view["messages"].as_array_mut().unwrap() {
        let parts = message["parts"].as_array_mut().unwrap();
        // Only a run that crashed has questions about unfinished calls.
        let about_death = |part: &Value| {
            part["input"]["question"].as_str().is_some_and(|text| text.starts_with("The process died"))
        };
        parts.retain(|part| part["toolName"] != "ask_user" || !about_death(part));
        for part in parts.iter_mut().filter_map(Value::as_object_mut) {
            part.remove("toolCallId");
            if let Some(approval) = part.get_mut("approval").and_then(Value::as_object_mut) {
                approval.retain(|key, _| key != "signature" && key != "id");
            }
            if part.get("toolName").and_then(Value::as_str).is_some_and(|name| unknown.contains(name)) {
                for outcome in ["state", "output", "errorText"] {
                    part.remove(outcome);
                }
            }
        }
        if scenario.parallel {
            parts.sort_by_key(Value::to_string);
        }
        // Concurrent questions have no order.
        let is_question = |part: &Value| part["toolName"] == "ask_user";
        let mut questions: Vec<_> = parts.iter().filter(|part| is_question(part)).cloned().collect();
        questions.sort_by_key(Value::to_string);
        for (part, question) in parts.iter_mut().filter(|part| is_question(part)).zip(questions) {
            *part = question;
        }
    }
    view
}

/// The first difference between two values.
fn difference(is: &Value, was: &Value, place: &str) -> String {
    match (is, was) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            let different = a.iter().find(|(key, value)| b.get(*key) != Some(value));
            different.map_or_else(String::new, |(key, value)| {
                difference(value, &b[key], &format!("{place}/{key}"))
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let different = a.iter().zip(b).enumerate().find(|(_, (a, b))| a != b);
            different.map_or_else(String::new, |(at, (a, b))| difference(a, b, &format!("{place}/{at}")))
        }
        _ => format!("{place} is\n  {is}\ninstead of\n  {was}"),
    }
}
