//! A real Redis (or Valkey) server.

use std::{
    fmt::Write as _,
    io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use rustix::process::Signal;

use super::{
    certificates::Certificates,
    fail,
    folder::{ServerFolder, on_path},
    left_out,
    process::{ServerProcess, StartError, free_port, log_file, until_started},
    resp::RespConnection,
};

const NAME: &str = "redis";
const MISSING: &str = "redis-server is not on the PATH: install it (Debian: redis-server), or set \
                       HEADWATER_WITHOUT=redis to skip the tests that need it";

/// Settings of a Redis server. The append-only file is on unless the configuration turns it off.
#[derive(Debug, Clone, Default)]
pub struct RedisOptions {
    tls: bool,
    password: Option<String>,
    config: String,
}

impl RedisOptions {
    /// Accepts only TLS connections, with a certificate for `localhost` and `127.0.0.1`.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Requires a password for the default user. It is inserted into URLs unescaped: use letters and digits.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// Adds a line to `redis.conf`, for example `maxmemory 4mb`. It overrides existing lines.
    #[must_use]
    pub fn config(mut self, line: &str) -> Self {
        self.config.push_str(line);
        self.config.push('\n');
        self
    }

    /// Starts the server. `None` if `HEADWATER_WITHOUT` names `redis`.
    ///
    /// # Panics
    /// If `redis-server` is not installed or does not start; the message contains its output.
    #[must_use]
    #[track_caller]
    pub fn start(self) -> Option<RedisServer> {
        if left_out(NAME) {
            return None;
        }
        match RedisServer::launch(self) {
            Ok(server) => Some(server),
            Err(why) => fail(NAME, &why),
        }
    }
}

/// A Redis server in a temporary folder. Dropping it kills it.
#[derive(Debug)]
pub struct RedisServer {
    // Dropped before its folder.
    process: Option<ServerProcess>,
    program: PathBuf,
    folder: ServerFolder,
    certificates: Option<Certificates>,
    options: RedisOptions,
    port: u16,
    starts: u32,
}

impl RedisServer {
    /// Starts a server without TLS and password. `None` if `HEADWATER_WITHOUT` names `redis`.
    ///
    /// # Panics
    /// If `redis-server` is not installed or does not start; the message contains its output.
    #[must_use]
    #[track_caller]
    pub fn start() -> Option<Self> {
        Self::options().start()
    }

    /// Settings to start a server with.
    #[must_use]
    pub fn options() -> RedisOptions {
        RedisOptions::default()
    }

    fn launch(options: RedisOptions) -> Result<Self, String> {
        let program = on_path(&["redis-server", "valkey-server"]).ok_or(MISSING)?;
        let folder = ServerFolder::new().map_err(|error| format!("no temporary folder: {error}"))?;
        let certificates = if options.tls {
            Some(Certificates::make(&folder).map_err(|error| error.to_string())?)
        } else {
            None
        };
        let mut server = Self { process: None, program, folder, certificates, options, port: 0, starts: 0 };
        until_started(|| {
            server.port = free_port()?;
            server.try_start()
        })?;
        Ok(server)
    }

    fn try_start(&mut self) -> Result<(), StartError> {
        self.starts += 1;
        let config = self.folder.write("redis.conf", &self.config())?;
        let mut command = self.folder.command(&self.program);
        command.arg(config);
        let log = log_file(self.folder.path(), self.starts);
        let ready = || self.connection().and_then(|mut open| open.command(&["PING"])).is_ok();
        let process = ServerProcess::start(command, self.folder.path(), &log, ready)?;
        self.process = Some(process);
        Ok(())
    }

    fn config(&self) -> String {
        let (folder, port) = (self.folder.path().display(), self.port);
        let mut config = format!(
            "bind 127.0.0.1\nunixsocket {folder}/socket\ndir {folder}\ndaemonize no\nsave \"\"\nappendonly yes\n"
        );
        // Writing to a string cannot fail.
        let _ = match &self.certificates {
            None => writeln!(config, "port {port}"),
            Some(Certificates { certificate, key, .. }) => writeln!(
                config,
                "port 0\ntls-port {port}\ntls-cert-file {}\ntls-key-file {}\ntls-auth-clients no",
                certificate.display(),
                key.display()
            ),
        };
        if let Some(password) = &self.options.password {
            let _ = writeln!(config, "requirepass {password}");
        }
        config + &self.options.config
    }

    /// The URL for clients: `redis://127.0.0.1:PORT`, `rediss://` with TLS, including the password if set.
    #[must_use]
    pub fn url(&self) -> String {
        let password = self.options.password.as_ref();
        let user = password.map(|password| format!(":{password}@")).unwrap_or_default();
        self.url_with(&user)
    }

    /// The URL for a user created with `ACL SETUSER`.
    #[must_use]
    pub fn url_as(&self, user: &str, password: &str) -> String {
        self.url_with(&format!("{user}:{password}@"))
    }

    fn url_with(&self, user: &str) -> String {
        let scheme = if self.options.tls { "rediss" } else { "redis" };
        format!("{scheme}://{user}127.0.0.1:{}", self.port)
    }

    /// The server's address, for a proxy in front of it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The certificate that clients must trust if TLS is on, as a PEM file.
    #[must_use]
    pub fn authority(&self) -> Option<&Path> {
        self.certificates.as_ref().map(Certificates::authority)
    }

    /// The process id while the server runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(ServerProcess::id)
    }

    /// Sends a command as the default user, for example `["CONFIG", "SET", "maxmemory", "4mb"]`, and returns
    /// the reply as text. Uses the socket, so it works even if the port is cut.
    ///
    /// # Panics
    /// If the server refuses the command or is not running.
    #[track_caller]
    pub fn command(&self, words: &[&str]) -> String {
        match self.connection().and_then(|mut open| open.command(words)) {
            Ok(reply) => reply,
            Err(error) => fail(NAME, &format!("{}: {error}", words.join(" "))),
        }
    }

    fn connection(&self) -> io::Result<RespConnection> {
        let mut connection = RespConnection::open(&self.folder.path().join("socket"))?;
        if let Some(password) = &self.options.password {
            connection.command(&["AUTH", password])?;
        }
        Ok(connection)
    }

    /// Stops the server like an operator (SIGTERM), and waits until it has exited.
    ///
    /// # Panics
    /// If it does not exit.
    #[track_caller]
    pub fn stop(&mut self) {
        if let Some(Err(why)) = self.process.take().map(|process| process.stop(Signal::TERM)) {
            fail(NAME, &why);
        }
    }

    /// Kills the server like a crash (SIGKILL).
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Restarts the server on the same port and folder; stops it first if it is running.
    ///
    /// # Panics
    /// If it does not start; the message contains its output.
    #[track_caller]
    pub fn restart(&mut self) {
        self.stop();
        if let Err(why) = until_started(|| self.try_start()) {
            fail(NAME, &why);
        }
    }
}
