//! What one stream, and one set of streams, may grow to.

/// Bounds on what a few bytes of input can make the reducer hold.
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
    /// How many array elements of one stream may be unset at a time. A path such as `rows.900`
    /// on an empty array leaves 900 of them, which later updates may fill. Default 100,000; more than
    /// 16,777,216 is never allowed, as every one of them takes memory.
    pub max_unset: usize,
    /// How many containers deep the data of one stream may nest. The default, 120, stays below the
    /// 128 levels that `serde_json` reads, so a state that was written can be read back.
    pub max_depth: usize,
    /// How many streams a [`StructuredStreams`](crate::StructuredStreams) holds. Default 10,000.
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
