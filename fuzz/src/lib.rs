//! What the targets do with the bytes that they are given.

use headwater_protocol::{
    Decoded, Decoder, EncodeOptions, Encoder, FrameReader, Framing, RawRequest, RunState, StructuredStreams,
    StructuredUpdate, dialects, lint,
};

/// Decodes the bytes in two pieces, reduces, re-encodes and lints.
pub fn decode(name: &str, bytes: &[u8]) {
    let Some(dialect) = dialects::find(name) else { return };
    let Some((&cut, bytes)) = bytes.split_first() else { return };
    let framing = if cut & 1 == 0 { Framing::Sse } else { Framing::Ndjson };
    let cut = usize::from(cut).min(bytes.len());
    let mut decoder = Decoder::new(dialect, framing);
    let mut out = Decoded::default();
    decoder.feed(&bytes[..cut], &mut out);
    decoder.feed(&bytes[cut..], &mut out);
    decoder.finish(&mut out);

    let mut state = RunState::with_rules(dialect.rules());
    let mut encoder = Encoder::new(dialect, &EncodeOptions::default());
    for record in &out.records {
        let _ = state.apply(record);
        encoder.record(record);
    }
    encoder.finish();
    Encoder::new(dialect, &EncodeOptions::default()).reentry(&state);
    let _ = lint(dialect, framing, bytes);
}

/// Reads the bytes as every dialect's request.
pub fn request(bytes: &[u8]) {
    for dialect in dialects::ALL {
        let _ = dialect.parse_request(&RawRequest::post("/chat?threadId=t", bytes));
    }
}

/// Cuts the bytes into frames, whole and byte by byte, and compares.
pub fn frames(framing: Framing, bytes: &[u8]) {
    let read = |pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut frames = Vec::new();
        let mut reader = FrameReader::new(framing);
        for piece in pieces {
            reader.push(piece, |frame| frames.push(frame.map(|frame| frame.data.to_owned()).ok()));
        }
        reader.finish(|frame| frames.push(frame.map(|frame| frame.data.to_owned()).ok()));
        frames
    };
    let whole = read(&mut std::iter::once(bytes));
    let split = read(&mut bytes.chunks(1));
    assert_eq!(whole, split);
}

/// Applies lines of structured updates; a refused one must change nothing.
pub fn structured(bytes: &[u8]) {
    let mut streams = StructuredStreams::new();
    for line in bytes.split(|&byte| byte == b'\n') {
        let Ok(update) = serde_json::from_slice::<StructuredUpdate>(line) else { continue };
        let before = serde_json::to_string(&streams).ok();
        if streams.apply(&update).is_err() {
            assert_eq!(before, serde_json::to_string(&streams).ok());
        }
    }
}
