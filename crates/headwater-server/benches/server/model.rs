//! A model that says as much as its input asks for, at the pace that it asks for, and stamps the time into each delta.

use std::time::Duration;

use futures_util::StreamExt as _;
use headwater_models::{ContentPart, Model, ModelEvent, ModelMessage, ModelRequest, ModelStream};
use headwater_protocol::{FinishReason, Usage};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// Ends a stamp. It stands nowhere else in a stream.
pub(crate) const MARK: u8 = b'~';

/// The digits of a stamp.
pub(crate) const DIGITS: usize = 16;

/// A row of the structured object that a model writes.
const ROW: &str = r#"{"id":4711,"title":"A row of the table","body":"lorem ipsum in a cell"}"#;

/// What a model is to say.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Order {
    /// How many deltas.
    pub(crate) deltas: usize,
    /// When each comes.
    pub(crate) pace: Pace,
    /// Whether it waits for a sign before the first one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) gate: bool,
    /// Whether it waits for a sign after the last one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) hold: bool,
    /// Whether a delta has nine bytes without the time, instead of eighteen with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) short: bool,
    /// How many steps the node records before it asks the model.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) steps: usize,
    /// Whether a person is asked something at the end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) question: bool,
    /// Whether each delta is a row of a structured object.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) object: bool,
}

/// What an order does not ask for is not written: it is the message of a person in a long conversation.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Order {
    pub(crate) fn new(deltas: usize, pace: Pace) -> Self {
        Self { deltas, pace, ..Self::default() }
    }

    /// A structured object of about so many bytes, row by row.
    pub(crate) fn object(bytes: usize, pace: Pace) -> Self {
        Self { object: true, ..Self::new(bytes.div_ceil(ROW.len() + 1), pace) }
    }

    /// The bytes of the object.
    pub(crate) fn object_bytes(&self) -> usize {
        (0..self.deltas).map(|number| self.delta(number).len()).sum()
    }

    /// The text of one delta.
    fn delta(&self, number: usize) -> String {
        if self.object {
            let before = if number == 0 { r#"{"rows":["# } else { "," };
            let after = if number + 1 == self.deltas { "]}" } else { "" };
            return format!("{before}{ROW}{after}");
        }
        if self.short { short_delta(number) } else { delta() }
    }

    /// As the text of a person's message.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).unwrap()
    }
}

/// When each delta comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) enum Pace {
    /// All at once.
    #[default]
    Ready,
    /// Each after all other tasks had a turn.
    Turns,
    /// Each so many microseconds after the last.
    Every(u64),
}

impl Pace {
    /// Waits for the next delta; `phase` is a number that differs from run to run, so that they do not go in step.
    pub(crate) async fn next(self, number: usize, phase: u64) {
        match self {
            Self::Ready => {}
            Self::Turns => tokio::task::yield_now().await,
            Self::Every(micros) => {
                let wait = if number == 0 { phase % micros } else { micros };
                tokio::time::sleep(Duration::from_micros(wait)).await;
            }
        }
    }
}

/// Now, by a clock that all processes share.
pub(crate) fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// One delta.
pub(crate) fn delta() -> String {
    format!("{:016x}{} ", now(), char::from(MARK))
}

/// A delta of nine bytes. Those that follow each other have as little in common as words have: a store may write once what
/// they have.
fn short_delta(number: usize) -> String {
    let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let letters = (0..7).map(|at| char::from(b'a' + (mixed.rotate_left(at * 9) % 26) as u8));
    letters.chain([char::from(MARK), ' ']).collect()
}

/// A model that does what its input says.
#[derive(Debug, Clone)]
pub(crate) struct Ordered {
    /// The sign that it waits for.
    pub(crate) go: watch::Receiver<u64>,
}

impl Model for Ordered {
    fn name(&self) -> &str {
        "bench:ordered"
    }

    fn ask(&self, request: ModelRequest) -> ModelStream {
        let text = request.messages.iter().rev().find_map(|message| match message {
            ModelMessage::User { content } => content.iter().find_map(|part| match part {
                ContentPart::Text { text, .. } => Some(text.clone()),
                _ => None,
            }),
            _ => None,
        });
        let order: Order = serde_json::from_str(&text.unwrap_or_default()).unwrap();
        let mut go = self.go.clone();
        go.mark_unchanged();
        let phase = now() / 977;
        let begin = [
            ModelEvent::Started { id: None, model: None },
            ModelEvent::TextStart { part: 0, metadata: None },
        ];
        let deltas = futures_util::stream::unfold((0, go), move |(number, mut go)| async move {
            if order.gate && number == 0 || order.hold && number == order.deltas {
                let _ = go.changed().await;
            }
            let more = number < order.deltas + usize::from(order.hold);
            if more {
                order.pace.next(number, phase).await;
            }
            more.then(|| (ModelEvent::TextDelta { part: 0, delta: order.delta(number) }, (number + 1, go)))
        });
        let end = [
            ModelEvent::TextEnd { part: 0, metadata: None },
            ModelEvent::Finished {
                reason: FinishReason::Stop,
                raw_reason: None,
                usage: Usage::default(),
                raw_usage: None,
                raw: None,
                metadata: None,
            },
        ];
        let iter = futures_util::stream::iter;
        Box::pin(iter(begin).chain(deltas).chain(iter(end)).map(Ok))
    }
}
