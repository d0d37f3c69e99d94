//! Structured objects as whole values that are sent again while they grow, for pages with data parts but no
//! updates.

use std::collections::HashMap;

use headwater_protocol::{StructuredOp, StructuredState, StructuredStreams, StructuredUpdate};
use serde_json::Value;

/// An object is sent again when it has grown to this many quarters of its last size. While it grows, at most 1.8
/// times its size is sent, and 2.8 times with the end.
const QUARTERS: usize = 9;
/// An object that grows slowly is sent again after [`LONG_PAUSE`] if it has grown by this fraction (a quarter).
const SHARE: usize = 4;
/// Up to this size an object is sent again after [`PAUSE`], however little it has grown.
const SMALL: usize = 4 << 10;
/// In milliseconds.
const PAUSE: u64 = 250;
const LONG_PAUSE: u64 = 1_000;

/// An object to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrownObject<'a> {
    /// The object so far.
    pub(crate) state: &'a StructuredState,
    /// The object is complete.
    pub(crate) complete: bool,
}

impl GrownObject<'_> {
    /// The object so far; empty before the first update.
    pub(crate) fn data(&self) -> Value {
        self.state.data().cloned().unwrap_or(Value::Null)
    }
}

/// Tracks structured streams and decides when an object is sent again.
///
/// The bytes sent stay linear in the size of the object: it is sent when it has more than doubled, when it has
/// grown by a quarter and a second has passed, when it is small and [`PAUSE`] has passed, and once at its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct GrowingObjects {
    streams: StructuredStreams,
    growth: HashMap<String, Growth>,
}

/// How much of an object was sent, in bytes of its updates: close to its size, and known without serialising
/// it.
#[derive(Debug, Clone, Copy, Default)]
struct Growth {
    size: usize,
    sent: usize,
    /// When it was last sent, in milliseconds; `None` if never.
    time: Option<u64>,
}

impl GrowingObjects {
    /// Applies an update at a time in milliseconds, and returns the object if it should be sent now. An
    /// update that does not apply changes nothing.
    pub(crate) fn apply(&mut self, update: &StructuredUpdate, time: u64) -> Option<GrownObject<'_>> {
        let state = self.streams.apply(update).ok()?;
        let growth = self.growth.entry(update.stream.clone()).or_default();
        let complete = matches!(update.op, StructuredOp::Final { .. });
        growth.size += size_of(&update.op);
        let unsent = growth.size - growth.sent;
        let due = match growth.time {
            None => true,
            Some(_) if complete => true,
            Some(_) if growth.size * 4 >= growth.sent * QUARTERS => true,
            Some(sent) => {
                let passed = time.saturating_sub(sent);
                unsent > 0 && growth.size <= SMALL && passed >= PAUSE
                    || unsent * SHARE >= growth.size && passed >= LONG_PAUSE
            }
        };
        due.then(|| {
            *growth = Growth { size: growth.size, sent: growth.size, time: Some(time) };
            GrownObject { state, complete }
        })
    }

    /// The objects that have grown since they were last sent; they now count as sent.
    pub(crate) fn unsent(&mut self) -> impl Iterator<Item = GrownObject<'_>> {
        let Self { streams, growth } = self;
        streams.iter().filter_map(move |state| {
            let growth = growth.get_mut(state.stream())?;
            (growth.size > growth.sent).then(|| {
                growth.sent = growth.size;
                GrownObject { state, complete: false }
            })
        })
    }

    /// Removes an invalidated stream.
    pub(crate) fn invalidate(&mut self, stream: &str) -> Option<StructuredState> {
        self.growth.remove(stream);
        self.streams.invalidate(stream)
    }
}

fn size_of(op: &StructuredOp) -> usize {
    match op {
        StructuredOp::Set { path, value } => path.len() + value.as_ref().map_or(0, bytes),
        StructuredOp::Append { items, .. } => items.iter().map(bytes).sum(),
        StructuredOp::TextDelta { delta, .. } => delta.len(),
        _ => 0,
    }
}

/// The approximate size of a value as JSON.
fn bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| bytes(item) + 1).sum::<usize>(),
        Value::Object(members) => {
            2 + members.iter().map(|(key, value)| key.len() + 4 + bytes(value)).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests;
