//! `headwater convert`: converts a stream from one dialect to another.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use headwater_dialects::{ContentMode, DecodeOutput, Decoder, Dialect, EncodeOptions, Encoder, Reader};
use headwater_protocol::{ErrorKind, Event, Framing, RunState, RunStatus};

use crate::{
    args,
    dialect_detection::DetectedInput,
    failure::{CommandFailure, ExitVerdict},
    input::StreamInput,
    style,
};

/// Convert a stream to another dialect.
///
/// Output is written as the input arrives; chunks that cannot be decoded are reported on standard error. The
/// end of a truncated stream is not made up.
#[derive(Debug, Args)]
pub(crate) struct ConvertCommand {
    /// The dialect of the input. Detected by default.
    #[arg(long, value_name = "DIALECT", value_parser = args::reader())]
    from: Option<&'static dyn Reader>,

    /// The dialect of the output. Default: Headwater's native wire.
    #[arg(long, value_name = "DIALECT", value_parser = args::dialect(), default_value = "native")]
    to: &'static dyn Dialect,

    /// The framing of the input. Detected by default.
    #[arg(long, value_name = "FRAMING", value_parser = args::framing())]
    from_framing: Option<Framing>,

    /// The framing of the output. Default: the framing of the profile.
    #[arg(long, visible_alias = "to-framing", value_name = "FRAMING", value_parser = args::framing())]
    framing: Option<Framing>,

    /// The profile of the output dialect (its client versions); `headwater dialects` lists them.
    #[arg(long)]
    profile: Option<String>,

    /// What TanStack chunks carry in `content`.
    #[arg(long, value_name = "MODE", default_value = "compact")]
    content: ContentArg,

    /// The file to read. Default: standard input, also `-`.
    file: Option<PathBuf>,
}

/// What TanStack chunks carry in `content`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ContentArg {
    /// Only what the client needs to begin a new segment.
    Compact,
    /// The text of the segment so far.
    Hybrid,
    /// The text of the whole response so far.
    Full,
}

impl ConvertCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let mut encoder = Encoder::new(self.to, &self.options()?);
        let stream =
            DetectedInput::recognise(StreamInput::open(self.file.as_deref())?, self.from, self.from_framing)?;
        let mut decoder = Decoder::new(stream.dialect, stream.framing);
        let mut decoded = DecodeOutput::default();
        let mut end = RunEndTracker::default();
        let mut out = io::stdout().lock();

        stream.input.for_each(|piece| {
            decoder.feed(piece, &mut decoded);
            end.pass_on(&mut decoded, &mut encoder);
            write(&mut encoder, &mut out)
        })?;
        decoder.finish(&mut decoded);
        end.pass_on(&mut decoded, &mut encoder);
        let complete = end.is_complete() && !decoder.is_dead();
        if complete {
            encoder.finish();
        } else if !end.was_reported {
            style::warning(&"the stream ended before the run did");
        }
        write(&mut encoder, &mut out)?;
        Ok(ExitVerdict::at_fault_if(!complete))
    }

    fn options(&self) -> Result<EncodeOptions, CommandFailure> {
        let profile = match &self.profile {
            None => self.to.default_profile(),
            Some(wanted) => self.to.profile(wanted).ok_or_else(|| {
                let names: Vec<_> = self.to.profiles().iter().map(|profile| profile.name).collect();
                let (dialect, names) = (self.to.name(), names.join(", "));
                CommandFailure::new(format!("{dialect} has no profile `{wanted}`: use one of {names}"))
            })?,
        };
        if let Some(framing) = self.framing
            && !profile.framings.contains(&framing)
        {
            style::warning(&format!("the clients of {} do not read {framing}", self.to.name()));
        }
        let mut options = EncodeOptions::default();
        options.profile = Some(profile);
        options.framing = self.framing;
        options.content = match self.content {
            ContentArg::Compact => ContentMode::Compact,
            ContentArg::Hybrid => ContentMode::Hybrid,
            ContentArg::Full => ContentMode::Full,
        };
        Ok(options)
    }
}

/// Tracks whether the run has ended.
#[derive(Debug, Default)]
struct RunEndTracker {
    state: RunState,
    /// The missing end has already been reported.
    was_reported: bool,
}

impl RunEndTracker {
    fn pass_on(&mut self, decoded: &mut DecodeOutput, encoder: &mut Encoder) {
        for record in &decoded.records {
            let event = &record.event;
            if event.kind().ends_run()
                || matches!(event, Event::RunStarted(_) | Event::RunWaiting(_) | Event::Error(_))
            {
                // The reducer never refuses these events.
                let _ = self.state.apply(record);
            }
            encoder.record(record);
        }
        for error in &decoded.errors {
            style::warning(error);
            self.was_reported |= error.is_fatal() || error.kind() == ErrorKind::Cut;
        }
        decoded.clear();
    }

    fn is_complete(&self) -> bool {
        self.state.run().status != RunStatus::Running
    }
}

fn write(encoder: &mut Encoder, out: &mut impl Write) -> Result<(), CommandFailure> {
    if !encoder.bytes().is_empty() {
        out.write_all(encoder.bytes())?;
        out.flush()?;
        encoder.clear();
    }
    Ok(())
}
