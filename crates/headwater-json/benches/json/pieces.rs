//! Splits a document into pieces.

/// Pieces of this many bytes, or slightly fewer to avoid splitting a character.
pub(crate) fn split(text: &str, piece: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = piece.min(rest.len());
        while !rest.is_char_boundary(end) {
            end = if end > 1 { end - 1 } else { rest.chars().next().map_or(1, char::len_utf8) };
        }
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}
