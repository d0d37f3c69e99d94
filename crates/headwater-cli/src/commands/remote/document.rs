//! Documents that are written to standard output or to a file.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{failure::CommandFailure, style};

/// A document that is being written to standard output, or to a new file that only its owner can read: it has whole
/// conversations. A file that was not finished is removed.
pub(in super::super) struct NewDocument {
    out: Box<dyn Write>,
    path: Option<PathBuf>,
    is_finished: bool,
}

impl NewDocument {
    pub(in super::super) fn create(path: Option<&Path>) -> Result<Self, CommandFailure> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self { out: style::stdout(true), path: None, is_finished: false });
        };
        let file = new_file(path).map_err(|error| writing(path, error))?;
        Ok(Self { out: Box::new(file), path: Some(path.to_owned()), is_finished: false })
    }

    pub(in super::super) fn write(&mut self, bytes: &[u8]) -> Result<(), CommandFailure> {
        self.out.write_all(bytes).map_err(|error| self.failed(error))
    }

    pub(in super::super) fn finish(mut self) -> Result<(), CommandFailure> {
        self.out.flush().map_err(|error| self.failed(error))?;
        self.is_finished = true;
        Ok(())
    }

    fn failed(&self, error: io::Error) -> CommandFailure {
        match &self.path {
            Some(path) => writing(path, error),
            None => error.into(),
        }
    }
}

impl Drop for NewDocument {
    fn drop(&mut self) {
        if let (Some(path), false) = (&self.path, self.is_finished) {
            // The error that led here helps more than one about the file.
            let _ = fs::remove_file(path);
        }
    }
}

fn writing(path: &Path, error: io::Error) -> CommandFailure {
    let why = match error.kind() {
        io::ErrorKind::AlreadyExists => "it exists already: choose another name".to_owned(),
        _ => error.to_string(),
    };
    CommandFailure::new(format!("cannot write {}: {why}", path.display()))
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
