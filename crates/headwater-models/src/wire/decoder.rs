//! From a provider's bytes to events, for every wire.

use headwater_json::{Surrogates, without_halves};
use headwater_protocol::{Framing, SseReader, Tail};
use serde_json::Value;

use super::{anthropic, failure, google, openai_chat, openai_responses, sink::Sink};
use crate::{ModelError, ModelErrorKind, ModelEvent};

/// How much of a body that is no event stream is kept, to read or to show it.
const KEPT_BODY: usize = 1024 * 1024;

/// Turns the bytes of one answer into events. It does no I/O: whoever has the bytes pushes them, in any pieces.
///
/// The end of the answer is given when nothing can follow it: when the stream says so, or with [`Decoder::finish`]. A
/// body may hold the answers of several turns, one after the other; they are read as one, and the last one's end counts.
/// After that, or after an error, it gives nothing more.
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
pub struct Decoder {
    body: Body,
    reader: SseReader,
    sink: Sink,
    /// What came before the first frame: if none comes, it is the answer.
    unread: Vec<u8>,
    has_frames: bool,
    is_over: bool,
    /// A frame that ends in half a surrogate pair, until the next one shows whether it has the other half.
    half: Option<String>,
}

/// What a wire's messages mean.
#[derive(Debug)]
pub(super) enum Body {
    Chat(openai_chat::Answer),
    Responses(openai_responses::Answer),
    Anthropic(anthropic::Answer),
    Google(google::Answer),
}

impl Body {
    fn event(&mut self, event: &Value, sink: &mut Sink) -> Result<(), ModelError> {
        match self {
            Self::Chat(answer) => answer.event(event, sink),
            Self::Responses(answer) => answer.event(event, sink),
            Self::Anthropic(answer) => answer.event(event, sink),
            Self::Google(answer) => answer.event(event, sink),
        }
    }

    /// Takes an event of the kind that nearly all of a stream consists of, if it is one.
    fn quick(&mut self, data: &str, sink: &mut Sink) -> bool {
        match self {
            Self::Chat(answer) => answer.quick(data, sink),
            Self::Responses(_) | Self::Anthropic(_) | Self::Google(_) => false,
        }
    }

    /// Goes on with another answer after one that is finished, if an event begins one.
    fn begin_anew(&mut self, event: &Value) -> bool {
        match self {
            Self::Responses(answer) => answer.begin_anew(event),
            Self::Anthropic(answer) => answer.begin_anew(event),
            Self::Chat(_) | Self::Google(_) => false,
        }
    }

    /// The stream says that it is done.
    fn done(&mut self, sink: &mut Sink) -> Result<(), ModelError> {
        match self {
            Self::Chat(answer) => answer.done(sink),
            Self::Responses(_) | Self::Anthropic(_) | Self::Google(_) => Ok(()),
        }
    }

    /// There are no more bytes.
    fn end(&mut self, sink: &mut Sink) -> Result<(), ModelError> {
        match self {
            Self::Chat(answer) => answer.end(sink)?,
            Self::Google(answer) => answer.end(sink)?,
            Self::Responses(_) | Self::Anthropic(_) => {}
        }
        if sink.is_finished() { Ok(()) } else { Err(sink.cut()) }
    }

    /// The answer in one piece.
    fn whole(&mut self, body: &Value, sink: &mut Sink) -> Result<(), ModelError> {
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

impl Decoder {
    pub(super) fn new(provider: &str, body: Body) -> Self {
        Self {
            body,
            reader: SseReader::new().with_tail(Tail::Deliver),
            sink: Sink::new(provider),
            unread: Vec::new(),
            has_frames: false,
            is_over: false,
            half: None,
        }
    }

    /// Takes a piece of an event stream.
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

    /// Takes the end of an event stream. An answer that is not complete was cut.
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
            // Some servers answer a request for a stream with one JSON document, and proxies with a page.
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

    /// Gives what is left, and how it ended.
    fn close(&mut self, ended: Result<(), ModelError>, mut give: impl FnMut(Result<ModelEvent, ModelError>)) {
        self.sink.take().map(Ok).for_each(&mut give);
        match ended {
            Ok(()) => self.sink.take_ending().map(Ok).into_iter().for_each(give),
            Err(error) => give(Err(error)),
        }
    }

    /// Takes an answer that came in one piece.
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

    /// Whether everything was given: the end of the answer, or an error.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the answer is complete, although its end was not given yet: nobody needs to wait long for more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.sink.is_finished()
    }
}

/// Reads an answer in one piece.
fn read_whole(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(bytes).or_else(|error| match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::from_str(&without_halves(text)),
        Err(_) => Err(error),
    })
}

fn on_frame(
    frame: Result<headwater_protocol::Frame<'_>, headwater_protocol::FramingError>,
    body: &mut Body,
    sink: &mut Sink,
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
                let message = format!("the answer cannot be read as an event stream: {error}");
                give(Err(sink.malformed(message)));
            }
            return;
        }
    };
    // Gateways in JavaScript cut text between the halves of a surrogate pair.
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
    body: &mut Body,
    sink: &mut Sink,
    is_over: &mut bool,
    give: &mut impl FnMut(Result<ModelEvent, ModelError>),
) {
    if *is_over {
        return;
    }
    let word = data.trim();
    if sink.is_finished() {
        // What follows an answer is its last word, another answer, or nothing that concerns anybody.
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
                sink.raw().event(body, &event, data.len());
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

/// The error for bytes that are no JSON: a page of a proxy, or rubbish.
fn not_an_answer(sink: &Sink, bytes: &[u8], error: &serde_json::Error) -> ModelError {
    let beginning = failure::beginning(bytes);
    let message = if beginning.trim_start().starts_with('<') {
        "the answer is a page, not JSON: something between here and the provider answered, so check the address".to_owned()
    } else {
        format!("the answer is not JSON ({error})")
    };
    ModelError::new(ModelErrorKind::Malformed, message).provider(sink.provider()).body(beginning)
}
