//! Offsets: positions between appends.

use std::fmt;

use crate::StreamError;

/// A position: the number of preceding appends of the stream, including inherited ones.
///
/// It is written as two numbers of 16 digits, so that text order equals stream order. The first number is 0
/// for streams; the stream of a run has the epoch of the record there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Offset {
    /// The epoch.
    pub epoch: u64,
    /// The number of records before the position.
    pub position: u64,
}

impl Offset {
    /// A position in a stream of this crate.
    #[must_use]
    pub const fn at(position: u64) -> Self {
        Self { epoch: 0, position }
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016}_{:016}", self.epoch, self.position)
    }
}

/// Parses the text form of an [`Offset`].
///
/// # Errors
/// 400 `offset.invalid` for any other text.
pub fn parse_offset(text: &str) -> Result<Offset, StreamError> {
    let number = |digits: &str| {
        let valid = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_digit());
        valid.then(|| digits.parse().ok()).flatten()
    };
    let parsed = text
        .split_once('_')
        .and_then(|(epoch, position)| Some(Offset { epoch: number(epoch)?, position: number(position)? }));
    parsed.ok_or_else(|| {
        StreamError::bad(
            "offset.invalid",
            "invalid offset: send `-1`, `now`, or one that a response gave you",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_order_is_stream_order() {
        let offsets = [Offset::at(0), Offset::at(9), Offset::at(10), Offset { epoch: 1, position: 3 }];
        assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(offsets.windows(2).all(|pair| pair[0].to_string() < pair[1].to_string()));
        for offset in offsets {
            assert_eq!(parse_offset(&offset.to_string()).unwrap(), offset);
        }
    }

    #[test]
    fn malformed_offsets_are_refused() {
        for text in [
            "",
            "1",
            "-1",
            "now",
            "a_b",
            "0000000000000000_000000000000000",
            "0000000000000000,0000000000000000",
        ] {
            assert!(parse_offset(text).is_err(), "{text}");
        }
    }
}
