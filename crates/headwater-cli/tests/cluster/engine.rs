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
            Kind::Redis => RedisServer::start().map(Self::Redis),
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

    /// How many bytes it holds: Redis in memory, Postgres in the database.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Redis(server) => {
                let memory = server.command(&["INFO", "memory"]);
                let used = memory.lines().find_map(|line| line.strip_prefix("used_memory_dataset:")).unwrap();
                used.trim().parse().unwrap()
            }
            Self::Postgres(server) => {
                server.query("headwater", "SELECT pg_database_size('headwater')").parse().unwrap()
            }
        }
    }
}
