//! Limits of structured streams.

/// Limits on the memory that a few bytes of input can make the reducer use.
///
/// ```
/// use headwater_protocol::{StructuredLimits, StructuredOp, StructuredState, StructuredUpdate};
///
/// let mut limits = StructuredLimits::default();
/// limits.max_unset = 2;
/// let far = StructuredUpdate::new("s1", "t", StructuredOp::set("rows.3", "x"));
/// assert!(StructuredState::begin_within(limits, far).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StructuredLimits {
    /// Maximum number of unset array elements of one stream. A path such as `rows.900` on an empty array
    /// leaves 900 of them, which later updates may fill. Default 100,000; never more than 16,777,216, because
    /// each takes memory.
    pub max_unset: usize,
    /// Maximum nesting depth of the data of one stream. The default of 120 stays below the 128 levels that
    /// `serde_json` reads, so that a serialized state can be read back.
    pub max_depth: usize,
    /// Maximum number of streams in a [`StructuredStreams`](crate::StructuredStreams). Default 10,000.
    pub max_streams: usize,
}

impl StructuredLimits {
    pub(super) const MOST_UNSET: usize = 1 << 24;
}

impl Default for StructuredLimits {
    fn default() -> Self {
        Self { max_unset: 100_000, max_depth: 120, max_streams: 10_000 }
    }
}
