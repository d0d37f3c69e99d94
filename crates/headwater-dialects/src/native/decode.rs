//! Decodes frames of the native wire.

use headwater_protocol::{Error, ErrorKind, Event, Frame, native};

use crate::decode::{Decode, DecodeOutput};

/// Decodes the native wire. An event of an unknown kind becomes [`Event::Unknown`].
#[derive(Debug, Default)]
pub(super) struct NativeDecoder {
    /// The run has ended or waits: a stream may stop here.
    complete: bool,
    started: bool,
}

impl Decode for NativeDecoder {
    fn frame(&mut self, frame: &Frame<'_>, out: &mut DecodeOutput) {
        self.started = true;
        match native::read_record(frame.data) {
            Ok(read) => {
                let event = &read.record.event;
                self.complete = event.kind().ends_run() || matches!(event, Event::RunWaiting(_));
                let problems = read.problems.into_iter().map(|error| error.at(frame.index, frame.offset));
                out.errors.extend(problems);
                out.records.push(read.record);
            }
            Err(error) => out.errors.push(error.at(frame.index, frame.offset)),
        }
    }

    fn end(&mut self, out: &mut DecodeOutput) {
        if self.started && !self.complete {
            let message = "the stream ended before the run did: reconnect with the last cursor";
            out.errors.push(Error::new(ErrorKind::Cut, message));
        }
    }
}
