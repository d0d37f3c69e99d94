//! The list of all settings.

use std::sync::LazyLock;

#[derive(Debug, Clone, Copy)]
pub(crate) struct SettingKey {
    /// The name in the file; a dot leads into a table.
    pub(crate) name: &'static str,
    pub(crate) kind: SettingKind,
    /// The default, as a user would write it. Empty: no default.
    pub(crate) default: &'static str,
    /// The description shown to users.
    pub(crate) about: &'static str,
}

/// The type of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingKind {
    /// One value.
    One,
    /// One value that is never shown.
    Secret,
    /// A file or folder. In the settings file it is relative to the folder of that file.
    Path,
    /// Several values; comma-separated in the environment.
    Many,
    /// Several files or folders.
    Paths,
    /// Names with secrets: `name=secret`, comma-separated in the environment.
    Secrets,
}

impl SettingKind {
    pub(crate) fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::Secrets)
    }
}

impl SettingKey {
    /// The environment variable of the setting.
    pub(crate) fn variable(&self) -> String {
        format!("HEADWATER_{}", self.name.replace(['.', '-'], "_").to_uppercase())
    }

    /// A variable shared with other programs; it has lower priority than our own.
    pub(crate) fn common_variable(&self) -> Option<&'static str> {
        match self.name {
            "otel.endpoint" => Some("OTEL_EXPORTER_OTLP_ENDPOINT"),
            "otel.service" => Some("OTEL_SERVICE_NAME"),
            _ => None,
        }
    }

    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }
}

const fn key(
    name: &'static str,
    kind: SettingKind,
    default: &'static str,
    about: &'static str,
) -> SettingKey {
    SettingKey { name, kind, default, about }
}

/// Stands for the additional paths of each dialect.
const PATHS: &str = "paths";

/// All settings, in the order in which they are shown.
pub(crate) static KEYS: LazyLock<Vec<SettingKey>> = LazyLock::new(|| {
    let listed = LISTED.iter().flat_map(|listed| match listed.name {
        PATHS => paths(),
        _ => vec![*listed],
    });
    listed.collect()
});

/// The additional paths of the dialects; the first one explains them all.
fn paths() -> Vec<SettingKey> {
    let names = headwater_dialects::CHAT.iter().map(|dialect| format!("{PATHS}.{}", dialect.name()));
    let names: Vec<&'static str> = names.map(|name| &*name.leak()).collect();
    let first = names.first().copied().unwrap_or_default();
    let about = |name: &str| match name == first {
        true => "Additional paths for this dialect, so that a page can keep its old URL: `/api/chat`, or \
                 `/api/chat=AGENT` for one agent."
            .to_owned(),
        false => format!("As `{first}`."),
    };
    names.iter().map(|&name| key(name, SettingKind::Many, "", about(name).leak())).collect()
}

#[rustfmt::skip]
static LISTED: &[SettingKey] = &[
    key("listen", SettingKind::One, "127.0.0.1:8787", "The address and port to listen on. Port 0 picks a free one. Without API keys only a loopback address is allowed."),
    key("agents", SettingKind::Paths, "", "Agent files, and folders of them. Default: the demo agents."),
    key("default_agent", SettingKind::One, "", "The agent for requests that name no agent. Default: the first one."),
    key("watch", SettingKind::One, "false", "Reload agent files when they change."),
    key("data", SettingKind::Path, ".headwater", "The folder for persistent data."),
    key("store", SettingKind::One, "", "The store for runs: `memory:` (at most 1 GiB, or `memory:?max=256MiB`), `file:FOLDER`, `redis://HOST` or `postgres://HOST/DATABASE`. Default: the folder `store` in the data folder."),
    key("fsync", SettingKind::One, "commit", "When the store syncs its writes to disk: `commit`, `never`, or an interval such as `100ms`."),
    key("store_on_failure", SettingKind::One, "exit", "What to do when the store has stopped, for example on a full disk: `exit` with code 3, so that a supervisor restarts the server, or `recover`, which retries until the store can be reopened."),
    key("api_keys", SettingKind::Secrets, "", "API keys that clients send as `Authorization: Bearer KEY`, each with the name of its principal."),
    key("operators", SettingKind::Many, "", "The names in `api_keys` whose keys are operators': they see and control the runs of all principals. Without keys: `local`."),
    key("jwt.secret", SettingKind::Secret, "", "The secret that verifies JSON Web Tokens signed with HS256."),
    key("jwt.public_key", SettingKind::Path, "", "A PEM file with the public key that verifies JSON Web Tokens signed with RS256, ES256 or EdDSA."),
    key("jwt.jwks", SettingKind::Path, "", "A file with the JSON Web Key Set that verifies JSON Web Tokens."),
    key("jwt.jwks_url", SettingKind::One, "", "The URL of the JSON Web Key Set. It is fetched at startup, before it is older than `jwt.max_age`, and when a token names an unknown key, at most once a minute."),
    key("jwt.max_age", SettingKind::One, "10m", "How long a fetched key set is used before it is fetched again; `Cache-Control: max-age` can shorten this. After that, removed keys are refused."),
    key("jwt.issuer", SettingKind::One, "", "The `iss` that a token must have."),
    key("jwt.audience", SettingKind::One, "", "The `aud` that a token must have."),
    key("jwt.claim", SettingKind::One, "sub", "The claim that holds the principal."),
    key("jwt.prefix", SettingKind::One, "jwt:", "Prefix of token principals; keeps them distinct from `api_keys`. Empty: same namespace."),
    key("jwt.typ", SettingKind::Many, "", "Accepted token types (`typ`). Default: `JWT`, `at+jwt`, and tokens without a type."),
    key("jwt.operator", SettingKind::One, "", "The claim that makes a token an operator's, such as `role=operator`: its text, one of its words or an item of its list."),
    key("cors", SettingKind::Many, "", "Origins whose pages may call the server, such as `https://app.example.com`; `*` allows all and requires API keys."),
    key("cors_headers", SettingKind::Many, "", "Custom request headers that these pages may send, such as `x-tenant`; `*` allows all."),
    key("cors_credentials", SettingKind::One, "false", "Allow these pages to send credentials such as cookies (`credentials: \"include\"`), for a proxy in front of the server. Requires a list of origins, not `*`."),
    key("hosts", SettingKind::Many, "", "Allowed `Host` values. Default: any if API keys are set, otherwise only localhost. `*` allows all and requires API keys."),
    key("limits.body", SettingKind::One, "1MiB", "Maximum size of a request body."),
    key("limits.depth", SettingKind::One, "64", "Maximum nesting depth of JSON in a request."),
    key("limits.values", SettingKind::One, "50000", "Maximum number of JSON values in a request."),
    key("limits.bodies", SettingKind::One, "32MiB", "Maximum bytes of request bodies in memory at once, per principal."),
    key("limits.bodies_total", SettingKind::One, "128MiB", "Maximum bytes of request bodies in memory at once."),
    key("limits.messages", SettingKind::One, "1000", "Maximum number of messages in a request."),
    key("limits.runs", SettingKind::One, "10000", "Maximum number of active runs per principal, over all servers that share the store."),
    key("limits.active_runs", SettingKind::One, "10000", "Maximum number of active runs on this server. Above it, requests for new runs get 503 and runs of crashed servers are left to other servers."),
    key("limits.streams", SettingKind::One, "20000", "Maximum number of open streams per principal."),
    key("limits.run_time", SettingKind::One, "", "Maximum duration of a run, not counting the time it waits. Default: no limit."),
    key("limits.body_time", SettingKind::One, "30s", "Maximum time for receiving a request body."),
    key("limits.connections", SettingKind::One, "", "Maximum number of open connections; further ones get 503. Default: 7/8 of the limit on open files."),
    key("limits.idle", SettingKind::One, "30s", "How long a connection may stay idle, and the maximum time for receiving a request head."),
    key("limits.stall", SettingKind::One, "60s", "How long a reader may not read from its stream before it is disconnected. Its run continues."),
    key("metrics", SettingKind::One, "false", "Serve Prometheus metrics at `/metrics`, without authentication."),
    key("otel.endpoint", SettingKind::One, "", "The OpenTelemetry collector for spans and metrics (OTLP over HTTP), such as `http://localhost:4318`; also `OTEL_EXPORTER_OTLP_ENDPOINT`. Needs a build with the feature `otel`."),
    key("otel.service", SettingKind::One, "headwater", "The service name reported to the collector; also `OTEL_SERVICE_NAME`."),
    key("durable_streams.enabled", SettingKind::One, "false", "Let callers keep streams of their own under `/v1/stream/` (Durable Streams). Runs are served as durable streams in any case."),
    key("durable_streams.webhooks", SettingKind::One, "false", "Let subscriptions to these streams call webhooks."),
    key("durable_streams.long_poll", SettingKind::One, "20s", "How long a long-poll of a durable stream waits for data."),
    key("heartbeat", SettingKind::One, "15s", "Heartbeat interval of idle streams."),
    key("padding", SettingKind::One, "0", "Padding bytes at the start of a stream, for proxies that buffer the first bytes."),
    key(PATHS, SettingKind::Many, "", ""),
    key("replay", SettingKind::One, "5m", "How long after its end a run can still be read by a page that reconnects to its stream."),
    key("when_busy", SettingKind::One, "", "What to do with a message that arrives while the session's last one is still being answered: `stop` the answer, `queue` the message or `refuse` it. Empty: `stop` for pages whose stop button only closes the connection, `queue` for others. An agent file can override this."),
    key("seam", SettingKind::One, "", "Text between a failed attempt and the next, for clients that cannot retract the failed one."),
    key("hold", SettingKind::One, "false", "Hold back the text of an attempt until the attempt has ended."),
    key("lease", SettingKind::One, "30s", "How long the runs of a crashed server wait before another server takes them over. Must be the same on all servers that share a store."),
    key("version_wait", SettingKind::One, "2m", "Rolling upgrades: how long a run whose agent file has changed is left to servers that still have the old file, before it fails with `workflow.changed`. Only where servers share a store."),
    key("shutdown", SettingKind::One, "10s", "How long active runs may take to end when the server stops. Remaining runs are handed over to other servers, or continue after a restart."),
    key("webhooks", SettingKind::Many, "", "Servers to notify when a run ends or waits, as `NAME=URL`. They are called with POST; redirects are not followed."),
    key("webhook_secrets", SettingKind::Secrets, "", "The secrets that sign the requests, by the names of `webhooks`: `whsec_` and base64, or any text of at least 16 characters."),
    key("webhook_events", SettingKind::Many, "", "Reported events: `run.finished`, `run.failed`, `run.cancelled`, `run.waiting`; with `NAME=` before it for one of `webhooks`. Default: all."),
    key("webhook_agents", SettingKind::Many, "", "The agents whose runs are reported; with `NAME=` before it for one of `webhooks`. Default: all."),
    key("webhook_timeout", SettingKind::One, "10s", "How long a target may take to answer."),
    key("prices", SettingKind::Many, "", "What models cost per million tokens, for the costs of runs: `MODEL=INPUT/OUTPUT` or `MODEL=INPUT/OUTPUT/CACHED`, such as `openai:gpt-5-mini=0.25/2/0.025`."),
    key("models.connect", SettingKind::One, "10s", "Maximum time for connecting to a model provider."),
    key("models.headers", SettingKind::One, "60s", "Maximum time until a provider's response begins."),
    key("models.silence", SettingKind::One, "90s", "Maximum time without a byte of a provider's response."),
    key("models.progress", SettingKind::One, "5m", "Maximum time between two model events; pings do not count. Also the limit for a non-streamed answer."),
    key("log.level", SettingKind::One, "info", "Log level: `error`, `warn`, `info`, `debug`, `trace`, or a filter such as `info,headwater_runtime=debug`."),
    key("log.format", SettingKind::One, "text", "`text`, or `json` for one object per line."),
    key("demo.pace", SettingKind::One, "15ms", "Delay of the demo agents before each word."),
];
