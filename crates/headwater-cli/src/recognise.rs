//! Which dialect a stream speaks and how it is framed, told from its first frames.

use headwater_protocol::{Dialect, FrameReader, Framing, SseReader, Tail, dialects};

use crate::{failure::Failure, input::Input, style};

/// How many frames are looked at.
const FRAMES: u64 = 32;
/// A stream of which so much shows no framing has none.
const HEAD: usize = 64 * 1024;
/// How far ahead of all others a dialect must be to be recognised before the last of those frames.
const LEAD: u32 = 150;

/// A stream that is about to be read.
pub(crate) struct Stream {
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) framing: Framing,
    pub(crate) input: Input,
}

impl Stream {
    /// Finds out what was not given.
    pub(crate) fn recognise(
        mut input: Input,
        dialect: Option<&'static dyn Dialect>,
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
    dialect: Option<&'static dyn Dialect>,
    framing: Option<Framing>,
) -> Result<Framing, Failure> {
    let mut more = true;
    loop {
        let found = framing.or_else(|| Framing::recognise(input.head()));
        let found = found.or_else(|| if more { None } else { first_telling_line(input.head()) });
        match (found, dialect) {
            (Some(framing), _) => return Ok(framing),
            (None, _) if more => more = input.head().len() < HEAD && input.read_ahead()?,
            // Nothing at all is a stream that was cut before its first byte.
            (None, Some(dialect)) if input.head().trim_ascii().is_empty() => {
                return Ok(dialect.profile(None).framings.first().copied().unwrap_or(Framing::Sse));
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

fn recognise_dialect(input: &mut Input, framing: Framing) -> Result<&'static dyn Dialect, Failure> {
    let mut scores = Scores::default();
    let mut reader = match framing {
        Framing::Sse => FrameReader::from(SseReader::new().with_tail(Tail::Deliver)),
        Framing::Ndjson => FrameReader::new(framing),
    };
    let mut read = 0;
    loop {
        let piece = input.head().get(read..).unwrap_or_default();
        read += piece.len();
        reader.push(piece, |frame| scores.add(frame.ok().as_ref()));
        if scores.frames >= FRAMES || scores.lead() >= LEAD {
            break;
        }
        if !input.read_ahead()? {
            reader.finish(|frame| scores.add(frame.ok().as_ref()));
            break;
        }
    }
    scores.winner(input.name())
}

/// How sure each dialect is, in the order of [`dialects::ALL`].
#[derive(Debug, Default)]
struct Scores {
    frames: u64,
    scores: [u32; dialects::ALL.len()],
}

impl Scores {
    fn add(&mut self, frame: Option<&headwater_protocol::Frame<'_>>) {
        if self.frames >= FRAMES {
            return;
        }
        self.frames += 1;
        for (score, dialect) in self.scores.iter_mut().zip(dialects::ALL) {
            *score += frame.map_or(0, |frame| u32::from(dialect.recognise(frame)));
        }
    }

    fn lead(&self) -> u32 {
        let mut sorted = self.scores;
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let [first, second, ..] = sorted;
        first - second
    }

    fn winner(&self, name: &str) -> Result<&'static dyn Dialect, Failure> {
        let best = self.scores.iter().copied().max().unwrap_or(0);
        let named = |wanted: &dyn Fn(u32) -> bool| {
            let names = self.scores.iter().zip(dialects::ALL).filter(|(score, _)| wanted(**score));
            names.map(|(_, dialect)| dialect.name()).collect::<Vec<_>>()
        };
        if best == 0 {
            let frames = self.frames;
            let all = named(&|_| true).join(", ");
            return Err(Failure::new(match frames {
                0 => format!("{name} has no whole chunk: say its dialect with --dialect; there are {all}"),
                _ => format!(
                    "no dialect knows the first chunks of {name}: say which it is with --dialect; there are {all}"
                ),
            }));
        }
        match named(&|score| score == best).as_slice() {
            [one] => dialects::find(one).ok_or_else(|| Failure::new(format!("there is no dialect `{one}`"))),
            tied => Err(Failure::new(format!(
                "the first chunks of {name} may be {}: say which with --dialect",
                tied.join(" or ")
            ))),
        }
    }
}
