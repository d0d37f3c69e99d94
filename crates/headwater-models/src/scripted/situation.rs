//! The facts about a request that scripts can use.

use std::{borrow::Cow, fmt::Write as _};

use crate::{ContentPart, ModelMessage, ModelRequest, ResponseFormat, ToolResultOutput};

/// A request as conditions and placeholders see it. Borrows, so that creating one is cheap.
pub(super) struct Situation<'r> {
    request: &'r ModelRequest,
    /// Index of the user's last message.
    last_user: Option<usize>,
    /// Number of earlier calls of the model.
    call: u64,
}

impl<'r> Situation<'r> {
    pub(super) fn of(request: &'r ModelRequest) -> Self {
        let last_user =
            request.messages.iter().rposition(|message| matches!(message, ModelMessage::User { .. }));
        Self { request, last_user, call: 0 }
    }

    pub(super) fn at_call(self, call: u64) -> Self {
        Self { call, ..self }
    }

    pub(super) fn call(&self) -> u64 {
        self.call
    }

    /// Text of the user's last message.
    pub(super) fn input(&self) -> Cow<'r, str> {
        match self.last_user.and_then(|at| self.request.messages.get(at)) {
            Some(ModelMessage::User { content }) => joined(content.iter().filter_map(text_of)),
            _ => Cow::Borrowed(""),
        }
    }

    /// All system messages joined.
    pub(super) fn system(&self) -> Cow<'r, str> {
        joined(self.request.messages.iter().filter_map(|message| match message {
            ModelMessage::System { content, .. } => Some(content.as_str()),
            _ => None,
        }))
    }

    /// Number of the user's message, from 1.
    pub(super) fn turn(&self) -> usize {
        self.request.messages.iter().filter(|message| matches!(message, ModelMessage::User { .. })).count()
    }

    /// How often the model has answered the user's last message: 0 first, 1 after the first tools.
    pub(super) fn pass(&self) -> usize {
        let after = self.last_user.map_or(0, |at| at + 1);
        let answers = self.request.messages.iter().skip(after);
        answers.filter(|message| matches!(message, ModelMessage::Assistant { .. })).count()
    }

    pub(super) fn attempt(&self) -> u32 {
        self.request.attempt
    }

    pub(super) fn offers_schema(&self) -> bool {
        matches!(&self.request.response_format, Some(ResponseFormat::Json { .. }))
    }

    pub(super) fn offers_tool(&self, name: &str) -> bool {
        self.request.tools.iter().any(|tool| tool.name == name)
    }

    /// The result of this tool since the model's last answer.
    pub(super) fn fresh_result(&self, name: &str) -> Option<Cow<'r, str>> {
        let newest = self.request.messages.iter().rev();
        let fresh = newest.take_while(|message| matches!(message, ModelMessage::Tool { .. }));
        fresh.flat_map(contents).find_map(|part| result_of(part, name))
    }

    /// The latest result of this tool.
    pub(super) fn last_result(&self, name: &str) -> Option<Cow<'r, str>> {
        let newest = self.request.messages.iter().rev();
        newest.flat_map(contents).find_map(|part| result_of(part, name))
    }

    /// Number of words of the whole request, counted as tokens.
    pub(super) fn words(&self) -> u64 {
        let mut words = 0;
        for message in &self.request.messages {
            match message {
                ModelMessage::System { content, .. } => words += count_words(content),
                other => {
                    for part in contents(other) {
                        words += match part {
                            ContentPart::ToolResult { output, .. } => count_words(&output_text(output)),
                            ContentPart::ToolCall { input: Some(input), .. } => {
                                count_words(&input.to_string())
                            }
                            ContentPart::Reasoning { text, .. } => count_words(text),
                            other => text_of(other).map_or(0, count_words),
                        };
                    }
                }
            }
        }
        words
    }

    /// A hash of the request. Equal requests have equal hashes; two passes of a conversation differ.
    pub(super) fn fingerprint(&self) -> u32 {
        let mut hash = Fnv(0x811c_9dc5);
        // Writing to a hasher cannot fail.
        let _ = write!(hash, "{}/{}/{}/{}", self.turn(), self.pass(), self.attempt(), self.input());
        let _ = hash.write_str(&self.system());
        hash.0
    }
}

/// FNV-1a: small, and stable across platforms.
struct Fnv(u32);

impl std::fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        Ok(())
    }
}

/// Words, plus extra for long ones, because JSON and some languages have few spaces.
pub(super) fn count_words(text: &str) -> u64 {
    text.split_whitespace().map(|word| 1 + word.len() as u64 / 12).sum()
}

fn contents(message: &ModelMessage) -> std::slice::Iter<'_, ContentPart> {
    match message {
        ModelMessage::User { content }
        | ModelMessage::Assistant { content }
        | ModelMessage::Tool { content } => content.iter(),
        _ => [].iter(),
    }
}

fn text_of(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Text { text, .. } => Some(text),
        _ => None,
    }
}

fn joined<'a>(mut texts: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let first = Cow::Borrowed(texts.next().unwrap_or_default());
    texts.fold(first, |mut all, text| {
        let joined = all.to_mut();
        joined.push('\n');
        joined.push_str(text);
        all
    })
}

fn result_of<'r>(part: &'r ContentPart, name: &str) -> Option<Cow<'r, str>> {
    match part {
        ContentPart::ToolResult { tool_name, output, .. } if tool_name == name => Some(output_text(output)),
        _ => None,
    }
}

fn output_text(output: &ToolResultOutput) -> Cow<'_, str> {
    match output {
        ToolResultOutput::Text { value } | ToolResultOutput::ErrorText { value } => Cow::Borrowed(value),
        ToolResultOutput::Json { value } | ToolResultOutput::ErrorJson { value } => {
            Cow::Owned(value.to_string())
        }
        ToolResultOutput::ExecutionDenied { reason } => {
            Cow::Borrowed(reason.as_deref().unwrap_or("the call was denied"))
        }
    }
}
