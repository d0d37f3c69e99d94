//! Keys of several parts, some of them chosen by clients.
//!
//! Values are listed and removed by prefix, so the end of an id must be unambiguous: every part is encoded
//! and ends with a `/` that no encoded part contains. So no key of one id is a prefix of a key of another.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

/// The longest part that is stored literally. Longer ones are replaced by their hash.
const LONGEST: usize = 256;

/// A key, or a prefix of keys: a kind and parts.
///
/// ```
/// use headwater_store::key;
///
/// assert_eq!(key::join("session", &["ann", "chat/1"]), "session/ann/chat%2F1/");
/// assert_eq!(key::split("session/ann/", "session/ann/chat%2F1/"), Some(vec!["chat/1".to_owned()]));
/// ```
#[must_use]
pub fn join(kind: &str, parts: &[&str]) -> String {
    let mut key =
        String::with_capacity(kind.len() + 1 + parts.iter().map(|part| part.len() + 1).sum::<usize>());
    key.push_str(kind);
    key.push('/');
    for part in parts {
        encode(part, &mut key);
        key.push('/');
    }
    key
}

/// The parts of a key after a prefix; `None` if the key has another prefix or a part that cannot be decoded.
#[must_use]
pub fn split(prefix: &str, key: &str) -> Option<Vec<String>> {
    key.strip_prefix(prefix)?.strip_suffix('/')?.split('/').map(decode).collect()
}

fn encode(part: &str, key: &mut String) {
    if part.len() > LONGEST {
        key.push('=');
        key.push_str(&URL_SAFE_NO_PAD.encode(Sha256::digest(part)));
        return;
    }
    for byte in part.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            key.push(char::from(byte));
        } else {
            let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0').to_ascii_uppercase();
            key.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

fn decode(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let mut half =
                    || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                bytes.push(half()? << 4 | half()?);
            }
            b'=' => return None,
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_round_trip() {
        for part in ["", "/", "%", "=", "a/b", "é\u{0}\n", "..", "*", "run_1", &"x".repeat(LONGEST)] {
            let key = join("kind", &[part, "b"]);
            assert_eq!(split("kind/", &key), Some(vec![part.to_owned(), "b".to_owned()]), "{key}");
        }
    }

    #[test]
    fn long_part_is_hashed_and_cannot_be_decoded() {
        let key = join("kind", &[&"é".repeat(4_000)]);
        assert!(key.len() < 64, "{key}");
        assert_eq!(split("kind/", &key), None);
        assert_ne!(key, join("kind", &[&"é".repeat(4_001)]));
    }

    #[test]
    fn key_of_one_part_is_not_a_prefix_of_another() {
        let parts = ["", "a", "a/", "a/b", "ab", "%", "%2F", "=", "a%2Fb", "-"];
        for one in parts {
            for other in parts.into_iter().filter(|other| *other != one) {
                assert!(!join("kind", &[other]).starts_with(&join("kind", &[one])), "{one:?} {other:?}");
                assert!(!join("kind", &[other, "x"]).starts_with(&join("kind", &[one])), "{one:?} {other:?}");
            }
        }
    }
}
