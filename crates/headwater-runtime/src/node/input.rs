//! The input of a node.

use std::sync::Arc;

use serde::{
    Deserializer,
    de::{DeserializeOwned, Visitor},
    forward_to_deserialize_any,
};
use serde_json::{Map, Value};

use crate::{Error, Result, error::ErrorKind};

/// The input of a node: the raw input of the run, and the data of the previous nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeInput {
    /// The person's message.
    pub raw: String,
    /// The merged data of the previous nodes, and `rawInput`.
    pub data: Arc<Map<String, Value>>,
}

impl NodeInput {
    /// Deserialises the input: a `String` is the raw input, any other type is read from the data.
    ///
    /// # Errors
    /// If the data is not of that type.
    pub fn read<T: DeserializeOwned>(self) -> Result<T> {
        let keys = self.data.keys().cloned().collect::<Vec<_>>().join(", ");
        T::deserialize(InputReader(&self)).map_err(|error| {
            let message = format!("the node's input cannot be read: {error}; the data so far has {keys}");
            Error::new(ErrorKind::Input, message)
        })
    }
}

/// Borrows the data, so that only the fields that the node takes are copied.
struct InputReader<'a>(&'a NodeInput);

impl<'de> Deserializer<'de> for InputReader<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        (&*self.0.data).deserialize_any(visitor)
    }

    // A node that takes a string gets the person's message.
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
    fn string_input_is_raw_and_other_types_come_from_data() {
        assert_eq!(input().read::<String>().unwrap(), "hi");
        assert_eq!(input().read::<Option<String>>().unwrap().as_deref(), Some("hi"));
        input().read::<()>().unwrap();
        assert_eq!(input().read::<Trip>().unwrap(), Trip { city: "Oslo".into(), days: vec![1, 2] });
        assert_eq!(input().read::<Value>().unwrap()["rawInput"], "hi");
        assert_eq!(input().read::<Map<String, Value>>().unwrap().len(), 3);
    }

    #[test]
    fn input_error_lists_the_available_data() {
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
