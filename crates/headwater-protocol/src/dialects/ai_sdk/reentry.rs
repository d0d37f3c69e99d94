//! Coming back: the client sends no cursor and begins anew at `start`.

use super::encode::Encoder;
use crate::{encode::Encode, framing::FrameWriter, state::RunState};

/// Writes the fewest chunks that build the state again.
pub(super) fn reentry(encoder: &mut Encoder, state: &RunState, out: &mut FrameWriter) {
    for record in state.replay_open() {
        encoder.record(&record, out);
    }
}
