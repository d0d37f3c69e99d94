//! Which dialect a stream speaks and how it is framed, told from its first frames.

use headwater_dialects::Reader;
use headwater_protocol::{Frame, FrameReader, Framing, Tail};

use crate::{failure::Failure, input::Input, style};

/// How many frames are looked at.
const FRAMES: u64 = 32;
/// A stream of which so much shows no framing has none.
const HEAD: usize = 64 * 1024;
/// A stream that is about to be read.
pub(crate) struct Stream {
    pub(crate) dialect: &'static dyn Reader,
    pub(crate) framing: Framing,
    pub(crate) input: Input,
}

impl Stream {
    /// Finds out what was not given.
    pub(crate) fn recognise(
        mut input: Input,
        dialect: Option<&'static dyn Reader>,
        framing: Option<Framing>,
    ) -> Result<Self, Failure> {
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

/// The framing that was given, or else the one that the bytes show. Nothing at all has the framing that
/// is usual for the dialect.
pub(crate) fn recognise_framing(
    input: &mut Input,
    dialect: Option<&'static dyn Reader>,
    framing: Option<Framing>,
) -> Result<Framing, Failure> {
    let mut more = true;
    loop {
        let found = framing.or_else(|| Framing::recognise(input.head()));
        let found = found.or_else(|| if more { None } else { first_telling_line(input.head()) });
        match (found, dialect) {
            (Some(framing), _) => return Ok(framing),
            (None, _) if more => more = input.head().len() < HEAD && input.read_ahead()?,
            // A stream that was cut in its very first bytes shows nothing.
            (None, Some(dialect)) if input.head().trim_ascii().len() < "event:".len() => {
                let dialect = headwater_dialects::find(dialect.name());
                let framings = dialect.map(|dialect| dialect.default_profile().framings).unwrap_or_default();
                return Ok(framings.first().copied().unwrap_or(Framing::Sse));
            }
            (None, _) if input.head().trim_ascii().is_empty() => {
                return Err(Failure::new(format!("{} is empty: there is no stream to read", input.name())));
            }
            (None, _) => {
                return Err(Failure::new(format!(
                    "{} is neither Server-Sent Events nor JSON lines: it begins with {}; if it is, say which with --framing",
                    input.name(),
                    style::quoted(input.head()),
                )));
            }
        }
    }
}

/// A stream may begin with lines that say nothing, such as fields that SSE does not know.
fn first_telling_line(head: &[u8]) -> Option<Framing> {
    head.split(|byte| matches!(byte, b'\n' | b'\r')).find_map(Framing::recognise)
}

fn recognise_dialect(input: &mut Input, framing: Framing) -> Result<&'static dyn Reader, Failure> {
    let mut scores = Scores::default();
    let mut reader = FrameReader::new(framing).with_tail(Tail::Deliver);
    let mut read = 0;
    loop {
        let piece = input.head().get(read..).unwrap_or_default();
        read += piece.len();
        reader.push(piece, |frame| scores.add(frame.ok().as_ref()));
        if scores.frames >= FRAMES {
            break;
        }
        if !input.read_ahead()? {
            reader.finish(|frame| scores.add(frame.ok().as_ref()));
            break;
        }
    }
    scores.winner(input.name())
}

/// How well each dialect knows the frames, in the order of [`dialects::READERS`].
#[derive(Debug, Default)]
struct Scores {
    frames: u64,
    scores: [Score; headwater_dialects::READERS.len()],
}

/// To know all frames a little says more than to know most of them well: dialects share chunks, and one
/// that is foreign to a dialect gives it away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Score {
    known: u64,
    sure: u64,
}

impl Scores {
    fn add(&mut self, frame: Option<&Frame<'_>>) {
        // What lies behind them does not count, however large the pieces are in which the stream comes.
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

    fn winner(&self, name: &str) -> Result<&'static dyn Reader, Failure> {
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
                    format!("{name} has no whole chunk: say its dialect")
                } else {
                    format!("no dialect knows the first chunks of {name}: say which it is")
                };
                let all = names(&headwater_dialects::READERS, ", ");
                Err(Failure::new(format!("{what} with --dialect; there are {all}")))
            }
            [one] => Ok(*one),
            tied => {
                let tied = names(tied, " or ");
                Err(Failure::new(format!(
                    "the first chunks of {name} may be {tied}: say which with --dialect"
                )))
            }
        }
    }
}
