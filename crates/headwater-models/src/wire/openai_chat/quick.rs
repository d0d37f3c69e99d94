//! The chunks that nearly all of a stream consists of, read without a tree of values in between: one choice, whose delta
//! is a piece of text or of a thought. Whatever has more to say is refused here, and read in full.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};

/// A chunk that says one piece of text or thought. What it repeats of the first chunk is not looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Chunk<'a> {
    #[serde(rename = "id")]
    _id: Option<IgnoredAny>,
    #[serde(rename = "object")]
    _object: Option<IgnoredAny>,
    #[serde(rename = "created")]
    _created: Option<IgnoredAny>,
    #[serde(rename = "model")]
    _model: Option<IgnoredAny>,
    #[serde(rename = "obfuscation")]
    _obfuscation: Option<IgnoredAny>,
    service_tier: Option<IgnoredAny>,
    system_fingerprint: Option<IgnoredAny>,
    usage: Option<IgnoredAny>,
    #[serde(borrow)]
    choices: [Choice<'a>; 1],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice<'a> {
    #[serde(rename = "index")]
    _index: Option<IgnoredAny>,
    #[serde(borrow)]
    delta: Delta<'a>,
    logprobs: Option<IgnoredAny>,
    finish_reason: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delta<'a> {
    #[serde(rename = "role")]
    _role: Option<IgnoredAny>,
    #[serde(borrow)]
    content: Option<Piece<'a>>,
    #[serde(borrow)]
    reasoning: Option<Piece<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Piece<'a>>,
}

/// A text that is borrowed from the chunk where it has no escapes.
#[derive(Deserialize)]
struct Piece<'a>(#[serde(borrow)] Cow<'a, str>);

/// What such a chunk says, and which facts about the answer it has.
pub(super) struct Quick<'a> {
    /// A thought, and the field that had it.
    pub(super) thought: Option<(&'static str, Cow<'a, str>)>,
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) has_tier: bool,
    pub(super) has_fingerprint: bool,
}

/// Reads a chunk, if it is such a one.
pub(super) fn read(data: &str) -> Option<Quick<'_>> {
    let Chunk { service_tier, system_fingerprint, usage, choices: [choice], .. } =
        serde_json::from_str(data).ok()?;
    if usage.is_some() || choice.logprobs.is_some() || choice.finish_reason.is_some() {
        return None;
    }
    let Delta { content, reasoning, reasoning_content, .. } = choice.delta;
    Some(Quick {
        thought: reasoning_content
            .map(|Piece(text)| ("reasoning_content", text))
            .or_else(|| reasoning.map(|Piece(text)| ("reasoning", text))),
        text: content.map(|Piece(text)| text),
        has_tier: service_tier.is_some(),
        has_fingerprint: system_fingerprint.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_nothing_else_is_read() {
        let quick =
            read(r#"{"id":"1","choices":[{"index":0,"delta":{"content":"a \" b"},"finish_reason":null}]}"#);
        assert_eq!(quick.unwrap().text.as_deref(), Some("a \" b"));
        for data in [
            r#"{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"usage":{}}"#,
            r#"{"choices":[{"delta":{"content":["a"]}}]}"#,
            r#"{"choices":[{"delta":{"content":"a","tool_calls":[]}}]}"#,
            r#"{"choices":[{"delta":{"content":"a"}},{"delta":{}}]}"#,
            r#"{"choices":[]}"#,
            r#"{"choices":[{"delta":{"content":"a"}}],"error":{}}"#,
        ] {
            assert!(read(data).is_none(), "{data}");
        }
    }
}
