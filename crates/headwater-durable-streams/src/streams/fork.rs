//! The inherited content of a fork.

use bytes::Bytes;

use super::{
    StreamEngine, StreamMeta,
    catalog::{CreateRequest, Inheritance, StreamId},
    content::{ContentKind, first_messages, media_type},
    meta::{ForkOrigin, InheritedPart},
    offset::Offset,
};
use crate::StreamError;

impl StreamEngine {
    /// The parts that a new fork inherits from its source.
    pub(super) async fn inherit(
        &self,
        id: &StreamId,
        request: &CreateRequest,
    ) -> Result<Inheritance, StreamError> {
        let Some(fork) = &request.fork else { return Ok(Inheritance::default()) };
        let source = StreamId { owner: id.owner.clone(), path: fork.path.clone() };
        let stored = self.lookup(&source).await?;
        let Some(stored) = stored else {
            let message = "there is no stream at the URL of `Stream-Forked-From`";
            return Err(StreamError::new(axum::http::StatusCode::NOT_FOUND, "stream.unknown", message));
        };
        let meta = stored.meta;
        if meta.deleted {
            return Err(StreamError::conflict("stream.gone", "the stream to be forked was deleted"));
        }
        let asked = request.content_type.as_deref().map(media_type);
        if asked.is_some_and(|asked| asked != media_type(&meta.content_type)) {
            let message = format!("a fork has the content type of its source, `{}`", meta.content_type);
            return Err(StreamError::conflict("content-type.differs", message));
        }
        let tail = self.tail(&meta).await?;
        let at = fork.offset.unwrap_or(Offset::at(tail));
        if at > Offset::at(tail) {
            return Err(StreamError::bad(
                "fork.offset",
                "`Stream-Fork-Offset` is beyond the end of the stream",
            ));
        }
        let at = at.position;
        let mut parts = meta.inherited.clone();
        parts.push(InheritedPart { journal: meta.journal.clone(), from: meta.base(), until: tail });
        for part in &mut parts {
            part.until = part.until.min(at);
        }
        parts.retain(|part| part.from < part.until);
        if parts.is_empty() && at > 0 {
            return Err(StreamError::internal());
        }
        let prefix = self.fork_prefix(&meta, at, fork.sub_offset).await?;
        let origin = ForkOrigin {
            path: fork.path.clone(),
            journal: meta.journal,
            offset: at,
            sub_offset: fork.sub_offset,
        };
        Ok(Inheritance {
            origin: Some(origin),
            parts,
            content_type: Some(meta.content_type),
            expiry: Some(meta.expiry),
            prefix,
        })
    }

    /// The part of the append after an offset that a sub-offset adds.
    async fn fork_prefix(
        &self,
        meta: &StreamMeta,
        at: u64,
        sub_offset: u64,
    ) -> Result<Option<Bytes>, StreamError> {
        if sub_offset == 0 {
            return Ok(None);
        }
        let next = self.read(meta, at, 1).await?.entries.into_iter().next();
        let data = next.map(|entry| entry.data).unwrap_or_default();
        let count = usize::try_from(sub_offset).unwrap_or(usize::MAX);
        let prefix = match ContentKind::of(&meta.content_type) {
            ContentKind::Json => first_messages(&data, count),
            _ => (count <= data.len()).then(|| data.slice(..count)),
        };
        let message = "`Stream-Fork-Sub-Offset` is beyond the append at the offset";
        prefix.map(Some).ok_or_else(|| StreamError::bad("fork.sub-offset", message))
    }
}
