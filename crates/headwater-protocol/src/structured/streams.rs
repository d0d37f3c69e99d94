//! All structured streams of a run, by id.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::StructuredState;
use super::error::StructuredError;
use super::limits::StructuredLimits;
use super::update::StructuredUpdate;

/// The states of several structured streams, in the order in which they began.
///
/// Serializes as an object from stream id to state.
///
/// ```
/// use headwater_protocol::{StructuredOp, StructuredStreams, StructuredUpdate};
///
/// let mut streams = StructuredStreams::new();
/// streams.apply(StructuredUpdate::new("b", "list", StructuredOp::append("rows", [1])))?;
/// streams.apply(StructuredUpdate::new("a", "list", StructuredOp::append("rows", [2])))?;
/// streams.apply(StructuredUpdate::new("b", "list", StructuredOp::append("rows", [3])))?;
/// let order: Vec<_> = streams.iter().map(|state| state.stream()).collect();
/// assert_eq!(order, ["b", "a"]);
/// # Ok::<(), headwater_protocol::StructuredError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StructuredStreams {
    states: BTreeMap<u64, StructuredState>,
    places: BTreeMap<String, u64>,
    next: u64,
    limits: StructuredLimits,
}

impl StructuredStreams {
    /// An empty set with default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty set with these limits for all streams.
    ///
    /// ```
    /// use headwater_protocol::{StructuredLimits, StructuredOp, StructuredStreams, StructuredUpdate};
    ///
    /// let mut limits = StructuredLimits::default();
    /// limits.max_streams = 1;
    /// let mut streams = StructuredStreams::with_limits(limits);
    /// assert!(streams.apply(StructuredUpdate::new("a", "t", StructuredOp::set("x", 1))).is_ok());
    /// assert!(streams.apply(StructuredUpdate::new("b", "t", StructuredOp::set("x", 1))).is_err());
    /// ```
    pub fn with_limits(limits: StructuredLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Applies an update, owned or borrowed, to its stream, which is created if new.
    ///
    /// # Errors
    ///
    /// As [`StructuredState::apply`], or if there are too many streams. Nothing is changed then.
    ///
    /// ```
    /// use headwater_protocol::{StructuredOp, StructuredStreams, StructuredUpdate};
    ///
    /// let mut streams = StructuredStreams::new();
    /// let update = StructuredUpdate::new("s1", "note", StructuredOp::text("body", "ha"));
    /// streams.apply(&update)?;
    /// let state = streams.apply(update)?;
    /// assert_eq!(state.data(), Some(&serde_json::json!({"body": "haha"})));
    /// # Ok::<(), headwater_protocol::StructuredError>(())
    /// ```
    pub fn apply<'a>(
        &mut self,
        update: impl Into<Cow<'a, StructuredUpdate>>,
    ) -> Result<&StructuredState, StructuredError> {
        let update = update.into();
        let place = self.places.get(&update.stream).copied().unwrap_or(self.next);
        match self.states.entry(place) {
            Entry::Occupied(entry) => {
                let state = entry.into_mut();
                state.apply(update)?;
                Ok(state)
            }
            Entry::Vacant(entry) => {
                if self.places.len() >= self.limits.max_streams {
                    return Err(StructuredError::too_many_streams(&update.stream, self.limits.max_streams));
                }
                let state = StructuredState::begin_within(self.limits, update)?;
                self.places.insert(state.stream().to_owned(), place);
                self.next += 1;
                Ok(entry.insert(state))
            }
        }
    }

    /// Removes a stream that is no longer valid. Its id may be used again.
    ///
    /// ```
    /// use headwater_protocol::{StructuredOp, StructuredStreams, StructuredUpdate};
    ///
    /// let mut streams = StructuredStreams::new();
    /// streams.apply(StructuredUpdate::new("s1", "t", StructuredOp::finish(1)))?;
    /// assert!(streams.invalidate("s1").is_some());
    /// assert!(streams.invalidate("s1").is_none());
    /// streams.apply(StructuredUpdate::new("s1", "t", StructuredOp::finish(2)))?;
    /// # Ok::<(), headwater_protocol::StructuredError>(())
    /// ```
    pub fn invalidate(&mut self, stream: &str) -> Option<StructuredState> {
        let place = self.places.remove(stream)?;
        self.states.remove(&place)
    }

    /// The state of one stream.
    pub fn get(&self, stream: &str) -> Option<&StructuredState> {
        self.states.get(self.places.get(stream)?)
    }

    /// All states, in the order in which their streams began.
    pub fn iter(&self) -> impl Iterator<Item = &StructuredState> {
        self.states.values()
    }

    /// The number of streams.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there are no streams.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }
}

impl Serialize for StructuredStreams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.states.len()))?;
        for state in self.iter() {
            map.serialize_entry(state.stream(), state)?;
        }
        map.end()
    }
}
