//! Complete reads and writes on top of a [`StoreFile`], whose calls may transfer fewer bytes than asked.

use std::io;

use super::files::StoreFile;

/// Reads `length` bytes at an offset; fewer at the end of the file.
pub(super) fn read_up_to(file: &dyn StoreFile, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut done = 0;
    while let Some(room) = bytes.get_mut(done..).filter(|room| !room.is_empty()) {
        match file.read_at(offset + done as u64, room) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(done);
    Ok(bytes)
}

/// Reads exactly `length` bytes at an offset.
pub(super) fn read_exact(file: &dyn StoreFile, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let bytes = read_up_to(file, offset, length)?;
    if bytes.len() == length { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Writes all bytes at an offset.
pub(super) fn write_all(file: &dyn StoreFile, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write_at(offset, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                offset += count as u64;
                bytes = bytes.get(count..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads a file from front to back with few system calls.
#[derive(Debug)]
pub(super) struct Window<'f> {
    file: &'f dyn StoreFile,
    start: u64,
    bytes: Vec<u8>,
}

impl<'f> Window<'f> {
    const AHEAD: usize = 256 << 10;

    pub(super) fn new(file: &'f dyn StoreFile) -> Self {
        Self { file, start: 0, bytes: Vec::new() }
    }

    /// The bytes at an offset; fewer at the end of the file.
    pub(super) fn get(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let inside = offset
            .checked_sub(self.start)
            .and_then(|skip| usize::try_from(skip).ok())
            .filter(|skip| skip.saturating_add(length) <= self.bytes.len());
        let skip = match inside {
            Some(skip) => skip,
            None => {
                self.bytes = read_up_to(self.file, offset, length.max(Self::AHEAD))?;
                self.start = offset;
                0
            }
        };
        let end = skip.saturating_add(length).min(self.bytes.len());
        Ok(self.bytes.get(skip..end).unwrap_or_default())
    }
}
