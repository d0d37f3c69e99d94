//! Reads recorded deltas: one JSON string per line.
//!
//! JavaScript splits strings between UTF-16 units, so a delta may end with the first half of a surrogate
//! pair. That half is held back and prepended to the next delta.

use crate::failure::CommandFailure;

/// The bytes of each delta.
pub(super) fn read(lines: &[u8]) -> Result<Vec<Vec<u8>>, CommandFailure> {
    let text = std::str::from_utf8(lines)
        .map_err(|error| CommandFailure::new(format!("the deltas are not UTF-8: {error}")))?;
    let mut kept = String::new();
    let mut pieces = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong =
            |why: String| CommandFailure::new(format!("line {} must be a JSON string: {why}", index + 1));
        let inner = line
            .trim()
            .strip_prefix('"')
            .ok_or_else(|| wrong("it does not begin with a quote".to_owned()))?;
        let mut whole = format!("\"{kept}{inner}");
        kept.clear();
        if let Some(half) = half_at_end(&whole) {
            kept = half.to_owned();
            whole = format!("{}\"", whole.get(..whole.len() - half.len() - 1).unwrap_or_default());
        }
        let delta: String = serde_json::from_str(&whole).map_err(|error| wrong(error.to_string()))?;
        pieces.push(delta.into_bytes());
    }
    if kept.is_empty() {
        return Ok(pieces);
    }
    Err(CommandFailure::new("the last delta ends with half of a surrogate pair"))
}

/// The escaped first half of a surrogate pair, if it stands right before the closing quote.
fn half_at_end(string: &str) -> Option<&str> {
    let inner = string.strip_suffix('"')?;
    let at = inner.len().checked_sub(6)?;
    let (before, escape) = (inner.get(..at)?, inner.get(at..)?);
    let unit = u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()?;
    let escaped = before.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
    ((0xD800..0xDC00).contains(&unit) && !escaped).then_some(escape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_surrogate_pair_is_joined() {
        let pieces = read(b"\"a\\ud83d\"\n\"\\ude00b\"\n\n\"\\\\ud83d\"\n").unwrap();
        assert_eq!(pieces, ["a".as_bytes(), "😀b".as_bytes(), b"\\ud83d"]);
    }

    #[test]
    fn invalid_delta_is_reported_with_its_line() {
        assert_eq!(
            read(b"\"a\"\n12").unwrap_err().to_string(),
            "line 2 must be a JSON string: it does not begin with a quote"
        );
        assert!(read(b"\"\\ud83d\"").unwrap_err().to_string().contains("half of a surrogate pair"));
        assert!(read(b"\"\\ude00\"").unwrap_err().to_string().starts_with("line 1"));
    }
}
