//! The stream for a page that was away.
//!
//! Its reader has no cursor and builds its state from chunks alone, so it is told the fewest events that
//! build the state: a text of a thousand deltas is one.

use super::encode::Encoder;
use crate::{encode::Encode, framing::FrameWriter, state::RunState};

pub(super) fn write(encoder: &mut Encoder, state: &RunState, out: &mut FrameWriter) {
    for record in state.replay_open() {
        encoder.record(&record, out);
        encoder.note_resumed(&record);
    }
}
