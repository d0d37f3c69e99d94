//! The settings as typed, validated values.

use std::{fmt, num::NonZeroUsize, path::PathBuf, str::FromStr, time::Duration};

use axum::http::HeaderName;
use headwater_dialects::Dialect;
use headwater_models::http::Timeouts;
use headwater_runtime::{PriceList, WhenBusy};
use headwater_server::{Agents, ChatPath, Options, Server, WebhookTarget, check_path};
use headwater_store::embedded::Fsync;

use super::{
    layers::Layers,
    operate::{claim_and_value, operators, prices, webhooks},
    parse,
    read::{SecretText, SettingsReader},
};
use crate::failure::CommandFailure;

/// All settings of the server.
#[derive(Debug)]
pub(crate) struct ServerSettings {
    pub(crate) listen: String,
    pub(crate) agents: Vec<PathBuf>,
    pub(crate) default_agent: Option<String>,
    pub(crate) watch: bool,
    pub(crate) data: PathBuf,
    pub(crate) store: StoreUrl,
    pub(crate) fsync: Fsync,
    pub(crate) store_on_failure: OnFailure,
    /// API keys with the names of their principals.
    pub(crate) api_keys: Vec<(String, SecretText)>,
    /// The names of the API keys that are operators'.
    pub(crate) operators: Vec<String>,
    pub(crate) prices: PriceList,
    pub(crate) webhooks: Vec<WebhookTarget>,
    pub(crate) webhook_timeout: Duration,
    pub(crate) jwt: Option<JwtSettings>,
    pub(crate) cors: Vec<String>,
    pub(crate) cors_headers: Vec<String>,
    pub(crate) cors_credentials: bool,
    pub(crate) hosts: Vec<String>,
    pub(crate) metrics: bool,
    #[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "such a build refuses the setting"))]
    pub(crate) otel: Option<Otel>,
    pub(crate) limits: Limits,
    pub(crate) durable_streams: DurableStreamSettings,
    pub(crate) heartbeat: Duration,
    pub(crate) padding: usize,
    pub(crate) replay: Duration,
    pub(crate) when_busy: Option<WhenBusy>,
    pub(crate) seam: String,
    pub(crate) hold: bool,
    /// Additional paths by dialect.
    pub(crate) paths: Vec<(&'static dyn Dialect, ChatPath)>,
    pub(crate) lease: Duration,
    pub(crate) version_wait: Duration,
    pub(crate) shutdown: Duration,
    pub(crate) model_timeouts: Timeouts,
    pub(crate) log_level: String,
    pub(crate) log_format: LogFormat,
    pub(crate) demo_pace: Duration,
}

/// The location of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreUrl {
    /// With the bytes that it may take, if they are not the usual ones.
    Memory(Option<u64>),
    File(PathBuf),
    /// URLs of shared databases; they may contain passwords.
    Postgres(SecretText),
    Redis(SecretText),
}

impl StoreUrl {
    /// Whether several servers can use the store at the same time.
    pub(crate) fn is_shared(&self) -> bool {
        !matches!(self, Self::Memory(_) | Self::File(_))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(None) => f.write_str("memory:"),
            Self::Memory(Some(max)) => write!(f, "memory:?max={max}"),
            Self::File(folder) => write!(f, "file:{}", folder.display()),
            Self::Postgres(url) | Self::Redis(url) => f.write_str(&without_secrets(&url.0)),
        }
    }
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        store_url(text)
    }
}

/// The collector for spans and metrics.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "such a build refuses the setting"))]
pub(crate) struct Otel {
    pub(crate) endpoint: String,
    pub(crate) service: String,
}

/// Requirements for JSON Web Tokens.
#[derive(Debug, Clone)]
pub(crate) struct JwtSettings {
    pub(crate) secret: Option<SecretText>,
    pub(crate) public_key: Option<PathBuf>,
    pub(crate) jwks: Option<PathBuf>,
    pub(crate) jwks_url: Option<String>,
    pub(crate) max_age: Duration,
    pub(crate) issuer: Option<String>,
    pub(crate) audience: Option<String>,
    pub(crate) claim: String,
    pub(crate) prefix: String,
    pub(crate) types: Vec<String>,
    /// The claim of operators and its value.
    pub(crate) operator: Option<(String, String)>,
}

/// Streams of the callers' own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DurableStreamSettings {
    pub(crate) enabled: bool,
    pub(crate) webhooks: bool,
    pub(crate) long_poll: Duration,
}

/// Limits on requests, runs and connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) body: usize,
    pub(crate) depth: usize,
    pub(crate) values: usize,
    pub(crate) bodies: usize,
    pub(crate) bodies_total: usize,
    pub(crate) messages: usize,
    pub(crate) runs: usize,
    pub(crate) active_runs: usize,
    pub(crate) streams: usize,
    pub(crate) run_time: Option<Duration>,
    pub(crate) body_time: Duration,
    pub(crate) connections: Option<NonZeroUsize>,
    pub(crate) idle: Duration,
    pub(crate) stall: Duration,
}

/// What to do when the store has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    Exit,
    Recover,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl ServerSettings {
    /// Parses and validates the settings.
    pub(crate) fn of(layers: &Layers) -> Result<Self, CommandFailure> {
        let read = SettingsReader(layers);
        let data = PathBuf::from(read.one("data"));
        let store = match read.optional("store") {
            None => StoreUrl::File(data.join("store")),
            Some(_) => read.with("store", store_url)?,
        };
        let jwt = JwtSettings {
            secret: read.optional("jwt.secret").map(SecretText),
            public_key: read.optional("jwt.public_key").map(Into::into),
            jwks: read.optional("jwt.jwks").map(Into::into),
            jwks_url: match read.optional("jwt.jwks_url") {
                Some(_) => Some(read.with("jwt.jwks_url", key_set_url)?),
                None => None,
            },
            max_age: read.with("jwt.max_age", some_time)?,
            issuer: read.optional("jwt.issuer"),
            audience: read.optional("jwt.audience"),
            claim: read.with("jwt.claim", |claim| match claim {
                "" => Err("the claim must not be empty: use `sub`, for example".to_owned()),
                _ => Ok(claim.to_owned()),
            })?,
            prefix: read.one("jwt.prefix"),
            types: read.many("jwt.typ"),
            operator: match read.optional("jwt.operator") {
                Some(_) => Some(read.with("jwt.operator", claim_and_value)?),
                None => None,
            },
        };
        let checks =
            jwt.secret.is_some() || jwt.public_key.is_some() || jwt.jwks.is_some() || jwt.jwks_url.is_some();
        if !checks && (jwt.issuer.is_some() || jwt.audience.is_some()) {
            let message = "`jwt.issuer` and `jwt.audience` have no effect without a key to verify tokens: set `jwt.secret`, \
                           `jwt.public_key`, `jwt.jwks` or `jwt.jwks_url` too";
            return Err(CommandFailure::new(message));
        }
        let jwt = checks.then_some(jwt);
        let otel = match read.optional("otel.endpoint") {
            Some(_) => {
                let (endpoint, service) = (read.with("otel.endpoint", collector)?, read.one("otel.service"));
                Some(Otel { endpoint, service })
            }
            None => None,
        };
        let paths = paths(&read)?;
        let api_keys = read.secrets("api_keys");
        let operators = operators(&read, &api_keys)?;
        let (cors, hosts) = (read.many("cors"), read.many("hosts"));
        if api_keys.is_empty() && jwt.is_none() {
            for (name, values) in [("cors", &cors), ("hosts", &hosts)] {
                if values.iter().any(|value| value == "*") {
                    let wrong = "`*` needs keys: without them every web page that is opened on this machine could drive its \
                                 agents. Set a key (--api-key, `api_keys` or `jwt`), or name the origins and hosts";
                    return Err(read.wrong(name, wrong));
                }
            }
        }
        let cors_credentials = read.with("cors_credentials", parse::switch)?;
        if cors_credentials && cors.iter().any(|origin| origin == "*") {
            let wrong = "with cookies every web page could act for its reader: name the origins under `cors` instead of `*`";
            return Err(read.wrong("cors_credentials", wrong));
        }
        let cors_headers = read.many("cors_headers");
        if let Some(name) = cors_headers.iter().find(|name| HeaderName::try_from(name.as_str()).is_err()) {
            return Err(read.wrong("cors_headers", format!("invalid header name `{name}`")));
        }
        Ok(Self {
            cors_headers,
            cors_credentials,
            listen: read.with("listen", address)?,
            agents: read.many("agents").into_iter().map(Into::into).collect(),
            default_agent: read.optional("default_agent"),
            watch: read.with("watch", parse::switch)?,
            store,
            data,
            fsync: read.with("fsync", fsync)?,
            store_on_failure: read.with("store_on_failure", |text| match text {
                "exit" => Ok(OnFailure::Exit),
                "recover" => Ok(OnFailure::Recover),
                _ => Err(format!("invalid value `{text}`: use `exit` or `recover`")),
            })?,
            api_keys,
            operators,
            prices: prices(&read)?,
            webhooks: webhooks(&read)?,
            webhook_timeout: read.with("webhook_timeout", some_time)?,
            jwt,
            cors,
            hosts,
            metrics: read.with("metrics", parse::switch)?,
            otel,
            limits: Limits {
                body: read.with("limits.body", parse::size)?,
                // Stored values are wrapped in further levels and must stay below the parser's own limit.
                depth: read.with("limits.depth", |text| match parse::count(text)? {
                    depth @ 1..=64 => Ok(depth),
                    _ => {
                        Err("the depth must be 1 to 64: deeper values could not be read back from the store"
                            .to_owned())
                    }
                })?,
                values: read.with("limits.values", parse::count)?,
                bodies: read.with("limits.bodies", parse::size)?,
                bodies_total: read.with("limits.bodies_total", parse::size)?,
                messages: read.with("limits.messages", parse::count)?,
                runs: read.with("limits.runs", parse::count)?,
                active_runs: read.with("limits.active_runs", parse::count)?,
                streams: read.with("limits.streams", parse::count)?,
                run_time: match read.optional("limits.run_time") {
                    Some(_) => Some(read.with("limits.run_time", parse::length)?),
                    None => None,
                },
                body_time: read.with("limits.body_time", parse::length)?,
                connections: match read.optional("limits.connections") {
                    Some(_) => Some(read.with("limits.connections", |text| {
                        NonZeroUsize::new(parse::count(text)?)
                            .ok_or_else(|| "`0` would refuse everything".to_owned())
                    })?),
                    None => None,
                },
                idle: read.with("limits.idle", some_time)?,
                stall: read.with("limits.stall", some_time)?,
            },
            durable_streams: DurableStreamSettings {
                enabled: read.with("durable_streams.enabled", parse::switch)?,
                webhooks: read.with("durable_streams.webhooks", parse::switch)?,
                long_poll: read.with("durable_streams.long_poll", some_time)?,
            },
            heartbeat: read.with("heartbeat", |text| match parse::length(text)? {
                Duration::ZERO => {
                    Err("the interval must be greater than 0: use `15s`, for example".to_owned())
                }
                length => Ok(length),
            })?,
            padding: read.with("padding", parse::size)?,
            replay: read.with("replay", parse::length)?,
            when_busy: read.with("when_busy", |text| match text {
                "" => Ok(None),
                text => text.parse().map(Some),
            })?,
            seam: read.one("seam"),
            hold: read.with("hold", parse::switch)?,
            paths,
            lease: read.with("lease", |text| match parse::length(text)? {
                short if short < Duration::from_secs(1) => Err("a lease must last at least `1s`".to_owned()),
                length => Ok(length),
            })?,
            version_wait: read.with("version_wait", parse::length)?,
            shutdown: read.with("shutdown", parse::length)?,
            model_timeouts: timeouts(&read)?,
            log_level: read.one("log.level"),
            log_format: read.with("log.format", |text| match text {
                "text" => Ok(LogFormat::Text),
                "json" => Ok(LogFormat::Json),
                _ => Err(format!("invalid value `{text}`: use `text` or `json`")),
            })?,
            demo_pace: read.with("demo.pace", parse::length)?,
        })
    }
}

/// The timeouts for model providers.
fn timeouts(read: &SettingsReader<'_>) -> Result<Timeouts, CommandFailure> {
    let mut timeouts = Timeouts::default();
    timeouts.connect = read.with("models.connect", parse::length)?;
    timeouts.headers = read.with("models.headers", parse::length)?;
    timeouts.silence = read.with("models.silence", parse::length)?;
    timeouts.progress = read.with("models.progress", parse::length)?;
    Ok(timeouts)
}

/// Additional paths of the dialects: `PATH`, or `PATH=AGENT`.
fn paths(read: &SettingsReader<'_>) -> Result<Vec<(&'static dyn Dialect, ChatPath)>, CommandFailure> {
    let own = Server::new(Agents::new(), Options::default()).routes();
    let mut paths: Vec<(&'static dyn Dialect, ChatPath)> = Vec::new();
    for &dialect in headwater_dialects::CHAT {
        let name = format!("paths.{}", dialect.name());
        for given in read.many(&name) {
            let (path, agent) = match given.split_once('=') {
                Some((_, "")) => {
                    return Err(read.wrong(&name, format!("missing agent name after `=` in `{given}`")));
                }
                Some((path, agent)) => (path, Some(agent.to_owned())),
                None => (given.as_str(), None),
            };
            check_path(path).map_err(|wrong| read.wrong(&name, format!("invalid path `{path}`: {wrong}")))?;
            let path = path.trim_end_matches('/').to_owned();
            if own.iter().any(|(_, taken)| *taken == path) {
                return Err(read.wrong(&name, format!("`{path}` is already a route of the server")));
            }
            if let Some((other, _)) = paths.iter().find(|(_, taken)| taken.path == path) {
                return Err(
                    read.wrong(&name, format!("`{path}` is already used by `paths.{}`", other.name()))
                );
            }
            paths.push((dialect, ChatPath { path, agent }));
        }
    }
    Ok(paths)
}

fn store_url(text: &str) -> Result<StoreUrl, String> {
    match text.split_once(':') {
        Some(("memory", "")) => Ok(StoreUrl::Memory(None)),
        Some(("memory", rest)) if rest.starts_with('?') => memory_url(rest),
        Some(("file", folder)) if !folder.is_empty() => Ok(StoreUrl::File(folder.into())),
        Some(("redis" | "rediss", rest)) if rest.starts_with("//") => {
            built_with(cfg!(feature = "redis"), "Redis")
                .map(|()| StoreUrl::Redis(SecretText(text.to_owned())))
        }
        Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
            built_with(cfg!(feature = "postgres"), "Postgres")
                .map(|()| StoreUrl::Postgres(SecretText(text.to_owned())))
        }
        _ => Err(format!(
            "invalid store `{}`: use `memory:`, `file:FOLDER`, `redis://HOST` or `postgres://HOST/DATABASE`",
            without_secrets(text)
        )),
    }
}

/// The smallest memory store: about what a few runs take.
const MIN_MEMORY: usize = 1 << 20;

/// The parameters of a store in memory.
fn memory_url(parameters: &str) -> Result<StoreUrl, String> {
    let Some(max) = parameters.strip_prefix("?max=") else {
        return Err(format!("`memory:{parameters}` has unknown parameters: write `memory:?max=256MiB`"));
    };
    match parse::size(max)? {
        max if max < MIN_MEMORY => Err(format!("`memory:?max={max}` is too small: use at least 1MiB")),
        max => Ok(StoreUrl::Memory(Some(max as u64))),
    }
}

fn built_with(has: bool, name: &str) -> Result<(), String> {
    if has { Ok(()) } else { Err(format!("this build has no {name} store: use `memory:` or `file:FOLDER`")) }
}

/// The URL without user, password and parameters.
pub(crate) fn without_secrets(url: &str) -> String {
    let address = url.split('?').next().unwrap_or(url);
    match (address.split_once("://"), address.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => address.to_owned(),
    }
}

/// A duration greater than zero.
fn some_time(text: &str) -> Result<Duration, String> {
    match parse::length(text)? {
        Duration::ZERO => Err("the duration must be greater than 0: use `30s`, for example".to_owned()),
        length => Ok(length),
    }
}

/// The URL of a key set. It must use TLS, except on this machine: an attacker on the network could replace
/// the keys.
fn key_set_url(text: &str) -> Result<String, String> {
    let wrong = || format!("invalid URL `{text}`: it must begin with `https://`");
    let url = reqwest::Url::parse(text).map_err(|_| wrong())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the URL of a key set must not contain a user or password".to_owned());
    }
    // Parse the host exactly as the HTTP client does.
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let loops =
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    match url.scheme() {
        "https" => Ok(text.to_owned()),
        "http" if loops => Ok(text.to_owned()),
        _ => Err(wrong()),
    }
}

/// The URL of an OpenTelemetry collector.
fn collector(text: &str) -> Result<String, String> {
    if !cfg!(feature = "otel") {
        return Err("this build does not have the feature `otel`".to_owned());
    }
    if text.starts_with("http://") || text.starts_with("https://") {
        return Ok(text.to_owned());
    }
    Err(format!("invalid URL `{text}`: use one such as `http://localhost:4318`"))
}

fn fsync(text: &str) -> Result<Fsync, String> {
    match text {
        "commit" => Ok(Fsync::Commit),
        "never" => Ok(Fsync::Never),
        _ => parse::length(text).map(Fsync::Interval).map_err(|_| {
            format!("invalid value `{text}`: use `commit`, `never` or a duration such as `100ms`")
        }),
    }
}

/// An address with its port. A port alone means the loopback address.
fn address(text: &str) -> Result<String, String> {
    if text.parse::<u16>().is_ok() {
        return Ok(format!("127.0.0.1:{text}"));
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => Ok(text.to_owned()),
        _ => Err(format!("invalid address `{text}`: use an address with a port, such as `127.0.0.1:8787`")),
    }
}
