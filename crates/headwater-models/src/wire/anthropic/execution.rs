//! Anthropic has several tools that execute code. Other readers of this wire know them as one tool whose input says which
//! kind it is, and so do we; the next turn gets them back as they came.

use serde_json::Value;

/// The name of the one tool.
pub(super) const NAME: &str = "code_execution";

/// Which kind of code execution a tool of Anthropic's is, if it is one.
pub(super) fn kind(tool: &str) -> Option<&'static str> {
    match tool {
        "bash_code_execution" => Some("bash_code_execution"),
        "text_editor_code_execution" => Some("text_editor_code_execution"),
        NAME => Some("programmatic-tool-call"),
        _ => None,
    }
}

/// Puts the kind into an input as its first field, while the input arrives in pieces.
#[derive(Debug)]
pub(super) struct Mark {
    kind: &'static str,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The brace has not come yet.
    Before,
    /// It is not known yet whether another field follows.
    Opened,
    Done,
}

impl Mark {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, state: State::Before }
    }

    /// The piece with what belongs into it.
    pub(super) fn put(&mut self, piece: &str) -> String {
        let mut put = String::with_capacity(piece.len() + 48);
        let mut rest = piece.chars();
        while !matches!(self.state, State::Done) {
            let Some(char) = rest.next() else { return put };
            match (&self.state, char) {
                (State::Before, '{') => {
                    put.push_str("{\"type\":\"");
                    put.push_str(self.kind);
                    put.push('"');
                    self.state = State::Opened;
                    continue;
                }
                (State::Opened, ' ' | '\n' | '\r' | '\t') => continue,
                (State::Opened, '}') => self.state = State::Done,
                (State::Opened, _) => {
                    put.push(',');
                    self.state = State::Done;
                }
                // No object, so nothing can be put into it.
                _ if !char.is_ascii_whitespace() => self.state = State::Done,
                _ => {}
            }
            put.push(char);
        }
        put.push_str(rest.as_str());
        put
    }
}

/// Takes the kind out again.
pub(super) fn unmark(input: &mut Value) {
    if let Some(fields) = input.as_object_mut() {
        fields.shift_remove("type");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_split_of_an_input_is_marked_in_the_same_way() {
        for (input, wanted) in [
            ("{}", r#"{"type":"k"}"#),
            (r#" { "a": {"b": 1} }"#, r#" {"type":"k","a": {"b": 1} }"#),
            ("{ }", r#"{"type":"k"}"#),
            ("[1, {}]", "[1, {}]"),
        ] {
            for at in 0..=input.len() {
                let (first, second) = input.split_at(at);
                let mut mark = Mark::new("k");
                let put = mark.put(first) + &mark.put(second);
                assert_eq!(put, wanted, "{input:?} at {at}");
            }
        }
    }

    #[test]
    fn what_was_put_in_is_taken_out() {
        let mut input = serde_json::json!({ "type": "bash_code_execution", "command": "ls" });
        unmark(&mut input);
        assert_eq!(input, serde_json::json!({ "command": "ls" }));
    }
}
