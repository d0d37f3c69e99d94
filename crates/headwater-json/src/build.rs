//! Builds values while they arrive.

use serde_json::{Map, Value};

use crate::parser::number;
use crate::visit::Visit;

/// The containers that are open, each without the one that is open within it.
///
/// That keeps every step in constant time. [`fold`](Self::fold) puts the open ones into each other to be looked at, and
/// the next step takes them apart again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Builder {
    open: Vec<Open>,
    /// The string that is open.
    text: Option<String>,
    /// The whole value, or all that there is of it while it is folded.
    root: Option<Value>,
    fold: Fold,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Fold {
    #[default]
    Apart,
    /// Everything is in the root, with the open string if there is one.
    Folded { text: bool },
}

#[derive(Debug, Clone)]
enum Open {
    Array(Vec<Value>),
    /// The entries, and the key that waits for its value.
    Object(Map<String, Value>, String),
}

impl Builder {
    #[inline]
    pub(crate) fn begin(&mut self, array: bool) {
        self.unfold();
        self.open.push(if array { Open::Array(Vec::new()) } else { Open::Object(Map::new(), String::new()) });
    }

    #[inline]
    pub(crate) fn set_key(&mut self, key: &str) {
        self.unfold();
        if let Some(Open::Object(_, waiting)) = self.open.last_mut() {
            *waiting = key.to_owned();
        }
    }

    /// Takes out the innermost container, which is whole now.
    #[inline]
    pub(crate) fn end(&mut self) -> Value {
        self.unfold();
        match self.open.pop() {
            Some(Open::Array(items)) => Value::Array(items),
            Some(Open::Object(entries, _)) => Value::Object(entries),
            None => Value::Null,
        }
    }

    /// Puts a whole value where it belongs.
    #[inline]
    pub(crate) fn add(&mut self, value: Value) {
        self.unfold();
        match self.open.last_mut() {
            Some(Open::Array(items)) => items.push(value),
            Some(Open::Object(entries, key)) => {
                entries.insert(std::mem::take(key), value);
            }
            None => self.root = Some(value),
        }
    }

    /// All that there is so far.
    pub(crate) fn fold(&mut self) -> Option<&Value> {
        if self.fold == Fold::Apart && (self.text.is_some() || !self.open.is_empty()) {
            self.fold = Fold::Folded { text: self.text.is_some() };
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
        if let Fold::Folded { text } = self.fold {
            self.take_apart(text);
        }
    }

    #[cold]
    fn take_apart(&mut self, text: bool) {
        self.fold = Fold::Apart;
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

impl Open {
    /// The container as a value, with what is open within it; its key stays here.
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

    /// Takes the container back, and gives out what is open within it.
    fn without_last(&mut self, value: Value, inner: bool) -> Option<Value> {
        match (self, value) {
            (Self::Array(items), Value::Array(all)) => {
                *items = all;
                if inner { items.pop() } else { None }
            }
            (Self::Object(entries, key), Value::Object(all)) => {
                *entries = all;
                // The entry keeps its place until it comes back.
                if inner { entries.get_mut(key.as_str()).map(Value::take) } else { None }
            }
            _ => None,
        }
    }
}

impl Visit for Builder {
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
