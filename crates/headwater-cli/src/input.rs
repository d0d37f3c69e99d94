//! Reads a file or standard input piece by piece, so that a live stream can be followed.

mod array;
mod url;

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::Path,
};

use crate::{config::without_secrets, failure::CommandFailure, style};
use array::ArrayLines;
use url::UrlReader;

const PIECE: usize = 64 * 1024;

/// The bytes of a stream: the head that was read ahead, then the rest as it arrives.
pub(crate) struct StreamInput {
    reader: Box<dyn Read>,
    name: String,
    head: Vec<u8>,
    ended: bool,
    array: Option<ArrayLines>,
    is_live: bool,
}

/// Reads a whole document that is not a stream of chunks.
pub(crate) fn read_document(file: Option<&Path>) -> Result<Vec<u8>, CommandFailure> {
    StreamInput::open_plain(file)?.read_all()
}

impl StreamInput {
    /// Opens a stream of chunks and detects whether it is a single JSON array.
    pub(crate) fn open(file: Option<&Path>) -> Result<Self, CommandFailure> {
        let mut input = Self::open_plain(file)?;
        input.look_for_array()?;
        Ok(input)
    }

    /// Opens a file, or standard input.
    fn open_plain(file: Option<&Path>) -> Result<Self, CommandFailure> {
        let file = file.filter(|path| *path != Path::new("-"));
        let (reader, name, is_live): (Box<dyn Read>, _, _) = match file {
            Some(path) => {
                let name = path.display().to_string();
                let file = File::open(path).map_err(|error| CommandFailure::reading(&name, error))?;
                let is_live = !file.metadata().is_ok_and(|metadata| metadata.is_file());
                (Box::new(file), name, is_live)
            }
            None => {
                let stdin = io::stdin();
                if stdin.is_terminal() {
                    style::note("reading from the terminal: paste a stream and end it with Ctrl-D");
                }
                // A file that a shell opened; elsewhere than on Unix it counts as a pipe.
                let is_file = std::fs::metadata("/dev/stdin").is_ok_and(|metadata| metadata.is_file());
                (Box::new(stdin), "standard input".to_owned(), !is_file)
            }
        };
        Ok(Self { reader, name, head: Vec::new(), ended: false, array: None, is_live })
    }

    /// Opens the response of a URL and detects whether it is a single JSON array.
    pub(crate) fn open_url(url: &str, key: Option<&str>) -> Result<Self, CommandFailure> {
        let (reader, name) = (UrlReader::open(url, key)?, without_secrets(url));
        let mut input = Self {
            reader: Box::new(reader),
            name,
            head: Vec::new(),
            ended: false,
            array: None,
            is_live: true,
        };
        input.look_for_array()?;
        Ok(input)
    }

    /// Whether more may arrive after a while: it is not a file.
    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// The name used in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The bytes that were read ahead.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Reads one more piece into the head; `false` at the end.
    pub(crate) fn read_ahead(&mut self) -> Result<bool, CommandFailure> {
        if self.ended {
            return Ok(false);
        }
        let known = self.head.len();
        self.head.resize(known + PIECE, 0);
        let piece = self.head.get_mut(known..).unwrap_or_default();
        let read =
            read(&mut *self.reader, piece).map_err(|error| CommandFailure::reading(&self.name, error))?;
        if let (Some(array), Some(piece)) = (&mut self.array, piece.get_mut(..read)) {
            array.rewrite(piece);
        }
        self.head.truncate(known + read);
        self.ended = read == 0;
        Ok(read > 0)
    }

    /// Whether the input is only white space.
    pub(crate) fn is_blank(&mut self) -> Result<bool, CommandFailure> {
        while self.head.trim_ascii().is_empty() {
            if !self.read_ahead()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Calls the function for every piece, the head first.
    pub(crate) fn for_each(
        mut self,
        mut sink: impl FnMut(&[u8]) -> Result<(), CommandFailure>,
    ) -> Result<(), CommandFailure> {
        while !self.head.is_empty() || !self.ended {
            sink(&self.head)?;
            self.head.clear();
            self.read_ahead()?;
        }
        Ok(())
    }

    /// Reads everything.
    pub(crate) fn read_all(mut self) -> Result<Vec<u8>, CommandFailure> {
        while self.read_ahead()? {}
        Ok(self.head)
    }

    /// If the input is a JSON array of chunks, reads it as one chunk per line.
    fn look_for_array(&mut self) -> Result<(), CommandFailure> {
        let is_array = loop {
            match begins_array(&self.head) {
                Some(is_array) => break is_array,
                None if self.read_ahead()? => {}
                None => break false,
            }
        };
        if is_array {
            self.array.insert(ArrayLines::default()).rewrite(&mut self.head);
        }
        Ok(())
    }
}

/// Whether an array of chunks begins here; `None` if more bytes are needed. `[DONE]` also begins with a
/// bracket, so the next byte decides.
fn begins_array(head: &[u8]) -> Option<bool> {
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    match text.split_first()? {
        (b'[', inside) => inside.trim_ascii_start().first().map(|first| matches!(first, b'{' | b'[' | b']')),
        _ => Some(false),
    }
}

fn read(reader: &mut dyn Read, piece: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
