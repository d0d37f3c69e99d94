//! `PUT`: create a stream, or fork one.

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::headers::{
    self, EXPIRES_AT, FORK_OFFSET, FORK_SUB_OFFSET, FORKED_FROM, StreamReply, TTL, number, text,
};
use crate::{
    DurableStreams, MOUNT, StreamError,
    caller::base_url,
    streams::{CreateRequest, Expiry, ForkRequest, Offset, StreamId, parse_offset},
};

pub(super) async fn create(
    State(streams): State<DurableStreams>,
    id: StreamId,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, StreamError> {
    streams.ensure_background();
    let fork = fork(&headers)?;
    let content_type = text(&headers, &header::CONTENT_TYPE)?.filter(|kind| is_media_type(kind));
    let closed = headers.get(headers::CLOSED).is_some_and(|value| value == "true");
    let has_body = !body.is_empty();
    let request = CreateRequest { content_type, expiry: expiry(&headers)?, closed, fork, body };
    let created = streams.0.create(&id, request).await?;
    if created.is_new && has_body {
        streams.notify_append(&id);
    }
    let status = if created.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let reply = StreamReply::new(status).content_type(&created.meta.content_type);
    let reply = reply.next_offset(Offset::at(created.tail)).closed(created.meta.closed.is_some());
    Ok(match created.is_new {
        true => reply.set(header::LOCATION, &format!("{}{MOUNT}{}", base_url(&headers), id.path)),
        false => reply,
    }
    .into_response())
}

/// Whether a text starts with a type and a subtype; parameters are ignored.
fn is_media_type(text: &str) -> bool {
    let word = |part: &str| {
        let first = part.bytes().next();
        first.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    text.split_once('/').is_some_and(|(kind, rest)| word(kind) && word(rest))
}

fn expiry(headers: &HeaderMap) -> Result<Option<Expiry>, StreamError> {
    let (ttl, at) = (number(headers, &TTL)?, text(headers, &EXPIRES_AT)?);
    match (ttl, at) {
        (Some(_), Some(_)) => {
            let message = "`Stream-TTL` and `Stream-Expires-At` exclude each other: send one of them";
            Err(StreamError::bad("expiry.both", message))
        }
        (Some(seconds), None) => Ok(Some(Expiry::Idle(seconds))),
        (None, Some(at)) => {
            let time = parse_time(&at).ok_or_else(|| {
                let message = "invalid `Stream-Expires-At`: write it as `2026-01-11T18:22:00Z`";
                StreamError::bad("header.invalid", message)
            })?;
            Ok(Some(Expiry::At(at, time)))
        }
        (None, None) => Ok(None),
    }
}

/// A time in milliseconds since 1970, with `Z` or the distance of its zone.
fn parse_time(text: &str) -> Option<u64> {
    if text.ends_with(['Z', 'z']) {
        return headwater_protocol::parse_rfc3339(text);
    }
    let (time, zone) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let ahead = match zone.bytes().next()? {
        b'+' => true,
        b'-' => false,
        _ => return None,
    };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let distance = (hours < 24 && minutes < 60).then_some((hours * 60 + minutes) * 60_000)?;
    let time = headwater_protocol::parse_rfc3339(&format!("{time}Z"))?;
    if ahead { time.checked_sub(distance) } else { time.checked_add(distance) }
}

fn fork(headers: &HeaderMap) -> Result<Option<ForkRequest>, StreamError> {
    let (from, sub_offset) = (text(headers, &FORKED_FROM)?, number(headers, &FORK_SUB_OFFSET)?);
    let offset = text(headers, &FORK_OFFSET)?;
    let Some(from) = from else {
        if sub_offset.is_some() || offset.is_some() {
            let message = "`Stream-Fork-Offset` and `Stream-Fork-Sub-Offset` need `Stream-Forked-From`";
            return Err(StreamError::bad("fork.no-source", message));
        }
        return Ok(None);
    };
    let path = from.strip_prefix(MOUNT).unwrap_or(&from).trim_start_matches('/').to_owned();
    let offset = offset.map(|offset| parse_offset(&offset)).transpose()?;
    let sub_offset = sub_offset.unwrap_or(0);
    if sub_offset > 0 && offset.is_none() {
        let message = "`Stream-Fork-Sub-Offset` counts from an offset: send `Stream-Fork-Offset` too";
        return Err(StreamError::bad("fork.sub-offset", message));
    }
    Ok(Some(ForkRequest { path, offset, sub_offset }))
}

#[cfg(test)]
mod tests {
    use super::parse_time;

    #[test]
    fn times_of_all_zones_are_compared() {
        let time = parse_time("2026-01-11T18:22:00Z").unwrap();
        for text in
            ["2026-01-11T18:22:00+00:00", "2026-01-11T20:52:00+02:30", "2026-01-11T13:22:00.000-05:00"]
        {
            assert_eq!(parse_time(text), Some(time), "{text}");
        }
        for text in ["", "not-a-timestamp", "2026-01-11T18:22:00", "2026-01-11T18:22:00+25:00", "+00:00"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
