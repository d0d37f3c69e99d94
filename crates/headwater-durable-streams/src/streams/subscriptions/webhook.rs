//! Calls of webhooks, to addresses that a server may call for its users.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use reqwest::{Url, redirect::Policy};

/// Time limit of a webhook call.
const PATIENCE: Duration = Duration::from_secs(15);

/// Maximum bytes read from its response.
const LARGEST: usize = 64 << 10;

/// Calls webhooks.
#[derive(Debug, Clone)]
pub(super) struct WebhookClient(());

impl WebhookClient {
    pub(super) fn new() -> Self {
        // Without a crypto provider the HTTP client panics when it is built. One that is installed already is kept.
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Self(())
    }

    /// Sends a signed body. Returns the response's body if the status is a success.
    pub(super) async fn call(
        &self,
        url: &str,
        local: bool,
        body: String,
        signature: &str,
    ) -> Result<Vec<u8>, String> {
        let url = check_url(url, local)?;
        let addresses = resolve(&url, local).await?;
        let host = url.host_str().unwrap_or_default();
        // The connection goes to an address that was checked: a name cannot point elsewhere a moment later. And no
        // response can send the request on to an address that was not.
        let client = reqwest::Client::builder()
            .timeout(PATIENCE)
            .redirect(Policy::none())
            .resolve_to_addrs(host, &addresses)
            .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| error.to_string())?;
        let request = client.post(url).header("content-type", "application/json");
        let request = request.header("webhook-signature", signature).body(body);
        let mut response = request.send().await.map_err(|error| error.without_url().to_string())?;
        if !response.status().is_success() {
            return Err(format!("the webhook responded with {}", response.status()));
        }
        let mut body = Vec::new();
        while let Ok(Some(piece)) = response.chunk().await {
            if body.len() + piece.len() > LARGEST {
                break;
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }
}

/// Checks the URL of a webhook: `https`, or `http` on this machine if the server itself is accessed locally.
pub(super) fn check_url(url: &str, local: bool) -> Result<Url, String> {
    let url = Url::parse(url).map_err(|_| "`webhook.url` is not a URL".to_owned())?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address: Option<IpAddr> = host.parse().ok();
    let is_loopback = host == "localhost" || address.is_some_and(|address| address.is_loopback());
    match url.scheme() {
        "http" if is_loopback && local => Ok(url),
        "http" => Err("a webhook must use `https`".to_owned()),
        "https" if is_loopback || address.is_some_and(|address| !is_public(address)) => {
            Err("a webhook must not point into a private network".to_owned())
        }
        "https" => Ok(url),
        other => Err(format!("a webhook must use `https`, not `{other}`")),
    }
}

/// The addresses of a webhook's host.
async fn resolve(url: &Url, local: bool) -> Result<Vec<SocketAddr>, String> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let port = url.port_or_known_default().unwrap_or(443);
    let found = tokio::net::lookup_host((host.as_str(), port)).await.map_err(|error| error.to_string())?;
    let is_dev = local && url.scheme() == "http";
    let allowed =
        |address: &SocketAddr| if is_dev { address.ip().is_loopback() } else { is_public(address.ip()) };
    let addresses: Vec<SocketAddr> = found.filter(allowed).collect();
    if addresses.is_empty() {
        Err("the webhook's host has no public address".to_owned())
    } else {
        Ok(addresses)
    }
}

/// Whether an address belongs to the internet, and not to this machine or a network around it.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            let shared = first == 100 && (64..128).contains(&second);
            let reserved = first == 0
                || first >= 240
                || (first == 192 && second == 0)
                || (first == 198 && second & 254 == 18);
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_documentation()
                || shared
                || reserved)
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_public(v4.into()),
            // Global unicast without the documentation range, 6to4 and Teredo, which can carry other addresses.
            None => {
                let [first, second, ..] = v6.segments();
                (0x2000..0x4000).contains(&first)
                    && first != 0x2002
                    && !(first == 0x2001 && (second == 0 || second == 0xdb8))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_may_be_called() {
        for url in ["https://example.com/hook", "https://93.184.216.34/", "https://[2606:4700::1111]/"] {
            assert!(check_url(url, false).is_ok(), "{url}");
        }
        for url in [
            "http://example.com/",
            "http://10.0.0.1/hook",
            "https://10.0.0.1/",
            "https://127.0.0.1/",
            "https://169.254.169.254/latest",
            "https://100.64.0.1/",
            "https://[::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[fd00::1]/",
            "ftp://example.com/",
            "hook",
        ] {
            assert!(check_url(url, true).is_err(), "{url}");
        }
        assert!(check_url("http://127.0.0.1:1/", true).is_ok());
        assert!(check_url("http://127.0.0.1:1/", false).is_err());
    }
}
