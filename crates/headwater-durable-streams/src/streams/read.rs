//! Reads of a stream by offset.

use bytes::Bytes;
use headwater_store::{ReadLimit, Tail};

use super::{StreamEngine, StreamMeta, record::AppendRecord};
use crate::StreamError;

/// Maximum bytes of one response, unless a single append is larger.
const PAGE: usize = 1 << 20;

/// One append in the form for readers.
#[derive(Debug, Clone)]
pub(crate) struct StreamEntry {
    /// The position after it.
    pub(crate) position: u64,
    pub(crate) data: Bytes,
}

/// The appends after a position.
#[derive(Debug, Clone)]
pub(crate) struct StreamPage {
    pub(crate) entries: Vec<StreamEntry>,
    /// The position after the last of them.
    pub(crate) next: u64,
    /// The end of the stream.
    pub(crate) tail: u64,
    /// Whether no more appends will come.
    pub(crate) closed: bool,
}

impl StreamPage {
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.next >= self.tail
    }

    /// Whether this is the permanent end.
    pub(crate) fn is_final(&self) -> bool {
        self.closed && self.is_up_to_date()
    }
}

impl StreamEngine {
    /// The appends after a position, up to a limit.
    pub(crate) async fn read(
        &self,
        meta: &StreamMeta,
        after: u64,
        most: usize,
    ) -> Result<StreamPage, StreamError> {
        let base = meta.base();
        let mut page = StreamPage { entries: Vec::new(), next: after, tail: 0, closed: false };
        let mut room = PAGE;
        for part in &meta.inherited {
            if page.next >= part.until || page.entries.len() >= most || room == 0 {
                continue;
            }
            let left = usize::try_from(part.until - page.next).unwrap_or(usize::MAX);
            let records = left.min(most - page.entries.len());
            self.read_part(&part.journal, part.from, records, &mut room, &mut page).await?;
        }
        let tail = if page.next >= base && page.entries.len() < most && room > 0 {
            let records = most - page.entries.len();
            self.read_part(&meta.journal, base, records, &mut room, &mut page).await?
        } else {
            self.store.info(&meta.journal.as_str().into()).await?.ok_or_else(StreamError::unknown)?.tail
        };
        page.tail = base + tail.last;
        page.closed |= tail.closed || meta.closed.is_some();
        Ok(page)
    }

    /// Adds records of one journal to a page.
    async fn read_part(
        &self,
        journal: &str,
        from: u64,
        records: usize,
        room: &mut usize,
        page: &mut StreamPage,
    ) -> Result<Tail, StreamError> {
        let limit = ReadLimit { records, bytes: *room };
        let read = self.store.read(&journal.into(), page.next - from, limit).await?;
        for record in read.records {
            let AppendRecord { header, data } = AppendRecord::decode(&record.body)?;
            *room = room.saturating_sub(record.body.len());
            page.next = from + record.seq;
            // The journal is closed a moment after its last record is visible.
            page.closed |= header.closes;
            page.entries.push(StreamEntry { position: page.next, data });
        }
        Ok(read.tail)
    }

    /// Waits until there is an append after a position, or the stream is closed.
    pub(crate) async fn wait(&self, meta: &StreamMeta, after: u64) -> Result<(), StreamError> {
        let after = after.saturating_sub(meta.base());
        self.store.wait(&meta.journal.as_str().into(), after).await?;
        Ok(())
    }
}
