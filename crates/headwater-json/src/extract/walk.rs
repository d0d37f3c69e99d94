//! Follows the declared fields through a document, and emits.

use serde_json::Value;

use super::seen::{Pool, Seen};
use crate::build::Builder;
use crate::chunk::Chunk;
use crate::fields::{Automaton, DEAD, FieldKind, ROOT};
use crate::parser::number;
use crate::path::{push_index, push_key};
use crate::visit::Visit;

/// Where the walk is, between two pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Walk {
    /// The open containers in which something can match or must be collected.
    frames: Vec<Frame>,
    /// How many containers are open below those.
    dead: usize,
    /// The path of the last place that could match; frames know how much of it is theirs.
    path: String,
    /// How many of the open containers are collected, to be emitted as a whole.
    collected: usize,
    builder: Builder,
    string: Text,
    /// The string that is collected.
    text: String,
    /// Items that were completed in this piece.
    items: Items,
    pool: Pool,
}

/// An open container.
#[derive(Debug, Clone)]
struct Frame {
    state: u32,
    /// How long its own path is.
    path: usize,
    kind: Container,
    /// What to do with it when it ends.
    want: Want,
    /// Whether something in it has been emitted.
    said: bool,
}

#[derive(Debug, Clone)]
enum Container {
    Array {
        /// The index of the next item.
        next: usize,
        /// Whether the items are emitted as they complete.
        append: bool,
    },
    Object {
        /// The state of the value whose key has come.
        child: u32,
        seen: Seen,
    },
}

/// Why a value is collected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Want {
    /// It is emitted itself.
    set: bool,
    /// It is an item of an array that is appended to.
    item: bool,
}

impl Want {
    fn any(self) -> bool {
        self.set || self.item
    }
}

/// What happens to the string that is open.
#[derive(Debug, Clone, Copy, Default)]
struct Text {
    want: Want,
    /// It is collected.
    collect: bool,
    /// It is emitted as it grows.
    delta: bool,
    /// Some of it has been emitted.
    said: bool,
}

/// Items of one array that wait for the end of the piece.
#[derive(Debug, Clone, Default)]
struct Items {
    items: Vec<Value>,
    /// How long the path of their array is.
    path: usize,
}

/// A walk, with the fields to look for and the place to emit to.
pub(super) struct Walker<'a, F> {
    pub(super) walk: &'a mut Walk,
    pub(super) fields: &'a Automaton,
    pub(super) emit: F,
}

impl<F: FnMut(Chunk<'_>)> Walker<'_, F> {
    /// Emits what waited for the end of the piece.
    #[inline]
    pub(super) fn flush(&mut self) {
        if !self.walk.items.items.is_empty() {
            self.emit_items();
        }
    }

    fn emit_items(&mut self) {
        let items = std::mem::take(&mut self.walk.items.items);
        let path = self.walk.path.get(..self.walk.items.path).unwrap_or_default();
        (self.emit)(Chunk::Append { path, items });
    }

    /// Emits at the current path.
    #[inline]
    fn set(&mut self, value: Option<Value>) {
        self.flush();
        (self.emit)(Chunk::Set { path: &self.walk.path, value });
        self.mark();
    }

    /// Notes in the innermost open container that something in it was emitted.
    #[inline]
    fn mark(&mut self) {
        if let Some(frame) = self.walk.frames.last_mut() {
            frame.said = true;
        }
    }

    /// Begins a value: its state, and why it is collected.
    #[inline]
    fn enter(&mut self) -> (u32, Want) {
        let Walk { dead, frames, path, .. } = &mut *self.walk;
        if *dead > 0 {
            return (DEAD, Want::default());
        }
        let Some(frame) = frames.last_mut() else {
            return (ROOT, Want::default());
        };
        let (state, item) = match &mut frame.kind {
            Container::Object { child, .. } => (*child, false),
            Container::Array { next, append } => {
                let index = *next;
                *next += 1;
                let state = self.fields.at_index(frame.state, index);
                if state != DEAD {
                    path.truncate(frame.path);
                    push_index(path, index);
                }
                (state, *append)
            }
        };
        (state, Want { set: self.fields.kinds(state).has(FieldKind::Set), item })
    }

    #[inline]
    fn scalar(&mut self, value: impl FnOnce() -> Value) {
        if self.walk.dead > 0 && self.walk.collected == 0 {
            return;
        }
        let (_, want) = self.enter();
        if want.any() {
            self.complete(value(), want, false);
        } else if self.walk.collected > 0 {
            self.walk.builder.add(value());
        }
    }

    /// A value that was collected is whole. `said` if something of it has been emitted already.
    fn complete(&mut self, value: Value, want: Want, said: bool) {
        let outer = (self.walk.collected > 0).then(|| value.clone());
        if want.set {
            self.set(Some(value));
        } else if said {
            // The item has its place already, so it cannot be appended.
            let Walk { frames, path, .. } = &mut *self.walk;
            if let Some(Frame { path: len, kind: Container::Array { next, .. }, .. }) = frames.last() {
                path.truncate(*len);
                push_index(path, next.saturating_sub(1));
            }
            self.set(Some(value));
        } else {
            let array = self.walk.frames.last().map_or(0, |frame| frame.path);
            if self.walk.items.path != array {
                self.flush();
                self.walk.items.path = array;
            }
            self.walk.items.items.push(value);
            self.mark();
        }
        if let Some(value) = outer {
            self.walk.builder.add(value);
        }
    }

    #[inline]
    fn begin(&mut self, array: bool) {
        let (state, want) = self.enter();
        let append = array && self.fields.kinds(state).has(FieldKind::Append);
        let goes_on = self.fields.goes_on(state);
        let walk = &mut *self.walk;
        walk.collected += usize::from(want.any());
        if walk.collected > 0 {
            walk.builder.begin(array);
        }
        if !goes_on && !append && !want.any() {
            walk.dead += 1;
            return;
        }
        let kind = if array {
            Container::Array { next: 0, append }
        } else {
            Container::Object { child: DEAD, seen: Seen::default() }
        };
        let state = if goes_on { state } else { DEAD };
        walk.frames.push(Frame { state, path: walk.path.len(), kind, want, said: false });
    }

    #[inline]
    fn end(&mut self) {
        let walk = &mut *self.walk;
        let value = (walk.collected > 0).then(|| walk.builder.end());
        if walk.dead > 0 {
            walk.dead -= 1;
            if let Some(value) = value {
                walk.builder.add(value);
            }
            return;
        }
        let Some(Frame { path, kind, want, mut said, .. }) = walk.frames.pop() else {
            return;
        };
        walk.path.truncate(path);
        match kind {
            Container::Object { seen, .. } => walk.pool.take_back(seen),
            Container::Array { next, append: true } => {
                self.flush();
                if next == 0 {
                    (self.emit)(Chunk::Append { path: &self.walk.path, items: Vec::new() });
                    said = true;
                }
            }
            Container::Array { append: false, .. } => {}
        }
        if said {
            self.mark();
        }
        self.walk.collected -= usize::from(want.any());
        match value {
            Some(value) if want.any() => self.complete(value, want, said),
            Some(value) => self.walk.builder.add(value),
            None => {}
        }
    }
}

impl<F: FnMut(Chunk<'_>)> Visit for Walker<'_, F> {
    #[inline]
    fn begin_object(&mut self) {
        self.begin(false);
    }

    #[inline]
    fn end_object(&mut self) {
        self.end();
    }

    #[inline]
    fn begin_array(&mut self) {
        self.begin(true);
    }

    #[inline]
    fn end_array(&mut self) {
        self.end();
    }

    #[inline]
    fn key(&mut self, key: &str) -> bool {
        let Walk { frames, dead, path, collected, builder, pool, .. } = &mut *self.walk;
        let collects = *collected > 0;
        if collects {
            builder.set_key(key);
        }
        if *dead > 0 {
            return collects;
        }
        let Some(Frame { state, path: len, kind: Container::Object { child, seen }, .. }) = frames.last_mut()
        else {
            return collects;
        };
        let named = self.fields.at_key(*state, key);
        *child = named.state;
        if named.state == DEAD {
            return collects;
        }
        path.truncate(*len);
        push_key(path, key);
        let again = pool.again(seen, named.ordinal, key);
        let kinds = self.fields.kinds(named.state);
        let grows = kinds.has(FieldKind::Text) || kinds.has(FieldKind::Append);
        if again && (grows || self.fields.goes_on(named.state)) {
            self.set(None);
        }
        true
    }

    #[inline]
    fn begin_string(&mut self) {
        if self.walk.dead > 0 && self.walk.collected == 0 {
            self.walk.string = Text::default();
            return;
        }
        let (state, want) = self.enter();
        let collect = want.any() || self.walk.collected > 0;
        let delta = self.fields.kinds(state).has(FieldKind::Text);
        self.walk.string = Text { want, collect, delta, said: false };
    }

    #[inline]
    fn text(&mut self, part: &str) {
        let Text { collect, delta, .. } = self.walk.string;
        if delta {
            self.walk.string.said = true;
            self.flush();
            (self.emit)(Chunk::Text { path: &self.walk.path, delta: part });
        }
        if collect {
            self.walk.text.push_str(part);
        }
    }

    #[inline]
    fn end_string(&mut self) {
        let Text { want, collect, delta, said } = self.walk.string;
        if delta {
            if !said {
                self.flush();
                (self.emit)(Chunk::Text { path: &self.walk.path, delta: "" });
            }
            self.mark();
        }
        if collect {
            let value = Value::String(std::mem::take(&mut self.walk.text));
            if want.any() {
                self.complete(value, want, delta);
            } else {
                self.walk.builder.add(value);
            }
        }
    }

    #[inline]
    fn number(&mut self, text: &str) {
        self.scalar(|| number::value(text));
    }

    #[inline]
    fn bool(&mut self, value: bool) {
        self.scalar(|| Value::Bool(value));
    }

    #[inline]
    fn null(&mut self) {
        self.scalar(|| Value::Null);
    }
}
