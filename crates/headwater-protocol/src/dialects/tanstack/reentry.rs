//! Coming back: the client cannot say where it was, so it is told the state and then what is new.

use super::encode::Encoder;
use crate::{encode::Encode, framing::FrameWriter, state::RunState};

/// Says a state with the fewest chunks. A fresh response is a fresh message on the page, so what is
/// said is whole, and the encoder goes on from there.
pub(super) fn reentry(encoder: &mut Encoder, state: &RunState, out: &mut FrameWriter) {
    for record in state.replay() {
        encoder.record(&record, out);
    }
}
