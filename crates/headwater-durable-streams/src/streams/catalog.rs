//! The catalog of streams: create, find, close, delete.

use std::time::Duration;

use bytes::Bytes;
use headwater_store::{Expect, key};

use super::{
    Expiry, StreamEngine, StreamMeta,
    content::{ContentKind, flatten_json, media_type},
    meta::{ForkOrigin, InheritedPart, StreamClosing},
    offset::Offset,
    record::AppendRecord,
    writers::{LEASE, NODE},
};
use crate::{StreamError, clock};

/// The kind of the values that describe streams.
pub(super) const META: &str = "durable-stream";

/// The kind of the values that list the forks of a journal.
const FORKS: &str = "durable-stream-fork";

/// Prefix of the journals of streams. Drivers of runs ignore such journals.
pub(super) const JOURNAL: &str = "durable-stream/";

/// The name of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct StreamId {
    pub(crate) owner: String,
    pub(crate) path: String,
}

impl StreamId {
    pub(super) fn key(&self) -> String {
        key::join(META, &[&self.owner, &self.path])
    }
}

/// A request to create a stream.
#[derive(Debug, Clone)]
pub(crate) struct CreateRequest {
    /// Without it the type of the source of a fork, else bytes.
    pub(crate) content_type: Option<String>,
    pub(crate) expiry: Option<Expiry>,
    pub(crate) closed: bool,
    pub(crate) fork: Option<ForkRequest>,
    pub(crate) body: Bytes,
}

/// The source of a new fork.
#[derive(Debug, Clone)]
pub(crate) struct ForkRequest {
    pub(crate) path: String,
    /// Without it the end of the source.
    pub(crate) offset: Option<Offset>,
    pub(crate) sub_offset: u64,
}

/// A stream that was created or already existed.
#[derive(Debug)]
pub(crate) struct CreatedStream {
    pub(crate) meta: StreamMeta,
    pub(crate) tail: u64,
    pub(crate) is_new: bool,
}

/// The stored metadata of a stream, and its version.
pub(super) struct StoredMeta {
    pub(super) meta: StreamMeta,
    pub(super) version: u64,
}

/// The initial content of a new stream.
#[derive(Debug, Default)]
pub(super) struct Inheritance {
    pub(super) origin: Option<ForkOrigin>,
    pub(super) parts: Vec<InheritedPart>,
    pub(super) content_type: Option<String>,
    pub(super) expiry: Option<Expiry>,
    /// The part of an append that a sub-offset adds.
    pub(super) prefix: Option<Bytes>,
}

impl StreamEngine {
    /// A stream that can be read and written.
    pub(crate) async fn find(&self, id: &StreamId) -> Result<StreamMeta, StreamError> {
        match self.lookup(id).await? {
            None => Err(StreamError::unknown()),
            Some(stored) if stored.meta.deleted => Err(StreamError::gone()),
            Some(stored) => Ok(stored.meta),
        }
    }

    /// The stored metadata of a stream. One that has expired is removed, or only kept for its forks.
    pub(super) async fn lookup(&self, id: &StreamId) -> Result<Option<StoredMeta>, StreamError> {
        let Some(mut stored) = self.stored(id).await? else { return Ok(None) };
        if !stored.meta.deleted && stored.meta.has_expired() {
            if !self.retire(&stored).await? {
                return Ok(None);
            }
            stored.meta.deleted = true;
        }
        Ok(Some(stored))
    }

    pub(super) async fn stored(&self, id: &StreamId) -> Result<Option<StoredMeta>, StreamError> {
        let Some(value) = self.store.get(&id.key()).await? else { return Ok(None) };
        let meta = serde_json::from_slice(&value.bytes).map_err(|error| {
            tracing::error!(%error, "the store has a stream whose description cannot be decoded");
            StreamError::internal()
        })?;
        Ok(Some(StoredMeta { meta, version: value.version }))
    }

    /// The paths of an owner's streams.
    pub(crate) async fn paths(&self, owner: &str) -> Result<Vec<String>, StreamError> {
        let listed = self.store.list(&key::join(META, &[owner]), None, self.options.streams).await?;
        let decoded = listed.iter().filter_map(|(_, value)| serde_json::from_slice(&value.bytes).ok());
        Ok(decoded.filter(|meta: &StreamMeta| !meta.deleted).map(|meta| meta.path).collect())
    }

    /// The offset of the end of a stream.
    pub(crate) async fn tail(&self, meta: &StreamMeta) -> Result<u64, StreamError> {
        let info = self.store.info(&meta.journal.as_str().into()).await?.ok_or_else(StreamError::unknown)?;
        Ok(meta.base() + info.tail.last)
    }

    /// Creates a stream. Returns an existing stream with the same settings unchanged.
    pub(crate) async fn create(
        &self,
        id: &StreamId,
        request: CreateRequest,
    ) -> Result<CreatedStream, StreamError> {
        if let Some(stored) = self.lookup(id).await? {
            return self.confirm(stored.meta, &request).await;
        }
        let inheritance = self.inherit(id, &request).await?;
        let content_type = (request.content_type.clone().or(inheritance.content_type))
            .unwrap_or_else(|| "application/octet-stream".to_owned());
        let (data, _) = match ContentKind::of(&content_type) {
            ContentKind::Json if !request.body.is_empty() => flatten_json(&request.body)?,
            _ => (request.body.clone(), 0),
        };
        self.count_stream(id).await?;
        let meta = StreamMeta {
            owner: id.owner.clone(),
            path: id.path.clone(),
            journal: format!("{JOURNAL}{}", clock::random_hex::<16>()?),
            content_type,
            expiry: request.expiry.clone().or(inheritance.expiry).unwrap_or(Expiry::Never),
            accessed: clock::now(),
            inherited: inheritance.parts,
            fork: inheritance.origin,
            closed: request.closed.then(StreamClosing::default),
            deleted: false,
        };
        let first = [inheritance.prefix, (!data.is_empty()).then_some(data)];
        let count = self.write_first(&meta, first.into_iter().flatten()).await?;
        self.register_fork(&meta).await?;
        match self.store.put(&id.key(), encode(&meta)?, Expect::Absent, None).await {
            Ok(_) => Ok(CreatedStream { tail: meta.base() + count, meta, is_new: true }),
            Err(error) if is_conflict(&error) => {
                // Another request was first.
                self.remove_data(&meta).await?;
                let stored = self.lookup(id).await?.ok_or_else(StreamError::unknown)?;
                self.confirm(stored.meta, &request).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the journal of a new stream, which makes it exist.
    async fn write_first(
        &self,
        meta: &StreamMeta,
        data: impl Iterator<Item = Bytes>,
    ) -> Result<u64, StreamError> {
        let mut records = Vec::new();
        for data in data {
            records.push(AppendRecord { data, ..AppendRecord::default() }.encode()?);
        }
        let lease = self.store.claim(&meta.journal.as_str().into(), NODE, LEASE).await?;
        if !records.is_empty() {
            self.store.append(&lease, headwater_store::Class::Fact, &records)?.await?;
        }
        if meta.closed.is_some() {
            self.store.close(&lease, None).await?;
        } else {
            self.store.release(&lease).await?;
        }
        Ok(records.len() as u64)
    }

    /// Returns the existing stream, if it matches the request.
    async fn confirm(&self, meta: StreamMeta, request: &CreateRequest) -> Result<CreatedStream, StreamError> {
        if meta.deleted {
            let message =
                "the stream was deleted and is kept for its forks: the URL is free when they are deleted";
            return Err(StreamError::conflict("stream.gone", message));
        }
        let same_fork = match (&meta.fork, &request.fork) {
            (None, None) => true,
            (Some(origin), Some(fork)) => {
                origin.path == fork.path
                    && fork.offset.is_none_or(|offset| offset == Offset::at(origin.offset))
                    && origin.sub_offset == fork.sub_offset
            }
            _ => false,
        };
        let forked = request.fork.is_some();
        let asked = request.content_type.as_deref();
        let same_type = match asked {
            None if forked => true,
            asked => {
                media_type(asked.unwrap_or("application/octet-stream")) == media_type(&meta.content_type)
            }
        };
        let same_expiry = match &request.expiry {
            None => forked || meta.expiry == Expiry::Never,
            Some(expiry) => *expiry == meta.expiry,
        };
        if !(same_fork && same_type && same_expiry && request.closed == meta.closed.is_some()) {
            let message =
                "there is a stream with other settings at this URL: delete it, or send the same settings";
            return Err(StreamError::conflict("stream.exists", message));
        }
        Ok(CreatedStream { tail: self.tail(&meta).await?, meta, is_new: false })
    }

    /// Counts a stream of an owner that is about to be created.
    async fn count_stream(&self, id: &StreamId) -> Result<(), StreamError> {
        let limit = self.options.streams;
        if !self.counts().contains_key(&id.owner) {
            let prefix = key::join(META, &[&id.owner]);
            let listed = self.store.list(&prefix, None, limit).await?;
            self.counts().entry(id.owner.clone()).or_insert(listed.len());
        }
        let mut counts = self.counts();
        let count = counts.entry(id.owner.clone()).or_default();
        if *count >= limit {
            let message = format!("you have {limit} streams, which is the limit: delete some");
            return Err(StreamError::new(
                axum::http::StatusCode::TOO_MANY_REQUESTS,
                "streams.too-many",
                message,
            ));
        }
        *count += 1;
        Ok(())
    }

    /// Records a read or write of a stream, if its expiry depends on it.
    pub(crate) async fn touch(&self, id: &StreamId) {
        let Ok(Some(stored)) = self.stored(id).await else { return };
        if !stored.meta.should_touch() || stored.meta.deleted {
            return;
        }
        let meta = StreamMeta { accessed: clock::now(), ..stored.meta };
        // A conflict means that another request has changed it just now.
        if let Ok(bytes) = encode(&meta) {
            let _ = self.store.put(&id.key(), bytes, Expect::Version(stored.version), None).await;
        }
    }

    /// Deletes a stream; one with forks is kept for them.
    pub(crate) async fn delete(&self, id: &StreamId) -> Result<(), StreamError> {
        let Some(stored) = self.lookup(id).await? else { return Err(StreamError::unknown()) };
        if stored.meta.deleted {
            return Err(StreamError::gone());
        }
        self.retire(&stored).await.map(drop)
    }

    /// Removes a stream, and deleted ones that were kept only as its sources. A stream with forks is marked
    /// as deleted instead; returns `true` then.
    pub(super) async fn retire(&self, stored: &StoredMeta) -> Result<bool, StreamError> {
        let meta = &stored.meta;
        let id = StreamId { owner: meta.owner.clone(), path: meta.path.clone() };
        if self.has_forks(meta).await? {
            let meta = StreamMeta { deleted: true, ..meta.clone() };
            self.store.put(&id.key(), encode(&meta)?, Expect::Any, None).await?;
            return Ok(true);
        }
        let mut gone = (id, meta.clone());
        loop {
            let (id, meta) = &gone;
            self.store.remove(&id.key(), Expect::Any).await?;
            if let Some(count) = self.counts().get_mut(&id.owner) {
                *count = count.saturating_sub(1);
            }
            self.remove_data(meta).await?;
            let Some(origin) = &meta.fork else { return Ok(false) };
            let source = StreamId { owner: id.owner.clone(), path: origin.path.clone() };
            match self.stored(&source).await? {
                Some(stored)
                    if stored.meta.deleted
                        && stored.meta.journal == origin.journal
                        && !self.has_forks(&stored.meta).await? =>
                {
                    gone = (source, stored.meta);
                }
                _ => return Ok(false),
            }
        }
    }

    /// Deletes the journal of a stream, and that it is a fork.
    async fn remove_data(&self, meta: &StreamMeta) -> Result<(), StreamError> {
        self.discard_writer(meta).await?;
        let journal = meta.journal.as_str().into();
        // Another process may hold the lease of a stream that it has just written to.
        for _ in 0..40 {
            match self.store.delete(&journal).await {
                Err(error) if matches!(error.kind(), headwater_store::ErrorKind::Held { .. }) => {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                other => {
                    other?;
                    break;
                }
            }
        }
        if let Some(origin) = &meta.fork {
            self.store.remove(&fork_key(&origin.journal, &meta.journal), Expect::Any).await?;
        }
        Ok(())
    }

    /// Registers a fork of a journal before the fork exists, so that a source is never deleted too early.
    async fn register_fork(&self, meta: &StreamMeta) -> Result<(), StreamError> {
        let Some(origin) = &meta.fork else { return Ok(()) };
        let key = fork_key(&origin.journal, &meta.journal);
        self.store.put(&key, encode(&(&meta.owner, &meta.path))?, Expect::Any, None).await?;
        Ok(())
    }

    /// Whether a stream has forks. An entry for a fork that was never created does not count.
    async fn has_forks(&self, meta: &StreamMeta) -> Result<bool, StreamError> {
        let prefix = key::join(FORKS, &[&meta.journal]);
        for (key, value) in self.store.list(&prefix, None, 1_000).await? {
            let Ok((owner, path)) = serde_json::from_slice::<(String, String)>(&value.bytes) else {
                continue;
            };
            let stored = self.stored(&StreamId { owner, path }).await?;
            let exists = stored.is_some_and(|fork| key == fork_key(&meta.journal, &fork.meta.journal));
            if exists {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Marks a stream as closed.
    pub(super) async fn closed_meta(
        &self,
        id: &StreamId,
        closing: StreamClosing,
    ) -> Result<(Bytes, Expect), StreamError> {
        let stored = self.stored(id).await?.ok_or_else(StreamError::unknown)?;
        let meta = StreamMeta { closed: Some(closing), accessed: clock::now(), ..stored.meta };
        Ok((encode(&meta)?, Expect::Any))
    }
}

fn fork_key(source: &str, fork: &str) -> String {
    key::join(FORKS, &[source, fork])
}

pub(super) fn encode(value: &impl serde::Serialize) -> Result<Bytes, StreamError> {
    serde_json::to_vec(value).map(Into::into).map_err(|_| StreamError::internal())
}

pub(super) fn is_conflict(error: &headwater_store::Error) -> bool {
    matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. })
}
