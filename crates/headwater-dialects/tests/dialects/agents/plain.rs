//! A reader that follows the contract's document exactly and knows none of our extensions.
//!
//! It panics on everything that the document does not allow: text for a message without a start, a result
//! without a call.

use std::collections::HashMap;

use headwater_dialects::lint;
use headwater_protocol::{
    BlockDelta, BlockKind, Event, Framing, Part, RunState, RunStatus, SseReader, ToolState,
};
use proptest::prelude::*;
use serde_json::Value;

use super::encode;
use crate::runs;

#[derive(Debug, Default, PartialEq)]
enum Status {
    #[default]
    Submitted,
    Streaming,
    Ready,
    Error,
}

#[derive(Debug, Default)]
pub(super) struct Plain {
    messages: Vec<String>,
    /// By call: the tool's name, the state, and the output or error.
    tools: HashMap<String, (String, String, Value)>,
    sources: Vec<String>,
    /// All text in order of arrival.
    text: String,
    status: Status,
}

impl Plain {
    pub(super) fn read(stream: &str) -> Self {
        let mut plain = Self::default();
        let mut reader = SseReader::new();
        reader.push(stream.as_bytes(), |frame| {
            let frame = frame.unwrap();
            plain.event(frame.event.unwrap_or("message"), &serde_json::from_str(frame.data).unwrap());
        });
        plain
    }

    fn event(&mut self, name: &str, data: &Value) {
        let text = |field: &str| {
            let value = data[field].as_str();
            value.unwrap_or_else(|| panic!("`{name}` has no {field}: {data}")).to_owned()
        };
        let known = |messages: &[String]| {
            assert!(
                messages.contains(&text("messageId")),
                "`{name}` for a message that was not begun: {data}"
            );
        };
        match name {
            "meta" => self.status = Status::Streaming,
            "message.start" => {
                assert!(!self.messages.contains(&text("messageId")), "begun twice: {data}");
                self.messages.push(text("messageId"));
            }
            "message.delta" => {
                known(&self.messages);
                self.text.push_str(&text("delta"));
            }
            "message.end" => known(&self.messages),
            "tool.call" => {
                known(&self.messages);
                self.tools.insert(text("toolCallId"), (text("toolName"), text("state"), Value::Null));
            }
            "tool.delta" => {
                known(&self.messages);
                let tool = self.tools.entry(text("toolCallId")).or_default();
                if tool.0.is_empty() && data["toolName"].is_string() {
                    tool.0 = text("toolName");
                }
                tool.1 = text("state");
            }
            "tool.result" => {
                let tool = self.tools.get_mut(&text("toolCallId"));
                let tool = tool.unwrap_or_else(|| panic!("a result without its call: {data}"));
                tool.1 = text("state");
                tool.2 =
                    if data["errorText"].is_string() { &data["errorText"] } else { &data["output"] }.clone();
            }
            "source" => {
                known(&self.messages);
                self.sources.push(text("sourceId"));
            }
            "error" => self.status = Status::Error,
            "done" => self.status = Status::Ready,
            _ => {}
        }
    }
}

fn reduce(records: &[headwater_protocol::Record]) -> RunState {
    let mut state = RunState::with_rules(headwater_dialects::reader("agents").unwrap().rules());
    for record in records {
        let _ = state.apply(record);
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plain_reader_gets_all_text_tools_and_sources(records in runs::run()) {
        let plain = Plain::read(&encode(&records));
        let state = reduce(&records);
        let said: String = records.iter().filter_map(|record| match &record.event {
            Event::BlockDelta(BlockDelta { kind: BlockKind::Text, delta, .. }) => Some(delta.as_str()),
            Event::Message { content } => Some(content.as_str()),
            _ => None,
        }).collect();
        prop_assert_eq!(&plain.text, &said);
        for part in state.messages().iter().flat_map(|message| &message.parts) {
            match part {
                Part::Tool(tool) => {
                    let (name, ended, outcome) = &plain.tools[tool.call.as_str()];
                    prop_assert_eq!(name, &tool.name);
                    if tool.state.is_settled() {
                        prop_assert_eq!(ended.as_str(), tool.state.as_str());
                    }
                    match tool.state {
                        ToolState::OutputAvailable => prop_assert_eq!(Some(outcome), tool.output.as_ref()),
                        ToolState::OutputError => prop_assert_eq!(outcome.as_str(), tool.error.as_deref()),
                        _ => {}
                    }
                }
                Part::SourceUrl(source) => prop_assert!(plain.sources.contains(&source.source)),
                _ => {}
            }
        }
        let expected = match (state.run().status, &state.run().error) {
            (RunStatus::Finished | RunStatus::Cancelled | RunStatus::Waiting, _) => Status::Ready,
            (RunStatus::Failed, _) | (RunStatus::Running, Some(_)) => Status::Error,
            (RunStatus::Running, None) => Status::Streaming,
        };
        prop_assert_eq!(plain.status, expected);
    }
}

#[test]
fn plain_reader_reads_the_contract_example() {
    let plain = Plain::read(super::EXAMPLE);
    assert_eq!(plain.text, "Got it. Let me check that.");
    assert_eq!(plain.tools["tool_1"].1, "output-available");
    assert_eq!((plain.sources, plain.status), (vec!["src_1".to_owned()], Status::Ready));
    assert_eq!(
        lint(headwater_dialects::reader("agents").unwrap(), Framing::Sse, super::EXAMPLE.as_bytes()),
        []
    );
}
