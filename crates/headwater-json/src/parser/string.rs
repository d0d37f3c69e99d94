//! Escapes in strings, which may be split between any two bytes.

use crate::error::ErrorKind;

/// How much of an escape has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Escape {
    /// No escape is open.
    #[default]
    None,
    /// `\`
    Backslash,
    /// `\u` and this many digits.
    Unit { digits: u8, unit: u16 },
    /// The first half of a surrogate pair, such as `\ud83d`.
    High(u16),
    /// A high surrogate and a `\`.
    HighBackslash(u16),
    /// A high surrogate, `\u` and this many digits.
    Low { high: u16, digits: u8, unit: u16 },
}

impl Escape {
    /// Reads one more byte; a complete character is pushed to `out`.
    #[inline]
    pub(super) fn next(self, byte: u8, out: &mut String) -> Result<Self, ErrorKind> {
        match self {
            Self::None | Self::Backslash => {
                out.push(match byte {
                    b'"' => '"',
                    b'\\' => '\\',
                    b'/' => '/',
                    b'n' => '\n',
                    b't' => '\t',
                    b'r' => '\r',
                    b'b' => '\u{8}',
                    b'f' => '\u{c}',
                    b'u' => return Ok(Self::Unit { digits: 0, unit: 0 }),
                    _ => return Err(ErrorKind::InvalidEscape),
                });
                Ok(Self::None)
            }
            Self::Unit { digits, unit } => {
                let unit = hex(unit, byte)?;
                if digits < 3 {
                    return Ok(Self::Unit { digits: digits + 1, unit });
                }
                match unit {
                    0xD800..=0xDBFF => Ok(Self::High(unit)),
                    _ => {
                        // Only a lone low surrogate is not a character.
                        out.push(char::from_u32(u32::from(unit)).ok_or(ErrorKind::LoneSurrogate)?);
                        Ok(Self::None)
                    }
                }
            }
            Self::High(high) if byte == b'\\' => Ok(Self::HighBackslash(high)),
            Self::HighBackslash(high) if byte == b'u' => Ok(Self::Low { high, digits: 0, unit: 0 }),
            Self::High(_) | Self::HighBackslash(_) => Err(ErrorKind::LoneSurrogate),
            Self::Low { high, digits, unit } => {
                let unit = hex(unit, byte)?;
                if digits < 3 {
                    return Ok(Self::Low { high, digits: digits + 1, unit });
                }
                let pair = char::decode_utf16([high, unit]).next();
                out.push(pair.and_then(Result::ok).ok_or(ErrorKind::LoneSurrogate)?);
                Ok(Self::None)
            }
        }
    }
}

#[inline]
fn hex(unit: u16, byte: u8) -> Result<u16, ErrorKind> {
    let digit = char::from(byte).to_digit(16).ok_or(ErrorKind::InvalidEscape)?;
    Ok(unit << 4 | u16::try_from(digit).map_err(|_| ErrorKind::InvalidEscape)?)
}
