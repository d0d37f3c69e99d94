//! `headwater convert`: a stream of one dialect in the words of another.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use headwater_dialects::{ContentMode, Decoded, Decoder, Dialect, EncodeOptions, Encoder, Reader};
use headwater_protocol::{ErrorKind, Event, Framing, RunState, RunStatus};

use crate::{
    args,
    failure::{Failure, Verdict},
    input::Input,
    recognise::Stream,
    style,
};

/// Say a stream in another dialect.
///
/// What can be read is written as it comes, and what cannot is reported on standard error. A stream that was cut
/// stays cut: it gets no end that it did not have.
#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The dialect of the stream; recognised if it is not given.
    #[arg(long, value_name = "DIALECT", value_parser = args::reader())]
    from: Option<&'static dyn Reader>,

    /// The dialect to write; Headwater's own wire if it is not given.
    #[arg(long, value_name = "DIALECT", value_parser = args::dialect(), default_value = "native")]
    to: &'static dyn Dialect,

    /// How the stream that is read is cut into chunks; recognised if it is not given.
    #[arg(long, value_name = "FRAMING", value_parser = args::framing())]
    from_framing: Option<Framing>,

    /// The framing to write; the profile's own if it is not given.
    #[arg(long, visible_alias = "to-framing", value_name = "FRAMING", value_parser = args::framing())]
    framing: Option<Framing>,

    /// The clients to write for: a profile of the dialect, as `headwater dialects` lists them.
    #[arg(long)]
    profile: Option<String>,

    /// How the `content` of TanStack's chunks is filled.
    #[arg(long, value_name = "MODE", default_value = "compact")]
    content: Content,

    /// The file to read; standard input if it is `-` or not given.
    file: Option<PathBuf>,
}

/// How the `content` of TanStack's chunks is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Content {
    /// Only where the client needs it to begin a new segment.
    Compact,
    /// With the text of the segment so far.
    Hybrid,
    /// With the text of the whole response so far.
    Full,
}

impl Convert {
    pub(crate) fn run(&self) -> Result<Verdict, Failure> {
        let mut encoder = Encoder::new(self.to, &self.options()?);
        let stream = Stream::recognise(Input::open(self.file.as_deref())?, self.from, self.from_framing)?;
        let mut decoder = Decoder::new(stream.dialect, stream.framing);
        let mut decoded = Decoded::default();
        let mut end = End::default();
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
        } else if !end.was_told {
            style::warning(&"the stream ended before the run did");
        }
        write(&mut encoder, &mut out)?;
        Ok(Verdict::at_fault_if(!complete))
    }

    fn options(&self) -> Result<EncodeOptions, Failure> {
        let profile = match &self.profile {
            None => self.to.default_profile(),
            Some(wanted) => self.to.profile(wanted).ok_or_else(|| {
                let names: Vec<_> = self.to.profiles().iter().map(|profile| profile.name).collect();
                let (dialect, names) = (self.to.name(), names.join(", "));
                Failure::new(format!("{dialect} has no profile `{wanted}`: use one of {names}"))
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
            Content::Compact => ContentMode::Compact,
            Content::Hybrid => ContentMode::Hybrid,
            Content::Full => ContentMode::Full,
        };
        Ok(options)
    }
}

/// Keeps track of whether the run came to an end, and of nothing else.
#[derive(Debug, Default)]
struct End {
    state: RunState,
    /// Why there is no end has been said.
    was_told: bool,
}

impl End {
    fn pass_on(&mut self, decoded: &mut Decoded, encoder: &mut Encoder) {
        for record in &decoded.records {
            let event = &record.event;
            if event.kind().ends_run()
                || matches!(event, Event::RunStarted(_) | Event::RunWaiting(_) | Event::Error(_))
            {
                // None of these can be refused.
                let _ = self.state.apply(record);
            }
            encoder.record(record);
        }
        for error in &decoded.errors {
            style::warning(error);
            self.was_told |= error.is_fatal() || error.kind() == ErrorKind::Cut;
        }
        decoded.clear();
    }

    fn is_complete(&self) -> bool {
        self.state.run().status != RunStatus::Running
    }
}

fn write(encoder: &mut Encoder, out: &mut impl Write) -> Result<(), Failure> {
    if !encoder.bytes().is_empty() {
        out.write_all(encoder.bytes())?;
        out.flush()?;
        encoder.clear();
    }
    Ok(())
}
