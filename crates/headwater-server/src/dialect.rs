//! Finds the dialect, profile and framing of a request.

use axum::http::{HeaderMap, StatusCode, header};
use headwater_dialects::{Dialect, Profile};
use headwater_protocol::Framing;

use crate::{ApiError, Options};

/// A dialect with a chat route, by its name.
pub(crate) fn find(name: &str) -> Result<&'static dyn Dialect, ApiError> {
    find_among(headwater_dialects::CHAT, name)
}

/// A wire that a run can be read in, by its name.
pub(crate) fn find_wire(name: &str) -> Result<&'static dyn Dialect, ApiError> {
    find_among(&headwater_dialects::ALL, name)
}

/// Refuses a dialect that the server does not serve.
pub(crate) fn check_served(options: &Options, dialect: &'static dyn Dialect) -> Result<(), ApiError> {
    if options.serves(dialect) {
        return Ok(());
    }
    let served = headwater_dialects::CHAT.iter().filter(|dialect| options.serves(**dialect));
    let known: Vec<_> = served.map(|dialect| dialect.name()).collect();
    let message =
        format!("the dialect `{}` is not served here: use one of {}", dialect.name(), known.join(", "));
    Err(ApiError::not_found("dialect.unknown", message).known(known))
}

fn find_among(dialects: &[&'static dyn Dialect], name: &str) -> Result<&'static dyn Dialect, ApiError> {
    dialects.iter().find(|dialect| dialect.name() == name).copied().ok_or_else(|| {
        let known: Vec<_> = dialects.iter().map(|dialect| dialect.name()).collect();
        let message = format!("unknown dialect `{name}`: use one of {}", known.join(", "));
        ApiError::not_found("dialect.unknown", message).known(known)
    })
}

/// A profile of a dialect by its name.
pub(crate) fn profile(dialect: &'static dyn Dialect, name: &str) -> Result<&'static Profile, ApiError> {
    dialect.profile(name).ok_or_else(|| {
        let known: Vec<_> = dialect.profiles().iter().map(|profile| profile.name).collect();
        let message = format!(
            "the dialect `{}` has no profile `{name}`: it has `{}`",
            dialect.name(),
            known.join("`, `")
        );
        ApiError::bad("profile.unknown", message).known(known)
    })
}

/// The framing of the response: by name, or by `Accept`, or the default of its dialect.
pub(crate) fn framing(
    dialect: &'static dyn Dialect,
    profile: &Profile,
    headers: &HeaderMap,
    named: Option<&str>,
) -> Result<Framing, ApiError> {
    let offered = profile.framings;
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let wanted = match named {
        Some(name) => Some(name.parse().map_err(|_| {
            ApiError::bad("framing.unknown", format!("unknown framing `{name}`: use `sse` or `ndjson`"))
        })?),
        None if accept.contains("ndjson") || accept.contains("jsonl") => Some(Framing::Ndjson),
        None => None,
    };
    match wanted {
        Some(wanted) if offered.contains(&wanted) => Ok(wanted),
        Some(wanted) => {
            let message =
                format!("the dialect `{}` has no {wanted}: its clients do not read it", dialect.name());
            Err(ApiError::new(StatusCode::NOT_ACCEPTABLE, "framing.unsupported", message))
        }
        None => Ok(offered.first().copied().unwrap_or(Framing::Sse)),
    }
}
