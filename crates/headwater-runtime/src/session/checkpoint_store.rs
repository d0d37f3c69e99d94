//! Storage of checkpoints: one value each, or several pieces if one would be too large.

use std::sync::Arc;

use bytes::Bytes;
use headwater_protocol::CheckpointId;
use headwater_store::{Expect, Value, ValuePages, WriteOp, remove_all};

use super::{
    checkpoint::{Node, StoredInput, unknown},
    checkpoint_cache::CheckpointCache,
    head::UNREADABLE,
};
use crate::{Error, Result, environment::Environment, error::ErrorKind, keys};

/// Sizes of a piece in bytes, tried from the largest until the store accepts one.
const PIECES: [usize; 4] = [512 << 10, 128 << 10, 32 << 10, 8 << 10];

/// Prefix of a value that points to several pieces; their count follows. JSON never starts with it.
const IN_PIECES: &[u8] = b"pieces:";

/// The tree of checkpoints that sessions point into.
#[derive(Debug)]
pub(crate) struct CheckpointTree {
    pub(super) env: Arc<Environment>,
    cache: CheckpointCache,
}

impl CheckpointTree {
    pub(crate) fn new(env: Arc<Environment>) -> Self {
        Self { env, cache: CheckpointCache::default() }
    }

    /// A checkpoint as it is kept.
    pub(crate) async fn node(&self, id: &CheckpointId) -> Result<Arc<Node>> {
        self.find_node(id).await?.ok_or_else(|| unknown(id))
    }

    pub(crate) async fn find_node(&self, id: &CheckpointId) -> Result<Option<Arc<Node>>> {
        let value = self.env.store.get(&keys::checkpoint(id)).await;
        match value.map_err(|error| Error::from(error).or_unreadable(UNREADABLE))? {
            Some(value) => self.read_node(id, &value).await.map(Some),
            None => Ok(None),
        }
    }

    async fn read_node(&self, id: &CheckpointId, value: &Value) -> Result<Arc<Node>> {
        if let Some(node) = self.cache.get(id, value.version) {
            return Ok(node);
        }
        let node = Arc::new(self.decode_node(id, value).await?);
        if !value.bytes.starts_with(IN_PIECES) {
            self.cache.insert(&node, value.version, value.bytes.len());
        }
        Ok(node)
    }

    async fn decode_node(&self, id: &CheckpointId, value: &Value) -> Result<Node> {
        let unreadable = |error: serde_json::Error| {
            let message =
                format!("checkpoint {id} cannot be read: {error}: delete its session, or mend the store");
            Error::new(ErrorKind::Store, message).with_code(UNREADABLE)
        };
        let Some(count) = value.bytes.strip_prefix(IN_PIECES) else {
            return crate::codec::decode(&value.bytes).map_err(unreadable);
        };
        let count: usize = crate::codec::decode(count).map_err(unreadable)?;
        let mut whole = Vec::new();
        for piece in 0..count {
            let piece = self.env.store.get(&keys::checkpoint_piece(id, piece)).await;
            let piece = piece.map_err(|error| Error::from(error).or_unreadable(UNREADABLE))?;
            whole.extend_from_slice(&piece.ok_or_else(|| unknown(id))?.bytes);
        }
        crate::codec::decode(&whole).map_err(unreadable)
    }

    /// The nodes of a tree with their versions, in no order, and those that cannot be read.
    pub(crate) async fn nodes_of(&self, tree: &str) -> Result<(Vec<(Arc<Node>, u64)>, Vec<CheckpointId>)> {
        let (mut nodes, mut unreadable) = (Vec::new(), Vec::new());
        let mut pages = ValuePages::new(&*self.env.store, keys::checkpoints(tree));
        while let Some(page) = pages.next().await? {
            for (key, value) in &page {
                let Some(id) = keys::read_checkpoint(key) else { continue };
                match self.read_node(&id, value).await {
                    Ok(node) => nodes.push((node, value.version)),
                    Err(error) if error.code() == UNREADABLE => unreadable.push(id),
                    // Another process is removing it.
                    Err(error) if error.kind() == ErrorKind::UnknownCheckpoint => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok((nodes, unreadable))
    }

    /// Stores a node. A second process finds the same content there.
    pub(crate) async fn put_node(&self, node: &Node) -> Result<()> {
        let bytes = encode(node)?;
        for size in PIECES {
            let Err(error) = self.env.store.write(None, node_writes(node, &bytes, size)).await else {
                return Ok(());
            };
            match error.kind() {
                headwater_store::ErrorKind::Conflict { .. } => return Ok(()),
                headwater_store::ErrorKind::TooLarge => {}
                _ => return Err(error.into()),
            }
        }
        let message =
            format!("checkpoint {} has {} bytes, more than the store takes", node.id(), bytes.len());
        Err(Error::new(ErrorKind::Limit, message).with_code("session.too-large"))
    }

    /// Replaces a node, unless it has changed since the version that was read.
    pub(crate) async fn replace_node(&self, node: &Node, seen: u64) -> Result<()> {
        match self
            .env
            .store
            .put(&keys::checkpoint(node.id()), encode(node)?, Expect::Version(seen), None)
            .await
        {
            Err(error) if !matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                Err(error.into())
            }
            _ => Ok(()),
        }
    }

    pub(crate) async fn remove_node(&self, node: &Node) -> Result<()> {
        self.remove_checkpoint(node.id()).await?;
        if let Some(key) = index_key(node) {
            self.env.store.remove(&key, Expect::Any).await?;
        }
        Ok(())
    }

    /// Removes a checkpoint that cannot be read or has no message. Its index entry is left alone.
    pub(crate) async fn remove_checkpoint(&self, id: &CheckpointId) -> Result<()> {
        self.env.store.remove(&keys::checkpoint(id), Expect::Any).await?;
        Ok(remove_all(&*self.env.store, &keys::checkpoint_pieces(id)).await?)
    }
}

/// The writes that store a new node in as few values as possible. If the store rejects their size,
/// [`CheckpointTree::put_node`] retries with smaller pieces.
pub(super) fn largest_node_writes(node: &Node) -> Result<Vec<WriteOp>> {
    let [largest, ..] = PIECES;
    Ok(node_writes(node, &encode(node)?, largest))
}

/// The writes that store a new node: index entry, pieces, and last the checkpoint itself, so that a reader
/// that finds it finds all of it.
fn node_writes(node: &Node, bytes: &Bytes, size: usize) -> Vec<WriteOp> {
    let put = |key, bytes, expect| WriteOp::Put { key, bytes, expect, ttl: None };
    let mut writes: Vec<_> =
        index_key(node).into_iter().map(|key| put(key, Bytes::new(), Expect::Any)).collect();
    let whole = if bytes.len() <= size {
        bytes.clone()
    } else {
        let pieces = bytes.chunks(size).enumerate();
        writes.extend(pieces.map(|(number, piece)| {
            put(keys::checkpoint_piece(node.id(), number), bytes.slice_ref(piece), Expect::Any)
        }));
        let count = bytes.len().div_ceil(size).to_string();
        [IN_PIECES, count.as_bytes()].concat().into()
    };
    writes.push(put(keys::checkpoint(node.id()), whole, Expect::Absent));
    writes
}

/// Key of the index entry from the message of a turn to its checkpoint.
fn index_key(node: &Node) -> Option<String> {
    let StoredInput::Message(said) = &node.input else { return None };
    Some(keys::message_turn(node.tree(), &said.message.id, node.id()))
}

fn encode(node: &Node) -> Result<Bytes> {
    let bytes = serde_json::to_vec(node).map(Bytes::from).map_err(|error| {
        Error::new(ErrorKind::State, format!("checkpoint {} does not serialise: {error}", node.id()))
    })?;
    debug_assert!(crate::codec::decode::<Node>(&bytes).is_ok(), "a checkpoint that cannot be read back");
    Ok(bytes)
}
