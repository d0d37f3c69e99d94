//! Where checkpoints are kept: one value each, or several where one would be too large.

use bytes::Bytes;
use headwater_protocol::CheckpointId;
use headwater_store::{Expect, Value};
use serde::Deserialize;

use super::{
    checkpoint::{Node, unknown},
    head::UNREADABLE,
};
use crate::{Error, Result, agent::AgentInner, error::ErrorKind, keys};

/// The most that is put into one value, and what is tried if the store takes less.
const PIECES: [usize; 4] = [512 << 10, 128 << 10, 32 << 10, 8 << 10];

/// What stands for a checkpoint that has several values.
#[derive(Debug, Deserialize)]
struct InPieces {
    pieces: usize,
}

impl AgentInner {
    /// A checkpoint as it is kept.
    pub(crate) async fn node(&self, id: &CheckpointId) -> Result<Node> {
        self.find_node(id).await?.ok_or_else(|| unknown(id))
    }

    pub(crate) async fn find_node(&self, id: &CheckpointId) -> Result<Option<Node>> {
        let value = self.store.get(&keys::checkpoint(id)).await;
        match value.map_err(|error| Error::from(error).or_unreadable(UNREADABLE))? {
            Some(value) => self.read_node(id, &value).await.map(Some),
            None => Ok(None),
        }
    }

    async fn read_node(&self, id: &CheckpointId, value: &Value) -> Result<Node> {
        let unreadable = |error: serde_json::Error| {
            let message =
                format!("checkpoint {id} cannot be read: {error}: delete its session, or mend the store");
            Error::new(ErrorKind::Store, message).with_code(UNREADABLE)
        };
        let Ok(InPieces { pieces: count }) = crate::codec::decode(&value.bytes) else {
            return crate::codec::decode(&value.bytes).map_err(unreadable);
        };
        let mut whole = Vec::new();
        for piece in 0..count {
            let piece = self.store.get(&keys::checkpoint_piece(id, piece)).await;
            let piece = piece.map_err(|error| Error::from(error).or_unreadable(UNREADABLE))?;
            whole.extend_from_slice(&piece.ok_or_else(|| unknown(id))?.bytes);
        }
        crate::codec::decode(&whole).map_err(unreadable)
    }

    /// The nodes of a tree with their versions, in no order, and those that cannot be read.
    pub(crate) async fn nodes_of(&self, tree: &str) -> Result<(Vec<(Node, u64)>, Vec<CheckpointId>)> {
        let prefix = keys::checkpoints(tree);
        let (mut nodes, mut unreadable) = (Vec::new(), Vec::new());
        let mut after: Option<String> = None;
        loop {
            let page = self.store.list(&prefix, after.as_deref(), 100).await?;
            for (key, value) in &page {
                let Some(id) = keys::read_checkpoint(key) else { continue };
                match self.read_node(&id, value).await {
                    Ok(node) => nodes.push((node, value.version)),
                    Err(error) if error.code() == UNREADABLE => unreadable.push(id),
                    // Another process removes it.
                    Err(error) if error.kind() == ErrorKind::UnknownCheckpoint => {}
                    Err(error) => return Err(error),
                }
            }
            match page.last() {
                Some((key, _)) if page.len() == 100 => after = Some(key.clone()),
                _ => return Ok((nodes, unreadable)),
            }
        }
    }

    /// Keeps a node. Whoever comes second finds the same there.
    pub(crate) async fn put_node(&self, node: &Node) -> Result<()> {
        let bytes = encode(node)?;
        let mut most = PIECES.into_iter();
        loop {
            let Some(size) = most.next() else {
                let message =
                    format!("checkpoint {} has {} bytes, more than the store takes", node.id(), bytes.len());
                return Err(Error::new(ErrorKind::Limit, message).with_code("session.too-large"));
            };
            let put = if bytes.len() <= size {
                self.store.put(&keys::checkpoint(node.id()), bytes.clone(), Expect::Absent, None).await
            } else {
                self.put_in_pieces(node.id(), &bytes, size).await
            };
            match put {
                Err(error) => match error.kind() {
                    headwater_store::ErrorKind::Conflict { .. } => return Ok(()),
                    headwater_store::ErrorKind::TooLarge => {}
                    _ => return Err(error.into()),
                },
                Ok(_) => return Ok(()),
            }
        }
    }

    /// The pieces first: who finds the checkpoint finds them all.
    async fn put_in_pieces(
        &self,
        id: &CheckpointId,
        bytes: &Bytes,
        size: usize,
    ) -> headwater_store::Result<u64> {
        let mut count = 0;
        for piece in bytes.chunks(size) {
            let key = keys::checkpoint_piece(id, count);
            self.store.put(&key, bytes.slice_ref(piece), Expect::Any, None).await?;
            count += 1;
        }
        let stands = format!(r#"{{"pieces":{count}}}"#);
        self.store.put(&keys::checkpoint(id), stands.into(), Expect::Absent, None).await
    }

    /// Puts a node in the place of one that was seen, unless that has changed.
    pub(crate) async fn replace_node(&self, node: &Node, seen: u64) -> Result<()> {
        match self.store.put(&keys::checkpoint(node.id()), encode(node)?, Expect::Version(seen), None).await {
            Err(error) if !matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                Err(error.into())
            }
            _ => Ok(()),
        }
    }

    pub(crate) async fn remove_node(&self, id: &CheckpointId) -> Result<()> {
        self.store.remove(&keys::checkpoint(id), Expect::Any).await?;
        self.remove_all(&keys::checkpoint_pieces(id)).await
    }
}

fn encode(node: &Node) -> Result<Bytes> {
    let bytes = serde_json::to_vec(node).map(Bytes::from).map_err(|error| {
        Error::new(ErrorKind::State, format!("checkpoint {} does not serialise: {error}", node.id()))
    })?;
    debug_assert!(crate::codec::decode::<Node>(&bytes).is_ok(), "a checkpoint that cannot be read back");
    Ok(bytes)
}
