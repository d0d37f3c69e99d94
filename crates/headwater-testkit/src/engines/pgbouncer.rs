//! A real PgBouncer in front of a Postgres server.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use super::{
    PostgresServer, fail,
    folder::{ServerFolder, on_path},
    process::{ServerProcess, free_port, log_file, until_started},
};

const NAME: &str = "pgbouncer";
const MISSING: &str = "pgbouncer is not on the PATH: install it (Debian: pgbouncer), or set HEADWATER_WITHOUT=postgres to skip \
                       the tests that need it";

/// A pooler in transaction mode with a few connections to the server. Dropping it kills it.
#[derive(Debug)]
pub struct PgBouncer {
    // The process is dropped before its folder.
    _process: ServerProcess,
    _folder: ServerFolder,
    port: u16,
}

impl PgBouncer {
    /// Starts a pooler in front of a server that does not require TLS.
    ///
    /// # Panics
    /// When there is no `pgbouncer`, or it does not start: the message has what it printed.
    #[must_use]
    #[track_caller]
    pub fn start(server: &PostgresServer) -> Self {
        match Self::launch(server.address()) {
            Ok(pooler) => pooler,
            Err(why) => fail(NAME, &why),
        }
    }

    fn launch(server: SocketAddr) -> Result<Self, String> {
        // Debian keeps it where only root looks by default.
        let program = on_path(&[NAME, "/usr/sbin/pgbouncer"]).ok_or(MISSING)?;
        let folder = ServerFolder::new().map_err(|error| format!("no temporary folder: {error}"))?;
        let mut starts = 0;
        let (process, port) = until_started(|| {
            starts += 1;
            let port = free_port()?;
            folder.write("users.txt", "\"headwater\" \"headwater\"\n")?;
            let config = folder.write("pgbouncer.ini", &config(server, port, &folder))?;
            let mut command = folder.command(&program);
            command.arg(config);
            let ready = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
            let log = log_file(folder.path(), starts);
            Ok((ServerProcess::start(command, folder.path(), &log, ready)?, port))
        })?;
        Ok(Self { _process: process, _folder: folder, port })
    }

    /// Where clients connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }
}

/// Fewer connections than one process of Headwater has, so that each is used by several.
fn config(server: SocketAddr, port: u16, folder: &ServerFolder) -> String {
    format!(
        "[databases]\n* = host={} port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
         auth_type = scram-sha-256\nauth_file = {}/users.txt\npool_mode = transaction\ndefault_pool_size = 3\n",
        server.ip(),
        server.port(),
        folder.path().display()
    )
}
