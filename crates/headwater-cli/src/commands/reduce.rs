//! `headwater reduce`: the final state of a stream.

mod structured;

use std::io::{self, BufWriter, IsTerminal, Write};

use clap::Args;
use headwater_dialects::{DecodeOutput, Decoder};
use headwater_protocol::RunState;
use serde::Serialize;

use crate::{
    args::StreamArgs,
    decode_walk::given_up,
    failure::{CommandFailure, ExitVerdict},
    style,
};

/// Print the final state of a stream as one JSON object.
///
/// The state is the one that the dialect's own client would build. It is printed even if the stream is
/// broken: `run.status` is `failed` if the stream was truncated (`run.error.code` is `cut`) or if the client
/// would reject it, in which case the exit code is 1.
#[derive(Debug, Args)]
pub(crate) struct ReduceCommand {
    #[command(flatten)]
    stream: StreamArgs,

    /// Pretty-print the JSON, as on a terminal.
    #[arg(long)]
    pretty: bool,

    /// Read bare `structured-data` chunks of one stream and print its state. A refused chunk ends it:
    /// `{"index":…,"error":…}` is printed last, and the exit code is 1.
    #[arg(long, conflicts_with = "dialect")]
    structured: bool,

    /// Print the state after each structured chunk.
    #[arg(long, requires = "structured")]
    each: bool,
}

impl ReduceCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        if self.structured { self.structured_state() } else { self.run_state() }
    }

    fn run_state(&self) -> Result<ExitVerdict, CommandFailure> {
        let stream = self.stream.open()?;
        let mut state = RunState::with_rules(stream.dialect.rules());
        let mut decoder = Decoder::new(stream.dialect, stream.framing);
        let mut decoded = DecodeOutput::default();
        stream.input.for_each(|piece| {
            decoder.feed(piece, &mut decoded);
            apply(&mut state, &mut decoded);
            Ok(())
        })?;
        decoder.finish(&mut decoded);
        apply(&mut state, &mut decoded);
        state.end_of_stream();
        self.print(&state.view())?;
        Ok(ExitVerdict::at_fault_if(decoder.is_dead()))
    }

    fn print(&self, value: &impl Serialize) -> Result<(), CommandFailure> {
        let stdout = io::stdout();
        let pretty = self.pretty || stdout.is_terminal();
        let mut out = BufWriter::new(stdout.lock());
        if pretty {
            serde_json::to_writer_pretty(&mut out, value)?;
        } else {
            serde_json::to_writer(&mut out, value)?;
        }
        out.write_all(b"\n")?;
        out.flush()?;
        Ok(())
    }
}

fn apply(state: &mut RunState, decoded: &mut DecodeOutput) {
    for record in &decoded.records {
        if let Err(error) = state.apply(record) {
            style::warning(&format!("record {}: {error}", record.seq));
        }
    }
    for error in &decoded.errors {
        style::warning(error);
    }
    if let Some(error) = decoded.fatal() {
        state.fail(given_up(error));
    }
    decoded.clear();
}
