//! The URL of a database, with the store's own parameters.

use std::{fmt, path::PathBuf, str::FromStr as _, time::Duration};

use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};

use crate::{Error, ErrorKind, Result};

const SCHEMA: &str = "headwater";
const STATEMENT_TIMEOUT: u64 = 20_000;

/// The address of the database, and the connection settings.
#[derive(Clone)]
pub(super) struct PostgresUrl {
    pub(super) config: Config,
    pub(super) listen: Config,
    pub(super) schema: String,
    pub(super) root_certificates: Option<PathBuf>,
}

impl fmt::Debug for PostgresUrl {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresUrl")
            .field("server", &self.server())
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

fn rejected(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Rejected, message)
}

impl PostgresUrl {
    pub(super) fn parse(url: &str) -> Result<Self> {
        let mut own = Own::default();
        let config = own.config(url)?;
        let listen = match &own.listen_url {
            // Its own parameters are those of the first.
            Some(listen) => Own::default().config(listen)?,
            None => config.clone(),
        };
        let timeout = own.statement_timeout.unwrap_or(STATEMENT_TIMEOUT);
        let schema = own.schema.unwrap_or_else(|| SCHEMA.to_owned());
        let mut letters = schema.chars();
        let begins = letters.next().is_some_and(|letter| letter.is_ascii_lowercase() || letter == '_');
        let goes_on =
            letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
        if !begins || !goes_on || schema.len() > 48 || schema.starts_with("pg_") {
            return Err(rejected(format!(
                "invalid schema {schema:?} in the store's URL: use at most 48 lower-case letters, digits and `_`, beginning with a letter"
            )));
        }
        Ok(Self {
            config: prepared(config, timeout),
            listen: prepared(listen, 0),
            schema,
            root_certificates: own.root_certificates,
        })
    }

    /// The server's address, for messages.
    pub(super) fn server(&self) -> String {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            None => "localhost".to_owned(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or("postgres");
        format!("{host}:{port}/{database}")
    }
}

/// The parameters that are the store's own.
#[derive(Default)]
struct Own {
    schema: Option<String>,
    listen_url: Option<String>,
    statement_timeout: Option<u64>,
    root_certificates: Option<PathBuf>,
}

impl Own {
    /// Takes its own parameters out of a URL, and parses the rest.
    fn config(&mut self, url: &str) -> Result<Config> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let mut rest = Vec::new();
        let mut has_mode = false;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let text = decode(value).ok_or_else(|| {
                rejected(format!("cannot read `{name}` in the store's URL: it is not percent-encoded UTF-8"))
            })?;
            match name {
                "schema" => self.schema = Some(text),
                "listen_url" => self.listen_url = Some(text),
                "sslrootcert" => self.root_certificates = Some(text.into()),
                "statement_timeout" => {
                    let timeout = text.parse().map_err(|_| {
                        rejected(format!(
                            "invalid `statement_timeout` {text:?} in the store's URL: give milliseconds"
                        ))
                    })?;
                    self.statement_timeout = Some(timeout);
                }
                // A certificate is always verified, so these ask for nothing more.
                "sslmode" if matches!(&*text, "verify-ca" | "verify-full") => {
                    has_mode = true;
                    rest.push("sslmode=require".to_owned());
                }
                _ => {
                    has_mode |= name == "sslmode";
                    rest.push(pair.to_owned());
                }
            }
        }
        let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        // The parser's message may quote the URL, and with it the password.
        let mut config = Config::from_str(&format!("{address}{query}")).map_err(|_| {
            rejected(
                "cannot read the store's URL: it should look like postgres://user:password@host:5432/database?sslmode=require, \
                 with special characters of the password percent-encoded",
            )
        })?;
        if !has_mode && is_local(&config) {
            // There is no eavesdropper on this machine, and its certificate is usually self-signed.
            config.ssl_mode(SslMode::Disable);
        }
        Ok(config)
    }
}

fn is_local(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(host) => matches!(&**host, "localhost" | "127.0.0.1" | "::1" | "[::1]"),
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

fn prepared(mut config: Config, statement_timeout: u64) -> Config {
    if config.get_application_name().is_none() {
        config.application_name("headwater");
    }
    if statement_timeout > 0 {
        let mut options = config.get_options().unwrap_or_default().to_owned();
        options.push_str(&format!(" -c statement_timeout={statement_timeout}"));
        config.options(options.trim_start());
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(10));
    }
    // A peer that vanished without a word is noticed within half a minute.
    config.keepalives_idle(Duration::from_secs(10));
    config.keepalives_interval(Duration::from_secs(5));
    config.keepalives_retries(3);
    config
}

/// Decodes percent-encoded text in a query.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut half = || char::from(rest.next()?).to_digit(16);
            bytes.push(u8::try_from(half()? << 4 | half()?).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_the_store_are_taken_out() {
        let url = "postgres://ann:p%40ss@db:6432/app?schema=chat_1&listen_url=postgres%3A%2F%2Fann%40direct%2Fapp\
                   &statement_timeout=500&sslmode=verify-full&connect_timeout=3";
        let url = PostgresUrl::parse(url).map_err(|error| error.to_string());
        let Ok(url) = url else { panic!("{url:?}") };
        assert_eq!(url.schema, "chat_1");
        assert_eq!(url.config.get_options(), Some("-c statement_timeout=500"));
        assert_eq!(url.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(url.listen.get_hosts(), [Host::Tcp("direct".into())]);
        assert_eq!(url.server(), "db:6432/app");
        assert!(!format!("{url:?}").contains("p@ss"));
    }

    #[test]
    fn unreadable_url_is_rejected_without_its_password() {
        for url in [
            "postgres://ann:secret@db:port/app",
            "postgres://ann:secret@db/app?unknown=1",
            "postgres://ann:secret@db/app?schema=Bad-Name",
            "postgres://ann:secret@db/app?schema=",
            "postgres://ann:secret@db/app?statement_timeout=soon",
            "postgres://ann:secret@db/app?schema=%zz",
        ] {
            let error = PostgresUrl::parse(url).map(|url| url.schema).map_err(|error| error.to_string());
            assert!(error.as_ref().is_err_and(|message| !message.contains("secret")), "{url}: {error:?}");
        }
    }

    #[test]
    fn local_server_is_reached_without_tls() {
        for (url, mode) in [
            ("postgres://localhost/app", SslMode::Disable),
            ("postgres://localhost/app?sslmode=require", SslMode::Require),
            ("postgres://db/app", SslMode::Prefer),
        ] {
            let parsed = PostgresUrl::parse(url).map(|url| url.config.get_ssl_mode());
            assert_eq!(parsed.map_err(|error| error.to_string()), Ok(mode), "{url}");
        }
    }
}
