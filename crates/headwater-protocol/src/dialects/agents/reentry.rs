//! What a client without a cursor is told when it comes back.

use super::{chunk::Chunk, encode::Encoder};
use crate::{
    event::{Event, Record, RunStarted},
    state::RunState,
};

/// The fewest events that rebuild the state, and then the same encoder goes on.
pub(super) fn reentry(encoder: &mut Encoder, state: &RunState, sink: &mut dyn FnMut(&Chunk<'_>)) {
    // A run that has not said who it is will still do so, in its `meta`.
    let nameless = |record: &&Record| match &record.event {
        Event::RunStarted(started) => *started == RunStarted::default(),
        _ => false,
    };
    for record in state.replay_open().iter().filter(|record| !nameless(record)) {
        encoder.chunks(record, sink);
    }
    encoder.come_back(state);
}
