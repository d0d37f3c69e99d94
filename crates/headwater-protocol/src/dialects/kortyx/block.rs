//! Which block of text a chunk belongs to, and which attempt.
//!
//! A chunk may name its block or not. If it does not, hook call and segment tell one block from another, as
//! they do in Kortyx' own page: `opId:segmentId`, or the one of them that is given, or the node.
//!
//! That page begins a new piece of text where the segment changes, and it cannot take text back. So the
//! segment of a text that belongs to an attempt ends with that attempt: what the next attempt says is
//! then never appended to what the dead one said.

use crate::{event::Origin, id::AttemptId};

/// The block of a chunk that tells nothing at all.
pub(super) const ANONYMOUS: &str = "text";

const SEPARATOR: char = '~';

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// The block of a chunk that does not name it.
pub(super) fn identity(origin: &Origin) -> String {
    let operation = given(origin.operation.as_deref());
    match (operation, given(origin.segment.as_deref())) {
        (Some(operation), Some(segment)) => format!("{operation}:{segment}"),
        (None, Some(only)) | (Some(only), None) => only.to_owned(),
        (None, None) => given(origin.node.as_deref()).unwrap_or(ANONYMOUS).to_owned(),
    }
}

/// Whether a block is the one that a chunk belongs to which does not name it.
pub(super) fn is_identity(id: &str, origin: &Origin) -> bool {
    let operation = given(origin.operation.as_deref());
    match (operation, given(origin.segment.as_deref())) {
        (Some(operation), Some(segment)) => id
            .strip_prefix(operation)
            .and_then(|rest| rest.strip_prefix(':'))
            .is_some_and(|rest| rest == segment),
        (None, Some(only)) | (Some(only), None) => id == only,
        (None, None) => id == given(origin.node.as_deref()).unwrap_or(ANONYMOUS),
    }
}

/// Writes the segment that stands on the wire; nothing if there is none.
pub(super) fn write_segment<'a>(origin: &'a Origin, buffer: &'a mut String) -> Option<&'a str> {
    let Some(attempt) = &origin.attempt else {
        return origin.segment.as_deref();
    };
    let Some(segment) = &origin.segment else {
        return Some(attempt.as_str());
    };
    buffer.clear();
    buffer.push_str(segment);
    buffer.push(SEPARATOR);
    buffer.push_str(attempt.as_str());
    Some(buffer)
}

/// Reads back what [`write_segment`] wrote.
pub(super) fn read_segment(mut segment: String, attempt: Option<&AttemptId>) -> Option<String> {
    let Some(attempt) = attempt.map(AttemptId::as_str) else {
        return Some(segment);
    };
    if segment == attempt {
        return None;
    }
    let own = segment.strip_suffix(attempt).and_then(|own| own.strip_suffix(SEPARATOR)).map(str::len);
    if let Some(own) = own {
        segment.truncate(own);
    }
    Some(segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(operation: &str, segment: &str, node: &str) -> Origin {
        let some = |text: &str| Some(text.to_owned());
        Origin { operation: some(operation), segment: some(segment), node: some(node), ..Origin::default() }
    }

    #[test]
    fn a_block_without_a_name_is_told_by_the_best_of_what_is_given() {
        let table = [
            (origin("op", "s", "n"), "op:s"),
            (origin("", "s", "n"), "s"),
            (origin("op", "", "n"), "op"),
            (origin("", "", "n"), "n"),
            (origin("", "", ""), ANONYMOUS),
            (Origin::default(), ANONYMOUS),
        ];
        for (origin, expected) in table {
            assert_eq!(identity(&origin), expected);
            assert!(is_identity(expected, &origin), "{expected}");
            assert!(!is_identity("other", &origin), "{expected}");
        }
    }

    #[test]
    fn the_segment_of_an_attempt_is_read_back() {
        let mut buffer = String::new();
        for (segment, attempt, wire) in [
            (None, None, None),
            (Some("s"), None, Some("s")),
            (None, Some("a2"), Some("a2")),
            (Some("s"), Some("a2"), Some("s~a2")),
            (Some("a2"), Some("a2"), Some("a2~a2")),
            (Some(""), Some("a2"), Some("~a2")),
        ] {
            let attempt = attempt.map(AttemptId::from);
            let origin =
                Origin { segment: segment.map(str::to_owned), attempt: attempt.clone(), ..Origin::default() };
            let written = write_segment(&origin, &mut buffer).map(str::to_owned);
            assert_eq!(written.as_deref(), wire);
            let read = written.and_then(|written| read_segment(written, attempt.as_ref()));
            assert_eq!(read.as_deref(), segment);
        }
    }
}
