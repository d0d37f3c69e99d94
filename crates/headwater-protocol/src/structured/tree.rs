//! The data of one stream, changed in place.
//!
//! A write descends existing values. At the first missing one, everything that could fail has been checked,
//! so the missing rest is built separately and inserted: a refused write changes nothing, and an accepted one
//! copies nothing.

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

/// The operation at the end of a path.
pub(super) enum TreeWrite<'a> {
    Set(Cow<'a, Value>),
    Unset,
    Append(Cow<'a, [Value]>),
    Text(Cow<'a, str>),
}

impl Tree {
    pub(super) fn root(&self) -> Option<&Value> {
        self.root.as_ref()
    }

    /// Paths of array elements that were skipped and are still unset.
    pub(super) fn unset_paths(&self) -> impl Iterator<Item = String> + '_ {
        self.holes.paths()
    }

    /// Replaces the whole data.
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
        write: TreeWrite<'_>,
        limits: &StructuredLimits,
    ) -> Result<(), StructuredError> {
        let path = &*canonical(given)?;
        if !write.fits(path, limits.max_depth) {
            return Err(StructuredError::too_deep(Some(given), limits.max_depth));
        }
        let max_unset = limits.max_unset.min(StructuredLimits::MOST_UNSET);
        let mut walk = TreeWalk { given, path, holes: &mut self.holes, max_unset };
        match &mut self.root {
            Some(root) => walk.enter(root, TreePosition { at: "", rest: Some(path), depth: 0 }, write),
            root @ None => {
                walk.afford(write.gap(Some(path)))?;
                *root = write.build(path, "", walk.holes);
                Ok(())
            }
        }
    }
}

/// One write on its way down.
struct TreeWalk<'a> {
    /// The original path, for messages.
    given: &'a str,
    path: &'a str,
    holes: &'a mut Holes,
    max_unset: usize,
}

/// The position of a walk.
#[derive(Clone, Copy)]
struct TreePosition<'a> {
    /// The part of the path that leads here.
    at: &'a str,
    /// The remaining path, unless this is the end.
    rest: Option<&'a str>,
    depth: usize,
}

impl<'a> TreeWalk<'a> {
    /// Descends into an existing value. The depth limit bounds the recursion.
    fn enter(
        &mut self,
        value: &mut Value,
        here: TreePosition<'a>,
        write: TreeWrite<'_>,
    ) -> Result<(), StructuredError> {
        let Some(rest) = here.rest else {
            return self.finish(value, write);
        };
        let (segment, next) = self.step(here, rest);
        let unsets_next = next.rest.is_none() && matches!(write, TreeWrite::Unset);
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
                        // The hole itself is filled, so it does not count.
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

    /// The next segment, and the position that it leads to.
    fn step(&self, here: TreePosition<'a>, rest: &'a str) -> (&'a str, TreePosition<'a>) {
        let (segment, rest) =
            rest.split_once('.').map_or((rest, None), |(segment, rest)| (segment, Some(rest)));
        let end = self.path.len() - rest.map_or(0, |rest| rest.len() + 1);
        let at = self.path.get(..end).unwrap_or(self.path);
        (segment, TreePosition { at, rest, depth: here.depth + 1 })
    }

    /// Replaces or extends the existing value.
    fn finish(&mut self, value: &mut Value, write: TreeWrite<'_>) -> Result<(), StructuredError> {
        match (write, value) {
            (TreeWrite::Set(new), value) => {
                *value = new.into_owned();
                self.holes.forget(self.path);
            }
            (TreeWrite::Append(Cow::Owned(mut new)), Value::Array(items)) => items.append(&mut new),
            (TreeWrite::Append(Cow::Borrowed(new)), Value::Array(items)) => {
                items.extend_from_slice(new);
            }
            (TreeWrite::Text(delta), Value::String(text)) => text.push_str(&delta),
            (TreeWrite::Append(_), found) => {
                return Err(StructuredError::not_an_array(self.given, found));
            }
            (TreeWrite::Text(_), found) => {
                return Err(StructuredError::not_a_string(self.given, found));
            }
            // An unset ends one step earlier, where the element can be removed.
            (TreeWrite::Unset, _) => {}
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

impl TreeWrite<'_> {
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

    /// The number of elements left unset by creating the containers for the segments of `rest`.
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

    /// Builds the value at `at`, a prefix of `path`, from the leaf up. Returns `None` if that is the value to
    /// unset.
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

/// The container that a path segment requires.
fn container(segment: &Segment<'_>) -> &'static str {
    match segment {
        Segment::Key(_) => "object",
        Segment::Index(_) => "array",
    }
}

/// The canonical path: `a.01` and `a.1` are the same element, `~user` and `~0user` the same key.
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

/// Whether `value` has at most `levels` levels of containers. Does not look deeper than that.
fn fits(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| fits(item, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|item| fits(item, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}
