//! The engine that the nodes share.

use std::net::SocketAddr;

use headwater_testkit::engines::{PostgresServer, RedisServer};

/// Which engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Redis,
    Postgres,
}

impl Kind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Redis => "Redis",
            Self::Postgres => "Postgres",
        }
    }
}

/// A real server of that kind.
pub(crate) enum Engine {
    Redis(RedisServer),
    Postgres(PostgresServer),
}

impl Engine {
    /// Starts one. `None` where this machine has none and says so.
    pub(crate) fn start(kind: Kind) -> Option<Self> {
        match kind {
            // Rewritten when it has doubled: from 64 MiB on, as is usual, minutes would not show that it stays small.
            Kind::Redis => {
                RedisServer::options().config("auto-aof-rewrite-min-size 1mb").start().map(Self::Redis)
            }
            Kind::Postgres => PostgresServer::start().map(Self::Postgres),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Redis(server) => server.address(),
            Self::Postgres(server) => server.address(),
        }
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Redis(server) => server.url(),
            Self::Postgres(server) => server.url(),
        }
    }

    /// The URL for a node that reaches the engine over this address.
    pub(crate) fn url_over(&self, address: SocketAddr) -> String {
        self.url().replace(&self.address().to_string(), &address.to_string())
    }

    /// Kills the engine, and starts it again.
    pub(crate) fn crash(&mut self) {
        match self {
            Self::Redis(server) => {
                server.kill();
                server.restart();
            }
            Self::Postgres(server) => {
                server.kill();
                server.restart();
            }
        }
    }

    /// Stops the engine as an operator does, and starts it again.
    pub(crate) fn restart(&mut self) {
        match self {
            Self::Redis(server) => server.restart(),
            Self::Postgres(server) => server.restart(),
        }
    }

    /// How many bytes its data takes in memory, where it holds all of it there.
    pub(crate) fn memory(&self) -> Option<u64> {
        match self {
            Self::Redis(server) => Some(info(server, "memory", "used_memory_dataset:")),
            Self::Postgres(_) => None,
        }
    }

    /// How many bytes it takes on disk: the append-only file, or the database.
    pub(crate) fn disk(&self) -> u64 {
        match self {
            Self::Redis(server) => info(server, "persistence", "aof_current_size:"),
            Self::Postgres(server) => {
                server.query("headwater", "SELECT pg_database_size('headwater')").parse().unwrap()
            }
        }
    }
}

/// A number that Redis knows about itself.
fn info(server: &RedisServer, section: &str, name: &str) -> u64 {
    let known = server.command(&["INFO", section]);
    known.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().parse().unwrap()
}
