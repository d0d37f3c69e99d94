//! The stream for a page that reconnects without a cursor: the state, then new events.

use headwater_protocol::{Event, FrameWriter, InterruptAnswered, RunState, ToolOutput};

use super::{Chunk, ChunkSink, TanstackEncoder, write};
use crate::encode::Encode as _;

impl TanstackEncoder {
    /// Sends a state with the fewest chunks. A new response is a new message on the page, so everything is
    /// sent whole, and the encoder continues from there.
    pub(super) fn rebuild(&mut self, state: &RunState, out: &mut FrameWriter) {
        let replay = state.replay_open();
        self.answered = replay.iter().filter_map(|record| answered(&record.event)).collect();
        for record in &replay {
            self.record(record, out);
        }
        if let Some(record) = replay.last() {
            let mut buffers = std::mem::take(&mut self.buffers);
            let to = &mut |chunk: &Chunk<'_>| write(chunk, out);
            self.send_grown_objects(&mut ChunkSink { to, record, buffers: &mut buffers, count: 1 });
            self.buffers = buffers;
        }
        self.answered.clear();
    }
}

/// The id of the call or request that an event completes.
fn answered(event: &Event) -> Option<String> {
    match event {
        Event::ToolOutput(ToolOutput { preliminary: true, .. }) => None,
        Event::ApprovalAnswered(answered) => Some(answered.approval.to_string()),
        Event::InterruptAnswered(InterruptAnswered { request, .. }) | Event::InterruptExpired { request } => {
            Some(request.to_string())
        }
        event => event.settled_call().map(ToString::to_string),
    }
}
