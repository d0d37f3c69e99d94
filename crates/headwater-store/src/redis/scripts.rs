//! The scripts. Each does one thing whole, and all keys that it touches are in one slot of a cluster.

use redis::Script;

/// A script, and the hash by which the server knows it.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) code: String,
    pub(super) hash: String,
}

impl Loaded {
    fn new(body: &str) -> Self {
        let code = format!("{}{body}", include_str!("scripts/prelude.lua"));
        let hash = Script::new(&code).get_hash().to_owned();
        Self { code, hash }
    }
}

#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) commit: Loaded,
    pub(super) read: Loaded,
    pub(super) header: Loaded,
    pub(super) tails: Loaded,
    pub(super) claim: Loaded,
    pub(super) change: Loaded,
    pub(super) delete: Loaded,
    pub(super) expired: Loaded,
    pub(super) get: Loaded,
    pub(super) put: Loaded,
    pub(super) remove: Loaded,
    pub(super) list: Loaded,
    pub(super) sweep: Loaded,
    pub(super) journals: Loaded,
    pub(super) restore: Loaded,
    pub(super) now: Loaded,
    pub(super) open: Loaded,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            commit: Loaded::new(include_str!("scripts/commit.lua")),
            read: Loaded::new(include_str!("scripts/read.lua")),
            header: Loaded::new(include_str!("scripts/header.lua")),
            tails: Loaded::new(include_str!("scripts/tails.lua")),
            claim: Loaded::new(include_str!("scripts/claim.lua")),
            change: Loaded::new(include_str!("scripts/change.lua")),
            delete: Loaded::new(include_str!("scripts/delete.lua")),
            expired: Loaded::new(include_str!("scripts/expired.lua")),
            get: Loaded::new(include_str!("scripts/get.lua")),
            put: Loaded::new(include_str!("scripts/put.lua")),
            remove: Loaded::new(include_str!("scripts/remove.lua")),
            list: Loaded::new(include_str!("scripts/list.lua")),
            sweep: Loaded::new(include_str!("scripts/sweep.lua")),
            journals: Loaded::new(include_str!("scripts/journals.lua")),
            restore: Loaded::new(include_str!("scripts/restore.lua")),
            now: Loaded::new(include_str!("scripts/now.lua")),
            open: Loaded::new(include_str!("scripts/open.lua")),
        }
    }
}
