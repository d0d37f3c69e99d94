//! What a client without a cursor is told when it comes back.

use super::{chunk::Chunk, encode::Encoder};
use crate::state::RunState;

/// The fewest events that rebuild the state, and then the same encoder goes on.
pub(super) fn reentry(encoder: &mut Encoder, state: &RunState, sink: &mut dyn FnMut(&Chunk<'_>)) {
    for record in state.replay() {
        encoder.chunks(&record, sink);
    }
    encoder.come_back(state);
}
