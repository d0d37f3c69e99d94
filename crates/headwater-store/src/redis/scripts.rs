//! The scripts. Each does one thing whole, and all keys that it touches are in one slot of a cluster.

use redis::Script;

/// A script, and its hash on the server.
#[derive(Debug)]
pub(super) struct LoadedScript {
    pub(super) code: String,
    pub(super) hash: String,
}

impl LoadedScript {
    fn new(body: &str) -> Self {
        let code = format!("{}{body}", include_str!("scripts/prelude.lua"));
        let hash = Script::new(&code).get_hash().to_owned();
        Self { code, hash }
    }
}

#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) commit: LoadedScript,
    pub(super) read: LoadedScript,
    pub(super) header: LoadedScript,
    pub(super) tails: LoadedScript,
    pub(super) claim: LoadedScript,
    pub(super) change: LoadedScript,
    pub(super) delete: LoadedScript,
    pub(super) expired: LoadedScript,
    pub(super) get: LoadedScript,
    pub(super) put: LoadedScript,
    pub(super) remove: LoadedScript,
    pub(super) list: LoadedScript,
    pub(super) sweep: LoadedScript,
    pub(super) journals: LoadedScript,
    pub(super) restore: LoadedScript,
    pub(super) now: LoadedScript,
    pub(super) open: LoadedScript,
}

impl Scripts {
    pub(super) fn new() -> Self {
        Self {
            commit: LoadedScript::new(include_str!("scripts/commit.lua")),
            read: LoadedScript::new(include_str!("scripts/read.lua")),
            header: LoadedScript::new(include_str!("scripts/header.lua")),
            tails: LoadedScript::new(include_str!("scripts/tails.lua")),
            claim: LoadedScript::new(include_str!("scripts/claim.lua")),
            change: LoadedScript::new(include_str!("scripts/change.lua")),
            delete: LoadedScript::new(include_str!("scripts/delete.lua")),
            expired: LoadedScript::new(include_str!("scripts/expired.lua")),
            get: LoadedScript::new(include_str!("scripts/get.lua")),
            put: LoadedScript::new(include_str!("scripts/put.lua")),
            remove: LoadedScript::new(include_str!("scripts/remove.lua")),
            list: LoadedScript::new(include_str!("scripts/list.lua")),
            sweep: LoadedScript::new(include_str!("scripts/sweep.lua")),
            journals: LoadedScript::new(include_str!("scripts/journals.lua")),
            restore: LoadedScript::new(include_str!("scripts/restore.lua")),
            now: LoadedScript::new(include_str!("scripts/now.lua")),
            open: LoadedScript::new(include_str!("scripts/open.lua")),
        }
    }
}
