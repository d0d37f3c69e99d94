//! What the targets do with the bytes that they are given.

use axum::http::Request;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_dialects::{DecodeOutput, Decoder, EncodeOptions, Encoder, RawRequest, lint};
use headwater_json::{Chunk, Completion, Extractor, FieldKind, Fields, InputLimits, Options, PartialValue};
use headwater_models::{
    ModelEvent,
    scripted::Script,
    wire::{ChatQuirks, Settings, Wire},
};
use headwater_protocol::{
    FrameReader, Framing, RunState, StructuredOp, StructuredState, StructuredStreams, StructuredUpdate,
};
use headwater_runtime::{RecordReader, state_after};
use headwater_server::{Authenticator as _, Jwt};
use headwater_store::{Class, Record, Time};
use ring::signature::{Ed25519KeyPair, KeyPair as _};

/// Decodes the bytes in two pieces, reduces, re-encodes and lints.
pub fn decode(name: &str, bytes: &[u8]) {
    let (Some(dialect), Some(reader)) = (headwater_dialects::find(name), headwater_dialects::reader(name))
    else {
        return;
    };
    let Some((&cut, bytes)) = bytes.split_first() else { return };
    let framing = if cut & 1 == 0 { Framing::Sse } else { Framing::Ndjson };
    let cut = usize::from(cut).min(bytes.len());
    let mut decoder = Decoder::new(reader, framing);
    let mut out = DecodeOutput::default();
    decoder.feed(&bytes[..cut], &mut out);
    decoder.feed(&bytes[cut..], &mut out);
    decoder.finish(&mut out);

    let mut state = RunState::with_rules(reader.rules());
    let mut encoder = Encoder::new(dialect, &EncodeOptions::default());
    for record in &out.records {
        let _ = state.apply(record);
        encoder.record(record);
    }
    encoder.finish();
    Encoder::new(dialect, &EncodeOptions::default()).reentry(&state);
    let _ = lint(reader, framing, bytes);
}

/// Reads the bytes as every provider's answer, whole and byte by byte, and compares.
pub fn wires(bytes: &[u8]) {
    for wire in [Wire::RESPONSES, Wire::ANTHROPIC, Wire::GOOGLE, Wire::chat(&ChatQuirks::OPENAI)] {
        let settings = Settings::new("fuzz", "m");
        let read = |piece: usize| {
            let mut decoder = wire.decoder(&settings);
            let mut said = Vec::new();
            for piece in bytes.chunks(piece) {
                decoder.push(piece, |item| said.push(item));
            }
            decoder.finish(|item| said.push(item));
            said
        };
        let whole = read(usize::MAX);
        assert!(
            matches!(whole.last(), Some(Err(_) | Ok(ModelEvent::Finished { .. }))),
            "the answer has no end"
        );
        assert_eq!(whole, read(1));
        wire.decoder(&settings).whole(bytes, |_| {});
    }
}

/// Reads the bytes as a script.
pub fn script(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Script::from_yaml(text);
    }
}

/// Reads the bytes as every dialect's request.
pub fn request(bytes: &[u8]) {
    for dialect in headwater_dialects::ALL {
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

/// Reads the bytes as JSON: whole and in two pieces and byte by byte, and compares; compares with serde_json; extracts
/// fields, which the reducer must take.
pub fn json(bytes: &[u8]) {
    let [options, cut, bytes @ ..] = bytes else { return };
    let cut = usize::from(*cut).min(bytes.len());
    let options_of = |lenient| if lenient { Options::lenient() } else { Options::default() };
    let read = |lenient, pieces: &mut dyn Iterator<Item = &[u8]>| {
        let mut value = PartialValue::with(options_of(lenient));
        for piece in pieces {
            if value.push_bytes(piece).is_err() {
                break;
            }
            value.value();
        }
        let completion = value.finish();
        (completion, value.snapshot())
    };
    for lenient in [false, true] {
        let whole = read(lenient, &mut std::iter::once(bytes));
        assert_eq!(whole, read(lenient, &mut [&bytes[..cut], &bytes[cut..]].into_iter()));
        assert_eq!(whole, read(lenient, &mut bytes.chunks(1)));
        if !lenient {
            match (serde_json::from_slice::<serde_json::Value>(bytes), whole) {
                (Ok(theirs), (Completion::Complete, ours)) => assert_eq!(Some(theirs), ours),
                (Ok(_), (Completion::Invalid(error), _)) => {
                    assert_eq!(error.kind(), headwater_json::ErrorKind::TooDeep);
                }
                (Ok(_), (Completion::Truncated(error), _)) => panic!("{error}"),
                (Err(error), (completion, _)) => assert_ne!(completion, Completion::Complete, "{error}"),
            }
        }
    }

    let kinds = [FieldKind::Set, FieldKind::Text, FieldKind::Append];
    let mut fields = Fields::builder();
    for (bit, path) in ["a", "*", "a.*", "*.a", "*.*", "a.0", "*.0.*", "b"].into_iter().enumerate() {
        if options >> bit & 1 == 1 {
            fields = fields.field(kinds[bit % 3], path).field(kinds[(bit + usize::from(*options)) % 3], path);
        }
    }
    let fields = fields.build().unwrap();
    let mut state: Option<StructuredState> = None;
    let mut said = Vec::new();
    for size in [usize::MAX, 1] {
        let mut extractor = Extractor::new(fields.clone());
        let mut text = String::new();
        let mut emit = |chunk: Chunk<'_>| {
            text.push_str(chunk.path());
            if let Chunk::Text { delta, .. } = chunk {
                text.push_str(delta);
            }
            if size == usize::MAX {
                let update = StructuredUpdate::new("s", "t", StructuredOp::from(chunk));
                match &mut state {
                    Some(state) => state.apply(update).unwrap(),
                    None => state = Some(StructuredState::begin(update).unwrap()),
                }
            }
        };
        for piece in bytes.chunks(size) {
            if extractor.push_bytes(piece, &mut emit).is_err() {
                break;
            }
        }
        let ended = extractor.finish();
        said.push((ended, text.is_empty()));
    }
    assert_eq!(said[0], said[1]);
}

/// Scans the bytes for limits, and compares with the value that serde_json reads: depth, number of values, lengths.
pub fn limits(bytes: &[u8]) {
    let mut limits = InputLimits::default();
    let _ = limits.check(bytes);
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
    // What the value has, as the smallest limits that allow it.
    let smallest = |set: &dyn Fn(&mut InputLimits, usize), allowed: &dyn Fn(&InputLimits) -> bool| {
        let (mut low, mut high) = (0, bytes.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let mut limits = InputLimits::default();
            set(&mut limits, middle);
            if allowed(&limits) { high = middle } else { low = middle + 1 }
        }
        low
    };
    let fields: [&dyn Fn(&mut InputLimits, usize); 5] = [
        &|limits, value| limits.depth = value,
        &|limits, value| limits.values = value,
        &|limits, value| limits.string = value,
        &|limits, value| limits.key = value,
        &|limits, value| limits.text = value,
    ];
    // Only the text still has what a repeated key hides.
    let written = value.to_string();
    for set in fields {
        let of_value = smallest(set, &|limits| limits.check_value(&value).is_ok());
        let of_written = smallest(set, &|limits| limits.check(written.as_bytes()).is_ok());
        assert_eq!(of_value, of_written);
        assert!(of_value <= smallest(set, &|limits| limits.check(bytes).is_ok()));
    }
    limits.depth = 0;
    assert_eq!(limits.check(bytes).is_err(), value.is_array() || value.is_object());
}

/// Reads the bytes as a token, as the header and the claims of one that is signed well, and as a key set. An unsigned token is
/// never accepted, and a signed one only if its claims allow it.
pub fn tokens(bytes: &[u8]) {
    const SECRET: &[u8] = b"a secret of at least thirty-two bytes";
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, SECRET);
    let Ok(pair) = Ed25519KeyPair::from_seed_unchecked(&[7; 32]) else { return };
    let public = URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
    let set = format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","x":"{public}"}}]}}"#);
    let (Ok(shared), Ok(published)) = (Jwt::hs256(SECRET), Jwt::jwks(&set)) else {
        panic!("the keys of this target are not taken")
    };
    let (shared, published) = (shared.issuer("fuzz"), published.issuer("fuzz"));
    let accepts = |jwt: &Jwt, token: &str| {
        let request = Request::get("/").header("authorization", format!("Bearer {token}")).body(());
        let Ok(request) = request else { return false };
        let (parts, ()) = request.into_parts();
        futures_executor::block_on(jwt.authenticate(&parts)).is_ok()
    };
    let text = String::from_utf8_lossy(bytes);
    assert!(!accepts(&shared, &text) && !accepts(&published, &text), "a token that is not signed");
    let _ = Jwt::jwks(&text);
    let _ = Jwt::public_key(&text);
    let cut = bytes.iter().position(|byte| *byte == 0).unwrap_or(0);
    let (header, claims) = bytes.split_at(cut);
    let claims = claims.get(1..).unwrap_or_default();
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let by_secret = URL_SAFE_NO_PAD.encode(ring::hmac::sign(&secret, signed.as_bytes()));
    let by_pair = URL_SAFE_NO_PAD.encode(pair.sign(signed.as_bytes()));
    assert!(!accepts(&shared, &format!("{signed}.{by_pair}")), "signed with a key of another algorithm");
    assert!(!accepts(&published, &format!("{signed}.{by_secret}")), "signed with a key of another algorithm");
    for (jwt, algorithm, signature) in [(&shared, "HS256", by_secret), (&published, "EdDSA", by_pair)] {
        if !accepts(jwt, &format!("{signed}.{signature}")) {
            continue;
        }
        let read = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap_or_default();
        let (header, claims) = (read(header), read(claims));
        assert!(
            header["alg"] == algorithm && header.get("crit").is_none_or(serde_json::Value::is_null),
            "{header}"
        );
        assert!(
            claims["iss"] == "fuzz" && claims["exp"].as_f64().is_some_and(|expires| expires > 1.7e9),
            "{claims}"
        );
        assert!(
            claims.get("aud").is_none() && (claims["sub"].is_string() || claims["sub"].is_number()),
            "{claims}"
        );
    }
}

/// The lower half of the first byte of a snapshot, and the bytes of the checksum after it.
const SNAPSHOT: (u8, usize) = (4, 8);

/// Reads the bytes as the records of a run, each with its length in two bytes before it: alone, one after the other, and as a
/// whole. A snapshot is given the checksum that fits it: no input would be found that has one.
pub fn journal(bytes: &[u8]) {
    let (mut records, mut rest) = (Vec::new(), bytes);
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (body, next) = after.split_at(usize::from(u16::from_le_bytes(*length)).min(after.len()));
        let (seq, mut body) = (records.len() as u64 + 1, body.to_vec());
        let (kind, checksum) = SNAPSHOT;
        if body.len() > 1 + checksum && body[0] & 15 == kind {
            let summed = [&seq.to_le_bytes()[..], &body[1 + checksum..]].concat();
            let digest = ring::digest::digest(&ring::digest::SHA256, &summed);
            body[1..=checksum].copy_from_slice(&digest.as_ref()[..checksum]);
        }
        records.push(Record { seq, epoch: 1, time: Time(1), class: Class::Fact, body: body.into() });
        rest = next;
    }
    let mut reader = RecordReader::default();
    let mut readable = true;
    for record in &records {
        let _ = RecordReader::default().read(record);
        readable &= reader.entry(record).is_ok();
    }
    // What adds up to a state was readable record by record.
    assert!(state_after(&records).is_err() || readable, "a record was folded that cannot be read");
}
