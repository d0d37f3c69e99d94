//! Coming back without a cursor.

use super::encode::Encoder;
use crate::{encode::Encode as _, framing::FrameWriter, state::RunState};

/// Says the run's state from `start` on, merged: for a client that begins with an empty message, such as a
/// page that was loaded again. The chunks are numbered anew, from the sequence that the encoder was given,
/// so a client that still holds what it had must resume by its last sequence instead.
pub(super) fn reentry(encoder: &mut Encoder, state: &RunState, out: &mut FrameWriter) {
    for record in state.replay_open() {
        encoder.record(&record, out);
    }
}
