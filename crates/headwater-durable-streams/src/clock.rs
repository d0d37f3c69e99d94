//! Wall-clock times for expiry and cursors of the protocol.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// Random bytes as hexadecimal digits.
pub(crate) fn random_hex<const N: usize>() -> Result<String, crate::StreamError> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the system provides no random bytes");
        crate::StreamError::internal()
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
