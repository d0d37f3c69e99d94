//! The loops that see most bytes.

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Where the next byte is that ends a run of plain text in a string: a quote, a backslash or a control character.
/// The length if there is none.
///
/// Eight bytes are looked at in one step. The masks may have false hits above the first true one, never below.
#[inline]
pub(super) fn plain_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let (words, tail) = rest.as_chunks::<8>();
    let mut at = from;
    for word in words {
        let word = u64::from_le_bytes(*word);
        let quote = zero_byte(word ^ (ONES * 0x22));
        let backslash = zero_byte(word ^ (ONES * 0x5C));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (quote | backslash | control) & HIGHS;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    for &byte in tail {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            return at;
        }
        at += 1;
    }
    at
}

/// Has the high bit of the lowest zero byte set, and none below it.
#[inline]
fn zero_byte(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_judged_alike_at_every_place() {
        for byte in 0..=255_u8 {
            for place in 0..19 {
                let mut bytes = *b"plain text \xF0\x9F\x98\x80 and";
                bytes[place] = byte;
                let stops = byte == b'"' || byte == b'\\' || byte < 0x20;
                let expected = if stops { place } else { bytes.len() };
                assert_eq!(plain_end(&bytes, 0), expected, "byte {byte} at {place}");
                assert_eq!(plain_end(&bytes, place), expected, "byte {byte} from {place}");
            }
        }
    }
}
