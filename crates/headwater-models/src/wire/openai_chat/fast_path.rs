//! Fast path for the chunks that make up most of a stream: one choice whose delta has only text or reasoning.
//! They are parsed without building a `Value`; any other chunk is rejected here and decoded in full.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};

/// A chunk with one piece of text or reasoning. Fields that repeat the first chunk are ignored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuickChunk<'a> {
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
    choices: [DeltaChoice<'a>; 1],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeltaChoice<'a> {
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
    content: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    reasoning: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<BorrowedText<'a>>,
}

/// A string, borrowed from the chunk if it has no escapes.
#[derive(Deserialize)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

/// The contents of such a chunk, and which metadata it has.
pub(super) struct QuickDelta<'a> {
    /// The reasoning text and the field that held it.
    pub(super) thought: Option<(&'static str, Cow<'a, str>)>,
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) has_tier: bool,
    pub(super) has_fingerprint: bool,
}

/// Parses a chunk if the fast path applies.
pub(super) fn read(data: &str) -> Option<QuickDelta<'_>> {
    let QuickChunk { service_tier, system_fingerprint, usage, choices: [choice], .. } =
        serde_json::from_str(data).ok()?;
    if usage.is_some() || choice.logprobs.is_some() || choice.finish_reason.is_some() {
        return None;
    }
    let Delta { content, reasoning, reasoning_content, .. } = choice.delta;
    Some(QuickDelta {
        thought: reasoning_content
            .map(|BorrowedText(text)| ("reasoning_content", text))
            .or_else(|| reasoning.map(|BorrowedText(text)| ("reasoning", text))),
        text: content.map(|BorrowedText(text)| text),
        has_tier: service_tier.is_some(),
        has_fingerprint: system_fingerprint.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_path_accepts_only_plain_deltas() {
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
