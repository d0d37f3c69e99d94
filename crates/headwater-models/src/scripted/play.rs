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
    Inner,
    fault::Kind,
    script::{Call, Rhythm, Rule, Source, Step},
    situation::{Situation, count_words},
};
use crate::{ModelError, ModelEvent, ModelRequest};

/// One answer. It is a state machine that is polled: nothing runs beside it.
pub(super) struct Play {
    model: Arc<Inner>,
    state: State,
    sleep: Option<Pin<Box<Sleep>>>,
}

enum State {
    /// Nobody has polled yet, so nothing was asked.
    Unasked(Arc<ModelRequest>),
    Playing(Playing),
    Stalled,
    Ended,
}

struct Playing {
    request: Arc<ModelRequest>,
    rule: Arc<Rule>,
    rhythm: Rhythm,
    /// The step to take next.
    step: usize,
    /// The number of the next part.
    part: u32,
    lanes: Lanes,
    spoken: Spoken,
}

/// The parts that are being said. Several tool calls are said at once, and take turns.
#[derive(Default)]
struct Lanes {
    lanes: Vec<Lane>,
    /// How many of them have begun.
    begun: usize,
    /// Whose turn it is.
    turn: usize,
    /// A fault comes next, so they never end.
    is_cut_short: bool,
}

struct Lane {
    part: u32,
    text: Arc<str>,
    said: usize,
    is_paced: bool,
    kind: LaneKind,
}

enum LaneKind {
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
    /// The call is complete; what the provider's tool gave is still to be said.
    Outcome(Value),
    /// All is said; it is only kept until the others are done.
    Done,
}

/// Words said so far, which stand for tokens.
#[derive(Default)]
struct Spoken {
    all: u64,
    thoughts: u64,
}

/// What a step gives.
enum Next {
    Event(ModelEvent),
    Wait(Duration),
    Stall,
    Cut,
    Error(ModelError),
    Again,
    Finished(ModelEvent),
}

impl Play {
    pub(super) fn new(model: Arc<Inner>, request: ModelRequest) -> Self {
        Self { model, state: State::Unasked(Arc::new(request)), sleep: None }
    }

    fn wait(&mut self, duration: Duration) {
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(Instant::now() + duration),
            None => self.sleep = Some(Box::pin(sleep(duration))),
        }
    }
}

impl Stream for Play {
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
                State::Unasked(request) => {
                    let request = Arc::clone(request);
                    let call = this.model.note(&request);
                    match this.model.choose(&request, call) {
                        Ok(rule) => {
                            let model = Some(this.model.script.name().to_owned());
                            let rhythm = this.model.script.rhythm(&rule, request.whole);
                            this.state = State::Playing(Playing::new(request, rule, rhythm));
                            Next::Event(ModelEvent::Started { id: None, model })
                        }
                        Err(error) => Next::Error(error),
                    }
                }
                State::Playing(playing) => playing.next(),
                // Nothing wakes the task: only dropping the stream ends this.
                State::Stalled => return Poll::Pending,
                State::Ended => return Poll::Ready(None),
            };
            match next {
                Next::Event(event) => return Poll::Ready(Some(Ok(event))),
                Next::Again => {}
                Next::Wait(duration) => self.wait(duration),
                Next::Stall => self.state = State::Stalled,
                Next::Cut => self.state = State::Ended,
                Next::Error(error) => {
                    self.state = State::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
                Next::Finished(event) => {
                    self.state = State::Ended;
                    return Poll::Ready(Some(Ok(event)));
                }
            }
        }
    }
}

impl Playing {
    fn new(request: Arc<ModelRequest>, rule: Arc<Rule>, rhythm: Rhythm) -> Self {
        Self { request, rule, rhythm, step: 0, part: 0, lanes: Lanes::default(), spoken: Spoken::default() }
    }

    fn next(&mut self) -> Next {
        if let Some(next) = self.lanes.next(self.rhythm) {
            return next;
        }
        let rule = Arc::clone(&self.rule);
        let Some(step) = rule.say.get(self.step) else {
            return Next::Finished(self.finish());
        };
        let is_cut_short = rule.is_cut_short(self.step);
        self.step += 1;
        let lane = match step {
            Step::Text(words) => {
                let text = words.text.fill(&Situation::of(&self.request));
                vec![self.lane(text, LaneKind::Text { metadata: words.metadata.clone() })]
            }
            Step::Json(json) => {
                let text = json.fill(&Situation::of(&self.request));
                vec![self.lane(text, LaneKind::Text { metadata: None })]
            }
            Step::Reasoning(words) => {
                let text = words.text.fill(&Situation::of(&self.request));
                self.spoken.thoughts += count_words(&text);
                vec![self.lane(text, LaneKind::Reasoning { metadata: words.metadata.clone() })]
            }
            Step::Tool(call) => vec![self.call(call)],
            Step::Tools(calls) => calls.iter().map(|call| self.call(call)).collect(),
            Step::Source(source) => return Next::Event(source_event(source.clone())),
            Step::File(file) => {
                return Next::Event(ModelEvent::File {
                    media_type: file.media_type.clone(),
                    url: file.url.clone(),
                });
            }
            Step::Warning(warning) => return Next::Event(ModelEvent::Warning(warning.clone())),
            Step::Delay(0) => return Next::Again,
            Step::Delay(wait) => return Next::Wait(Duration::from_millis(*wait)),
            Step::Fault(fault) => {
                return match &fault.0 {
                    Kind::Stall => Next::Stall,
                    Kind::Cut => Next::Cut,
                    Kind::Error(error) => Next::Error(error.clone()),
                };
            }
        };
        self.lanes = Lanes { lanes: lane, begun: 0, turn: 0, is_cut_short };
        Next::Again
    }

    fn lane(&mut self, text: Arc<str>, kind: LaneKind) -> Lane {
        let part = self.part;
        self.part += 1;
        self.spoken.all += count_words(&text);
        Lane { part, text, said: 0, is_paced: false, kind }
    }

    fn call(&mut self, call: &Call) -> Lane {
        let situation = Situation::of(&self.request);
        let text = match (&call.raw, &call.input) {
            (Some(raw), _) => raw.fill(&situation),
            (None, Some(input)) => input.fill(&situation),
            (None, None) => Arc::from("{}"),
        };
        let id = match &call.id {
            Some(id) => id.fill(&situation).as_ref().to_owned(),
            None => format!("call-{:08x}-{}", situation.mark(), self.part),
        };
        let output = call.output.as_ref().map(|output| output.fill_value(&situation));
        let kind = LaneKind::Tool { id, name: call.name.clone(), output, metadata: call.metadata.clone() };
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
    /// The next piece of the lane whose turn it is, or nothing if all is said.
    fn next(&mut self, rhythm: Rhythm) -> Option<Next> {
        if let Some(lane) = self.lanes.get(self.begun) {
            self.begun += 1;
            return Some(Next::Event(lane.start()));
        }
        for _ in 0..self.lanes.len() {
            let lane = self.lanes.get_mut(self.turn)?;
            let rest = lane.text.get(lane.said..).unwrap_or_default();
            if !rest.is_empty() {
                if let Some(pace) = rhythm.pace
                    && !lane.is_paced
                {
                    lane.is_paced = true;
                    return Some(Next::Wait(pace));
                }
                let piece = first_piece(rest, rhythm.chunk);
                let event = lane.delta(piece.to_owned());
                lane.said += piece.len();
                lane.is_paced = false;
                self.turn = (self.turn + 1) % self.lanes.len();
                return Some(Next::Event(event));
            }
            if !self.is_cut_short
                && let Some(event) = lane.end()
            {
                return Some(Next::Event(event));
            }
            self.turn = (self.turn + 1) % self.lanes.len();
        }
        None
    }
}

impl Lane {
    fn start(&self) -> ModelEvent {
        let part = self.part;
        match &self.kind {
            LaneKind::Reasoning { .. } => ModelEvent::ReasoningStart { part, metadata: None },
            LaneKind::Tool { id, name, output, .. } => ModelEvent::ToolCallStart {
                part,
                call: Some(id.clone()),
                name: name.clone(),
                provider_executed: output.is_some(),
                metadata: None,
            },
            LaneKind::Text { .. } | LaneKind::Outcome(_) | LaneKind::Done => {
                ModelEvent::TextStart { part, metadata: None }
            }
        }
    }

    fn delta(&self, delta: String) -> ModelEvent {
        let part = self.part;
        match &self.kind {
            LaneKind::Reasoning { .. } => ModelEvent::ReasoningDelta { part, delta },
            LaneKind::Tool { .. } => ModelEvent::ToolCallDelta { part, delta },
            LaneKind::Text { .. } | LaneKind::Outcome(_) | LaneKind::Done => {
                ModelEvent::TextDelta { part, delta }
            }
        }
    }

    /// The end of the part, and after it the outcome of a tool that the provider ran.
    fn end(&mut self) -> Option<ModelEvent> {
        let part = self.part;
        match std::mem::replace(&mut self.kind, LaneKind::Done) {
            LaneKind::Text { metadata } => Some(ModelEvent::TextEnd { part, metadata }),
            LaneKind::Reasoning { metadata } => Some(ModelEvent::ReasoningEnd { part, metadata }),
            LaneKind::Tool { output, metadata, .. } => {
                self.kind = output.map_or(LaneKind::Done, LaneKind::Outcome);
                Some(ModelEvent::ToolCallEnd { part, metadata })
            }
            LaneKind::Outcome(output) => Some(ModelEvent::ToolResult { part, output, is_error: false }),
            LaneKind::Done => None,
        }
    }
}

fn source_event(source: Source) -> ModelEvent {
    let Source { url, title, media_type, filename, text, metadata } = source;
    match url {
        Some(url) => ModelEvent::SourceUrl { url, title, metadata },
        None => ModelEvent::SourceDocument { title, media_type, filename, text, metadata },
    }
}

/// The longest word that is sent in one piece.
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
    fn a_text_is_cut_into_words_or_characters() {
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
