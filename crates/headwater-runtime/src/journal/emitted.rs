//! What a visit of a node has emitted, so that it is not emitted again when the node is run again.

use headwater_protocol::Event;
use serde::{Deserialize, Serialize};

/// Which emit an event is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct EmitKey {
    /// The visit, as text.
    pub(crate) visit: String,
    /// Counted from 0 for each try of the visit.
    pub(crate) number: usize,
}

/// What a visit has emitted, in order.
#[derive(Debug, Default)]
pub(crate) struct Emitted {
    said: Vec<String>,
    /// So many of them are from a try that failed. The next try may say something else from some place on.
    of_failed_try: usize,
}

/// What an emit is to what was emitted before.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EmitIs {
    New,
    Known,
    /// Something else was emitted there.
    Other(String),
}

impl Emitted {
    /// Adds an emit. What a failed try said from there on is said no more.
    pub(crate) fn add(&mut self, number: usize, event: &Event) {
        self.said.truncate(number);
        self.of_failed_try = self.of_failed_try.min(number);
        self.said.push(fingerprint(event));
    }

    /// A try has failed.
    pub(crate) fn fail(&mut self) {
        self.of_failed_try = self.said.len();
    }

    pub(crate) fn compare(&self, number: usize, event: &Event) -> EmitIs {
        match self.said.get(number) {
            None => EmitIs::New,
            Some(before) if *before == fingerprint(event) => EmitIs::Known,
            Some(_) if number < self.of_failed_try => EmitIs::New,
            Some(before) => EmitIs::Other(before.clone()),
        }
    }

    /// What comes after so many emits, if it must come again.
    pub(crate) fn after(&self, count: usize) -> Option<&str> {
        self.said.get(count.max(self.of_failed_try)).map(String::as_str)
    }
}

fn fingerprint(event: &Event) -> String {
    serde_json::to_string(event).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(message: &str) -> Event {
        Event::Status { state: None, message: Some(message.to_owned()) }
    }

    #[test]
    fn a_try_after_a_failed_one_may_say_something_else_but_nothing_twice() {
        let mut emitted = Emitted::default();
        emitted.add(0, &status("a"));
        emitted.add(1, &status("it failed"));
        assert_eq!(emitted.after(1), Some(&*fingerprint(&status("it failed"))));
        emitted.fail();
        assert_eq!(emitted.compare(0, &status("a")), EmitIs::Known);
        assert_eq!(emitted.compare(1, &status("b")), EmitIs::New);
        emitted.add(1, &status("b"));
        assert_eq!(emitted.compare(1, &status("b")), EmitIs::Known);
        assert_eq!(emitted.compare(1, &status("c")), EmitIs::Other(fingerprint(&status("b"))));
        assert_eq!(emitted.compare(2, &status("c")), EmitIs::New);
        assert_eq!(emitted.after(2), None);
    }
}
