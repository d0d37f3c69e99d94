//! Loops over bytes of strings.

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Offset of the next byte that ends plain text in a string: a quote, a backslash or a control character.
/// Returns the length if there is no such byte.
///
/// Examines eight bytes per step. The masks may have false hits above the first true one, never below.
#[inline]
pub(crate) fn plain_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let found = stops(u64::from_le_bytes(*word));
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let left = bytes.len().saturating_sub(at);
    if left == 0 {
        return bytes.len();
    }
    // The last bytes, at the low end of a word padded with spaces.
    let word = match bytes.last_chunk() {
        Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * left),
        None => bytes.iter().skip(at).rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let found = stops(word | (ONES * 0x20) << (8 * left));
    if found == 0 { bytes.len() } else { at + (found.trailing_zeros() / 8) as usize }
}

/// Sets the high bit of the first byte that is a quote, a backslash or a control character, and no bit below
/// it.
#[inline]
fn stops(word: u64) -> u64 {
    let quote = zero_byte(word ^ (ONES * 0x22));
    let backslash = zero_byte(word ^ (ONES * 0x5C));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGHS
}

#[inline]
fn zero_byte(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_end_finds_every_stop_byte_at_every_position() {
        for byte in 0..=255_u8 {
            for place in 0..19 {
                let mut bytes = *b"plain text \xF0\x9F\x98\x80 and";
                bytes[place] = byte;
                let stops = byte == b'"' || byte == b'\\' || byte < 0x20;
                let expected = if stops { place } else { bytes.len() };
                assert_eq!(plain_end(&bytes, 0), expected, "byte {byte} at {place}");
                assert_eq!(plain_end(&bytes, place), expected, "byte {byte} from {place}");
                let end = place + 1;
                assert_eq!(plain_end(&bytes[..end], 0), expected.min(end), "byte {byte} before {end}");
            }
        }
    }
}
