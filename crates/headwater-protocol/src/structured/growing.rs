//! Structured objects as whole values that are sent again while they grow, for pages that know data parts and no updates.

use std::collections::HashMap;

use serde_json::Value;

use super::{StructuredOp, StructuredState, StructuredStreams, StructuredUpdate};

/// An object is sent again when it has grown by this share: all that is sent of one is at most `SHARE + 1` times its size.
const SHARE: usize = 4;
/// Up to this size it is also sent again after [`PAUSE`], so that a short object is seen to grow.
const SMALL: usize = 4 << 10;
/// In milliseconds.
const PAUSE: u64 = 250;

/// An object to be sent, whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GrownObject<'a> {
    /// The object.
    pub(crate) state: &'a StructuredState,
    /// It is complete.
    pub(crate) complete: bool,
}

impl GrownObject<'_> {
    /// The object so far. Until something was written there is an empty one.
    pub(crate) fn data(&self) -> Value {
        self.state.data().cloned().unwrap_or(Value::Null)
    }
}

/// Follows structured streams, and says when an object is worth sending again.
///
/// What is sent stays linear in the size of the object: it is sent when it has grown by a quarter, when it is small and
/// some time has passed, and once at its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct GrowingObjects {
    streams: StructuredStreams,
    growth: HashMap<String, Growth>,
}

/// How much of an object was sent, in bytes of its updates: close enough to its size, and known without writing it.
#[derive(Debug, Clone, Copy, Default)]
struct Growth {
    size: usize,
    sent: usize,
    /// When it was sent last, in milliseconds; `None` before the first time.
    time: Option<u64>,
}

impl GrowingObjects {
    /// Applies an update at a time in milliseconds, and gives the object if it is to be sent now. An update that does not
    /// fit changes nothing.
    pub(crate) fn apply(&mut self, update: &StructuredUpdate, time: u64) -> Option<GrownObject<'_>> {
        let state = self.streams.apply(update).ok()?;
        let growth = self.growth.entry(update.stream.clone()).or_default();
        let complete = matches!(update.op, StructuredOp::Final { .. });
        growth.size += size_of(&update.op);
        let unsent = growth.size - growth.sent;
        let due = match growth.time {
            None => true,
            Some(_) if complete => true,
            Some(_) if unsent * SHARE >= growth.size => true,
            Some(sent) => unsent > 0 && growth.size <= SMALL && time.saturating_sub(sent) >= PAUSE,
        };
        due.then(|| {
            *growth = Growth { size: growth.size, sent: growth.size, time: Some(time) };
            GrownObject { state, complete }
        })
    }

    /// The objects that have grown since they were sent last, which now count as sent.
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

    /// A stream no longer counts.
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
        StructuredOp::Final { .. } => 0,
    }
}

/// About how many bytes of JSON a value is.
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
mod tests {
    use super::*;

    fn append(row: &str) -> StructuredUpdate {
        StructuredUpdate::new("s", "table", StructuredOp::append("rows", [row]))
    }

    #[test]
    fn bytes_sent_stay_linear_in_the_size_of_the_object() {
        for rows in [100_usize, 1_000, 10_000] {
            let row = "x".repeat(64);
            let mut objects = GrowingObjects::default();
            let mut sent = 0;
            for _ in 0..rows {
                if let Some(object) = objects.apply(&append(&row), 0) {
                    sent += object.data().to_string().len();
                }
            }
            let done = StructuredUpdate::new(
                "s",
                "table",
                StructuredOp::Final { data: objects.streams.get("s").unwrap().data().cloned() },
            );
            let whole = objects.apply(&done, 0).unwrap();
            assert!(whole.complete);
            let size = whole.data().to_string().len();
            assert!(sent + size <= (SHARE + 3) * size, "{rows} rows: {sent} for {size}");
        }
    }

    #[test]
    fn small_object_is_sent_again_when_it_has_grown_by_a_quarter() {
        let mut objects = GrowingObjects::default();
        assert!(objects.apply(&append(&"a".repeat(20)), 0).is_some());
        assert!(objects.apply(&append("b"), 0).is_none());
        assert!(objects.apply(&append(&"c".repeat(8)), 0).is_some());
    }

    #[test]
    fn small_object_is_sent_again_as_time_passes() {
        let mut objects = GrowingObjects::default();
        assert!(objects.apply(&append(&"a".repeat(64)), 1_000).is_some());
        assert!(objects.apply(&append("b"), 1_100).is_none());
        assert!(objects.apply(&append("c"), 1_250).is_some());
        assert!(objects.unsent().next().is_none());
        assert!(objects.apply(&append("d"), 1_300).is_none());
        let unsent: Vec<_> =
            objects.unsent().map(|object| object.data()["rows"].as_array().unwrap().len()).collect();
        assert_eq!(unsent, [4]);
    }
}
