//! Detects the dialect and the framing of a stream from its first frames.

use headwater_dialects::Reader;
use headwater_protocol::{Frame, FrameReader, Framing, Tail};

use crate::{failure::CommandFailure, input::StreamInput, style};

/// The number of frames to look at.
const FRAMES: u64 = 32;
/// Detection of the framing gives up after this many bytes.
const HEAD: usize = 64 * 1024;
/// A stream that is about to be read.
pub(crate) struct DetectedInput {
    pub(crate) dialect: &'static dyn Reader,
    pub(crate) framing: Framing,
    pub(crate) input: StreamInput,
}

impl DetectedInput {
    /// Detects the dialect and framing that were not given.
    pub(crate) fn recognise(
        mut input: StreamInput,
        dialect: Option<&'static dyn Reader>,
        framing: Option<Framing>,
    ) -> Result<Self, CommandFailure> {
        let framing = recognise_framing(&mut input, dialect, framing)?;
        let dialect = match dialect {
            Some(dialect) => dialect,
            None => {
                let dialect = recognise_dialect(&mut input, framing)?;
                style::note(&format!("recognised {} over {framing}", dialect.name()));
                dialect
            }
        };
        Ok(Self { dialect, framing, input })
    }
}

/// The given framing, or the one that the bytes show. An empty stream has the default framing of its dialect.
pub(crate) fn recognise_framing(
    input: &mut StreamInput,
    dialect: Option<&'static dyn Reader>,
    framing: Option<Framing>,
) -> Result<Framing, CommandFailure> {
    let mut more = true;
    loop {
        let found = framing.or_else(|| Framing::recognise(input.head()));
        let found = found.or_else(|| if more { None } else { first_framed_line(input.head()) });
        match (found, dialect) {
            (Some(framing), _) => return Ok(framing),
            (None, _) if more => more = input.head().len() < HEAD && input.read_ahead()?,
            // A stream truncated within its first bytes shows no framing.
            (None, Some(dialect)) if input.head().trim_ascii().len() < "event:".len() => {
                let dialect = headwater_dialects::find(dialect.name());
                let framings = dialect.map(|dialect| dialect.default_profile().framings).unwrap_or_default();
                return Ok(framings.first().copied().unwrap_or(Framing::Sse));
            }
            (None, _) if input.head().trim_ascii().is_empty() => {
                return Err(CommandFailure::new(format!("{} is empty: expected a stream", input.name())));
            }
            (None, _) => {
                return Err(CommandFailure::new(format!(
                    "{} is neither Server-Sent Events nor JSON lines: it begins with {}; if it is one of them, choose with --framing",
                    input.name(),
                    style::quoted(input.head()),
                )));
            }
        }
    }
}

/// A stream may begin with lines that show nothing, such as unknown SSE fields.
fn first_framed_line(head: &[u8]) -> Option<Framing> {
    head.split(|byte| matches!(byte, b'\n' | b'\r')).find_map(Framing::recognise)
}

fn recognise_dialect(
    input: &mut StreamInput,
    framing: Framing,
) -> Result<&'static dyn Reader, CommandFailure> {
    let mut scores = Scores::default();
    let mut reader = FrameReader::new(framing).with_tail(Tail::Deliver);
    let mut read = 0;
    loop {
        let piece = input.head().get(read..).unwrap_or_default();
        read += piece.len();
        reader.push(piece, |frame| scores.add(frame.ok().as_ref()));
        // A stream that still arrives is not kept waiting once it can only be one dialect.
        if scores.frames >= FRAMES || (input.is_live() && scores.is_certain()) {
            break;
        }
        if !input.read_ahead()? {
            reader.finish(|frame| scores.add(frame.ok().as_ref()));
            break;
        }
    }
    scores.winner(input.name())
}

/// How well each dialect matches the frames, in the order of [`dialects::READERS`].
#[derive(Debug, Default)]
struct Scores {
    frames: u64,
    scores: [Score; headwater_dialects::READERS.len()],
}

/// Matching all frames weakly counts more than matching most of them well: dialects share chunk types, and
/// one foreign chunk rules a dialect out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    known: u64,
    sure: u64,
}

impl Scores {
    fn add(&mut self, frame: Option<&Frame<'_>>) {
        // Later frames never count, however large the pieces are in which the stream arrives.
        if self.frames >= FRAMES {
            return;
        }
        self.frames += 1;
        for (score, dialect) in self.scores.iter_mut().zip(headwater_dialects::READERS) {
            let sure = frame.map_or(0, |frame| dialect.recognise(frame));
            score.known += u64::from(sure > 0);
            score.sure += u64::from(sure);
        }
    }

    /// Whether one dialect alone knows all frames so far.
    fn is_certain(&self) -> bool {
        let all = self.scores.iter().filter(|score| score.known == self.frames).count();
        self.frames > 1 && all == 1
    }

    fn winner(&self, name: &str) -> Result<&'static dyn Reader, CommandFailure> {
        let best = self.scores.iter().copied().max().unwrap_or_default();
        let all = || self.scores.iter().zip(headwater_dialects::READERS);
        let names = |dialects: &[&'static dyn Reader], glue| {
            dialects.iter().map(|dialect| dialect.name()).collect::<Vec<_>>().join(glue)
        };
        let winners: Vec<_> =
            all().filter(|(score, _)| **score == best).map(|(_, dialect)| dialect).collect();
        match winners.as_slice() {
            _ if best.known == 0 => {
                let what = if self.frames == 0 {
                    format!("{name} has no complete chunk: choose the dialect")
                } else {
                    format!("no dialect matches the first chunks of {name}: choose it")
                };
                let all = names(&headwater_dialects::READERS, ", ");
                Err(CommandFailure::new(format!("{what} with --dialect; known dialects: {all}")))
            }
            [one] => Ok(*one),
            tied => {
                let tied = names(tied, " or ");
                Err(CommandFailure::new(format!(
                    "the first chunks of {name} match {tied}: choose with --dialect"
                )))
            }
        }
    }
}
