//! The URL of a server, with the store's own parameters.

use std::{fmt, fs};

use redis::{Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, TlsCertificates};

use crate::{Error, ErrorKind, Result};

const PREFIX: &str = "headwater";

/// The address of the server, and its settings.
#[derive(Clone)]
pub(super) struct RedisUrl {
    pub(super) info: ConnectionInfo,
    pub(super) root_certificates: Option<Vec<u8>>,
    pub(super) prefix: String,
    pub(super) durability: Durability,
}

/// The conditions for acknowledging a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Durability {
    /// The number of replicas that must have it.
    pub(super) replicas: u32,
    /// It is fsynced.
    pub(super) fsynced: bool,
}

impl fmt::Debug for RedisUrl {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisUrl")
            .field("server", &self.server())
            .field("prefix", &self.prefix)
            .field("durability", &self.durability)
            .finish_non_exhaustive()
    }
}

fn rejected(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Rejected, message)
}

impl RedisUrl {
    pub(super) fn parse(url: &str) -> Result<Self> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        // The parser's message may quote the URL, and with it the password.
        let info = address.into_connection_info().map_err(|_| {
            rejected(
                "cannot read the store's URL: it should look like redis://user:password@host:6379/0, or rediss:// with TLS, \
                 with special characters of the password percent-encoded",
            )
        })?;
        let mut own = Self {
            info,
            root_certificates: None,
            prefix: PREFIX.to_owned(),
            durability: Durability::default(),
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            own.set(name, value)?;
        }
        Ok(own)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let invalid = |what: &str| rejected(format!("invalid `{name}` {value:?} in the store's URL: {what}"));
        match name {
            "prefix" => {
                let prefix = value.trim_end_matches(':');
                let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:/".contains(letter);
                if prefix.is_empty() || prefix.len() > 128 || !prefix.chars().all(is_plain) {
                    return Err(invalid("use at most 128 letters, digits and `-_.:/`"));
                }
                self.prefix = prefix.to_owned();
            }
            "wait" => {
                self.durability.replicas = value.parse().map_err(|_| invalid("give a number of replicas"))?;
            }
            "waitaof" => {
                self.durability.fsynced = match value {
                    "1" | "true" | "" => true,
                    "0" | "false" => false,
                    _ => return Err(invalid("give 1 or 0")),
                }
            }
            "tls_ca" => {
                let pem =
                    fs::read(value).map_err(|error| invalid(&format!("cannot read the file: {error}")))?;
                self.root_certificates = Some(pem);
            }
            _ => {
                return Err(rejected(format!(
                    "unknown parameter `{name}` in the store's URL: there are prefix, wait, waitaof and tls_ca"
                )));
            }
        }
        Ok(())
    }

    /// The prefix of all keys. The braces put them all into one slot of a cluster.
    pub(super) fn base(&self) -> String {
        format!("{{{}}}:", self.prefix)
    }

    /// The server's address, for messages.
    pub(super) fn server(&self) -> String {
        self.info.addr().to_string()
    }

    /// The host without its port.
    pub(super) fn host(&self) -> String {
        match self.info.addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host.clone(),
            _ => String::new(),
        }
    }

    /// A client for the server, or for the node of a cluster that the server named instead.
    pub(super) fn client(&self, node: Option<&(String, u16)>) -> Result<Client> {
        let mut info = self.info.clone();
        if let Some((host, port)) = node {
            let address = match info.addr() {
                ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                    host: host.clone(),
                    port: *port,
                    insecure: *insecure,
                    tls_params: tls_params.clone(),
                },
                _ => ConnectionAddr::Tcp(host.clone(), *port),
            };
            info = info.set_addr(address);
        }
        let failed = |error: redis::RedisError| {
            rejected(format!("cannot prepare a connection to {}: {error}", self.server()))
        };
        if let ConnectionAddr::TcpTls { .. } = info.addr() {
            // The program may have chosen another provider already.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let certificates =
                TlsCertificates { client_tls: None, root_cert: self.root_certificates.clone() };
            return Client::build_with_tls(info, certificates).map_err(failed);
        }
        Client::open(info).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_the_store_are_taken_out() {
        let url = RedisUrl::parse("redis://ann:p%40ss@cache:7000/3?prefix=chat:eu:&wait=2&waitaof=1");
        let Ok(url) = url else { panic!("{url:?}") };
        assert_eq!((url.base().as_str(), url.server().as_str()), ("{chat:eu}:", "cache:7000"));
        assert_eq!(url.durability, Durability { replicas: 2, fsynced: true });
        assert_eq!(url.info.redis_settings().password(), Some("p@ss"));
        assert!(!format!("{url:?}").contains("p@ss"));
    }

    #[test]
    fn unreadable_url_is_rejected_without_its_password() {
        for url in [
            "redis://ann:secret@cache:port",
            "http://ann:secret@cache",
            "redis://ann:secret@cache?prefix={x}",
            "redis://ann:secret@cache?prefix=",
            "redis://ann:secret@cache?wait=all",
            "redis://ann:secret@cache?waitaof=2",
            "redis://ann:secret@cache?tls_ca=/nowhere",
            "redis://ann:secret@cache?password=x",
        ] {
            let error = RedisUrl::parse(url).map(|url| url.prefix).map_err(|error| error.to_string());
            assert!(error.as_ref().is_err_and(|message| !message.contains("secret")), "{url}: {error:?}");
        }
    }
}
