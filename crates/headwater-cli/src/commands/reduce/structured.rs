//! `headwater reduce --structured`: bare chunks of one structured stream.

use headwater_protocol::{Frame, FrameReader, Framing, StructuredState, StructuredUpdate};
use serde::{Deserialize, Serialize};

use super::Reduce;
use crate::{
    failure::{Failure, Verdict},
    input::Input,
    recognise::recognise_framing,
};

/// Why a chunk was refused.
#[derive(Debug, Serialize)]
struct Refusal {
    index: u64,
    error: String,
}

impl Reduce {
    pub(super) fn structured_state(&self) -> Result<Verdict, Failure> {
        let mut input = Input::open(self.stream.file.as_deref())?;
        // No chunk at all is no mistake: it leaves no state behind.
        let framing = match (self.stream.framing, input.is_blank()?) {
            (Some(framing), _) => framing,
            (None, true) => Framing::Ndjson,
            (None, false) => recognise_framing(&mut input, None, None)?,
        };
        let mut reader = FrameReader::new(framing);
        let mut state: Option<StructuredState> = None;
        let mut refusal = None;
        let mut written = Ok(());
        let mut take = |frame: Result<Frame<'_>, headwater_protocol::FramingError>| {
            if refusal.is_some() || written.is_err() {
                return;
            }
            match frame {
                Ok(frame) if frame.data.trim() == "[DONE]" => {}
                Ok(frame) => match apply(&mut state, &frame) {
                    Ok(()) if self.each => written = self.print(&state),
                    Ok(()) => {}
                    Err(error) => refusal = Some(Refusal { index: frame.index, error }),
                },
                Err(error) => refusal = Some(Refusal { index: error.index(), error: error.to_string() }),
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
        Ok(Verdict::at_fault_if(refusal.is_some()))
    }
}

fn apply(state: &mut Option<StructuredState>, frame: &Frame<'_>) -> Result<(), String> {
    let update = read(frame)?;
    match state {
        Some(state) => state.apply(update).map_err(|error| error.to_string()),
        None => {
            *state = Some(StructuredState::begin(update).map_err(|error| error.to_string())?);
            Ok(())
        }
    }
}

/// Reads a chunk that may or may not say that it is one.
fn read(frame: &Frame<'_>) -> Result<StructuredUpdate, String> {
    #[derive(Deserialize)]
    struct Tag {
        #[serde(default, rename = "type")]
        tag: Option<String>,
    }
    let not_read = |error: serde_json::Error| format!("the chunk cannot be read: {error}");
    let Tag { tag } = serde_json::from_str(frame.data).map_err(not_read)?;
    if let Some(tag) = tag.filter(|tag| tag != "structured-data") {
        return Err(format!("the chunk is a `{tag}`, not a `structured-data`"));
    }
    serde_json::from_str(frame.data).map_err(not_read)
}
