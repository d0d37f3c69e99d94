//! The stream of one scripted answer.

use std::{
    num::NonZeroUsize,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use headwater_protocol::{FinishReason, Usage};
use serde_json::Value;
use tokio::time::{Instant, Sleep, sleep};

use super::{
    ScriptedModelInner,
    fault::FaultKind,
    script::{Call, Rhythm, Rule, ScriptSource, ScriptStep},
    situation::{Situation, count_words},
};
use crate::{ModelError, ModelEvent, ModelRequest};

/// The stream of one answer: a state machine without a background task.
pub(super) struct ScriptedAnswer {
    model: Arc<ScriptedModelInner>,
    state: PlaybackState,
    sleep: Option<Pin<Box<Sleep>>>,
}

enum PlaybackState {
    /// Not polled yet, so the call has not been counted.
    Unasked(Arc<ModelRequest>),
    Playing(PlaybackCursor),
    Stalled,
    Ended,
}

struct PlaybackCursor {
    request: Arc<ModelRequest>,
    rule: Arc<Rule>,
    rhythm: Rhythm,
    /// Index of the next step.
    step: usize,
    /// Number of the next part.
    part: u32,
    lanes: Lanes,
    spoken: WordCounts,
}

/// The parts being streamed. Several tool calls are streamed at once, with interleaved deltas.
#[derive(Default)]
struct Lanes {
    lanes: Vec<PartLane>,
    /// Number of lanes that have begun.
    begun: usize,
    /// Index of the lane that emits next.
    turn: usize,
    /// A fault follows, so the parts never end.
    is_cut_short: bool,
}

struct PartLane {
    part: u32,
    text: Arc<str>,
    said: usize,
    is_paced: bool,
    kind: PartLaneKind,
}

enum PartLaneKind {
    Text {
        metadata: Option<Value>,
    },
    Reasoning {
        metadata: Option<Value>,
    },
    Tool {
        id: String,
        name: String,
        output: Option<Value>,
        metadata: Option<Value>,
    },
    /// The call is complete; the output of the provider's tool is still to be emitted.
    Outcome(Value),
    /// Complete; kept until the other lanes are done.
    Done,
}

/// Words emitted so far, counted as tokens.
#[derive(Default)]
struct WordCounts {
    all: u64,
    thoughts: u64,
}

/// The result of one step.
enum PlaybackStep {
    Event(ModelEvent),
    Wait(Duration),
    Stall,
    Cut,
    Error(ModelError),
    Again,
    Finished(ModelEvent),
}

impl ScriptedAnswer {
    pub(super) fn new(model: Arc<ScriptedModelInner>, request: ModelRequest) -> Self {
        Self { model, state: PlaybackState::Unasked(Arc::new(request)), sleep: None }
    }

    fn wait(&mut self, duration: Duration) {
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(Instant::now() + duration),
            None => self.sleep = Some(Box::pin(sleep(duration))),
        }
    }
}

impl Stream for ScriptedAnswer {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(sleep) = &mut self.sleep
                && !sleep.is_elapsed()
            {
                ready!(sleep.as_mut().poll(cx));
            }
            let this = &mut *self;
            let next = match &mut this.state {
                PlaybackState::Unasked(request) => {
                    let request = Arc::clone(request);
                    let call = this.model.note(&request);
                    match this.model.choose(&request, call) {
                        Ok(rule) => {
                            let model = Some(this.model.script.name().to_owned());
                            let rhythm = this.model.script.rhythm(&rule, request.whole);
                            this.state = PlaybackState::Playing(PlaybackCursor::new(request, rule, rhythm));
                            PlaybackStep::Event(ModelEvent::Started { id: None, model })
                        }
                        Err(error) => PlaybackStep::Error(error),
                    }
                }
                PlaybackState::Playing(playing) => playing.next(),
                // Nothing wakes the task; only dropping the stream ends it.
                PlaybackState::Stalled => return Poll::Pending,
                PlaybackState::Ended => return Poll::Ready(None),
            };
            match next {
                PlaybackStep::Event(event) => return Poll::Ready(Some(Ok(event))),
                PlaybackStep::Again => {}
                PlaybackStep::Wait(duration) => self.wait(duration),
                PlaybackStep::Stall => self.state = PlaybackState::Stalled,
                PlaybackStep::Cut => self.state = PlaybackState::Ended,
                PlaybackStep::Error(error) => {
                    self.state = PlaybackState::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
                PlaybackStep::Finished(event) => {
                    self.state = PlaybackState::Ended;
                    return Poll::Ready(Some(Ok(event)));
                }
            }
        }
    }
}

impl PlaybackCursor {
    fn new(request: Arc<ModelRequest>, rule: Arc<Rule>, rhythm: Rhythm) -> Self {
        Self {
            request,
            rule,
            rhythm,
            step: 0,
            part: 0,
            lanes: Lanes::default(),
            spoken: WordCounts::default(),
        }
    }

    fn next(&mut self) -> PlaybackStep {
        if let Some(next) = self.lanes.next(self.rhythm) {
            return next;
        }
        let rule = Arc::clone(&self.rule);
        let Some(step) = rule.say.get(self.step) else {
            return PlaybackStep::Finished(self.finish());
        };
        let is_cut_short = rule.is_cut_short(self.step);
        self.step += 1;
        let lane = match step {
            ScriptStep::Text(words) => {
                let text = words.text.fill(&Situation::of(&self.request));
                vec![self.lane(text, PartLaneKind::Text { metadata: words.metadata.clone() })]
            }
            ScriptStep::Json(json) => {
                let text = json.fill(&Situation::of(&self.request));
                vec![self.lane(text, PartLaneKind::Text { metadata: None })]
            }
            ScriptStep::Reasoning(words) => {
                let text = words.text.fill(&Situation::of(&self.request));
                self.spoken.thoughts += count_words(&text);
                vec![self.lane(text, PartLaneKind::Reasoning { metadata: words.metadata.clone() })]
            }
            ScriptStep::Tool(call) => vec![self.call(call)],
            ScriptStep::Tools(calls) => calls.iter().map(|call| self.call(call)).collect(),
            ScriptStep::Source(source) => return PlaybackStep::Event(source_event(source.clone())),
            ScriptStep::File(file) => {
                return PlaybackStep::Event(ModelEvent::File {
                    media_type: file.media_type.clone(),
                    url: file.url.clone(),
                });
            }
            ScriptStep::Warning(warning) => return PlaybackStep::Event(ModelEvent::Warning(warning.clone())),
            ScriptStep::Delay(0) => return PlaybackStep::Again,
            ScriptStep::Delay(wait) => return PlaybackStep::Wait(Duration::from_millis(*wait)),
            ScriptStep::Fault(fault) => {
                return match &fault.0 {
                    FaultKind::Stall => PlaybackStep::Stall,
                    FaultKind::Cut => PlaybackStep::Cut,
                    FaultKind::Error(error) => PlaybackStep::Error(error.clone()),
                };
            }
        };
        self.lanes = Lanes { lanes: lane, begun: 0, turn: 0, is_cut_short };
        PlaybackStep::Again
    }

    fn lane(&mut self, text: Arc<str>, kind: PartLaneKind) -> PartLane {
        let part = self.part;
        self.part += 1;
        self.spoken.all += count_words(&text);
        PartLane { part, text, said: 0, is_paced: false, kind }
    }

    fn call(&mut self, call: &Call) -> PartLane {
        let situation = Situation::of(&self.request);
        let text = match (&call.raw, &call.input) {
            (Some(raw), _) => raw.fill(&situation),
            (None, Some(input)) => input.fill(&situation),
            (None, None) => Arc::from("{}"),
        };
        let id = match &call.id {
            Some(id) => id.fill(&situation).as_ref().to_owned(),
            None => format!("call-{:08x}-{}", situation.fingerprint(), self.part),
        };
        let output = call.output.as_ref().map(|output| output.fill_value(&situation));
        let kind =
            PartLaneKind::Tool { id, name: call.name.clone(), output, metadata: call.metadata.clone() };
        self.lane(text, kind)
    }

    fn finish(&self) -> ModelEvent {
        let default = || if self.rule.wants_tools() { FinishReason::ToolCalls } else { FinishReason::Stop };
        let usage = self.rule.usage.clone().unwrap_or_else(|| {
            let input = Situation::of(&self.request).words();
            Usage {
                input_tokens: Some(input),
                output_tokens: Some(self.spoken.all),
                total_tokens: Some(input + self.spoken.all),
                reasoning_tokens: (self.spoken.thoughts > 0).then_some(self.spoken.thoughts),
                ..Usage::default()
            }
        });
        ModelEvent::Finished {
            reason: self.rule.finish.clone().unwrap_or_else(default),
            raw_reason: None,
            usage,
            raw_usage: None,
            metadata: self.rule.metadata.clone(),
            raw: None,
        }
    }
}

impl Lanes {
    /// The next piece of the lane whose turn it is, or `None` when all lanes are done.
    fn next(&mut self, rhythm: Rhythm) -> Option<PlaybackStep> {
        if let Some(lane) = self.lanes.get(self.begun) {
            self.begun += 1;
            return Some(PlaybackStep::Event(lane.start()));
        }
        for _ in 0..self.lanes.len() {
            let lane = self.lanes.get_mut(self.turn)?;
            let rest = lane.text.get(lane.said..).unwrap_or_default();
            if !rest.is_empty() {
                if let Some(pace) = rhythm.pace
                    && !lane.is_paced
                {
                    lane.is_paced = true;
                    return Some(PlaybackStep::Wait(pace));
                }
                let piece = first_piece(rest, rhythm.chunk);
                let event = lane.delta(piece.to_owned());
                lane.said += piece.len();
                lane.is_paced = false;
                self.turn = (self.turn + 1) % self.lanes.len();
                return Some(PlaybackStep::Event(event));
            }
            if !self.is_cut_short
                && let Some(event) = lane.end()
            {
                return Some(PlaybackStep::Event(event));
            }
            self.turn = (self.turn + 1) % self.lanes.len();
        }
        None
    }
}

impl PartLane {
    fn start(&self) -> ModelEvent {
        let part = self.part;
        match &self.kind {
            PartLaneKind::Reasoning { .. } => ModelEvent::ReasoningStart { part, metadata: None },
            PartLaneKind::Tool { id, name, output, .. } => ModelEvent::ToolCallStart {
                part,
                call: Some(id.clone()),
                name: name.clone(),
                provider_executed: output.is_some(),
                metadata: None,
            },
            PartLaneKind::Text { .. } | PartLaneKind::Outcome(_) | PartLaneKind::Done => {
                ModelEvent::TextStart { part, metadata: None }
            }
        }
    }

    fn delta(&self, delta: String) -> ModelEvent {
        let part = self.part;
        match &self.kind {
            PartLaneKind::Reasoning { .. } => ModelEvent::ReasoningDelta { part, delta },
            PartLaneKind::Tool { .. } => ModelEvent::ToolCallDelta { part, delta },
            PartLaneKind::Text { .. } | PartLaneKind::Outcome(_) | PartLaneKind::Done => {
                ModelEvent::TextDelta { part, delta }
            }
        }
    }

    /// The end of the part, then the output of a tool that the provider ran.
    fn end(&mut self) -> Option<ModelEvent> {
        let part = self.part;
        match std::mem::replace(&mut self.kind, PartLaneKind::Done) {
            PartLaneKind::Text { metadata } => Some(ModelEvent::TextEnd { part, metadata }),
            PartLaneKind::Reasoning { metadata } => Some(ModelEvent::ReasoningEnd { part, metadata }),
            PartLaneKind::Tool { output, metadata, .. } => {
                self.kind = output.map_or(PartLaneKind::Done, PartLaneKind::Outcome);
                Some(ModelEvent::ToolCallEnd { part, metadata })
            }
            PartLaneKind::Outcome(output) => Some(ModelEvent::ToolResult { part, output, is_error: false }),
            PartLaneKind::Done => None,
        }
    }
}

fn source_event(source: ScriptSource) -> ModelEvent {
    let ScriptSource { url, title, media_type, filename, text, metadata } = source;
    match url {
        Some(url) => ModelEvent::SourceUrl { url, title, metadata },
        None => ModelEvent::SourceDocument { title, media_type, filename, text, metadata },
    }
}

/// Longer words are split.
const LONG_WORD: usize = 24;

/// The first `chunk` characters, or the first word with the space after it.
fn first_piece(text: &str, chunk: Option<NonZeroUsize>) -> &str {
    let end = match chunk {
        Some(characters) if characters.get() >= text.len() => text.len(),
        Some(characters) => text.char_indices().nth(characters.get()).map_or(text.len(), |(at, _)| at),
        None => {
            let mut was_space = false;
            let mut count = 0;
            let next_word = text.char_indices().find(|(_, char)| {
                let starts_word = was_space && !char.is_whitespace() || count == LONG_WORD;
                was_space = char.is_whitespace();
                count += 1;
                starts_word
            });
            next_word.map_or(text.len(), |(at, _)| at)
        }
    };
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_split_into_words_or_characters() {
        let pieces = |text: &str, chunk: usize| {
            let mut rest = text;
            let mut pieces = Vec::new();
            while !rest.is_empty() {
                let piece = first_piece(rest, NonZeroUsize::new(chunk));
                pieces.push(piece.to_owned());
                rest = &rest[piece.len()..];
            }
            pieces
        };
        assert_eq!(pieces("Hello  big\nworld", 0), ["Hello  ", "big\n", "world"]);
        assert_eq!(pieces("Grüße 🌍!", 3), ["Grü", "ße ", "🌍!"]);
        assert_eq!(pieces(&"x".repeat(50), 0).iter().map(String::len).collect::<Vec<_>>(), [24, 24, 2]);
        assert_eq!(pieces(" a", 0), [" ", "a"]);
    }
}
