//! Anthropic's code execution tools. Like other clients of this API, we present them as one tool whose input has a `type`;
//! the next turn sends them back in their original form.

use serde_json::Value;

/// Our name for all of these tools.
pub(super) const NAME: &str = "code_execution";

/// The kind of code execution, if the tool is one.
pub(super) fn kind(tool: &str) -> Option<&'static str> {
    match tool {
        "bash_code_execution" => Some("bash_code_execution"),
        "text_editor_code_execution" => Some("text_editor_code_execution"),
        NAME => Some("programmatic-tool-call"),
        _ => None,
    }
}

/// Inserts the kind into an input as its first field, while the input streams.
#[derive(Debug)]
pub(super) struct KindMarker {
    kind: &'static str,
    state: MarkerState,
}

#[derive(Debug)]
enum MarkerState {
    /// Before the opening brace.
    Before,
    /// After the brace; whether a field follows decides about the comma.
    Opened,
    Done,
}

impl KindMarker {
    pub(super) fn new(kind: &'static str) -> Self {
        Self { kind, state: MarkerState::Before }
    }

    /// The piece with the kind inserted.
    pub(super) fn insert(&mut self, piece: &str) -> String {
        let mut insert = String::with_capacity(piece.len() + 48);
        let mut rest = piece.chars();
        while !matches!(self.state, MarkerState::Done) {
            let Some(char) = rest.next() else { return insert };
            match (&self.state, char) {
                (MarkerState::Before, '{') => {
                    insert.push_str("{\"type\":\"");
                    insert.push_str(self.kind);
                    insert.push('"');
                    self.state = MarkerState::Opened;
                    continue;
                }
                (MarkerState::Opened, ' ' | '\n' | '\r' | '\t') => continue,
                (MarkerState::Opened, '}') => self.state = MarkerState::Done,
                (MarkerState::Opened, _) => {
                    insert.push(',');
                    self.state = MarkerState::Done;
                }
                // Not an object, so there is nothing to insert into.
                _ if !char.is_ascii_whitespace() => self.state = MarkerState::Done,
                _ => {}
            }
            insert.push(char);
        }
        insert.push_str(rest.as_str());
        insert
    }
}

/// Removes the kind again.
pub(super) fn unmark(input: &mut Value) {
    if let Some(fields) = input.as_object_mut() {
        fields.shift_remove("type");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_does_not_depend_on_how_the_input_is_split() {
        for (input, wanted) in [
            ("{}", r#"{"type":"k"}"#),
            (r#" { "a": {"b": 1} }"#, r#" {"type":"k","a": {"b": 1} }"#),
            ("{ }", r#"{"type":"k"}"#),
            ("[1, {}]", "[1, {}]"),
        ] {
            for at in 0..=input.len() {
                let (first, second) = input.split_at(at);
                let mut mark = KindMarker::new("k");
                let insert = mark.insert(first) + &mark.insert(second);
                assert_eq!(insert, wanted, "{input:?} at {at}");
            }
        }
    }

    #[test]
    fn unmark_removes_the_inserted_type() {
        let mut input = serde_json::json!({ "type": "bash_code_execution", "command": "ls" });
        unmark(&mut input);
        assert_eq!(input, serde_json::json!({ "command": "ls" }));
    }
}
