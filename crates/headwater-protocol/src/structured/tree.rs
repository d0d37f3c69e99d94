//! The data of one stream, changed in place.
//!
//! A write walks down what exists. At the first thing that is unset everything that could still be
//! wrong has been checked, so the missing rest is built on the side and put in: a refused write has
//! changed nothing, and an accepted one has copied nothing.

use std::borrow::Cow;

use headwater_json::Segment;
use serde_json::{Map, Value};

use super::error::StructuredError;
use super::holes::Holes;
use super::limits::StructuredLimits;

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tree {
    root: Option<Value>,
    holes: Holes,
}

/// What is to happen at the end of a path.
pub(super) enum Write<'a> {
    Set(Cow<'a, Value>),
    Unset,
    Append(Cow<'a, [Value]>),
    Text(Cow<'a, str>),
}

impl Tree {
    pub(super) fn root(&self) -> Option<&Value> {
        self.root.as_ref()
    }

    /// The paths of the array elements that were skipped and are still unset.
    pub(super) fn unset_paths(&self) -> impl Iterator<Item = String> + '_ {
        self.holes.paths()
    }

    /// Puts `data` in the place of everything.
    pub(super) fn replace(
        &mut self,
        data: Option<Cow<'_, Value>>,
        limits: &StructuredLimits,
    ) -> Result<(), StructuredError> {
        if data.as_deref().is_some_and(|data| !fits(data, limits.max_depth)) {
            return Err(StructuredError::too_deep(None, limits.max_depth));
        }
        self.root = data.map(Cow::into_owned);
        self.holes = Holes::default();
        Ok(())
    }

    pub(super) fn write(
        &mut self,
        given: &str,
        write: Write<'_>,
        limits: &StructuredLimits,
    ) -> Result<(), StructuredError> {
        let path = &*canonical(given)?;
        if !write.fits(path, limits.max_depth) {
            return Err(StructuredError::too_deep(Some(given), limits.max_depth));
        }
        let max_unset = limits.max_unset.min(StructuredLimits::MOST_UNSET);
        let mut walk = Walk { given, path, holes: &mut self.holes, max_unset };
        match &mut self.root {
            Some(root) => walk.enter(root, Place { at: "", rest: Some(path), depth: 0 }, write),
            root @ None => {
                walk.afford(write.gap(Some(path)))?;
                *root = write.build(path, "", walk.holes);
                Ok(())
            }
        }
    }
}

/// One write on its way down.
struct Walk<'a> {
    /// The path as it was given, for messages.
    given: &'a str,
    /// The same in its canonical spelling.
    path: &'a str,
    holes: &'a mut Holes,
    max_unset: usize,
}

/// How far a walk has come.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The part of the path that leads here.
    at: &'a str,
    /// The part that leads on, unless this is the end.
    rest: Option<&'a str>,
    depth: usize,
}

impl<'a> Walk<'a> {
    /// Goes on from a value that is there. The depth limit bounds the recursion.
    fn enter(&mut self, value: &mut Value, here: Place<'a>, write: Write<'_>) -> Result<(), StructuredError> {
        let Some(rest) = here.rest else {
            return self.finish(value, write);
        };
        let (segment, next) = self.step(here, rest);
        let unsets_next = next.rest.is_none() && matches!(write, Write::Unset);
        match (Segment::read(segment), value) {
            (Segment::Key(key), Value::Object(map)) => {
                if unsets_next {
                    map.shift_remove(&*key);
                    self.holes.forget(self.path);
                } else if let Some(child) = map.get_mut(&*key) {
                    return self.enter(child, next, write);
                } else {
                    self.afford(write.gap(next.rest))?;
                    if let Some(made) = write.build(self.path, next.at, self.holes) {
                        map.insert(key.into_owned(), made);
                    }
                }
            }
            (Segment::Index(index), Value::Array(items)) => {
                let len = items.len();
                match items.get_mut(index) {
                    Some(hole) if self.holes.contains(here.at, index) => {
                        // The hole itself is filled, so there is one less.
                        self.afford(write.gap(next.rest).saturating_sub(1))?;
                        if let Some(made) = write.build(self.path, next.at, self.holes) {
                            *hole = made;
                            self.holes.fill(here.at, index);
                        }
                    }
                    Some(child) if unsets_next => {
                        self.afford(usize::from(!self.holes.any_within(self.path)))?;
                        *child = Value::Null;
                        self.holes.forget(self.path);
                        self.holes.add(here.at, index..index + 1);
                    }
                    Some(child) => return self.enter(child, next, write),
                    None => {
                        let own = usize::from(unsets_next);
                        self.afford(write.gap(next.rest).saturating_add(index - len).saturating_add(own))?;
                        let made = write.build(self.path, next.at, self.holes);
                        self.holes.add(here.at, len..index + own);
                        items.resize(index, Value::Null);
                        items.push(made.unwrap_or_default());
                    }
                }
            }
            (segment, found) => {
                return Err(StructuredError::path_conflict(
                    self.given,
                    here.depth,
                    container(&segment),
                    found,
                ));
            }
        }
        Ok(())
    }

    /// The next segment, and the place that it leads to.
    fn step(&self, here: Place<'a>, rest: &'a str) -> (&'a str, Place<'a>) {
        let (segment, rest) =
            rest.split_once('.').map_or((rest, None), |(segment, rest)| (segment, Some(rest)));
        let end = self.path.len() - rest.map_or(0, |rest| rest.len() + 1);
        let at = self.path.get(..end).unwrap_or(self.path);
        (segment, Place { at, rest, depth: here.depth + 1 })
    }

    /// Writes over, or adds to, the value that is there already.
    fn finish(&mut self, value: &mut Value, write: Write<'_>) -> Result<(), StructuredError> {
        match (write, value) {
            (Write::Set(new), value) => {
                *value = new.into_owned();
                self.holes.forget(self.path);
            }
            (Write::Append(Cow::Owned(mut new)), Value::Array(items)) => items.append(&mut new),
            (Write::Append(Cow::Borrowed(new)), Value::Array(items)) => {
                items.extend_from_slice(new);
            }
            (Write::Text(delta), Value::String(text)) => text.push_str(&delta),
            (Write::Append(_), found) => {
                return Err(StructuredError::not_an_array(self.given, found));
            }
            (Write::Text(_), found) => {
                return Err(StructuredError::not_a_string(self.given, found));
            }
            // The walk ends an unset one step earlier, where the element can be taken out.
            (Write::Unset, _) => {}
        }
        Ok(())
    }

    /// Refuses a write that would leave too many elements unset.
    fn afford(&self, gap: usize) -> Result<(), StructuredError> {
        if self.holes.count().saturating_add(gap) <= self.max_unset {
            Ok(())
        } else {
            Err(StructuredError::too_sparse(self.given, self.max_unset))
        }
    }
}

impl Write<'_> {
    /// Whether the data stays within `max` levels when this is written at `path`.
    fn fits(&self, path: &str, max: usize) -> bool {
        let Some(left) = max.checked_sub(path.split('.').count()) else {
            return false;
        };
        match self {
            Self::Set(value) => fits(value, left),
            Self::Append(items) => left > 0 && items.iter().all(|item| fits(item, left - 1)),
            Self::Text(_) | Self::Unset => true,
        }
    }

    /// How many elements are left unset when the containers for the segments of `rest` are created.
    fn gap(&self, rest: Option<&str>) -> usize {
        let Some(rest) = rest else { return 0 };
        let skipped = rest.split('.').fold(0_usize, |sum, segment| match Segment::read(segment) {
            Segment::Index(index) => sum.saturating_add(index),
            Segment::Key(_) => sum,
        });
        let last = rest.rsplit('.').next().unwrap_or(rest);
        let own = matches!((self, Segment::read(last)), (Self::Unset, Segment::Index(_)));
        skipped.saturating_add(usize::from(own))
    }

    /// Builds, from the leaf upwards, what belongs at `at`, which is the beginning of `path`.
    /// Nothing belongs there if that is the very place to unset.
    fn build(self, path: &str, at: &str, holes: &mut Holes) -> Option<Value> {
        let mut made = match self {
            Self::Set(value) => Some(value.into_owned()),
            Self::Append(items) => Some(Value::Array(items.into_owned())),
            Self::Text(delta) => Some(Value::String(delta.into_owned())),
            Self::Unset => None,
        };
        let mut whole = path;
        while whole.len() > at.len() {
            let (parent, segment) = whole.rsplit_once('.').unwrap_or(("", whole));
            made = Some(match Segment::read(segment) {
                Segment::Key(key) => Value::Object(
                    made.map(|made| (key.into_owned(), made)).into_iter().collect::<Map<_, _>>(),
                ),
                Segment::Index(index) => {
                    holes.add(parent, 0..index + usize::from(made.is_none()));
                    let mut items = Vec::with_capacity(index + 1);
                    items.resize(index, Value::Null);
                    items.push(made.unwrap_or_default());
                    Value::Array(items)
                }
            });
            whole = parent;
        }
        made
    }
}

/// The container that a segment of a path asks for.
fn container(segment: &Segment<'_>) -> &'static str {
    match segment {
        Segment::Key(_) => "object",
        Segment::Index(_) => "array",
    }
}

/// The path with one spelling for each place: `a.01` and `a.1` are the same element, `~user` and `~0user` the same key.
fn canonical(path: &str) -> Result<Cow<'_, str>, StructuredError> {
    if path.is_empty() {
        return Err(StructuredError::empty_path());
    }
    let mut respelled = false;
    for segment in path.split('.') {
        if segment.is_empty() {
            return Err(StructuredError::empty_segment(path));
        }
        let padded = segment.len() > 1
            && segment.starts_with('0')
            && segment.bytes().all(|byte| byte.is_ascii_digit());
        respelled |= padded || segment.contains('~');
    }
    if !respelled {
        return Ok(Cow::Borrowed(path));
    }
    let segments = path.split('.').map(|segment| match segment.trim_start_matches('0') {
        "" => "0".to_owned(),
        digits if segment.bytes().all(|byte| byte.is_ascii_digit()) => digits.to_owned(),
        _ => Segment::read(segment).to_string(),
    });
    Ok(Cow::Owned(segments.collect::<Vec<_>>().join(".")))
}

/// Whether `value` has at most `levels` levels of containers. It looks no deeper than that.
fn fits(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| fits(item, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|item| fits(item, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
