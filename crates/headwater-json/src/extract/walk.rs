//! Follows the declared fields through a document and emits chunks.

use serde_json::Value;

use super::repeated_keys::{SeenKeys, SeenKeysPool};
use crate::build::ValueBuilder;
use crate::chunk::Chunk;
use crate::fields::{Automaton, DEAD, FieldKind, ROOT};
use crate::parser::number;
use crate::path::{push_index, push_key};
use crate::visit::Visitor;

/// The position in the document between two pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct WalkState {
    /// The open containers in which a field can match or whose value is collected.
    frames: Vec<ContainerFrame>,
    /// Number of open containers nested below those.
    dead: usize,
    /// Path of the last value that a field could match; each frame knows the length of its prefix.
    path: String,
    /// Number of open containers that are collected to be emitted whole.
    collected: usize,
    builder: ValueBuilder,
    string: StringState,
    /// The string being collected.
    text: String,
    /// PendingItems that completed in this piece.
    items: PendingItems,
    pool: SeenKeysPool,
}

/// An open container.
#[derive(Debug, Clone)]
struct ContainerFrame {
    state: u32,
    /// Length of its path.
    path: usize,
    kind: Container,
    /// Why it is collected.
    want: CollectReason,
    /// Whether a value inside has been emitted.
    emitted: bool,
}

#[derive(Debug, Clone)]
enum Container {
    Array {
        /// Index of the next item.
        next: usize,
        /// Whether items are emitted as they complete.
        append: bool,
    },
    Object {
        /// Automaton state of the value whose key was read.
        child: u32,
        seen: SeenKeys,
    },
}

/// Why a value is collected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CollectReason {
    /// It matches a *set* field.
    set: bool,
    /// It is an item of an *append* field.
    item: bool,
}

impl CollectReason {
    fn any(self) -> bool {
        self.set || self.item
    }
}

/// What happens to the string being read.
#[derive(Debug, Clone, Copy, Default)]
struct StringState {
    want: CollectReason,
    /// Whether it is collected.
    collect: bool,
    /// Whether it is emitted as it grows.
    delta: bool,
    /// Whether part of it has been emitted.
    emitted: bool,
}

/// PendingItems of one array, held until the end of the piece.
#[derive(Debug, Clone, Default)]
struct PendingItems {
    items: Vec<Value>,
    /// Length of the path of the array.
    path: usize,
}

/// A walk together with its fields and the callback for chunks.
pub(super) struct Walker<'a, F> {
    pub(super) walk: &'a mut WalkState,
    pub(super) fields: &'a Automaton,
    pub(super) emit: F,
}

impl<F: FnMut(Chunk<'_>)> Walker<'_, F> {
    /// Emits the items held until the end of the piece.
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

    /// Emits a *set* chunk at the current path.
    #[inline]
    fn set(&mut self, value: Option<Value>) {
        self.flush();
        (self.emit)(Chunk::Set { path: &self.walk.path, value });
        self.mark();
    }

    /// Marks the innermost open container as emitted in part.
    #[inline]
    fn mark(&mut self) {
        if let Some(frame) = self.walk.frames.last_mut() {
            frame.emitted = true;
        }
    }

    /// Begins a value: returns its state and why it is collected.
    #[inline]
    fn enter(&mut self) -> (u32, CollectReason) {
        let WalkState { dead, frames, path, .. } = &mut *self.walk;
        if *dead > 0 {
            return (DEAD, CollectReason::default());
        }
        let Some(frame) = frames.last_mut() else {
            return (ROOT, CollectReason::default());
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
        (state, CollectReason { set: self.fields.kinds(state).has(FieldKind::Set), item })
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

    /// Ends a collected value. `emitted` if part of it has been emitted.
    fn complete(&mut self, value: Value, want: CollectReason, emitted: bool) {
        let outer = (self.walk.collected > 0).then(|| value.clone());
        if want.set {
            self.set(Some(value));
        } else if emitted {
            // Nested chunks have created this item already, so appending it would add it twice.
            let WalkState { frames, path, .. } = &mut *self.walk;
            if let Some(ContainerFrame { path: len, kind: Container::Array { next, .. }, .. }) = frames.last()
            {
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
        let can_match_below = self.fields.can_match_below(state);
        let walk = &mut *self.walk;
        walk.collected += usize::from(want.any());
        if walk.collected > 0 {
            walk.builder.begin(array);
        }
        if !can_match_below && !append && !want.any() {
            walk.dead += 1;
            return;
        }
        let kind = if array {
            Container::Array { next: 0, append }
        } else {
            Container::Object { child: DEAD, seen: SeenKeys::default() }
        };
        let state = if can_match_below { state } else { DEAD };
        walk.frames.push(ContainerFrame { state, path: walk.path.len(), kind, want, emitted: false });
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
        let Some(ContainerFrame { path, kind, want, mut emitted, .. }) = walk.frames.pop() else {
            return;
        };
        walk.path.truncate(path);
        match kind {
            Container::Object { seen, .. } => walk.pool.recycle(seen),
            Container::Array { next, append: true } => {
                self.flush();
                if next == 0 {
                    (self.emit)(Chunk::Append { path: &self.walk.path, items: Vec::new() });
                    emitted = true;
                }
            }
            Container::Array { append: false, .. } => {}
        }
        if emitted {
            self.mark();
        }
        self.walk.collected -= usize::from(want.any());
        match value {
            Some(value) if want.any() => self.complete(value, want, emitted),
            Some(value) => self.walk.builder.add(value),
            None => {}
        }
    }
}

impl<F: FnMut(Chunk<'_>)> Visitor for Walker<'_, F> {
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
        let WalkState { frames, dead, path, collected, builder, pool, .. } = &mut *self.walk;
        let collects = *collected > 0;
        if collects {
            builder.set_key(key);
        }
        if *dead > 0 {
            return collects;
        }
        let Some(ContainerFrame { state, path: len, kind: Container::Object { child, seen }, .. }) =
            frames.last_mut()
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
        let repeated = pool.repeated(seen, named.ordinal, key);
        let kinds = self.fields.kinds(named.state);
        let grows = kinds.has(FieldKind::Text) || kinds.has(FieldKind::Append);
        if repeated && (grows || self.fields.can_match_below(named.state)) {
            self.set(None);
        }
        true
    }

    #[inline]
    fn begin_string(&mut self) {
        if self.walk.dead > 0 && self.walk.collected == 0 {
            self.walk.string = StringState::default();
            return;
        }
        let (state, want) = self.enter();
        let collect = want.any() || self.walk.collected > 0;
        let delta = self.fields.kinds(state).has(FieldKind::Text);
        self.walk.string = StringState { want, collect, delta, emitted: false };
    }

    #[inline]
    fn text(&mut self, part: &str) {
        let StringState { collect, delta, .. } = self.walk.string;
        if delta {
            self.walk.string.emitted = true;
            self.flush();
            (self.emit)(Chunk::Text { path: &self.walk.path, delta: part });
        }
        if collect {
            self.walk.text.push_str(part);
        }
    }

    #[inline]
    fn end_string(&mut self) {
        let StringState { want, collect, delta, emitted } = self.walk.string;
        if delta {
            if !emitted {
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
