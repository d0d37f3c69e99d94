//! A simple reducer of chunks and a simple search for fields, to compare with.

use headwater_json::{Chunk, Extractor, FieldKind, Fields, Options, Segment};
use serde_json::{Map, Value};

/// A chunk that owns its data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OwnedChunk {
    Set(String, Option<Value>),
    Text(String, String),
    Append(String, Vec<Value>),
}

impl From<Chunk<'_>> for OwnedChunk {
    fn from(chunk: Chunk<'_>) -> Self {
        match chunk {
            Chunk::Set { path, value } => Self::Set(path.to_owned(), value),
            Chunk::Text { path, delta } => Self::Text(path.to_owned(), delta.to_owned()),
            Chunk::Append { path, items } => Self::Append(path.to_owned(), items),
        }
    }
}

pub(crate) fn build(fields: &[(FieldKind, String)]) -> Fields {
    fields.iter().fold(Fields::builder(), |all, (kind, path)| all.field(*kind, path)).build().unwrap()
}

/// All chunks of a document read in pieces, and the verdict.
pub(crate) fn extract<'a>(
    fields: &Fields,
    options: Options,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<OwnedChunk>, Result<(), headwater_json::Error>) {
    let mut extractor = Extractor::with(fields.clone(), options);
    let mut said = Vec::new();
    for piece in pieces {
        if let Err(error) = extractor.push_bytes(piece, |chunk| said.push(chunk.into())) {
            return (said, Err(error));
        }
    }
    (said, extractor.finish().into_result())
}

/// Merges adjacent chunks that differ only in how they were split.
pub(crate) fn merged(chunks: &[OwnedChunk]) -> Vec<OwnedChunk> {
    let mut out: Vec<OwnedChunk> = Vec::new();
    for chunk in chunks {
        match (out.last_mut(), chunk) {
            (Some(OwnedChunk::Text(path, text)), OwnedChunk::Text(next, delta)) if path == next => {
                text.push_str(delta);
            }
            (Some(OwnedChunk::Append(path, all)), OwnedChunk::Append(next, items)) if path == next => {
                all.extend_from_slice(items);
            }
            _ => out.push(chunk.clone()),
        }
    }
    out
}

/// Applies a chunk. Skipped array elements are `null` and count as unset.
pub(crate) fn apply(state: &mut Option<Value>, chunk: &OwnedChunk) -> Result<(), String> {
    let path = match chunk {
        OwnedChunk::Set(path, _) | OwnedChunk::Text(path, _) | OwnedChunk::Append(path, _) => path.clone(),
    };
    let segments: Vec<Segment<'_>> = path.split('.').map(Segment::read).collect();
    let (last, way) = segments.split_last().expect("a path has a segment");
    let mut at = state.get_or_insert(Value::Null);
    for segment in way {
        at = step(at, segment).ok_or_else(|| format!("{path}: {segment} is in the way"))?;
    }
    if let OwnedChunk::Set(_, None) = chunk {
        if let (Value::Object(map), Segment::Key(key)) = (at, last) {
            map.shift_remove(&**key);
        }
        return Ok(());
    }
    let leaf = step(at, last).ok_or_else(|| format!("{path}: the container does not fit"))?;
    match (chunk, leaf) {
        (OwnedChunk::Set(_, Some(value)), leaf) => *leaf = value.clone(),
        (OwnedChunk::Text(_, delta), leaf @ Value::Null) => *leaf = Value::String(delta.clone()),
        (OwnedChunk::Text(_, delta), Value::String(text)) => text.push_str(delta),
        (OwnedChunk::Append(_, items), leaf @ Value::Null) => *leaf = Value::Array(items.clone()),
        (OwnedChunk::Append(_, items), Value::Array(all)) => all.extend_from_slice(items),
        (chunk, leaf) => return Err(format!("{chunk:?} found {leaf}")),
    }
    Ok(())
}

fn step<'a>(at: &'a mut Value, segment: &Segment<'_>) -> Option<&'a mut Value> {
    match segment {
        Segment::Index(index) => {
            if at.is_null() {
                *at = Value::Array(Vec::new());
            }
            let items = at.as_array_mut()?;
            if items.len() <= *index {
                items.resize(index + 1, Value::Null);
            }
            items.get_mut(*index)
        }
        Segment::Key(key) => {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            Some(at.as_object_mut()?.entry(&**key).or_insert(Value::Null))
        }
    }
}

/// The values of a document that fields match, with their paths.
pub(crate) fn wanted(document: &Value, fields: &[(FieldKind, String)]) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (kind, pattern) in fields {
        let pattern: Vec<&str> = pattern.split('.').collect();
        search(document, &pattern, *kind, String::new(), &mut found);
    }
    found
}

fn search(at: &Value, pattern: &[&str], kind: FieldKind, path: String, found: &mut Vec<(String, Value)>) {
    let Some((first, rest)) = pattern.split_first() else {
        let fits = match kind {
            FieldKind::Set => true,
            FieldKind::Text => at.is_string(),
            FieldKind::Append => at.is_array(),
        };
        if fits {
            found.push((path, at.clone()));
        }
        return;
    };
    let mut visit = |segment: Segment<'_>, value: &Value| {
        let mut path = path.clone();
        segment.push_to(&mut path);
        search(value, rest, kind, path, found);
    };
    match at {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if *first == "*" || *first == index.to_string() {
                    visit(Segment::Index(index), item);
                }
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                let literal = match Segment::read(first) {
                    Segment::Index(_) => key == first,
                    Segment::Key(name) => *key == *name,
                };
                if *first == "*" || literal {
                    visit(Segment::key(key), value);
                }
            }
        }
        _ => {}
    }
}

/// The value at a concrete path.
pub(crate) fn at<'a>(state: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').map(Segment::read).try_fold(state, |at, segment| match segment {
        Segment::Index(index) => at.as_array()?.get(index),
        Segment::Key(key) => at.as_object()?.get(&*key),
    })
}

/// Whether `less` can grow into `more`: the same value with longer strings, longer arrays and more keys.
pub(crate) fn covers(more: &Value, less: &Value) -> bool {
    match (more, less) {
        (Value::Object(more), Value::Object(less)) => {
            less.iter().all(|(key, less)| more.get(key).is_some_and(|more| covers(more, less)))
        }
        (Value::Array(more), Value::Array(less)) => {
            less.len() <= more.len() && more.iter().zip(less).all(|(more, less)| covers(more, less))
        }
        (Value::String(more), Value::String(less)) => more.starts_with(less.as_str()),
        (Value::Number(more), Value::Number(less)) => more.as_f64() == less.as_f64(),
        // A skipped element.
        (_, Value::Null) => true,
        _ => more == less,
    }
}
