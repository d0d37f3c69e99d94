//! A plain reducer of chunks, and a plain search for fields, to compare with.

use headwater_json::{Chunk, Extractor, FieldKind, Fields, Options, Segment};
use serde_json::{Map, Value};

/// A chunk of its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    Set(String, Option<Value>),
    Text(String, String),
    Append(String, Vec<Value>),
}

impl From<Chunk<'_>> for Said {
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

/// All chunks of a document in pieces, and its verdict.
pub(crate) fn extract<'a>(
    fields: &Fields,
    options: Options,
    pieces: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Said>, Result<(), headwater_json::Error>) {
    let mut extractor = Extractor::with(fields.clone(), options);
    let mut said = Vec::new();
    for piece in pieces {
        if let Err(error) = extractor.push_bytes(piece, |chunk| said.push(chunk.into())) {
            return (said, Err(error));
        }
    }
    (said, extractor.finish().into_result())
}

/// The same chunks with neighbours put together that belong together.
pub(crate) fn merged(chunks: &[Said]) -> Vec<Said> {
    let mut out: Vec<Said> = Vec::new();
    for chunk in chunks {
        match (out.last_mut(), chunk) {
            (Some(Said::Text(path, text)), Said::Text(next, delta)) if path == next => text.push_str(delta),
            (Some(Said::Append(path, all)), Said::Append(next, items)) if path == next => {
                all.extend_from_slice(items);
            }
            _ => out.push(chunk.clone()),
        }
    }
    out
}

/// What chunks build. A place that was skipped is `null`, and counts as unset.
pub(crate) fn apply(state: &mut Option<Value>, chunk: &Said) -> Result<(), String> {
    let path = match chunk {
        Said::Set(path, _) | Said::Text(path, _) | Said::Append(path, _) => path.clone(),
    };
    let segments: Vec<Segment<'_>> = path.split('.').map(Segment::read).collect();
    let (last, way) = segments.split_last().expect("a path has a segment");
    let mut at = state.get_or_insert(Value::Null);
    for segment in way {
        at = step(at, segment).ok_or_else(|| format!("{path}: {segment} is in the way"))?;
    }
    if let Said::Set(_, None) = chunk {
        if let (Value::Object(map), Segment::Key(key)) = (at, last) {
            map.shift_remove(&**key);
        }
        return Ok(());
    }
    let leaf = step(at, last).ok_or_else(|| format!("{path}: the container does not fit"))?;
    match (chunk, leaf) {
        (Said::Set(_, Some(value)), leaf) => *leaf = value.clone(),
        (Said::Text(_, delta), leaf @ Value::Null) => *leaf = Value::String(delta.clone()),
        (Said::Text(_, delta), Value::String(text)) => text.push_str(delta),
        (Said::Append(_, items), leaf @ Value::Null) => *leaf = Value::Array(items.clone()),
        (Said::Append(_, items), Value::Array(all)) => all.extend_from_slice(items),
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

/// The places of a whole document that fields ask for, with what is there.
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

/// What is at a concrete path.
pub(crate) fn at<'a>(state: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').map(Segment::read).try_fold(state, |at, segment| match segment {
        Segment::Index(index) => at.as_array()?.get(index),
        Segment::Key(key) => at.as_object()?.get(&*key),
    })
}

/// Whether `more` is what `less` can become: the same, with longer strings, longer arrays and more keys.
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
        // An element that was skipped.
        (_, Value::Null) => true,
        _ => more == less,
    }
}
