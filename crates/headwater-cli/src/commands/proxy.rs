//! `headwater proxy`: serves the answers of another server in every dialect.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, header};
use clap::Args;
use headwater_dialects::{Dialect, Reader};
use headwater_models::Models;

use crate::{
    ProgramAgents,
    args::{dialect, reader},
    config::{ServerSettings, flags::Flags, length},
    failure::{CommandFailure, ExitVerdict},
    proxy::ProxySettings,
    serve::{self, StudioPage},
    style,
};

/// Headers that belong to one connection or one request, so they are never passed on.
const OWN_HEADERS: [HeaderName; 9] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::HOST,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Put Headwater before a server that you have: its answers are kept in the journal and served in every
/// dialect, with resume, heartbeats, stop and sessions.
///
/// Takes the settings of `serve`, but no agents.
#[derive(Debug, Args)]
pub(crate) struct ProxyCommand {
    #[command(flatten)]
    flags: Flags,

    /// The chat route of the server behind.
    #[arg(long, value_name = "URL", env = "HEADWATER_UPSTREAM")]
    upstream: String,

    /// The dialect that the server behind speaks: `ai-sdk`, `ag-ui` (also TanStack AI and CopilotKit),
    /// `agents` or `kortyx`.
    #[arg(long, value_name = "DIALECT", value_parser = reader())]
    from: &'static dyn Reader,

    /// The dialects to serve. Repeatable. Default: all.
    #[arg(long, value_name = "DIALECT", value_parser = dialect(), value_delimiter = ',')]
    to: Vec<&'static dyn Dialect>,

    /// The name of the agent.
    #[arg(long, value_name = "NAME", default_value = "proxy")]
    name: String,

    /// A header that every request to the server behind gets. Repeatable. Other users of the machine can see
    /// flags: use --upstream-header-env for secrets.
    #[arg(long, value_name = "NAME=VALUE")]
    upstream_header: Vec<String>,

    /// The same, with the value in an environment variable: `authorization=UPSTREAM_AUTHORIZATION`.
    #[arg(long, value_name = "NAME=VARIABLE")]
    upstream_header_env: Vec<String>,

    /// A header of the client's request that the server behind gets too. Repeatable. Default: none.
    #[arg(long, value_name = "NAME")]
    pass_header: Vec<String>,

    /// How long the server behind may be silent, such as `90s`.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = length)]
    stall_timeout: Duration,

    /// Repeat a request whose answer was interrupted because this server died. Otherwise its run fails.
    #[arg(long)]
    repeat: bool,

    /// Show readers the text of errors, and not only their code.
    #[arg(long)]
    show_errors: bool,
}

impl ProxyCommand {
    pub(crate) fn run(&self) -> Result<ExitVerdict, CommandFailure> {
        let layers = self.flags.layers()?;
        for warning in &layers.warnings {
            style::warning(warning);
        }
        let settings = ServerSettings::of(&layers)?;
        if !settings.agents.is_empty() {
            let message =
                "the proxy serves the server behind, and no agents: leave out the files, or use `serve`";
            return Err(CommandFailure::new(message));
        }
        let proxy = self.proxy()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| CommandFailure::new(format!("cannot begin: {error}")))?;
        runtime.block_on(async {
            let exporting = serve::logs::begin(&settings)?;
            let served = serve::serve(
                &settings,
                Models::new(),
                &ProgramAgents::new(),
                Some(&proxy),
                StudioPage::Closed,
            )
            .await;
            exporting.close().await;
            served
        })?;
        Ok(ExitVerdict::Sound)
    }

    fn proxy(&self) -> Result<ProxySettings, CommandFailure> {
        let mut headers = Vec::new();
        for text in &self.upstream_header {
            let (name, value) = named("--upstream-header", "NAME=VALUE", text)?;
            headers.push(checked("--upstream-header", name, value.to_owned())?);
        }
        for text in &self.upstream_header_env {
            let flag = "--upstream-header-env";
            let (name, variable) = named(flag, "NAME=VARIABLE", text)?;
            let value = std::env::var(variable).map_err(|_| {
                CommandFailure::new(format!("{flag} {name}: the environment has no variable {variable}"))
            })?;
            headers.push(checked(flag, name, value)?);
        }
        let pass_headers = self.pass_header.iter().map(|name| header_name("--pass-header", name));
        Ok(ProxySettings {
            name: self.name.clone(),
            url: self.upstream.clone(),
            from: self.from,
            to: self.to.iter().map(|dialect| dialect.name()).collect(),
            headers,
            pass_headers: pass_headers.collect::<Result<_, _>>()?,
            stall: self.stall_timeout,
            repeat: self.repeat,
            show_errors: self.show_errors,
        })
    }
}

/// The two sides of an option. The text may have a secret, so errors do not repeat it.
fn named<'a>(flag: &str, form: &str, text: &'a str) -> Result<(&'a str, &'a str), CommandFailure> {
    text.split_once('=').ok_or_else(|| CommandFailure::new(format!("{flag}: expected {form}")))
}

fn checked(flag: &str, name: &str, value: String) -> Result<(HeaderName, String), CommandFailure> {
    let name = header_name(flag, name)?;
    if HeaderValue::from_str(&value).is_err() {
        return Err(CommandFailure::new(format!("{flag} {name}: the value is not visible ASCII")));
    }
    Ok((name, value))
}

fn header_name(flag: &str, name: &str) -> Result<HeaderName, CommandFailure> {
    let parsed = HeaderName::from_bytes(name.trim().as_bytes())
        .map_err(|_| CommandFailure::new(format!("{flag}: `{name}` is not the name of a header")))?;
    if OWN_HEADERS.contains(&parsed) {
        let message = format!("{flag}: `{parsed}` belongs to a single connection and cannot be set");
        return Err(CommandFailure::new(message));
    }
    Ok(parsed)
}
