//! Verification of JSON Web Tokens: a secret, a public key, or a key set from a file or a URL.

use std::{error::Error, fmt, path::Path, time::Duration};

use headwater_server::{Jwt, PublishedKeys};
use rustls::crypto::CryptoProvider;

use crate::{config, failure::CommandFailure};

/// The timeout for fetching a key set.
const LONGEST: Duration = Duration::from_secs(10);

/// The maximum size of a key set.
const LARGEST: usize = 1 << 20;

/// The verifiers of the settings.
pub(super) async fn checkers(settings: &config::JwtSettings) -> Result<Vec<Jwt>, CommandFailure> {
    let mut all = Vec::new();
    if let Some(secret) = &settings.secret {
        let jwt = Jwt::hs256(secret.0.as_bytes());
        all.push(jwt.map_err(|error| CommandFailure::new(format!("`jwt.secret`: {error}")))?);
    }
    if let Some(path) = &settings.public_key {
        all.push(of_file("jwt.public_key", path, Jwt::public_key)?);
    }
    if let Some(path) = &settings.jwks {
        all.push(of_file("jwt.jwks", path, Jwt::jwks)?);
    }
    if let Some(url) = &settings.jwks_url {
        let jwt = published(url).await;
        let jwt =
            jwt.map_err(|error| CommandFailure::temporary(format!("`jwt.jwks_url`: {url}: {error}")))?;
        all.push(jwt.max_age(settings.max_age));
    }
    let named = |jwt: Jwt| {
        let mut jwt = jwt.principal_claim(&settings.claim).prefix(&settings.prefix);
        if let Some((claim, value)) = &settings.operator {
            jwt = jwt.operator_claim(claim, value);
        }
        if !settings.types.is_empty() {
            jwt = jwt.types(&settings.types);
        }
        if let Some(issuer) = &settings.issuer {
            jwt = jwt.issuer(issuer);
        }
        match &settings.audience {
            Some(audience) => jwt.audience(audience),
            None => jwt,
        }
    };
    Ok(all.into_iter().map(named).collect())
}

fn of_file<E: fmt::Display>(
    setting: &str,
    path: &Path,
    read: impl FnOnce(&str) -> Result<Jwt, E>,
) -> Result<Jwt, CommandFailure> {
    let failed =
        |error: &dyn fmt::Display| CommandFailure::new(format!("`{setting}`: {}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    read(&text).map_err(|error| failed(&error))
}

type Broken = Box<dyn Error + Send + Sync>;

/// Without a crypto provider an HTTP client panics when it is built. One that is already installed is kept.
pub(super) fn ensure_crypto() {
    if CryptoProvider::get_default().is_none() {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// A key set that is fetched now and refreshed when needed.
async fn published(url: &str) -> Result<Jwt, Broken> {
    ensure_crypto();
    let client = reqwest::Client::builder()
        .timeout(LONGEST)
        // Keys must come from the configured URL only.
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
        .build()?;
    let first = fetch(&client, url).await?;
    let url = url.to_owned();
    let again = move || {
        let (client, url) = (client.clone(), url.clone());
        Box::pin(async move { fetch(&client, &url).await }) as headwater_server::KeyFetch
    };
    Ok(Jwt::published(first, again)?)
}

async fn fetch(client: &reqwest::Client, url: &str) -> Result<PublishedKeys, Broken> {
    let mut answer = client.get(url).header("accept", "application/json").send().await?;
    if !answer.status().is_success() {
        return Err(format!("the server responded with {}", answer.status()).into());
    }
    let max_age = answer.headers().get("cache-control").and_then(|header| max_age(header.to_str().ok()?));
    let mut text = Vec::new();
    while let Some(bytes) = answer.chunk().await? {
        if text.len() + bytes.len() > LARGEST {
            return Err("the response is too large for a key set".into());
        }
        text.extend_from_slice(&bytes);
    }
    Ok(PublishedKeys::from(String::from_utf8(text)?).max_age(max_age))
}

/// The `max-age` of a `Cache-Control` header.
fn max_age(header: &str) -> Option<Duration> {
    header.split(',').find_map(|directive| {
        let directive = directive.trim().to_ascii_lowercase();
        if directive == "no-store" || directive == "no-cache" {
            return Some(Duration::ZERO);
        }
        directive.strip_prefix("max-age=")?.trim_matches('"').parse().ok().map(Duration::from_secs)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn max_age_is_read_from_cache_control() {
        for (header, seconds) in [
            ("max-age=300", Some(300)),
            ("public, Max-Age=19800, must-revalidate, no-transform", Some(19_800)),
            ("no-store", Some(0)),
            ("no-cache, max-age=60", Some(0)),
            ("s-maxage=9", None),
            ("max-age=soon", None),
            ("", None),
        ] {
            assert_eq!(max_age(header), seconds.map(Duration::from_secs), "{header}");
        }
    }
}
