//! Builds a [`Value`] while its text arrives.

use serde_json::{Map, Value};

use crate::parser::number;
use crate::visit::Visitor;

/// A value under construction, kept as one entry per open container.
///
/// A container is not nested in its parent before it closes, so every step takes constant time.
/// [`fold`](Self::fold) nests them so that the value can be read; the next step takes them apart again.
#[derive(Debug, Clone, Default)]
pub(crate) struct ValueBuilder {
    open: Vec<OpenContainer>,
    /// The string being read.
    text: Option<String>,
    /// The finished value, or the folded value so far.
    root: Option<Value>,
    fold: FoldState,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum FoldState {
    #[default]
    Apart,
    /// Everything is in `root`; `text` if that includes an unfinished string.
    Folded { text: bool },
}

#[derive(Debug, Clone)]
enum OpenContainer {
    Array(Vec<Value>),
    /// The entries, and the key whose value is being read.
    Object(Map<String, Value>, String),
}

impl ValueBuilder {
    #[inline]
    pub(crate) fn begin(&mut self, array: bool) {
        self.unfold();
        self.open.push(if array {
            OpenContainer::Array(Vec::new())
        } else {
            OpenContainer::Object(Map::new(), String::new())
        });
    }

    #[inline]
    pub(crate) fn set_key(&mut self, key: &str) {
        self.unfold();
        if let Some(OpenContainer::Object(_, waiting)) = self.open.last_mut() {
            *waiting = key.to_owned();
        }
    }

    /// Removes and returns the innermost container, which is complete now.
    #[inline]
    pub(crate) fn end(&mut self) -> Value {
        self.unfold();
        match self.open.pop() {
            Some(OpenContainer::Array(items)) => Value::Array(items),
            Some(OpenContainer::Object(entries, _)) => Value::Object(entries),
            None => Value::Null,
        }
    }

    /// Adds a complete value to the innermost container.
    #[inline]
    pub(crate) fn add(&mut self, value: Value) {
        self.unfold();
        match self.open.last_mut() {
            Some(OpenContainer::Array(items)) => items.push(value),
            Some(OpenContainer::Object(entries, key)) => {
                entries.insert(std::mem::take(key), value);
            }
            None => self.root = Some(value),
        }
    }

    /// The value so far.
    pub(crate) fn fold(&mut self) -> Option<&Value> {
        if self.fold == FoldState::Apart && (self.text.is_some() || !self.open.is_empty()) {
            self.fold = FoldState::Folded { text: self.text.is_some() };
            let mut inner = self.text.take().map(Value::String);
            for open in self.open.iter_mut().rev() {
                inner = Some(open.with(inner));
            }
            self.root = inner;
        }
        self.root.as_ref()
    }

    #[inline]
    fn unfold(&mut self) {
        if let FoldState::Folded { text } = self.fold {
            self.take_apart(text);
        }
    }

    #[cold]
    fn take_apart(&mut self, text: bool) {
        self.fold = FoldState::Apart;
        let mut value = self.root.take();
        let mut left = self.open.len() + usize::from(text);
        for open in &mut self.open {
            left -= 1;
            value = value.and_then(|value| open.without_last(value, left > 0));
        }
        if text {
            self.text = match value {
                Some(Value::String(text)) => Some(text),
                _ => Some(String::new()),
            };
        }
    }

    pub(crate) fn into_root(self) -> Option<Value> {
        self.root
    }
}

impl OpenContainer {
    /// The container as a value that includes its unfinished child. The key stays here.
    fn with(&mut self, inner: Option<Value>) -> Value {
        match self {
            Self::Array(items) => {
                items.extend(inner);
                Value::Array(std::mem::take(items))
            }
            Self::Object(entries, key) => {
                if let Some(inner) = inner {
                    match entries.get_mut(key.as_str()) {
                        Some(entry) => *entry = inner,
                        None => {
                            entries.insert(key.clone(), inner);
                        }
                    }
                }
                Value::Object(std::mem::take(entries))
            }
        }
    }

    /// Undoes [`with`](Self::with): restores the container and returns the unfinished child.
    fn without_last(&mut self, value: Value, inner: bool) -> Option<Value> {
        match (self, value) {
            (Self::Array(items), Value::Array(all)) => {
                *items = all;
                if inner { items.pop() } else { None }
            }
            (Self::Object(entries, key), Value::Object(all)) => {
                *entries = all;
                // Taken, not removed: the entry must keep its position among the keys.
                if inner { entries.get_mut(key.as_str()).map(Value::take) } else { None }
            }
            _ => None,
        }
    }
}

impl Visitor for ValueBuilder {
    #[inline]
    fn begin_object(&mut self) {
        self.begin(false);
    }

    #[inline]
    fn end_object(&mut self) {
        let value = self.end();
        self.add(value);
    }

    #[inline]
    fn begin_array(&mut self) {
        self.begin(true);
    }

    #[inline]
    fn end_array(&mut self) {
        let value = self.end();
        self.add(value);
    }

    #[inline]
    fn key(&mut self, key: &str) -> bool {
        self.set_key(key);
        true
    }

    #[inline]
    fn begin_string(&mut self) {
        self.unfold();
        self.text = Some(String::new());
    }

    #[inline]
    fn text(&mut self, part: &str) {
        self.unfold();
        if let Some(text) = &mut self.text {
            text.push_str(part);
        }
    }

    #[inline]
    fn end_string(&mut self) {
        self.unfold();
        if let Some(text) = self.text.take() {
            self.add(Value::String(text));
        }
    }

    #[inline]
    fn number(&mut self, text: &str) {
        self.add(number::value(text));
    }

    #[inline]
    fn bool(&mut self, value: bool) {
        self.add(Value::Bool(value));
    }

    #[inline]
    fn null(&mut self) {
        self.add(Value::Null);
    }
}
