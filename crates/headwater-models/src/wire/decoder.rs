//! Turns a provider's bytes into events, for every wire format.

use headwater_json::{Surrogates, without_halves};
use headwater_protocol::{Framing, SseReader, Tail};
use serde_json::Value;

use super::{
    AnswerPosition, anthropic, failure, google, openai_chat, openai_responses, raw_answer::RawFormat,
    sink::EventSink,
};
use crate::{ModelError, ModelErrorKind, ModelEvent};

/// How much of a body that is not an event stream is kept to be parsed or shown.
const KEPT_BODY: usize = 1024 * 1024;

/// Decodes the bytes of one answer into events, without I/O. Bytes may be pushed in any pieces.
///
/// [`ModelEvent::Finished`] is emitted when nothing can follow it: at the end marker of the stream, or at
/// [`AnswerDecoder::finish`]. A body may hold several answers in sequence; they are decoded as one, and the last
/// finish counts. Nothing is emitted after that or after an error.
///
/// ```
/// use headwater_models::wire::{Settings, Wire};
///
/// let mut decoder = Wire::ANTHROPIC.decoder(&Settings::new("anthropic", "claude-sonnet-4-5"));
/// let mut items = Vec::new();
/// decoder.push(b"data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", |item| {
///     items.push(item);
/// });
/// assert_eq!(items[0].as_ref().unwrap_err().to_string(), "anthropic: Overloaded");
/// ```
#[derive(Debug)]
pub struct AnswerDecoder {
    body: AnswerBody,
    reader: SseReader,
    sink: EventSink,
    /// Bytes before the first frame; without any frame they are the whole answer.
    unread: Vec<u8>,
    has_frames: bool,
    is_over: bool,
    /// A frame that ends with half of a surrogate pair, held until the next frame.
    half: Option<String>,
}

/// Decoder state of the wire format.
#[derive(Debug)]
pub(super) enum AnswerBody {
    Chat(openai_chat::ChatAnswer),
    Responses(openai_responses::ResponsesAnswer),
    Anthropic(anthropic::AnthropicAnswer),
    Google(google::GoogleAnswer),
}

impl AnswerBody {
    fn raw_format(&self) -> RawFormat {
        match self {
            Self::Chat(_) => RawFormat::Chat,
            Self::Responses(_) => RawFormat::Responses,
            Self::Anthropic(_) => RawFormat::Anthropic,
            Self::Google(_) => RawFormat::Google,
        }
    }

    fn event(&mut self, event: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        match self {
            Self::Chat(answer) => answer.event(event, sink),
            Self::Responses(answer) => answer.event(event, sink),
            Self::Anthropic(answer) => answer.event(event, sink),
            Self::Google(answer) => answer.event(event, sink),
        }
    }

    /// Fast path for the most common kind of event. Returns whether it applied.
    fn quick(&mut self, data: &str, sink: &mut EventSink) -> bool {
        match self {
            Self::Chat(answer) => answer.quick(data, sink),
            Self::Responses(_) | Self::Anthropic(_) | Self::Google(_) => false,
        }
    }

    /// Begins another answer after a finished one, if the event starts one.
    fn begin_anew(&mut self, event: &Value) -> bool {
        match self {
            Self::Responses(answer) => answer.begin_anew(event),
            Self::Anthropic(answer) => answer.begin_anew(event),
            Self::Chat(_) | Self::Google(_) => false,
        }
    }

    /// Handles the end marker of the stream.
    fn done(&mut self, sink: &mut EventSink) -> Result<(), ModelError> {
        match self {
            Self::Chat(answer) => answer.done(sink),
            Self::Responses(_) | Self::Anthropic(_) | Self::Google(_) => Ok(()),
        }
    }

    /// Handles the end of the bytes.
    fn end(&mut self, sink: &mut EventSink) -> Result<(), ModelError> {
        match self {
            Self::Chat(answer) => answer.end(sink)?,
            Self::Google(answer) => answer.end(sink)?,
            Self::Responses(_) | Self::Anthropic(_) => {}
        }
        if sink.is_finished() { Ok(()) } else { Err(sink.cut()) }
    }

    /// Decodes an answer without streaming.
    fn whole(&mut self, body: &Value, sink: &mut EventSink) -> Result<(), ModelError> {
        match self {
            Self::Chat(answer) => {
                answer.event(body, sink)?;
                answer.end(sink)
            }
            Self::Google(answer) => {
                answer.event(body, sink)?;
                answer.end(sink)
            }
            Self::Responses(answer) => answer.whole(body, sink),
            Self::Anthropic(answer) => answer.whole(body, sink),
        }
    }
}

impl AnswerDecoder {
    pub(super) fn new(provider: &str, body: AnswerBody) -> Self {
        Self {
            body,
            reader: SseReader::new().with_tail(Tail::Deliver),
            sink: EventSink::new(provider),
            unread: Vec::new(),
            has_frames: false,
            is_over: false,
            half: None,
        }
    }

    /// Decodes a piece of an event stream.
    pub fn push(&mut self, bytes: &[u8], mut give: impl FnMut(Result<ModelEvent, ModelError>)) {
        if self.is_over {
            return;
        }
        let Self { body, reader, sink, has_frames, is_over, unread, half } = self;
        if !*has_frames {
            let room = KEPT_BODY.saturating_sub(unread.len());
            unread.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
        reader.push(bytes, |frame| {
            *has_frames = true;
            on_frame(frame, body, sink, half, is_over, &mut give);
        });
        if self.has_frames {
            self.unread = Vec::new();
        }
    }

    /// Ends an event stream. An incomplete answer is an error.
    pub fn finish(&mut self, mut give: impl FnMut(Result<ModelEvent, ModelError>)) {
        if self.is_over {
            return;
        }
        let Self { body, reader, sink, has_frames, is_over, half, .. } = self;
        reader.finish(|frame| {
            *has_frames = true;
            on_frame(frame, body, sink, half, is_over, &mut give);
        });
        if let Some(half) = half.take()
            && !*is_over
        {
            on_data(&without_halves(&half), body, sink, is_over, &mut give);
        }
        if self.is_over {
            return;
        }
        if !self.has_frames {
            // Some servers answer a streaming request with one JSON document, and proxies with an HTML page.
            let unread = std::mem::take(&mut self.unread);
            let is_silent = unread.iter().all(u8::is_ascii_whitespace);
            if is_silent || Framing::recognise(&unread) == Some(Framing::Sse) {
                self.is_over = true;
                return give(Err(self.sink.cut()));
            }
            return self.whole(&unread, give);
        }
        self.is_over = true;
        let ended = if self.sink.is_finished() { Ok(()) } else { self.body.end(&mut self.sink) };
        self.close(ended, give);
    }

    /// Emits the remaining events and the final result.
    fn close(&mut self, ended: Result<(), ModelError>, mut give: impl FnMut(Result<ModelEvent, ModelError>)) {
        self.sink.take().map(Ok).for_each(&mut give);
        match ended {
            Ok(()) => self.sink.take_ending().map(Ok).into_iter().for_each(give),
            Err(error) => give(Err(error)),
        }
    }

    /// Decodes an answer that came without streaming.
    pub fn whole(&mut self, bytes: &[u8], give: impl FnMut(Result<ModelEvent, ModelError>)) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        let read = match read_whole(bytes) {
            Ok(body) => match failure::in_body(self.sink.provider(), &body) {
                Some(error) => Err(error),
                None => {
                    self.sink.raw().whole(&body);
                    let read = self.body.whole(&body, &mut self.sink);
                    read.and_then(|()| if self.sink.is_finished() { Ok(()) } else { Err(self.sink.cut()) })
                }
            },
            Err(error) => Err(not_an_answer(&self.sink, bytes, &error)),
        };
        self.close(read, give);
    }

    /// The position after the newest event, if the answer can be continued from there.
    #[must_use]
    pub fn position(&self) -> Option<AnswerPosition> {
        match &self.body {
            AnswerBody::Responses(answer) if !self.is_over => answer.answer_position(),
            _ => None,
        }
    }

    /// Continues with another stream of the same answer: what was read of an incomplete event is dropped.
    pub fn continued(&mut self) {
        self.reader = SseReader::new().with_tail(Tail::Deliver);
        self.half = None;
        if let AnswerBody::Responses(answer) = &mut self.body {
            answer.continued();
        }
    }

    /// Whether everything was emitted: the end of the answer or an error.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the answer is complete although its end was not emitted yet. Callers need not wait long for
    /// more bytes.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.sink.is_finished()
    }
}

/// Parses an answer without streaming, replacing lone surrogates if needed.
fn read_whole(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes).or_else(|error| match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::from_str(&without_halves(text)),
        Err(_) => Err(error),
    })
}

fn on_frame(
    frame: Result<headwater_protocol::Frame<'_>, headwater_protocol::FramingError>,
    body: &mut AnswerBody,
    sink: &mut EventSink,
    half: &mut Option<String>,
    is_over: &mut bool,
    give: &mut impl FnMut(Result<ModelEvent, ModelError>),
) {
    if *is_over {
        return;
    }
    let data = match frame {
        Ok(frame) => frame.data,
        Err(error) => {
            if !sink.is_finished() {
                *is_over = true;
                let message = format!("the answer is not a valid event stream: {error}");
                give(Err(sink.malformed(message)));
            }
            return;
        }
    };
    // JavaScript gateways split text between the halves of a surrogate pair.
    let mut surrogates = Surrogates::default();
    let mended = match half.take() {
        Some(before) => {
            let first = surrogates.mend(&before).text.into_owned();
            let second = surrogates.mend(data);
            if second.lost {
                on_data(&without_halves(&before), body, sink, is_over, give);
                surrogates = Surrogates::default();
                surrogates.mend(data).text
            } else {
                on_data(&first, body, sink, is_over, give);
                second.text
            }
        }
        None => surrogates.mend(data).text,
    };
    if surrogates.is_waiting() {
        *half = Some(data.to_owned());
        return;
    }
    on_data(&mended, body, sink, is_over, give);
}

fn on_data(
    data: &str,
    body: &mut AnswerBody,
    sink: &mut EventSink,
    is_over: &mut bool,
    give: &mut impl FnMut(Result<ModelEvent, ModelError>),
) {
    if *is_over {
        return;
    }
    let word = data.trim();
    if sink.is_finished() {
        // After an answer comes the end marker, another answer, or something to ignore.
        if word == "[DONE]" {
            *is_over = true;
            sink.take_ending().map(Ok).into_iter().for_each(give);
            return;
        }
        let Ok(event) = serde_json::from_str::<Value>(word) else { return };
        if !body.begin_anew(&event) {
            return;
        }
        sink.reopen();
    }
    let read = match word {
        "[DONE]" => body.done(sink),
        "" => Ok(()),
        _ if body.quick(data, sink) => Ok(()),
        _ => match serde_json::from_str::<Value>(data) {
            Ok(event) => {
                sink.raw().event(body.raw_format(), &event, data.len());
                body.event(&event, sink)
            }
            Err(error) => Err(not_an_answer(sink, data.as_bytes(), &error)),
        },
    };
    sink.take().map(Ok).for_each(&mut *give);
    match read {
        Err(error) => {
            *is_over = true;
            give(Err(error));
        }
        Ok(()) if word == "[DONE]" && sink.is_finished() => {
            *is_over = true;
            sink.take_ending().map(Ok).into_iter().for_each(give);
        }
        Ok(()) => {}
    }
}

/// The error for bytes that are not JSON, such as a proxy's HTML page.
fn not_an_answer(sink: &EventSink, bytes: &[u8], error: &serde_json::Error) -> ModelError {
    let beginning = failure::beginning(bytes);
    let message = if beginning.trim_start().starts_with('<') {
        "the answer is an HTML page, not JSON: a proxy may have answered, so check the address".to_owned()
    } else {
        format!("the answer is not JSON ({error})")
    };
    ModelError::new(ModelErrorKind::Malformed, message).provider(sink.provider()).body(beginning)
}
