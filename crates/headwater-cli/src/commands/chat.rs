//! `headwater chat`: talks to agents in the terminal.

use std::path::PathBuf;

use clap::Args;
use headwater_client::Client;

use crate::{
    ProgramAgents,
    chat::{self, ChatTarget},
    config::{Layers, ServerSettings},
    failure::{CommandFailure, ExitVerdict},
    serve,
    server_args::CallerArgs,
};

/// Chat with an agent in the terminal.
///
/// TARGET is the URL of a server, or an agent file that is served within this process. Without it the demo agents are: they
/// need no key and no network. In a pipe each line of the input is a message, and only text is printed.
#[derive(Debug, Args)]
pub(crate) struct ChatCommand {
    /// The URL of a server, or an agent file. Default: the demo agents.
    #[arg(value_name = "TARGET", env = "HEADWATER_SERVER")]
    target: Option<String>,

    /// The agent to talk to. Default: the server's.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// The session to continue.
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    #[command(flatten)]
    caller: CallerArgs,
}

impl ChatCommand {
    pub(crate) fn run(&self, agents: &ProgramAgents) -> Result<ExitVerdict, CommandFailure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| CommandFailure::new(format!("cannot begin: {error}")))?;
        let verdict = runtime.block_on(async {
            let (client, server, is_kept) = self.connect(agents).await?;
            let (agent, session) = (self.agent.clone(), self.session.clone());
            chat::run(client, ChatTarget { server, is_kept, agent, session }).await
        });
        // A thread that waits for a key never ends.
        runtime.shutdown_background();
        verdict
    }

    /// A client, the server for people, and whether sessions outlive this process.
    async fn connect(&self, agents: &ProgramAgents) -> Result<(Client, String, bool), CommandFailure> {
        let target = self.target.as_deref().filter(|target| !target.is_empty());
        match target {
            Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
                let host = url.split("://").nth(1).unwrap_or(url).trim_end_matches('/');
                let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
                Ok((self.caller.client(url), host.to_owned(), true))
            }
            Some(file) => {
                let path = PathBuf::from(file);
                if !path.exists() {
                    return Err(CommandFailure::new(format!(
                        "cannot find {file}: give the URL of a server (`http://…`) or an agent file"
                    )));
                }
                Ok((in_process(Some(&path), agents).await?, file.to_owned(), false))
            }
            None => {
                let what = if agents.names().next().is_some() { "agents" } else { "demo agents" };
                Ok((in_process(None, agents).await?, format!("{what} in this process"), false))
            }
        }
    }
}

/// A client of a server within this process, and only this client has its key.
async fn in_process(file: Option<&PathBuf>, agents: &ProgramAgents) -> Result<Client, CommandFailure> {
    let environment = std::env::vars().filter(|(name, _)| name != "HEADWATER_AGENTS");
    let mut settings = ServerSettings::of(&Layers::gather(Vec::new(), environment, None)?)?;
    settings.agents = file.into_iter().cloned().collect();
    settings.default_agent = None;
    settings.api_keys.clear();
    settings.jwt = None;
    settings.webhooks.clear();
    settings.metrics = false;
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| CommandFailure::new(format!("no random bytes: {error}")))?;
    let key: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let address = serve::in_process(&settings, agents, &key).await?;
    Ok(Client::new(format!("http://{address}")).key(key))
}
