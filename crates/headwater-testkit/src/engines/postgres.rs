//! A real Postgres server.

use std::{
    fmt::Write as _,
    fs, io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use rustix::process::{Signal, kill_process};

use super::{
    certificates::Certificates,
    fail,
    folder::{ServerFolder, on_path},
    left_out,
    process::{ServerProcess, StartError, free_port, log_file, until_started},
};

const NAME: &str = "postgres";
const MISSING: &str = "postgres is neither on the PATH nor in /usr/lib/postgresql: install it (Debian: postgresql), or set \
                       HEADWATER_WITHOUT=postgres to skip the tests that need it";

/// Debian's folder with the programs of each version, which are not on the PATH.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The superuser, reachable only over the socket in the folder.
const ADMIN: &str = "admin";

/// Role, password and database in the URL. The role is not a superuser.
const ROLE: &str = "headwater";

/// Settings of a Postgres server. `fsync` is on, as in production.
#[derive(Debug, Clone, Default)]
pub struct PostgresOptions {
    tls: bool,
    config: String,
}

impl PostgresOptions {
    /// Accepts only TLS connections, with a certificate for `localhost` and `127.0.0.1`.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Adds a line to `postgresql.conf`, for example `max_connections = 20`. It overrides existing lines.
    #[must_use]
    pub fn config(mut self, line: &str) -> Self {
        self.config.push_str(line);
        self.config.push('\n');
        self
    }

    /// Starts the server. `None` if `HEADWATER_WITHOUT` names `postgres`.
    ///
    /// # Panics
    /// If `postgres` is not installed or does not start; the message contains its output.
    #[must_use]
    #[track_caller]
    pub fn start(self) -> Option<PostgresServer> {
        if left_out(NAME) {
            return None;
        }
        match PostgresServer::launch(&self) {
            Ok(server) => Some(server),
            Err(why) => fail(NAME, &why),
        }
    }
}

/// A Postgres server in a temporary folder, with the role and the database `headwater`. Dropping it kills it.
#[derive(Debug)]
pub struct PostgresServer {
    // Dropped before its folder.
    process: Option<ServerProcess>,
    /// The folder of `postgres`, `initdb` and `psql`.
    programs: PathBuf,
    folder: ServerFolder,
    certificates: Option<Certificates>,
    port: u16,
    starts: u32,
}

impl PostgresServer {
    /// Starts a server without TLS. `None` if `HEADWATER_WITHOUT` names `postgres`.
    ///
    /// # Panics
    /// If `postgres` is not installed or does not start; the message contains its output.
    #[must_use]
    #[track_caller]
    pub fn start() -> Option<Self> {
        Self::options().start()
    }

    /// Settings to start a server with.
    #[must_use]
    pub fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    fn launch(options: &PostgresOptions) -> Result<Self, String> {
        let programs = programs().ok_or(MISSING)?;
        let folder = ServerFolder::new().map_err(|error| format!("no temporary folder: {error}"))?;
        let mut server = Self { process: None, programs, folder, certificates: None, port: 0, starts: 0 };
        server.initialise(options)?;
        until_started(|| {
            server.port = free_port()?;
            server.try_start()
        })?;
        server.psql("postgres", &format!("CREATE ROLE {ROLE} LOGIN PASSWORD '{ROLE}'"))?;
        server.psql("postgres", &format!("CREATE DATABASE {ROLE} OWNER {ROLE}"))?;
        Ok(server)
    }

    /// Creates the data folder and its configuration.
    fn initialise(&mut self, options: &PostgresOptions) -> Result<(), String> {
        let mut command = self.folder.command(&self.programs.join("initdb"));
        command.arg("-D").arg(self.data());
        // An empty server need not be durable: a crash that loses it ends the test too.
        command.args(["-U", ADMIN, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        finish(command)?;
        self.configure(options).map_err(|error| format!("cannot write the configuration: {error}"))
    }

    fn configure(&mut self, options: &PostgresOptions) -> io::Result<()> {
        let mut config = format!(
            "listen_addresses = '127.0.0.1'\nunix_socket_directories = '{}'\nfsync = on\n",
            self.folder.path().display()
        );
        let mut connection = "host";
        if options.tls {
            connection = "hostssl";
            let made = Certificates::make(&self.folder)?;
            // Writing to a string cannot fail.
            let _ = writeln!(
                config,
                "ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'",
                made.certificate.display(),
                made.key.display()
            );
            self.certificates = Some(made);
        }
        self.folder.write("data/postgresql.conf", &(config + &options.config))?;
        let access = format!("local all all trust\n{connection} all all 127.0.0.1/32 scram-sha-256\n");
        self.folder.write("data/pg_hba.conf", &access)?;
        Ok(())
    }

    fn try_start(&mut self) -> Result<(), StartError> {
        self.starts += 1;
        let mut command = self.folder.command(&self.programs.join("postgres"));
        command.arg("-D").arg(self.data()).arg("-p").arg(self.port.to_string());
        let log = log_file(self.folder.path(), self.starts);
        // Connections are refused until recovery is complete.
        let ready = || self.psql("postgres", "SELECT 1").is_ok();
        let process = ServerProcess::start(command, self.folder.path(), &log, ready)?;
        self.process = Some(process);
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The URL for clients: `postgres://headwater:headwater@127.0.0.1:PORT/headwater`, plus
    /// `?sslmode=require` with TLS.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_as(ROLE, ROLE, ROLE)
    }

    /// The URL for another role and database.
    #[must_use]
    pub fn url_as(&self, role: &str, password: &str, database: &str) -> String {
        let mode = if self.certificates.is_some() { "?sslmode=require" } else { "" };
        format!("postgres://{role}:{password}@127.0.0.1:{}/{database}{mode}", self.port)
    }

    /// Creates an empty database owned by the role `headwater` and returns its URL, so that tests can share
    /// one server.
    ///
    /// # Panics
    /// If the database exists.
    #[track_caller]
    pub fn database(&self, name: &str) -> String {
        self.query("postgres", &format!("CREATE DATABASE {name} OWNER {ROLE}"));
        self.url_as(ROLE, ROLE, name)
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

    /// The id of the main process while the server runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(ServerProcess::id)
    }

    /// Executes a statement in a database as superuser and returns the rows as text, with `|` between
    /// columns. Uses the socket, so it works even if the port is cut.
    ///
    /// # Panics
    /// If the server refuses the statement or is not running.
    #[track_caller]
    pub fn query(&self, database: &str, statement: &str) -> String {
        match self.psql(database, statement) {
            Ok(rows) => rows,
            Err(why) => fail(NAME, &format!("{statement}: {why}")),
        }
    }

    fn psql(&self, database: &str, statement: &str) -> Result<String, String> {
        let mut command = self.folder.command(&self.programs.join("psql"));
        command.arg("-h").arg(self.folder.path()).arg("-p").arg(self.port.to_string());
        command.args(["-U", ADMIN, "-d", database, "-qAtX", "-v", "ON_ERROR_STOP=1", "-c", statement]);
        finish(command).map(|output| output.trim_end().to_owned())
    }

    /// Stops the server like an operator: connections are closed, transactions rolled back (SIGINT).
    ///
    /// # Panics
    /// If it does not exit.
    #[track_caller]
    pub fn stop(&mut self) {
        if let Some(Err(why)) = self.process.take().map(|process| process.stop(Signal::INT)) {
            fail(NAME, &why);
        }
    }

    /// Kills all its processes (SIGKILL). Without the main process a connection's own would end too, but only once it has
    /// noticed, and until then it may commit.
    pub fn kill(&mut self) {
        let connections = self.process.as_ref().map(ServerProcess::children).unwrap_or_default();
        self.process = None;
        for connection in connections {
            // It may have ended by itself meanwhile.
            let _ = kill_process(connection, Signal::KILL);
        }
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

/// The folder with the programs: that of the `postgres` on the PATH, or of Debian's newest version.
fn programs() -> Option<PathBuf> {
    // Often only some of the programs are linked into a folder of the PATH.
    let linked = on_path(&["postgres"]).and_then(|program| fs::canonicalize(program).ok());
    let named = linked.and_then(|program| program.parent().map(Path::to_path_buf));
    named.or_else(|| {
        let versions = fs::read_dir(DEBIAN).ok()?.filter_map(Result::ok).map(|entry| entry.path());
        let complete = versions.filter(|version| version.join("bin/initdb").is_file());
        let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
        complete.max_by_key(number).map(|version| version.join("bin"))
    })
}

/// Runs a program to completion and returns its output.
fn finish(mut command: std::process::Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Err(format!("{out}{errors}").trim().to_owned())
}
