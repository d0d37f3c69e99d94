//! `headwater extract`: emits fields of a JSON document while it is parsed piece by piece.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use headwater_json::{Chunk, Error, Extractor, FieldKind, Fields, Options, PartialValue};
use serde_json::{Map, Value, json};

use crate::{
    failure::{CommandFailure, ExitVerdict},
    input,
};

mod deltas;

/// Extract declared fields from a JSON document while it arrives, as one JSON line per chunk.
///
/// A path consists of keys and indexes separated by dots; `*` matches any one of them. In a key, `~1` stands
/// for a dot, `~0` for a tilde and `~2` for a star; `~:` begins a key that is empty or all digits.
#[derive(Debug, Args)]
#[command(after_help = LINES)]
pub(crate) struct ExtractCommand {
    /// A field to emit once its value is complete.
    #[arg(long, value_name = "PATH")]
    set: Vec<String>,

    /// A string to emit while it grows.
    #[arg(long, value_name = "PATH")]
    text: Vec<String>,

    /// An array to emit item by item.
    #[arg(long, value_name = "PATH")]
    append: Vec<String>,

    /// Feed the document in pieces of this many bytes. Default: one piece.
    #[arg(long, value_name = "BYTES", conflicts_with = "deltas", value_parser = clap::value_parser!(u64).range(1..))]
    piece: Option<u64>,

    /// Read one JSON string per line and feed each as one piece.
    #[arg(long)]
    deltas: bool,

    /// The file to read. Default: standard input, also `-`.
    file: Option<PathBuf>,
}

const LINES: &str = "\
Lines:
  {\"at\":0,\"kind\":\"set\",\"path\":\"subject\",\"value\":…}      `at` is the index of the piece
  {\"at\":1,\"kind\":\"text-delta\",\"path\":\"body\",\"delta\":…}
  {\"at\":2,\"kind\":\"append\",\"path\":\"bullets\",\"items\":[…]}
  {\"at\":3,\"kind\":\"final\",\"data\":…}                   the whole document, `at` being the number of pieces
  {\"at\":2,\"error\":…,\"offset\":…}                      instead, with exit code 1, if it is not JSON or was cut";

impl ExtractCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let fields = self.fields()?;
        let bytes = input::read_document(self.file.as_deref())?;
        let pieces: Vec<Vec<u8>> = if self.deltas {
            deltas::read(&bytes)?
        } else {
            let size = self.piece.and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX);
            bytes.chunks(size).map(<[u8]>::to_vec).collect()
        };
        let mut out = std::io::BufWriter::new(anstream::stdout().lock());
        let verdict = extract(fields, &pieces, &mut out)?;
        out.flush()?;
        Ok(verdict)
    }

    fn fields(&self) -> Result<Fields, CommandFailure> {
        let declared =
            [(FieldKind::Set, &self.set), (FieldKind::Text, &self.text), (FieldKind::Append, &self.append)];
        let mut fields = Fields::builder();
        for (kind, paths) in declared {
            fields = paths.iter().fold(fields, |fields, path| fields.field(kind, path));
        }
        fields.build().map_err(|error| CommandFailure::new(error.to_string()))
    }
}

fn extract(fields: Fields, pieces: &[Vec<u8>], out: &mut impl Write) -> Result<ExitVerdict, CommandFailure> {
    let mut extractor = Extractor::new(fields);
    let mut document = PartialValue::with(Options::lenient());
    for (at, piece) in pieces.iter().enumerate() {
        let mut written = Ok(());
        let read = extractor.push_bytes(piece, |chunk| {
            if written.is_ok() {
                written = print(out, &line(at, chunk));
            }
        });
        written?;
        if let Err(error) = read.and_then(|()| document.push_bytes(piece)) {
            return refuse(out, at, error);
        }
    }
    match document.into_value() {
        Ok(data) => {
            print(out, &json!({"at": pieces.len(), "kind": "final", "data": data}))?;
            Ok(ExitVerdict::Sound)
        }
        Err(error) => refuse(out, pieces.len(), error),
    }
}

fn line(at: usize, chunk: Chunk<'_>) -> Value {
    let mut line = Map::new();
    line.insert("at".to_owned(), at.into());
    line.insert("kind".to_owned(), chunk.kind().name().into());
    line.insert("path".to_owned(), chunk.path().into());
    match chunk {
        Chunk::Set { value: Some(value), .. } => line.insert("value".to_owned(), value),
        // A repeated key in the document retracts the earlier value.
        Chunk::Set { value: None, .. } => None,
        Chunk::Text { delta, .. } => line.insert("delta".to_owned(), delta.into()),
        Chunk::Append { items, .. } => line.insert("items".to_owned(), items.into()),
    };
    line.into()
}

fn refuse(out: &mut impl Write, at: usize, error: Error) -> Result<ExitVerdict, CommandFailure> {
    print(out, &json!({"at": at, "error": error.to_string(), "offset": error.offset()}))?;
    Ok(ExitVerdict::AtFault)
}

fn print(out: &mut impl Write, line: &Value) -> Result<(), CommandFailure> {
    serde_json::to_writer(&mut *out, line)?;
    Ok(out.write_all(b"\n")?)
}
