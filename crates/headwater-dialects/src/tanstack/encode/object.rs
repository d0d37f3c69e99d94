//! Structured objects, sent as calls of a tool named after the type of the object, with the object as output.

use headwater_protocol::{
    Event, Origin, Record, StructuredUpdate, ToolCall, ToolInputAvailable, ToolOutput, ToolOutputError,
};
use serde_json::{Value, json};

use super::{ChunkSink, TanstackEncoder};

impl TanstackEncoder {
    pub(super) fn structured(&mut self, sink: &mut ChunkSink<'_>, update: &StructuredUpdate) {
        let Some(object) = self.objects.apply(update, sink.record.time) else { return };
        let (data, complete) = (object.data(), object.complete);
        self.object(sink, &update.stream, &update.data_type, data, complete);
    }

    /// Sends the objects that have grown since they were last sent.
    pub(super) fn send_grown_objects(&mut self, sink: &mut ChunkSink<'_>) {
        let grown = self.objects.unsent().map(|object| {
            let state = object.state;
            (state.stream().to_owned(), state.data_type().to_owned(), object.data())
        });
        let grown: Vec<_> = grown.collect();
        for (stream, data_type, data) in grown {
            self.object(sink, &stream, &data_type, data, false);
        }
    }

    /// The page cannot remove a call, so it shows an error as its output.
    pub(super) fn invalidate(&mut self, sink: &mut ChunkSink<'_>, stream: &str) {
        self.objects.invalidate(stream);
        if self.object_calls.remove(stream) {
            let error = "the object was withdrawn".to_owned();
            self.synthesize(
                sink,
                Event::ToolOutputError(ToolOutputError { call: stream.into(), error, ..Default::default() }),
            );
        }
    }

    fn object(
        &mut self,
        sink: &mut ChunkSink<'_>,
        stream: &str,
        data_type: &str,
        data: Value,
        complete: bool,
    ) {
        if !self.object_calls.contains(stream) {
            self.object_calls.insert(stream.to_owned());
            let tool = ToolCall::new(stream, data_type);
            self.synthesize(sink, Event::ToolInputAvailable(ToolInputAvailable::new(tool, json!({}))));
        }
        let output = Event::ToolOutput(ToolOutput {
            call: stream.into(),
            output: data,
            preliminary: !complete,
            ..Default::default()
        });
        self.synthesize(sink, output);
    }

    /// Encodes an event in place of the record's own. It belongs to no attempt, since objects are not
    /// retracted.
    fn synthesize(&mut self, sink: &mut ChunkSink<'_>, event: Event) {
        let Record { seq, time, origin, .. } = sink.record;
        let origin = Origin { attempt: None, ..origin.clone() };
        let record = Record::new(*seq, event).at(*time).from(origin);
        let mut inner =
            ChunkSink { to: &mut *sink.to, record: &record, buffers: &mut *sink.buffers, count: sink.count };
        self.tool_event(&mut inner);
        sink.count = inner.count;
    }
}
