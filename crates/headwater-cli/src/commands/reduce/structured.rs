//! `headwater reduce --structured`: reduces bare chunks of one structured stream.

use std::borrow::Cow;

use headwater_dialects::{DecodeOutput, Decoder};
use headwater_protocol::{
    Event, Frame, FrameReader, Framing, StructuredState, StructuredUpdate, UnknownEvent,
};
use serde::{Deserialize, Serialize};

use super::ReduceCommand;
use crate::{
    dialect_detection::recognise_framing,
    failure::{CommandFailure, ExitVerdict},
    input::StreamInput,
    style,
};

/// Why a chunk was refused.
#[derive(Debug, Serialize)]
struct ChunkRefusal {
    index: u64,
    error: String,
}

impl ReduceCommand {
    pub(super) fn structured_state(&self) -> Result<ExitVerdict, CommandFailure> {
        let mut input = StreamInput::open(self.stream.file.as_deref())?;
        // Empty input is valid and produces no state.
        let framing = match (self.stream.framing, input.is_blank()?) {
            (Some(framing), _) => framing,
            (None, true) => Framing::Ndjson,
            (None, false) => recognise_framing(&mut input, None, None)?,
        };
        let mut reader = FrameReader::new(framing);
        let mut chunks = Chunks::new();
        let mut state: Option<StructuredState> = None;
        let mut refusal = None;
        let mut written = Ok(());
        let mut take = |frame: Result<Frame<'_>, headwater_protocol::FramingError>| {
            if refusal.is_some() || written.is_err() {
                return;
            }
            match frame {
                Ok(frame) if frame.data.trim() == "[DONE]" => {}
                Ok(frame) => match chunks.read(&frame).and_then(|update| apply(&mut state, update)) {
                    Ok(()) if self.each => written = self.print(&state),
                    Ok(()) => {}
                    Err(error) => refusal = Some(ChunkRefusal { index: frame.index, error }),
                },
                Err(error) => refusal = Some(ChunkRefusal { index: error.index(), error: error.to_string() }),
            }
        };
        input.for_each(|piece| {
            reader.push(piece, &mut take);
            Ok(())
        })?;
        reader.finish(&mut take);
        written?;

        if !self.each && (state.is_some() || refusal.is_none()) {
            self.print(&state)?;
        }
        if let Some(refusal) = &refusal {
            self.print(refusal)?;
        }
        Ok(ExitVerdict::at_fault_if(refusal.is_some()))
    }
}

fn apply(state: &mut Option<StructuredState>, update: StructuredUpdate) -> Result<(), String> {
    match state {
        Some(state) => state.apply(update).map_err(|error| error.to_string()),
        None => {
            *state = Some(StructuredState::begin(update).map_err(|error| error.to_string())?);
            Ok(())
        }
    }
}

/// Decodes chunks with Kortyx' decoder, which also joins characters that were split between chunks.
#[derive(Debug)]
struct Chunks {
    decoder: Decoder,
    decoded: DecodeOutput,
}

impl Chunks {
    fn new() -> Self {
        let decoder = Decoder::new(&headwater_dialects::kortyx::Kortyx, Framing::Ndjson);
        Self { decoder, decoded: DecodeOutput::default() }
    }

    fn read(&mut self, frame: &Frame<'_>) -> Result<StructuredUpdate, String> {
        let data = with_type(frame.data);
        self.decoded.clear();
        self.decoder.frame(&Frame { data: &data, event: None, ..*frame }, &mut self.decoded);
        let DecodeOutput { records, errors } = &mut self.decoded;
        match records.pop().map(|record| record.event) {
            Some(Event::Structured(update)) => {
                errors.iter().for_each(|error| style::warning(error));
                Ok(update)
            }
            Some(Event::Unknown(UnknownEvent { name, .. })) => {
                Err(format!("the chunk is a `{name}`, not a `structured-data`"))
            }
            Some(event) => Err(format!("the chunk is a `{}`, not a `structured-data`", event.kind())),
            None => {
                let error = errors.first().map(|error| error.message().to_owned());
                Err(error.unwrap_or_else(|| "the chunk has no content".to_owned()))
            }
        }
    }
}

/// Adds the `type` that a bare chunk leaves out.
fn with_type(data: &str) -> Cow<'_, str> {
    #[derive(Deserialize)]
    struct Tag {
        #[serde(default, rename = "type")]
        tag: Option<serde::de::IgnoredAny>,
    }
    let is_bare = serde_json::from_str::<Tag>(data).is_ok_and(|Tag { tag }| tag.is_none());
    match data.split_once('{') {
        Some((blank, fields)) if is_bare => {
            let comma = if fields.trim_start().starts_with('}') { "" } else { "," };
            Cow::Owned(format!("{blank}{{\"type\":\"structured-data\"{comma}{fields}"))
        }
        _ => Cow::Borrowed(data),
    }
}
