//! Where checkpoints are kept: one value each, or several where one would be too large.

use bytes::Bytes;
use headwater_protocol::CheckpointId;
use headwater_store::{Expect, Value};
use serde::Deserialize;

use super::checkpoint::{Node, unknown};
use crate::{Error, Result, agent::AgentInner, error::ErrorKind};

/// The most that is put into one value, and what is tried if the store takes less.
const PIECES: [usize; 4] = [512 << 10, 128 << 10, 32 << 10, 8 << 10];

/// What stands for a checkpoint that has several values.
#[derive(Debug, Deserialize)]
struct InPieces {
    pieces: usize,
}

/// Where a checkpoint is kept. Its name begins with that of its tree, so that those of a tree can be listed.
fn key(id: &CheckpointId) -> String {
    format!("checkpoint/{id}")
}

fn pieces(id: &CheckpointId) -> String {
    format!("checkpoint-piece/{id}/")
}

impl AgentInner {
    /// A checkpoint as it is kept.
    pub(crate) async fn node(&self, id: &CheckpointId) -> Result<Node> {
        self.find_node(id).await?.ok_or_else(|| unknown(id))
    }

    pub(crate) async fn find_node(&self, id: &CheckpointId) -> Result<Option<Node>> {
        match self.store.get(&key(id)).await? {
            Some(value) => self.read_node(id.as_str(), &value).await.map(Some),
            None => Ok(None),
        }
    }

    async fn read_node(&self, id: &str, value: &Value) -> Result<Node> {
        let unreadable = |error: serde_json::Error| {
            Error::new(ErrorKind::Store, format!("checkpoint {id} cannot be read: {error}"))
        };
        let Ok(InPieces { pieces: count }) = serde_json::from_slice(&value.bytes) else {
            return serde_json::from_slice(&value.bytes).map_err(unreadable);
        };
        let mut whole = Vec::new();
        for piece in 0..count {
            let piece = self.store.get(&format!("{}{piece:06}", pieces(&id.into()))).await?;
            whole.extend_from_slice(&piece.ok_or_else(|| unknown(&id.into()))?.bytes);
        }
        serde_json::from_slice(&whole).map_err(unreadable)
    }

    /// The nodes of a tree with their versions, in no order.
    pub(crate) async fn nodes_of(&self, tree: &str) -> Result<Vec<(Node, u64)>> {
        let prefix = format!("checkpoint/{tree}.");
        let mut nodes = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page = self.store.list(&prefix, after.as_deref(), 100).await?;
            for (key, value) in &page {
                let id = key.strip_prefix("checkpoint/").unwrap_or(key);
                nodes.push((self.read_node(id, value).await?, value.version));
            }
            match page.last() {
                Some((key, _)) if page.len() == 100 => after = Some(key.clone()),
                _ => return Ok(nodes),
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
                self.store.put(&key(node.id()), bytes.clone(), Expect::Absent, None).await
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
            let key = format!("{}{count:06}", pieces(id));
            self.store.put(&key, bytes.slice_ref(piece), Expect::Any, None).await?;
            count += 1;
        }
        let stands = format!(r#"{{"pieces":{count}}}"#);
        self.store.put(&key(id), stands.into(), Expect::Absent, None).await
    }

    /// Puts a node in the place of one that was seen, unless that has changed.
    pub(crate) async fn replace_node(&self, node: &Node, seen: u64) -> Result<()> {
        match self.store.put(&key(node.id()), encode(node)?, Expect::Version(seen), None).await {
            Err(error) if !matches!(error.kind(), headwater_store::ErrorKind::Conflict { .. }) => {
                Err(error.into())
            }
            _ => Ok(()),
        }
    }

    pub(crate) async fn remove_node(&self, id: &CheckpointId) -> Result<()> {
        self.store.remove(&key(id), Expect::Any).await?;
        self.remove_all(&pieces(id)).await
    }
}

fn encode(node: &Node) -> Result<Bytes> {
    serde_json::to_vec(node).map(Bytes::from).map_err(|error| {
        Error::new(ErrorKind::State, format!("checkpoint {} does not serialise: {error}", node.id()))
    })
}
