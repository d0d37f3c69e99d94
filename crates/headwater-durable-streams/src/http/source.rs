//! A stored stream as something that is read.

use futures_util::future::BoxFuture;

use super::serve::{SourcePage, StreamSource};
use crate::{
    DurableStreams, StreamError,
    streams::{ContentKind, Offset, StreamEntry, StreamId, StreamMeta, StreamPage},
};

/// Maximum number of appends in one response.
const ENTRIES: usize = 1_024;

pub(super) struct StoredStream {
    streams: DurableStreams,
    id: StreamId,
    meta: StreamMeta,
}

impl StoredStream {
    pub(super) async fn open(streams: &DurableStreams, id: StreamId) -> Result<Self, StreamError> {
        let meta = streams.0.find(&id).await?;
        Ok(Self { streams: streams.clone(), id, meta })
    }
}

impl StreamSource for StoredStream {
    fn content_type(&self) -> &str {
        &self.meta.content_type
    }

    fn tag(&self) -> &str {
        &self.meta.journal
    }

    fn tail(&self) -> BoxFuture<'_, Result<Offset, StreamError>> {
        Box::pin(async { Ok(Offset::at(self.streams.0.tail(&self.meta).await?)) })
    }

    fn read(&self, after: Offset) -> BoxFuture<'_, Result<SourcePage, StreamError>> {
        Box::pin(async move {
            let page = self.streams.0.read(&self.meta, after.position, ENTRIES).await?;
            if after > Offset::at(page.tail) {
                let message = "the offset is beyond the end of the stream: read again from `-1`";
                return Err(StreamError::bad("offset.beyond", message));
            }
            let (up_to_date, closed) = (page.is_up_to_date(), page.is_final());
            let StreamPage { entries, next, .. } = page;
            let item = |StreamEntry { position, data }| (Offset::at(position), data);
            Ok(SourcePage {
                items: entries.into_iter().map(item).collect(),
                next: Offset::at(next),
                up_to_date,
                closed,
            })
        })
    }

    fn wait(&self, after: Offset) -> BoxFuture<'_, Result<(), StreamError>> {
        Box::pin(self.streams.0.wait(&self.meta, after.position))
    }

    fn touch(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.streams.0.touch(&self.id))
    }

    fn closing(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.streams.0.closed())
    }

    fn is_json(&self) -> bool {
        ContentKind::of(&self.meta.content_type) == ContentKind::Json
    }
}
