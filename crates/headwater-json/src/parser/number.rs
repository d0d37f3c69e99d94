//! Syntax and values of numbers.

use serde_json::{Number, Value};

/// How much of a number has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Digits {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Digits {
    pub(super) fn first(byte: u8) -> Option<Self> {
        match byte {
            b'-' => Some(Self::Minus),
            b'0' => Some(Self::Zero),
            b'1'..=b'9' => Some(Self::Whole),
            _ => None,
        }
    }

    /// The state after one more byte, or `None` if the byte does not continue the number.
    #[inline]
    pub(super) fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Self::Whole,
            (Self::Zero | Self::Whole, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Self::E,
            (Self::E, b'+' | b'-') => Self::Sign,
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Self::Exponent,
            _ => return None,
        })
    }

    pub(super) fn is_whole_number(self) -> bool {
        matches!(self, Self::Zero | Self::Whole | Self::Fraction | Self::Exponent)
    }
}

/// Whether the number is within the range of a 64-bit float.
pub(super) fn in_range(text: &str, digits: Digits) -> bool {
    // Without an exponent, fewer than 309 digits are always in range.
    (digits != Digits::Exponent && text.len() < 309) || text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The value of a valid number, as `serde_json` reads it: 64-bit integers exactly, `-0` and all others as the
/// nearest 64-bit float.
pub(crate) fn value(text: &str) -> Value {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    if digits.len() < 19 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = digits.bytes().fold(0_i64, |sum, byte| sum * 10 + i64::from(byte - b'0'));
        if !negative {
            return number.into();
        }
        if number != 0 {
            return (-number).into();
        }
    }
    float_or_long(text)
}

#[cold]
fn float_or_long(text: &str) -> Value {
    if let Ok(number) = text.parse::<u64>() {
        return number.into();
    }
    match text.parse::<i64>() {
        Ok(number) if number != 0 => number.into(),
        _ => text.parse::<f64>().ok().and_then(Number::from_f64).map_or(Value::Null, Value::Number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_equal_those_of_serde_json() {
        let table = [
            "0",
            "-0",
            "-0.0",
            "7",
            "-7",
            "1.5",
            "-2.5e+10",
            "1E3",
            "1e-400",
            "0.1",
            "123456789012345678",
            "1234567890123456789",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "-9223372036854775809",
            "2.2250738585072014e-308",
            "1.7976931348623157e308",
            "3.141592653589793238462643383279",
        ];
        for text in table {
            let expected: Value = serde_json::from_str(text).unwrap();
            let ours = value(text);
            assert_eq!(ours, expected, "{text}");
            assert_eq!(ours.to_string(), expected.to_string(), "{text}");
        }
    }
}
