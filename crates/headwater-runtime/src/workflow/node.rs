//! The functions that nodes are, and what they take.

use std::{future::Future, pin::Pin, sync::Arc};

use serde::{
    Deserializer,
    de::{DeserializeOwned, Visitor},
    forward_to_deserialize_any,
};
use serde_json::{Map, Value};

use crate::{Cx, Error, NodeResult, Result, error::ErrorKind};

/// What a node is called with: the raw input of the run, and the data of the nodes before it.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeInput {
    /// What the person wrote.
    pub raw: String,
    /// What the nodes before it gave, merged, and `rawInput`.
    pub data: Arc<Map<String, Value>>,
}

impl NodeInput {
    /// Reads it as what a node takes: a `String` is the raw input, any other type is read from the data.
    ///
    /// # Errors
    /// When the data is not of that type.
    pub fn read<T: DeserializeOwned>(self) -> Result<T> {
        let keys = self.data.keys().cloned().collect::<Vec<_>>().join(", ");
        T::deserialize(InputReader(&self)).map_err(|error| {
            let message = format!("the node's input cannot be read: {error}; the data so far has {keys}");
            Error::new(ErrorKind::Input, message)
        })
    }
}

/// Borrows the data: only what the node takes is copied.
struct InputReader<'a>(&'a NodeInput);

impl<'de> Deserializer<'de> for InputReader<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        (&*self.0.data).deserialize_any(visitor)
    }

    // A text is what the person wrote.
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_str(&self.0.raw)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_str(&self.0.raw)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        (&*self.0.data).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// An async function that can be a node: `async fn(Cx, T) -> NodeResult`.
pub trait NodeFunction<T>: Send + Sync + 'static {
    /// Runs the node.
    fn run(&self, cx: Cx, input: T) -> Pin<Box<dyn Future<Output = NodeResult> + Send>>;
}

impl<T, F, Fut> NodeFunction<T> for F
where
    F: Fn(Cx, T) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = NodeResult> + Send + 'static,
{
    fn run(&self, cx: Cx, input: T) -> Pin<Box<dyn Future<Output = NodeResult> + Send>> {
        Box::pin(self(cx, input))
    }
}

/// A node whose input type is known to itself alone.
pub(crate) type Handler =
    Arc<dyn Fn(Cx, NodeInput) -> Result<Pin<Box<dyn Future<Output = NodeResult> + Send>>> + Send + Sync>;

pub(crate) fn erase<T: DeserializeOwned + 'static>(function: impl NodeFunction<T>) -> Handler {
    Arc::new(move |cx, input| Ok(function.run(cx, input.read()?)))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    fn input() -> NodeInput {
        let Value::Object(data) = json!({ "rawInput": "hi", "city": "Oslo", "days": [1, 2] }) else {
            unreachable!()
        };
        NodeInput { raw: "hi".into(), data: Arc::new(data) }
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Trip {
        city: String,
        days: Vec<u32>,
    }

    #[test]
    fn a_string_is_the_raw_input_and_anything_else_is_read_from_the_data() {
        assert_eq!(input().read::<String>().unwrap(), "hi");
        assert_eq!(input().read::<Option<String>>().unwrap().as_deref(), Some("hi"));
        input().read::<()>().unwrap();
        assert_eq!(input().read::<Trip>().unwrap(), Trip { city: "Oslo".into(), days: vec![1, 2] });
        assert_eq!(input().read::<Value>().unwrap()["rawInput"], "hi");
        assert_eq!(input().read::<Map<String, Value>>().unwrap().len(), 3);
    }

    #[test]
    fn what_does_not_fit_says_what_there_is() {
        #[derive(Debug, Deserialize)]
        struct Other {
            #[allow(dead_code)]
            country: String,
        }
        let error = input().read::<Other>().unwrap_err().to_string();
        assert!(
            error.contains("missing field `country`") && error.contains("rawInput, city, days"),
            "{error}"
        );
    }
}
