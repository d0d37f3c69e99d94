//! All settings there are.

/// A setting.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its name in the file; a dot leads into a table.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// What counts if nobody says anything, as it would be written. Nothing is nothing.
    pub(crate) default: &'static str,
    /// What it does, for people.
    pub(crate) about: &'static str,
}

/// What a setting holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One value.
    One,
    /// One value that nobody may see.
    Secret,
    /// A file or folder: in the settings' file it is named from the folder of that file.
    Path,
    /// Several values; separated by commas in the environment.
    Many,
    /// Several files or folders.
    Paths,
    /// Names with secrets: `name=secret`, separated by commas in the environment.
    Secrets,
}

impl Kind {
    pub(crate) fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::Secrets)
    }
}

impl Key {
    /// The environment variable that sets it.
    pub(crate) fn variable(&self) -> String {
        format!("HEADWATER_{}", self.name.replace(['.', '-'], "_").to_uppercase())
    }

    /// A variable that sets it for other programs too, and counts less than our own.
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

const fn key(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { name, kind, default, about }
}

/// All settings, in the order in which people want to read them.
#[rustfmt::skip]
pub(crate) static KEYS: &[Key] = &[
    key("listen", Kind::One, "127.0.0.1:8787", "The address and port to listen on. Port 0 takes a free one. Without keys only a loopback address is allowed."),
    key("agents", Kind::Paths, "", "Agents' files, and folders of them. Without any, the demo agents are served."),
    key("default_agent", Kind::One, "", "The agent of requests that name none; otherwise the first."),
    key("watch", Kind::One, "false", "Whether an agent's file that changes is read again."),
    key("data", Kind::Path, ".headwater", "The folder for all that must last."),
    key("store", Kind::One, "", "Where runs are kept: `memory:` (at most 1 GiB, or as `memory:?max=256MiB` says), `file:FOLDER`, `redis://HOST` or `postgres://HOST/DATABASE`; otherwise the folder `store` in the data folder."),
    key("fsync", Kind::One, "commit", "When the store makes what it wrote durable: `commit`, `never`, or so often, such as `100ms`."),
    key("store_on_failure", Kind::One, "exit", "What the server does when the store has stopped, as on a full disk: `exit`, with code 3, for a supervisor that starts it again, or `recover`, which opens the store anew in place once that succeeds."),
    key("api_keys", Kind::Secrets, "", "Keys that clients may show as `Authorization: Bearer KEY`, with the names of those whom they belong to."),
    key("jwt.secret", Kind::Secret, "", "The secret of JSON Web Tokens that are signed with HS256."),
    key("jwt.public_key", Kind::Path, "", "A PEM file with the public key of JSON Web Tokens that are signed with RS256, ES256 or EdDSA."),
    key("jwt.jwks", Kind::Path, "", "A file with the JSON Web Key Set of JSON Web Tokens."),
    key("jwt.jwks_url", Kind::One, "", "Where the JSON Web Key Set is published. It is fetched at the start, before it is older than `jwt.max_age`, and when a token names an unknown key, at most once a minute."),
    key("jwt.max_age", Kind::One, "10m", "How long a published key set is used without being fetched again; its `Cache-Control: max-age` may say less. A removed key is refused after that."),
    key("jwt.issuer", Kind::One, "", "The `iss` that a token must have."),
    key("jwt.audience", Kind::One, "", "The `aud` that a token must have."),
    key("jwt.claim", Kind::One, "sub", "The claim of a token that names its principal."),
    key("jwt.prefix", Kind::One, "jwt:", "Prefix of token principals; keeps them distinct from `api_keys`. Empty: same namespace."),
    key("jwt.typ", Kind::Many, "", "The types of tokens (`typ`) that are accepted; otherwise `JWT`, `at+jwt` and tokens without one."),
    key("cors", Kind::Many, "", "Origins whose pages may call the server, such as `https://app.example.com`; `*` is all, and needs keys."),
    key("cors_headers", Kind::Many, "", "Request headers of their own that these pages may send, such as `x-tenant`; `*` is any."),
    key("cors_credentials", Kind::One, "false", "Whether these pages may send cookies and the like (`credentials: \"include\"`), for a proxy in front of the server. The origins must be named."),
    key("hosts", Kind::Many, "", "The hosts that a request may name; otherwise any with keys, and only this machine's own names without. `*` is all, and needs keys."),
    key("limits.body", Kind::One, "1MiB", "The largest request."),
    key("limits.depth", Kind::One, "64", "How deeply the JSON of a request may be nested."),
    key("limits.values", Kind::One, "50000", "The most JSON values of a request."),
    key("limits.bodies", Kind::One, "32MiB", "The most bytes of requests of one principal that are read at once."),
    key("limits.bodies_total", Kind::One, "128MiB", "The most bytes of requests that are read at once."),
    key("limits.messages", Kind::One, "1000", "The most messages of a request."),
    key("limits.runs", Kind::One, "10000", "The most active runs of one principal, at all servers that share the store together."),
    key("limits.active_runs", Kind::One, "10000", "The most active runs of all principals at this server. A request for another one gets 503, and runs of a server that died are left to other servers."),
    key("limits.streams", Kind::One, "20000", "The most open streams of one principal."),
    key("limits.run_time", Kind::One, "", "The longest that a run may go, not counting the time that it waits; otherwise as long as it likes."),
    key("limits.body_time", Kind::One, "30s", "The longest that a request may take to arrive."),
    key("limits.connections", Kind::One, "", "The most open connections; otherwise what the process may open as files, less an eighth. Another one gets 503."),
    key("limits.idle", Kind::One, "30s", "How long a connection may be open without a request, and the longest that the head of one may take."),
    key("limits.stall", Kind::One, "60s", "How long a reader may take nothing of its stream before it is disconnected. Its run continues."),
    key("metrics", Kind::One, "false", "Whether `/metrics` shows what is counted, to everyone who can reach the server."),
    key("otel.endpoint", Kind::One, "", "The OpenTelemetry collector that spans and metrics are sent to by OTLP over HTTP, such as `http://localhost:4318`; also `OTEL_EXPORTER_OTLP_ENDPOINT`. Needs a build with the feature `otel`."),
    key("otel.service", Kind::One, "headwater", "The name of this service for the collector; also `OTEL_SERVICE_NAME`."),
    key("heartbeat", Kind::One, "15s", "How often a silent stream shows that it lives."),
    key("padding", Kind::One, "0", "How many bytes a stream begins with, for proxies that hold back the first ones."),
    key("paths.kortyx", Kind::Many, "", "Further paths of this dialect, so that a page can keep its old URL: `/api/chat`, or `/api/chat=AGENT` for one agent."),
    key("paths.tanstack", Kind::Many, "", "As `paths.kortyx`."),
    key("paths.mui", Kind::Many, "", "As `paths.kortyx`."),
    key("paths.agents", Kind::Many, "", "As `paths.kortyx`."),
    key("paths.ai-sdk", Kind::Many, "", "As `paths.kortyx`."),
    key("paths.ag-ui", Kind::Many, "", "As `paths.kortyx`."),
    key("paths.responses", Kind::Many, "", "As `paths.kortyx`."),
    key("replay", Kind::One, "5m", "How long after its end a run is still given to a page that comes back for its stream."),
    key("when_busy", Kind::One, "", "What happens to a message that comes while its session's last one is being answered: `stop` the answer, `queue` the message or `refuse` it. Empty: `stop` for pages whose stop button only closes the connection, `queue` for others. An agent can say it for itself."),
    key("seam", Kind::One, "", "A text between a failed attempt and the next, for pages that cannot take the failed one back."),
    key("hold", Kind::One, "false", "Whether the text of an attempt is held back until the attempt has ended."),
    key("lease", Kind::One, "30s", "How long the runs of a server that died wait before another one takes them over. The same at all servers that share a store."),
    key("version_wait", Kind::One, "2m", "Rolling upgrades: how long a run whose agent file has changed is left to servers that still have the old file, before it fails with `workflow.changed`. Only where servers share a store."),
    key("shutdown", Kind::One, "10s", "How long active runs have to end when the server is stopped. The others are handed over to other servers, or continue after a restart."),
    key("models.connect", Kind::One, "10s", "How long a connection to a model's provider may take."),
    key("models.headers", Kind::One, "60s", "How long a provider may take until its answer begins."),
    key("models.silence", Kind::One, "90s", "How long an answer of a provider may be without a byte."),
    key("models.progress", Kind::One, "5m", "Maximum time between two model events; pings do not count. Also the limit for a non-streamed answer."),
    key("log.level", Kind::One, "info", "What is logged: `error`, `warn`, `info`, `debug`, `trace`, or a filter such as `info,headwater_runtime=debug`."),
    key("log.format", Kind::One, "text", "`text`, or `json` for one object per line."),
    key("demo.pace", Kind::One, "15ms", "How long the demo agents wait before each word."),
];
