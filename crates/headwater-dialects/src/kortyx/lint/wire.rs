//! Checks the bytes the way Kortyx' own parser splits them: at `\n\n`, taking what follows `data: ` at the
//! beginning of a piece and skipping every other piece.

use memchr::{memchr, memmem};

use crate::lint::Findings;

/// A position at which the parser fails.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hazard {
    /// Where the piece begins.
    pub(super) start: u64,
    rule: &'static str,
    seen: String,
}

impl Hazard {
    pub(super) fn report(self, findings: &mut Findings) {
        let expected = match self.rule {
            "only-data-in-a-block" => "one `data: ` line in the block",
            "block-begins-with-data" => "`data: ` at the beginning of the block",
            "lines-end-with-lf" => "lines that end with LF",
            _ => "an empty line after the last block",
        };
        findings.add(self.rule, self.seen, expected);
    }
}

/// All such positions, in stream order.
pub(super) fn hazards(stream: &[u8]) -> Vec<Hazard> {
    let mut found = Vec::new();
    let mut start = if stream.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    while let Some(rest) = stream.get(start..).filter(|rest| !rest.is_empty()) {
        let end = memmem::find(rest, b"\n\n");
        let piece = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        if let Some((rule, seen)) = hazard(piece, end.is_some()) {
            found.push(Hazard { start: start as u64, rule, seen });
        }
        start += piece.len() + 2;
    }
    found
}

fn hazard(piece: &[u8], ended: bool) -> Option<(&'static str, String)> {
    if !lines(piece).any(|line| line == b"data" || line.starts_with(b"data:")) {
        return None;
    }
    if memchr(b'\r', piece).is_some() {
        return Some(("lines-end-with-lf", "a CR".to_owned()));
    }
    if !ended {
        return Some(("last-block-is-ended", "the end of the stream within a block".to_owned()));
    }
    let Some(payload) = piece.strip_prefix(b"data: ") else {
        return Some(("block-begins-with-data", format!("a block that begins with {}", head(piece))));
    };
    let second = payload.get(memchr(b'\n', payload)? + 1..)?;
    Some(("only-data-in-a-block", format!("another line, {}", head(second))))
}

fn lines(piece: &[u8]) -> impl Iterator<Item = &[u8]> {
    piece.split(|byte| matches!(byte, b'\n' | b'\r'))
}

fn head(bytes: &[u8]) -> String {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let text: String = String::from_utf8_lossy(line).chars().take(24).collect();
    format!("{text:?}")
}
