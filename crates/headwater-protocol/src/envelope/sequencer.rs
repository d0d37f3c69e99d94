//! Restores the order of enveloped chunks and drops the ones that came before.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::{Envelope, seen::Seen};

const DEFAULT_WAITING: usize = 1024;

/// Takes chunks as they arrive and hands them over once each and in order.
///
/// The rules are those of MUI X Chat's own client, in this order:
///
/// 1. An event id that was seen before: the chunk is dropped, whatever its payload. Otherwise the
///    id counts as seen from now on, even if the chunk has to wait or is dropped by rule 3. An
///    empty id is no id.
/// 2. A chunk without a sequence is handed over at once and overtakes those that wait.
/// 3. The first sequence seen is the base. Lower ones than the next are dropped, also if they
///    never came: a stream whose very first chunk is overtaken has lost it. Higher ones wait; of
///    two that wait in one place the later wins.
///
/// What it remembers is bounded. At most 1,024 chunks wait (see
/// [`with_waiting`](Self::with_waiting)). The last 65,536 event ids are remembered (see
/// [`with_seen`](Self::with_seen)) and 8 MiB of their text: the oldest are forgotten first, and a
/// chunk that has a sequence is still dropped by that.
///
/// ```
/// use headwater_protocol::{Envelope, Sequencer};
///
/// let mut sequencer = Sequencer::new();
/// let mut text = String::new();
/// for (sequence, piece) in [(0, "a"), (2, "c"), (1, "b"), (1, "b"), (3, "d")] {
///     sequencer.push(Envelope::sequenced(sequence, piece), |piece| text.push_str(piece))?;
/// }
/// assert_eq!(text, "abcd");
/// assert!(sequencer.finish().is_empty(), "nothing is missing");
/// # Ok::<(), headwater_protocol::SequenceError>(())
/// ```
#[derive(Debug)]
pub struct Sequencer<T> {
    next: Option<i64>,
    waiting: BTreeMap<i64, T>,
    max_waiting: usize,
    seen: Seen,
}

/// What became of a chunk that was pushed.
///
/// ```
/// use headwater_protocol::{Envelope, Outcome, Sequencer};
///
/// let mut sequencer = Sequencer::resume(Some(4), ["e3"]);
/// let mut push = |envelope| sequencer.push(envelope, |_| ()).unwrap();
/// assert_eq!(push(Envelope::sequenced(5, 'b')), Outcome::Waiting);
/// assert_eq!(push(Envelope::sequenced(4, 'a')), Outcome::Delivered(2));
/// assert_eq!(push(Envelope::sequenced(4, 'a')), Outcome::Passed);
/// assert_eq!(push(Envelope::raw('c').with_event_id("e3")), Outcome::Duplicate);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It was handed over, with those that waited for it: so many in all.
    Delivered(usize),
    /// It waits for a lower sequence, in the place of another that waited there, if any.
    Waiting,
    /// Its event id was seen before: it was dropped.
    Duplicate,
    /// Its sequence is lower than the next one: it was dropped.
    Passed,
}

/// A place in the sequence that nothing has come for, while later chunks wait.
///
/// ```
/// use headwater_protocol::{Envelope, Gap, Sequencer};
///
/// let mut sequencer = Sequencer::resume(Some(4), [""; 0]);
/// sequencer.push(Envelope::sequenced(6, "x"), |_| ()).unwrap();
/// assert_eq!(sequencer.gap(), Some(Gap { awaited: 4, waiting: 1 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The sequence that must come next.
    pub awaited: i64,
    /// How many chunks wait behind it.
    pub waiting: usize,
}

impl<T> Default for Sequencer<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Sequencer<T> {
    /// A sequencer at the start of a stream: the first sequence that comes is the base.
    ///
    /// ```
    /// let sequencer = headwater_protocol::Sequencer::<()>::new();
    /// assert_eq!(sequencer.next_sequence(), None);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::resume(None, [""; 0])
    }

    /// A sequencer that goes on after a reconnect, from what
    /// [`next_sequence`](Self::next_sequence) and [`seen_event_ids`](Self::seen_event_ids) were.
    ///
    /// ```
    /// use headwater_protocol::{Envelope, Sequencer};
    ///
    /// let mut sequencer = Sequencer::resume(Some(2), ["e0", "e1"]);
    /// let mut seen = Vec::new();
    /// for sequence in 0..4 {
    ///     sequencer.push(Envelope::sequenced(sequence, sequence), |chunk| seen.push(chunk))?;
    /// }
    /// assert_eq!(seen, [2, 3]);
    /// # Ok::<(), headwater_protocol::SequenceError>(())
    /// ```
    #[must_use]
    pub fn resume(
        next_sequence: Option<i64>,
        seen_event_ids: impl IntoIterator<Item = impl Into<Arc<str>>>,
    ) -> Self {
        let mut seen = Seen::default();
        for id in seen_event_ids {
            seen.insert(&id.into());
        }
        Self { next: next_sequence, waiting: BTreeMap::new(), max_waiting: DEFAULT_WAITING, seen }
    }

    /// Sets how many chunks may wait behind a gap.
    ///
    /// ```
    /// use headwater_protocol::{Envelope, Sequencer};
    ///
    /// let mut sequencer = Sequencer::resume(Some(0), [""; 0]).with_waiting(1);
    /// assert!(sequencer.push(Envelope::sequenced(1, "b"), |_| ()).is_ok());
    /// assert!(sequencer.push(Envelope::sequenced(2, "c"), |_| ()).is_err());
    /// ```
    #[must_use]
    pub fn with_waiting(mut self, chunks: usize) -> Self {
        self.max_waiting = chunks;
        self
    }

    /// Sets how many event ids are remembered.
    ///
    /// ```
    /// use headwater_protocol::{Envelope, Outcome, Sequencer};
    ///
    /// let mut sequencer = Sequencer::new().with_seen(1);
    /// for id in ["a", "b", "a"] {
    ///     let outcome = sequencer.push(Envelope::raw(()).with_event_id(id), |_| ());
    ///     assert_eq!(outcome.unwrap(), Outcome::Delivered(1));
    /// }
    /// ```
    #[must_use]
    pub fn with_seen(mut self, ids: usize) -> Self {
        self.seen.keep(ids);
        self
    }

    /// Takes one chunk and hands over all that are now in order.
    ///
    /// ```
    /// use headwater_protocol::{Envelope, Sequencer};
    ///
    /// let mut sequencer = Sequencer::new();
    /// sequencer.push(Envelope::raw("hi"), |chunk| assert_eq!(chunk, "hi"))?;
    /// # Ok::<(), headwater_protocol::SequenceError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the chunk would have to wait and as many wait as may. It is then as if it had not come,
    /// its event id included: nothing else changed, and the awaited chunk still frees the others.
    /// The way out is to reconnect from [`next_sequence`](Self::next_sequence).
    pub fn push(&mut self, envelope: Envelope<T>, mut sink: impl FnMut(T)) -> Result<Outcome, SequenceError> {
        let Envelope { event_id, sequence, chunk } = envelope;
        let event_id = event_id.filter(|id| !id.is_empty());
        if event_id.as_deref().is_some_and(|id| self.seen.contains(id)) {
            return Ok(Outcome::Duplicate);
        }
        if let (Some(refused), Some(awaited)) = (sequence, self.next)
            && refused > awaited
            && !self.has_room_for(refused)
        {
            return Err(SequenceError { refused, awaited });
        }
        if let Some(id) = event_id {
            self.seen.insert(&id);
        }

        let Some(sequence) = sequence else {
            sink(chunk);
            return Ok(Outcome::Delivered(1));
        };
        let next = *self.next.get_or_insert(sequence);
        if sequence < next {
            return Ok(Outcome::Passed);
        }
        if sequence > next {
            self.waiting.insert(sequence, chunk);
            return Ok(Outcome::Waiting);
        }
        sink(chunk);
        let mut delivered = 1;
        let mut next = next.saturating_add(1);
        while let Entry::Occupied(entry) = self.waiting.entry(next) {
            sink(entry.remove());
            delivered += 1;
            next = next.saturating_add(1);
        }
        self.next = Some(next);
        Ok(Outcome::Delivered(delivered))
    }

    /// Takes a chunk that is the very next one, without an envelope made for it: if this says `true`,
    /// the chunk is to be used now. Otherwise nothing has changed and [`push`](Self::push) decides.
    ///
    /// ```
    /// let mut sequencer = headwater_protocol::Sequencer::<()>::new();
    /// assert!(sequencer.advance(Some("e0"), 0));
    /// assert!(!sequencer.advance(Some("e0"), 1), "it was seen before");
    /// assert!(!sequencer.advance(Some("e2"), 2), "it comes too early");
    /// assert!(sequencer.advance(Some("e1"), 1));
    /// ```
    pub fn advance(&mut self, event_id: Option<&str>, sequence: i64) -> bool {
        if self.next.is_some_and(|next| next != sequence) || !self.waiting.is_empty() {
            return false;
        }
        if let Some(id) = event_id.filter(|id| !id.is_empty())
            && !self.seen.insert(id)
        {
            return false;
        }
        self.next = Some(sequence.saturating_add(1));
        true
    }

    /// The sequence to go on from after a reconnect; `None` while none has come.
    ///
    /// ```
    /// use headwater_protocol::{Envelope, Sequencer};
    ///
    /// let mut sequencer = Sequencer::new();
    /// sequencer.push(Envelope::sequenced(7, ()), |_| ())?;
    /// assert_eq!(sequencer.next_sequence(), Some(8));
    /// # Ok::<(), headwater_protocol::SequenceError>(())
    /// ```
    #[must_use]
    pub fn next_sequence(&self) -> Option<i64> {
        self.next
    }

    /// The event ids that are remembered, the oldest first.
    ///
    /// Those of chunks that still wait are among them: after a reconnect that drops such chunks,
    /// resume with the next sequence alone, or their second coming is taken for a duplicate.
    ///
    /// ```
    /// use headwater_protocol::{Envelope, Sequencer};
    ///
    /// let mut sequencer = Sequencer::new();
    /// sequencer.push(Envelope::raw(()).with_event_id("e1"), |_| ())?;
    /// assert_eq!(sequencer.seen_event_ids().collect::<Vec<_>>(), ["e1"]);
    /// # Ok::<(), headwater_protocol::SequenceError>(())
    /// ```
    pub fn seen_event_ids(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.seen.iter()
    }

    /// What is awaited, while anything waits for it.
    ///
    /// ```
    /// use headwater_protocol::{Envelope, Sequencer};
    ///
    /// let mut sequencer = Sequencer::new();
    /// sequencer.push(Envelope::sequenced(0, ()), |_| ())?;
    /// assert_eq!(sequencer.gap(), None);
    /// sequencer.push(Envelope::sequenced(2, ()), |_| ())?;
    /// assert_eq!(sequencer.gap().map(|gap| gap.awaited), Some(1));
    /// # Ok::<(), headwater_protocol::SequenceError>(())
    /// ```
    #[must_use]
    pub fn gap(&self) -> Option<Gap> {
        let waiting = self.waiting.len();
        self.next.filter(|_| waiting > 0).map(|awaited| Gap { awaited, waiting })
    }

    /// Says that the stream has ended, and gives back the chunks that still wait, in order and
    /// each with its sequence. If there are any, the stream was cut or lost something.
    ///
    /// ```
    /// use headwater_protocol::{Envelope, Sequencer};
    ///
    /// let mut sequencer = Sequencer::resume(Some(0), [""; 0]);
    /// sequencer.push(Envelope::sequenced(1, "b"), |_| ())?;
    /// assert_eq!(sequencer.finish(), [(1, "b")]);
    /// # Ok::<(), headwater_protocol::SequenceError>(())
    /// ```
    #[must_use = "what is left was never delivered"]
    pub fn finish(&mut self) -> Vec<(i64, T)> {
        std::mem::take(&mut self.waiting).into_iter().collect()
    }

    fn has_room_for(&self, sequence: i64) -> bool {
        self.waiting.len() < self.max_waiting || self.waiting.contains_key(&sequence)
    }
}

/// A chunk was refused because too many wait already.
///
/// ```
/// use headwater_protocol::{Envelope, Sequencer};
///
/// let mut sequencer = Sequencer::resume(Some(3), [""; 0]).with_waiting(0);
/// let error = sequencer.push(Envelope::sequenced(5, ()), |_| ()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "no room to keep sequence 5 while 3 is missing: reconnect from sequence 3",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceError {
    refused: i64,
    awaited: i64,
}

impl SequenceError {
    /// The sequence of the chunk that was refused.
    ///
    /// ```
    /// # use headwater_protocol::{Envelope, Sequencer};
    /// # let mut sequencer = Sequencer::resume(Some(3), [""; 0]).with_waiting(0);
    /// let error = sequencer.push(Envelope::sequenced(5, ()), |_| ()).unwrap_err();
    /// assert_eq!(error.refused(), 5);
    /// ```
    #[must_use]
    pub fn refused(&self) -> i64 {
        self.refused
    }

    /// The sequence that must come next, and the one to reconnect from.
    ///
    /// ```
    /// # use headwater_protocol::{Envelope, Sequencer};
    /// # let mut sequencer = Sequencer::resume(Some(3), [""; 0]).with_waiting(0);
    /// let error = sequencer.push(Envelope::sequenced(5, ()), |_| ()).unwrap_err();
    /// assert_eq!(error.awaited(), 3);
    /// ```
    #[must_use]
    pub fn awaited(&self) -> i64 {
        self.awaited
    }
}

impl fmt::Display for SequenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { refused, awaited } = self;
        write!(
            f,
            "no room to keep sequence {refused} while {awaited} is missing: \
             reconnect from sequence {awaited}"
        )
    }
}

impl Error for SequenceError {}
