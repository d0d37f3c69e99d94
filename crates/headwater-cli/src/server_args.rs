//! The running server that a command talks to.

use clap::Args;
use headwater_client::Client;

use crate::failure::CommandFailure;

/// The header in which an operator names the principal to act for.
pub(crate) const OWNER: &str = "x-headwater-owner";

/// Which server to ask, and as whom.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// The URL of the server.
    #[arg(long, value_name = "URL", env = "HEADWATER_SERVER", default_value = "http://127.0.0.1:8787")]
    pub(crate) server: String,

    #[command(flatten)]
    caller: CallerArgs,
}

impl ServerArgs {
    /// A client of this server.
    pub(crate) fn client(&self) -> Client {
        self.caller.client(&self.server)
    }
}

/// As whom to ask a server.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct CallerArgs {
    /// The API key or token to send.
    #[arg(long, value_name = "KEY", env = "HEADWATER_KEY", hide_env_values = true)]
    key: Option<String>,

    /// The principal to act for, if the key is an operator's.
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
}

impl CallerArgs {
    /// A client of the server at this URL.
    pub(crate) fn client(&self, url: &str) -> Client {
        let mut client = Client::new(url);
        if let Some(key) = &self.key {
            client = client.key(key);
        }
        if let Some(owner) = &self.owner {
            client = client.header(OWNER, owner);
        }
        client
    }
}

/// Runs the future of a command that talks to a server.
pub(crate) fn block_on<T>(
    command: impl Future<Output = Result<T, CommandFailure>>,
) -> Result<T, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandFailure::new(format!("cannot begin: {error}")))?;
    runtime.block_on(command)
}

/// The exit codes of commands that a server refused; [`EXIT_CODES`](crate::EXIT_CODES) documents them.
const REFUSED_KEY: u8 = 4;
const UNKNOWN: u8 = 5;
pub(crate) const CONFLICT: u8 = 6;

impl From<headwater_client::Error> for CommandFailure {
    fn from(error: headwater_client::Error) -> Self {
        let advice = match error.code() {
            "network" | "timeout" => "; is it running? --server URL names another one",
            "auth.missing" | "auth.unknown" | "auth.invalid" | "auth.expired" => {
                "; give a key with --key or $HEADWATER_KEY"
            }
            _ => "",
        };
        let message = format!("{error}{advice} ({})", error.code());
        match (error.status(), error.code()) {
            (Some(401 | 403), _) => Self::with_exit_code(message, REFUSED_KEY),
            (Some(404), _) => Self::with_exit_code(message, UNKNOWN),
            (Some(409 | 410), _) => Self::with_exit_code(message, CONFLICT),
            _ if error.is_retryable() => Self::temporary(message),
            _ => Self::new(message),
        }
    }
}
