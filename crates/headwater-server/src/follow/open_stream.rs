//! Metrics of an open stream.

use std::{sync::LazyLock, time::SystemTime};

use bytes::Bytes;
use headwater_protocol::Framing;
use memchr::{memchr_iter, memmem::Finder};
use metrics::{Counter, Gauge, counter, gauge};

use super::{reader_presence::ReaderPresence, streams::AttachedReader};
use crate::limits::Permit;

/// Finds the end of a frame. Building it takes longer than searching a short frame.
static FRAME_END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\n\n"));

/// Counts a stream while it is open, and its bytes and frames.
#[derive(Debug)]
pub(crate) struct OpenStream {
    framing: Framing,
    open: Gauge,
    bytes: Counter,
    frames: Counter,
    permit: Permit,
    _reader: Option<AttachedReader>,
    presence: Option<ReaderPresence>,
}

impl OpenStream {
    /// `reader` counts it among the readers of a run.
    pub(crate) fn new(
        dialect: &'static str,
        framing: Framing,
        permit: Permit,
        reader: Option<AttachedReader>,
        presence: Option<ReaderPresence>,
    ) -> Self {
        let open = gauge!("headwater_streams_open", "dialect" => dialect);
        open.increment(1.0);
        Self {
            framing,
            open,
            bytes: counter!("headwater_stream_bytes_total", "dialect" => dialect),
            frames: counter!("headwater_stream_frames_total", "dialect" => dialect),
            permit,
            _reader: reader,
            presence,
        }
    }

    /// When the reader's token expires.
    pub(crate) fn expiry(&self) -> Option<SystemTime> {
        self.permit.expiry()
    }

    /// Marks a normal end, or one by the server: the reader did not disconnect.
    pub(crate) fn end(&mut self) {
        if let Some(presence) = &mut self.presence {
            presence.end();
        }
    }

    /// Counts bytes that are about to be sent.
    pub(crate) fn sends(&self, sent: &Bytes) {
        let frames = match self.framing {
            Framing::Sse => FRAME_END.find_iter(sent).count(),
            Framing::Ndjson => memchr_iter(b'\n', sent).count(),
        };
        self.bytes.increment(sent.len() as u64);
        self.frames.increment(frames as u64);
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.open.decrement(1.0);
    }
}
