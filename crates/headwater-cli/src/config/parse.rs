//! Parses sizes, durations and booleans.

use std::time::Duration;

/// A duration with its unit: `500ms`, `30s`, `5m`, `2h`, `7d`.
pub(crate) fn length(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let scale = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(format!("invalid duration `{text}`: use a whole number and ms, s, m, h or d")),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| format!("invalid duration `{text}`: use a whole number before the unit"))?;
    let milliseconds = number.checked_mul(scale).ok_or_else(|| format!("`{text}` is too long"))?;
    Ok(Duration::from_millis(milliseconds))
}

/// A number of bytes: `4096`, `64KiB`, `4MiB`, `1GiB`.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let (number, unit) = split(text);
    let scale: usize = match unit {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => {
            return Err(format!(
                "invalid size `{text}`: use a whole number, or one followed by KiB, MiB or GiB"
            ));
        }
    };
    let number: usize =
        number.parse().map_err(|_| format!("invalid size `{text}`: use a whole number before the unit"))?;
    number.checked_mul(scale).ok_or_else(|| format!("`{text}` is too large"))
}

pub(super) fn count(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("invalid number `{text}`: use a whole number"))
}

/// A boolean.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(format!("invalid value `{text}`: use `true` or `false`")),
    }
}

/// Splits `name=secret`; a secret alone has no name. The `=` padding of base64 does not separate.
pub(super) fn named_secret(text: &str) -> (Option<&str>, &str) {
    match text.split_once('=') {
        Some((name, secret)) if is_name(name) && !secret.trim_matches('=').is_empty() => (Some(name), secret),
        _ => (None, text),
    }
}

/// Whether a text is a valid principal name for a key.
pub(super) fn is_name(text: &str) -> bool {
    let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | '@');
    !text.is_empty() && text.len() <= 64 && text.chars().all(allowed)
}

fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let at = text.find(|char: char| !char.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(at)
}
