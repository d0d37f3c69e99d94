//! Decoding stored data: everything written can be read back, however deeply it is nested.
//!
//! serde_json refuses JSON nested deeper than 128 levels, even its own output. A value within the limit for
//! requests can be deeper than that once it is part of a record, and an unreadable record blocks its run
//! forever. So everything that comes from the store is decoded here.

use serde::de::{Deserialize, Error as _};

use crate::limits;

/// The deepest nesting that is decoded. Far above the limit for requests (64) plus the levels that records
/// add, and low enough for the stack of a worker thread.
const MAX_DEPTH: usize = 512;

/// Decodes a stored record, head, checkpoint or other value.
///
/// # Errors
/// When the bytes are not JSON of that form, or are nested deeper than any value that this crate writes.
pub(crate) fn decode<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> serde_json::Result<T> {
    // Decoding recurses to the depth of the stored data, so the depth is measured first.
    if limits::nested(MAX_DEPTH).check(bytes).is_err() {
        return Err(serde_json::Error::custom(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// The size of a value as JSON, without building the text.
pub(crate) fn json_size(value: &impl serde::Serialize) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // A value that cannot be written as JSON is refused when it is written.
    let _ = serde_json::to_writer(&mut counter, value);
    counter.0
}

#[cfg(test)]
mod tests {
    use headwater_protocol::Event;
    use serde_json::Value;

    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}1{}", "{\"a\":[".repeat(levels / 2), "]}".repeat(levels / 2))
    }

    #[test]
    fn values_nested_deeper_than_serde_json_allows_are_read() {
        let text = nested(MAX_DEPTH - 20);
        assert!(serde_json::from_str::<Value>(&text).is_err(), "the case is one that serde_json refuses");
        let value: Value = decode(text.as_bytes()).unwrap();
        assert_eq!(value.to_string(), text);
        // Tagged enums buffer their content before they know their type, which uses more stack.
        let event = format!("{{\"type\":\"data\",\"name\":\"n\",\"data\":{text}}}");
        decode::<Event>(event.as_bytes()).unwrap();
    }

    #[test]
    fn values_nested_too_deep_for_the_stack_are_refused() {
        let text = nested(1_000_000);
        let error = decode::<Value>(text.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("nested deeper than 512 levels"), "{error}");
    }

    #[test]
    fn brackets_in_strings_are_not_nesting() {
        let text = format!("[\"{}\", \"\\\"{}\\\\\"]", "[".repeat(2_000), "{".repeat(2_000));
        decode::<Value>(text.as_bytes()).unwrap();
        assert!(decode::<Value>(b"[1] trailing").is_err());
    }
}
