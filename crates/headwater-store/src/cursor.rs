//! Signed positions of readers.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{Error, ErrorKind, JournalId, JournalInfo, Result, Secret, error::CursorFault};

/// The bytes of a signature in a cursor.
const TAG: usize = 8;

/// The position of a reader: after a frame of a record in an epoch of a journal, with the dialect's own
/// counter.
///
/// The epoch makes it safe: if the record was lost with the process that wrote it, [`Cursor::place`] reports
/// that instead of pointing at a record that another process wrote under the same number.
///
/// ```
/// use headwater_store::{Cursor, Secret};
///
/// let secret = Secret::from_bytes([7; 32]);
/// let cursor = Cursor { journal: "run_1".into(), epoch: 3, seq: 42, frame: 1, count: 57 };
/// let text = cursor.seal(&secret);
/// assert_eq!(Cursor::open(&text, &secret)?, cursor);
/// assert!(Cursor::open(&text, &Secret::from_bytes([8; 32])).is_err());
/// # Ok::<(), headwater_store::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The journal that is read.
    pub journal: JournalId,
    /// The epoch of the record.
    pub epoch: u64,
    /// The last record that was read, fully or in part; 0 before the first.
    pub seq: u64,
    /// Number of frames of that record that were read; 0 for all of them.
    pub frame: u32,
    /// The dialect's own consecutive counter.
    pub count: u64,
}

/// The position at which a reader continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// After this record, which is the one that the reader received.
    After(u64),
    /// The reader's last record was lost with the process that wrote it. It continues after this record: the
    /// next one is the first of the epoch that took over, and retracts open attempts.
    Moved(u64),
}

impl Place {
    /// The sequence number to read after.
    #[must_use]
    pub const fn after(self) -> u64 {
        match self {
            Self::After(seq) | Self::Moved(seq) => seq,
        }
    }
}

impl Cursor {
    /// The cursor as signed text for a header or URL.
    #[must_use]
    pub fn seal(&self, secret: &Secret) -> String {
        let mut bytes = Vec::with_capacity(self.journal.as_str().len() + 24 + TAG);
        for number in [self.epoch, self.seq, u64::from(self.frame), self.count] {
            put_varint(&mut bytes, number);
        }
        bytes.extend_from_slice(self.journal.as_str().as_bytes());
        let tag = secret.sign_cursor(&bytes);
        bytes.extend_from_slice(&tag);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Parses a cursor written by [`Cursor::seal`].
    ///
    /// # Errors
    /// [`CursorFault::Malformed`] when it is not a cursor, [`CursorFault::Forged`] when it was not signed
    /// with this secret.
    pub fn open(text: &str, secret: &Secret) -> Result<Self> {
        let malformed =
            || fault(CursorFault::Malformed, "invalid cursor: send a cursor exactly as you received it");
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| malformed())?;
        let signed = bytes.len().checked_sub(TAG).ok_or_else(malformed)?;
        let (body, tag) = bytes.split_at(signed);
        let tag = <[u8; TAG]>::try_from(tag).map_err(|_| malformed())?;
        // One comparison of eight bytes takes the same time for every tag.
        if u64::from_le_bytes(tag) != u64::from_le_bytes(secret.sign_cursor(body)) {
            return Err(fault(
                CursorFault::Forged,
                "the cursor was not issued by this store, or was modified",
            ));
        }
        let mut rest = body;
        let mut number = || take_varint(&mut rest).ok_or_else(malformed);
        let (epoch, seq, frame, count) = (number()?, number()?, number()?, number()?);
        let frame = u32::try_from(frame).map_err(|_| malformed())?;
        let journal = std::str::from_utf8(rest).map_err(|_| malformed())?.into();
        Ok(Self { journal, epoch, seq, frame, count })
    }

    /// Where its reader continues in a journal.
    ///
    /// # Errors
    /// [`CursorFault::Foreign`], [`CursorFault::UnknownEpoch`] or [`CursorFault::Future`] if it would point
    /// at nothing or at other content, [`ErrorKind::Trimmed`] if the records after it were deleted.
    pub fn place(&self, journal: &JournalId, info: &JournalInfo) -> Result<Place> {
        if self.journal != *journal {
            let message = format!("the cursor belongs to {}, not to {journal}", self.journal);
            return Err(fault(CursorFault::Foreign, message));
        }
        let place = self.place_by_epoch(info)?;
        if place.after() + 1 < info.first {
            return Err(Error::trimmed(journal, place.after(), info.first));
        }
        Ok(place)
    }

    fn place_by_epoch(&self, info: &JournalInfo) -> Result<Place> {
        if self.seq == 0 {
            return Ok(Place::After(0));
        }
        let mut epochs = info.epochs.iter().skip_while(|start| start.epoch != self.epoch);
        let Some(own) = epochs.next() else {
            let message = format!("the cursor's epoch {} never wrote to {}", self.epoch, self.journal);
            return Err(fault(CursorFault::UnknownEpoch, message));
        };
        let last = epochs.next().map_or(info.tail.last, |next| next.first - 1);
        if (own.first..=last).contains(&self.seq) {
            return Ok(Place::After(self.seq));
        }
        if self.seq < own.first {
            let message = format!("epoch {} of {} began after {}", self.epoch, self.journal, self.seq);
            return Err(fault(CursorFault::UnknownEpoch, message));
        }
        // An epoch that wrote nothing before it was fenced leads to the next.
        if info.epochs.last().is_some_and(|newest| newest.epoch != self.epoch) {
            return Ok(Place::Moved(last));
        }
        let message = format!("the cursor points at {}, and {} ends at {last}", self.seq, self.journal);
        Err(fault(CursorFault::Future, message))
    }
}

fn fault(fault: CursorFault, message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Cursor(fault), message)
}

pub(crate) fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EpochStart, Tail};

    /// Epoch 10 wrote 1 to 7, then 11 took over and wrote 8 to 9.
    fn info() -> JournalInfo {
        JournalInfo {
            first: 1,
            tail: Tail { last: 9, closed: false },
            epochs: vec![EpochStart { epoch: 10, first: 1 }, EpochStart { epoch: 11, first: 8 }],
            bytes: 0,
            goes: None,
            driven: true,
        }
    }

    fn place(epoch: u64, seq: u64) -> Result<Place> {
        let cursor = Cursor { journal: "run".into(), epoch, seq, frame: 0, count: 0 };
        cursor.place(&"run".into(), &info())
    }

    fn fault_of(result: Result<Place>) -> ErrorKind {
        result.unwrap_err().kind().clone()
    }

    #[test]
    fn cursor_continues_after_an_existing_record() {
        assert_eq!(place(10, 0).unwrap(), Place::After(0));
        assert_eq!(place(10, 7).unwrap(), Place::After(7));
        assert_eq!(place(11, 9).unwrap(), Place::After(9));
    }

    #[test]
    fn cursor_of_a_lost_record_leads_to_the_takeover() {
        assert_eq!(place(10, 8).unwrap(), Place::Moved(7));
        assert_eq!(place(10, 50).unwrap(), Place::Moved(7));
    }

    #[test]
    fn cursor_without_a_target_is_refused() {
        let cursor = |fault| ErrorKind::Cursor(fault);
        assert_eq!(fault_of(place(12, 3)), cursor(CursorFault::UnknownEpoch));
        assert_eq!(fault_of(place(11, 7)), cursor(CursorFault::UnknownEpoch));
        assert_eq!(fault_of(place(11, 10)), cursor(CursorFault::Future));
        let foreign = Cursor { journal: "other".into(), epoch: 10, seq: 1, frame: 0, count: 0 };
        assert_eq!(fault_of(foreign.place(&"run".into(), &info())), cursor(CursorFault::Foreign));
        let mut trimmed = info();
        trimmed.first = 6;
        let early = Cursor { journal: "run".into(), epoch: 10, seq: 4, frame: 0, count: 0 };
        assert_eq!(fault_of(early.place(&"run".into(), &trimmed)), ErrorKind::Trimmed { first: 6 });
    }

    #[test]
    fn modified_cursor_is_refused() {
        let secret = Secret::from_bytes([1; 32]);
        let cursor = Cursor { journal: "run".into(), epoch: u64::MAX, seq: 300, frame: 2, count: 12 };
        let text = cursor.seal(&secret);
        assert_eq!(Cursor::open(&text, &secret).unwrap(), cursor);
        let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert!(Cursor::open(&URL_SAFE_NO_PAD.encode(other), &secret).is_err());
            assert!(Cursor::open(&URL_SAFE_NO_PAD.encode(&bytes[..at]), &secret).is_err());
        }
        for text in ["", "?", "AAAA", "-1"] {
            let kind = Cursor::open(text, &secret).unwrap_err().kind().clone();
            assert_eq!(kind, ErrorKind::Cursor(CursorFault::Malformed));
        }
    }
}
