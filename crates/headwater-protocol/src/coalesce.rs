//! Merging of small deltas on their way to a slow sink.
//!
//! A flushed frame costs a system call, whatever is in it, so deltas that come within one short
//! window go out as one. Order is exact: whatever cannot be merged sends what is held before itself.

/// Something of which a later one may be folded into an earlier one.
///
/// ```
/// use headwater_protocol::Merge;
///
/// struct Text(String);
///
/// impl Merge for Text {
///     fn may_grow(&self) -> bool {
///         true
///     }
///
///     fn merge(&mut self, next: Self) -> Result<(), Self> {
///         self.0.push_str(&next.0);
///         Ok(())
///     }
/// }
///
/// let mut text = Text("he".to_owned());
/// assert!(text.merge(Text("llo".to_owned())).is_ok());
/// assert_eq!(text.0, "hello");
/// ```
pub trait Merge: Sized {
    /// Whether it is worth waiting for a successor. What says no is sent at once.
    fn may_grow(&self) -> bool;

    /// Folds `next` into this one.
    ///
    /// # Errors
    ///
    /// Gives `next` back if it does not belong here; this one is unchanged then.
    fn merge(&mut self, next: Self) -> Result<(), Self>;
}

/// Holds one mergeable item for at most a window of time.
///
/// It has no clock: `now` is any count of milliseconds that does not run backwards. The window begins with the first
/// item and is not prolonged by the next, so nothing is late by more than one window, provided that
/// [`poll`](Self::poll) is called when [`deadline`](Self::deadline) comes.
///
/// ```
/// use headwater_protocol::{Coalescer, Merge};
/// # #[derive(Debug, PartialEq)]
/// # struct Text(&'static str, u32);
/// # impl Merge for Text {
/// #     fn may_grow(&self) -> bool { true }
/// #     fn merge(&mut self, next: Self) -> Result<(), Self> {
/// #         if self.0 == next.0 { self.1 += next.1; Ok(()) } else { Err(next) }
/// #     }
/// # }
///
/// let mut sent = Vec::new();
/// let mut coalescer = Coalescer::new(16);
/// coalescer.push(0, Text("a", 1), |text| sent.push(text));
/// coalescer.push(9, Text("a", 1), |text| sent.push(text));
/// assert_eq!(coalescer.deadline(), Some(16));
/// coalescer.poll(16, |text| sent.push(text));
/// assert_eq!(sent, [Text("a", 2)]);
/// ```
#[derive(Debug)]
pub struct Coalescer<T> {
    window: u64,
    held: Option<Held<T>>,
}

#[derive(Debug)]
struct Held<T> {
    item: T,
    deadline: u64,
}

impl<T: Merge> Coalescer<T> {
    /// The window that suits a screen: one frame at 60 Hz.
    ///
    /// ```
    /// # use headwater_protocol::{Coalescer, Merge};
    /// # struct Text;
    /// # impl Merge for Text {
    /// #     fn may_grow(&self) -> bool { true }
    /// #     fn merge(&mut self, _: Self) -> Result<(), Self> { Ok(()) }
    /// # }
    /// assert_eq!(Coalescer::<Text>::DEFAULT_WINDOW, 16);
    /// ```
    pub const DEFAULT_WINDOW: u64 = 16;

    /// A coalescer that holds an item for up to `window` milliseconds; 0 merges nothing.
    ///
    /// ```
    /// # use headwater_protocol::{Coalescer, Merge};
    /// # struct Text;
    /// # impl Merge for Text {
    /// #     fn may_grow(&self) -> bool { true }
    /// #     fn merge(&mut self, _: Self) -> Result<(), Self> { Ok(()) }
    /// # }
    /// let mut sent = 0;
    /// let mut off = Coalescer::new(0);
    /// off.push(0, Text, |_| sent += 1);
    /// assert_eq!(sent, 1);
    /// ```
    pub fn new(window: u64) -> Self {
        Self { window, held: None }
    }

    /// Takes the next item and sends whatever is due, in order.
    ///
    /// ```
    /// # use headwater_protocol::{Coalescer, Merge};
    /// # #[derive(Debug, PartialEq)]
    /// # enum Event { Text(&'static str), End }
    /// # impl Merge for Event {
    /// #     fn may_grow(&self) -> bool { *self != Event::End }
    /// #     fn merge(&mut self, next: Self) -> Result<(), Self> { Err(next) }
    /// # }
    /// let mut sent = Vec::new();
    /// let mut coalescer = Coalescer::new(16);
    /// coalescer.push(0, Event::Text("a"), |event| sent.push(event));
    /// coalescer.push(1, Event::End, |event| sent.push(event));
    /// assert_eq!(sent, [Event::Text("a"), Event::End]);
    /// ```
    pub fn push(&mut self, now: u64, item: T, mut sink: impl FnMut(T)) {
        self.poll(now, &mut sink);
        let item = match &mut self.held {
            Some(held) => match held.item.merge(item) {
                Ok(()) => return,
                Err(item) => item,
            },
            None => item,
        };
        self.flush(&mut sink);
        if self.window > 0 && item.may_grow() {
            self.held = Some(Held { item, deadline: now.saturating_add(self.window) });
        } else {
            sink(item);
        }
    }

    /// Sends what is held if its window is over.
    ///
    /// ```
    /// # use headwater_protocol::{Coalescer, Merge};
    /// # struct Text;
    /// # impl Merge for Text {
    /// #     fn may_grow(&self) -> bool { true }
    /// #     fn merge(&mut self, _: Self) -> Result<(), Self> { Ok(()) }
    /// # }
    /// let mut sent = 0;
    /// let mut coalescer = Coalescer::new(16);
    /// coalescer.push(100, Text, |_| sent += 1);
    /// coalescer.poll(115, |_| sent += 1);
    /// assert_eq!(sent, 0);
    /// coalescer.poll(116, |_| sent += 1);
    /// assert_eq!(sent, 1);
    /// ```
    pub fn poll(&mut self, now: u64, sink: impl FnMut(T)) {
        if self.deadline().is_some_and(|deadline| now >= deadline) {
            self.flush(sink);
        }
    }

    /// When to call [`poll`](Self::poll) next, if anything is held.
    ///
    /// ```
    /// # use headwater_protocol::{Coalescer, Merge};
    /// # struct Text;
    /// # impl Merge for Text {
    /// #     fn may_grow(&self) -> bool { true }
    /// #     fn merge(&mut self, _: Self) -> Result<(), Self> { Ok(()) }
    /// # }
    /// let mut coalescer = Coalescer::new(16);
    /// assert_eq!(coalescer.deadline(), None);
    /// coalescer.push(100, Text, drop);
    /// assert_eq!(coalescer.deadline(), Some(116));
    /// ```
    pub fn deadline(&self) -> Option<u64> {
        self.held.as_ref().map(|held| held.deadline)
    }

    /// Sends what is held, now. Call it when the source ends: what is held at a drop is lost.
    ///
    /// ```
    /// # use headwater_protocol::{Coalescer, Merge};
    /// # struct Text;
    /// # impl Merge for Text {
    /// #     fn may_grow(&self) -> bool { true }
    /// #     fn merge(&mut self, _: Self) -> Result<(), Self> { Ok(()) }
    /// # }
    /// let mut sent = 0;
    /// let mut coalescer = Coalescer::new(16);
    /// coalescer.push(0, Text, |_| sent += 1);
    /// coalescer.flush(|_| sent += 1);
    /// assert_eq!((sent, coalescer.deadline()), (1, None));
    /// ```
    pub fn flush(&mut self, mut sink: impl FnMut(T)) {
        if let Some(held) = self.held.take() {
            sink(held.item);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    enum Item {
        Delta { id: u8, text: String },
        Other(u8),
    }

    impl Merge for Item {
        fn may_grow(&self) -> bool {
            matches!(self, Item::Delta { .. })
        }

        fn merge(&mut self, next: Self) -> Result<(), Self> {
            match (self, next) {
                (Item::Delta { id, text }, Item::Delta { id: other, text: more }) if *id == other => {
                    text.push_str(&more);
                    Ok(())
                }
                (_, next) => Err(next),
            }
        }
    }

    fn delta(id: u8, text: &str) -> Item {
        Item::Delta { id, text: text.to_owned() }
    }

    /// Feeds items at their times and, like a driver would, polls at each deadline on the way.
    fn run(window: u64, items: Vec<(u64, Item)>) -> Vec<(u64, Item)> {
        let mut sent = Vec::new();
        let mut coalescer = Coalescer::new(window);
        for (now, item) in items {
            if let Some(deadline) = coalescer.deadline().filter(|deadline| *deadline <= now) {
                coalescer.poll(deadline, |item| sent.push((deadline, item)));
            }
            coalescer.push(now, item, |item| sent.push((now, item)));
        }
        if let Some(deadline) = coalescer.deadline() {
            coalescer.poll(deadline, |item| sent.push((deadline, item)));
        }
        sent
    }

    #[test]
    fn the_window_is_fixed_from_the_first_delta() {
        let sent =
            run(16, vec![(0, delta(1, "a")), (10, delta(1, "b")), (15, delta(1, "c")), (16, delta(1, "d"))]);
        assert_eq!(sent, [(16, delta(1, "abc")), (32, delta(1, "d"))]);
    }

    #[test]
    fn another_id_flushes_first_and_then_waits_itself() {
        let sent = run(16, vec![(0, delta(1, "a")), (3, delta(2, "b")), (4, delta(1, "c"))]);
        assert_eq!(sent, [(3, delta(1, "a")), (4, delta(2, "b")), (20, delta(1, "c"))]);
    }

    #[test]
    fn anything_else_flushes_first_and_goes_at_once() {
        let sent = run(16, vec![(0, delta(1, "a")), (3, Item::Other(7)), (4, delta(1, "b"))]);
        assert_eq!(sent, [(3, delta(1, "a")), (3, Item::Other(7)), (20, delta(1, "b"))]);
    }

    #[test]
    fn a_late_poll_still_separates_windows() {
        let mut sent = Vec::new();
        let mut coalescer = Coalescer::new(16);
        coalescer.push(0, delta(1, "a"), |item| sent.push(item));
        coalescer.push(50, delta(1, "b"), |item| sent.push(item));
        assert_eq!(sent, [delta(1, "a")]);
        assert_eq!(coalescer.deadline(), Some(66));
    }

    #[test]
    fn a_window_of_zero_passes_everything_through() {
        let items = vec![(0, delta(1, "a")), (0, delta(1, "b")), (0, Item::Other(1))];
        assert_eq!(run(0, items.clone()), items);
    }

    fn squeeze(items: impl IntoIterator<Item = Item>) -> Vec<Item> {
        items.into_iter().fold(Vec::new(), |mut out: Vec<Item>, item| {
            let rest = match out.last_mut() {
                Some(last) => last.merge(item).err(),
                None => Some(item),
            };
            out.extend(rest);
            out
        })
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_reordered(
            window in 0_u64..20,
            script in prop::collection::vec((0_u64..8, prop_oneof![
                3 => (0_u8..2, "[a-c]{0,2}").prop_map(|(id, text)| Item::Delta { id, text }),
                1 => (0_u8..3).prop_map(Item::Other),
            ]), 0..40),
        ) {
            let mut now = 0;
            let items: Vec<_> = script.into_iter().map(|(wait, item)| { now += wait; (now, item) }).collect();
            let sent = run(window, items.clone());
            prop_assert!(sent.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            prop_assert_eq!(squeeze(items.into_iter().map(|(_, item)| item)), squeeze(sent.into_iter().map(|(_, item)| item)));
        }
    }
}
