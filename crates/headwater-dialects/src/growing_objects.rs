//! Structured objects as whole values that are sent again while they grow, for pages with data parts but no
//! updates.

use std::collections::HashMap;

use headwater_protocol::{StructuredOp, StructuredState, StructuredStreams, StructuredUpdate};
use serde_json::Value;

/// While an object grows, all that is sent of it has at most 9/5 of its bytes: an object is sent again when 4/5 of
/// its size pay for the earlier ones. So it is sent when it has more than doubled, and 2.8 times with the end.
const PAYS: (usize, usize) = (4, 5);
/// So many bytes are not counted, so that small objects are shown as they grow.
const FREE: usize = 8 << 10;
/// An object that is paid for waits this long, in milliseconds, for each 64 KB that it has, unless it has grown to
/// this many quarters of its last size.
const PAUSE: u64 = 250;
const LARGE: usize = 64 << 10;
const QUARTERS: usize = 9;

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
/// The bytes sent stay linear in the size of the object: see [`PAYS`]. It is always sent at its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct GrowingObjects {
    streams: StructuredStreams,
    growth: HashMap<String, Growth>,
    /// How many quarters of its size an object takes beyond it where it is sent.
    extra_quarters: usize,
}

/// How much of an object was sent, in bytes of its updates: close to its size, and known without serialising
/// it.
#[derive(Debug, Clone, Copy, Default)]
struct Growth {
    size: usize,
    /// Its size when it was last sent.
    sent: usize,
    /// All that was sent.
    total: usize,
    /// When it was last sent, in milliseconds; `None` if never.
    time: Option<u64>,
}

impl Growth {
    /// Whether a part of the object that has not ended is sent at a time.
    fn is_due(&self, time: u64) -> bool {
        let Some(sent) = self.time else { return true };
        let counted = self.total.saturating_sub(FREE);
        let waited = time.saturating_sub(sent) >= PAUSE * (1 + (self.size / LARGE) as u64);
        self.size > self.sent
            && counted.saturating_mul(PAYS.1) <= self.size.saturating_mul(PAYS.0)
            && (waited || self.size * 4 >= self.sent * QUARTERS)
    }

    fn send(&mut self, extra_quarters: usize) {
        self.sent = self.size;
        self.total += self.size + self.size * extra_quarters / 4;
    }
}

impl GrowingObjects {
    /// Objects that are sent as text inside JSON, at the end too: each quote has another byte.
    pub(crate) fn as_text() -> Self {
        Self { extra_quarters: 2, ..Self::default() }
    }

    /// Applies an update at a time in milliseconds, and returns the object if it should be sent now. An
    /// update that does not apply changes nothing.
    pub(crate) fn apply(&mut self, update: &StructuredUpdate, time: u64) -> Option<GrownObject<'_>> {
        let state = self.streams.apply(update).ok()?;
        let growth = self.growth.entry(update.stream.clone()).or_default();
        let complete = matches!(update.op, StructuredOp::Final { .. });
        growth.size += size_of(&update.op);
        (complete || growth.is_due(time)).then(|| {
            growth.time = Some(time);
            growth.send(self.extra_quarters);
            GrownObject { state, complete }
        })
    }

    /// Notes that the last growth of an object was sent as this value in place of the whole object.
    pub(crate) fn sent_as(&mut self, stream: &str, value: &Value) {
        if let Some(growth) = self.growth.get_mut(stream) {
            growth.total = growth.total.saturating_sub(growth.sent) + bytes(value);
        }
    }

    /// The objects that have grown since they were last sent; they now count as sent.
    pub(crate) fn unsent(&mut self) -> impl Iterator<Item = GrownObject<'_>> {
        let Self { streams, growth, extra_quarters } = self;
        streams.iter().filter_map(move |state| {
            let growth = growth.get_mut(state.stream())?;
            (growth.size > growth.sent).then(|| {
                growth.send(*extra_quarters);
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
