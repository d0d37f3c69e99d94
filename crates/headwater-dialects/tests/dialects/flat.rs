//! The form in which messages of ours and of vendors are compared: text, reasoning, tools, sources, files and
//! data, in the order of the parts.

use headwater_dialects::{DecodeOutput, Decoder, Reader};
use headwater_protocol::{Frame, Framing, Message, Part, RunState};
use serde_json::{Value, json};

/// A decoded and reduced stream.
#[derive(Debug)]
pub(crate) struct FlatState {
    pub(crate) state: RunState,
    pub(crate) decoded: DecodeOutput,
}

impl FlatState {
    /// The frame at which the dialect's own client would have rejected the stream.
    pub(crate) fn fatal_frame(&self) -> Option<u64> {
        self.decoded.fatal().and_then(headwater_protocol::Error::place).map(|place| place.frame)
    }
}

/// Decodes chunks, one frame each, and reduces them on top of a state.
pub(crate) fn reduce_chunks(dialect: &str, start: Option<RunState>, chunks: &[String]) -> FlatState {
    let dialect = headwater_dialects::reader(dialect).unwrap();
    let messages = start.as_ref().map(RunState::messages).unwrap_or_default();
    let mut decoder = Decoder::new(dialect, Framing::Ndjson).with_messages(messages);
    let mut decoded = DecodeOutput::default();
    for (index, chunk) in chunks.iter().enumerate() {
        let frame = Frame { event: None, id: None, data: chunk, offset: 0, index: index as u64 };
        decoder.frame(&frame, &mut decoded);
    }
    decoder.finish(&mut decoded);
    reduce(dialect, start, decoded)
}

/// Decodes the bytes of a response, in the given pieces, and reduces them.
pub(crate) fn reduce_bytes(dialect: &str, framing: Framing, pieces: &[Vec<u8>]) -> FlatState {
    let dialect = headwater_dialects::reader(dialect).unwrap();
    let mut decoder = Decoder::new(dialect, framing);
    let mut decoded = DecodeOutput::default();
    for piece in pieces {
        decoder.feed(piece, &mut decoded);
    }
    decoder.finish(&mut decoded);
    reduce(dialect, None, decoded)
}

fn reduce(dialect: &dyn Reader, start: Option<RunState>, decoded: DecodeOutput) -> FlatState {
    let mut state = start.unwrap_or_else(|| RunState::with_rules(dialect.rules()));
    for record in &decoded.records {
        // A refused update changes nothing; tests that care check it themselves.
        let _ = state.apply(record);
    }
    state.end_of_stream();
    FlatState { state, decoded }
}

/// A message in the form for comparison.
pub(crate) fn flat(message: &Message) -> Value {
    let mut out = json!({ "text": [], "reasoning": [], "tools": [], "sources": [], "files": [], "data": [] });
    for part in &message.parts {
        let (list, value) = match part {
            Part::Text(text) => ("text", json!(text.text)),
            Part::Reasoning(text) => ("reasoning", json!(text.text)),
            Part::Tool(tool) => {
                let mut value = json!({
                    "id": tool.call, "name": tool.name, "state": tool.state,
                });
                for (key, field) in [
                    ("input", tool.input_so_far()),
                    ("output", tool.output.clone()),
                    ("error", tool.error.clone().map(Value::String)),
                ] {
                    if let Some(field) = field {
                        value[key] = field;
                    }
                }
                ("tools", value)
            }
            Part::SourceUrl(source) => {
                ("sources", json!({ "id": source.source, "url": source.url, "title": source.title }))
            }
            Part::SourceDocument(source) => (
                "sources",
                json!({ "id": source.source, "title": source.title, "mediaType": source.media_type,
                        "filename": source.filename, "text": source.text }),
            ),
            Part::File(file) => {
                ("files", json!({ "url": file.url, "mediaType": file.media_type, "filename": file.filename }))
            }
            Part::Data(data) => ("data", json!({ "name": data.name, "id": data.id, "data": data.data })),
            _ => continue,
        };
        out[list].as_array_mut().unwrap().push(value);
    }
    out
}
