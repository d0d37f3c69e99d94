//! Cache of decoded checkpoints: the turns of a conversation read the same ones repeatedly, and decoding
//! dominates that cost. An entry is valid only while the store has the version that was decoded.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use headwater_protocol::CheckpointId;

use super::checkpoint::Node;

/// Limits on the encoded size of all cached checkpoints, and of one of them.
const MAX_BYTES: usize = 8 << 20;
const MAX_NODE_BYTES: usize = 64 << 10;

/// The checkpoints that were decoded last.
#[derive(Debug, Default)]
pub(crate) struct CheckpointCache(Mutex<CachedNodes>);

#[derive(Debug, Default)]
struct CachedNodes {
    nodes: HashMap<CheckpointId, CachedNode>,
    /// Insertion order, oldest first.
    order: VecDeque<(CheckpointId, u64)>,
    bytes: usize,
}

#[derive(Debug)]
struct CachedNode {
    version: u64,
    bytes: usize,
    node: Arc<Node>,
}

impl CheckpointCache {
    fn lock(&self) -> MutexGuard<'_, CachedNodes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The checkpoint of a value of that version.
    pub(super) fn get(&self, id: &CheckpointId, version: u64) -> Option<Arc<Node>> {
        self.lock().nodes.get(id).filter(|cached| cached.version == version).map(|cached| cached.node.clone())
    }

    /// Keeps a checkpoint that was decoded from a value of that version and size.
    pub(super) fn insert(&self, node: &Arc<Node>, version: u64, bytes: usize) {
        if bytes > MAX_NODE_BYTES {
            return;
        }
        let (id, node) = (node.id().clone(), node.clone());
        let mut cached = self.lock();
        cached.order.push_back((id.clone(), version));
        cached.bytes += bytes;
        if let Some(older) = cached.nodes.insert(id, CachedNode { version, bytes, node }) {
            cached.bytes -= older.bytes;
        }
        while cached.bytes > MAX_BYTES || cached.order.len() > 2 * cached.nodes.len() + 16 {
            let Some((oldest, version)) = cached.order.pop_front() else { break };
            if cached.nodes.get(&oldest).is_some_and(|cached| cached.version == version)
                && let Some(gone) = cached.nodes.remove(&oldest)
            {
                cached.bytes -= gone.bytes;
            }
        }
    }
}
