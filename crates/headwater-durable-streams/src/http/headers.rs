//! Headers of the protocol.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::{StreamError, streams::Offset};

pub(crate) const NEXT_OFFSET: HeaderName = HeaderName::from_static("stream-next-offset");
pub(crate) const UP_TO_DATE: HeaderName = HeaderName::from_static("stream-up-to-date");
pub(crate) const CURSOR: HeaderName = HeaderName::from_static("stream-cursor");
pub(crate) const CLOSED: HeaderName = HeaderName::from_static("stream-closed");
pub(crate) const SEQ: HeaderName = HeaderName::from_static("stream-seq");
pub(crate) const TTL: HeaderName = HeaderName::from_static("stream-ttl");
pub(crate) const EXPIRES_AT: HeaderName = HeaderName::from_static("stream-expires-at");
pub(crate) const SSE_ENCODING: HeaderName = HeaderName::from_static("stream-sse-data-encoding");
pub(crate) const FORKED_FROM: HeaderName = HeaderName::from_static("stream-forked-from");
pub(crate) const FORK_OFFSET: HeaderName = HeaderName::from_static("stream-fork-offset");
pub(crate) const FORK_SUB_OFFSET: HeaderName = HeaderName::from_static("stream-fork-sub-offset");
pub(crate) const PRODUCER_ID: HeaderName = HeaderName::from_static("producer-id");
pub(crate) const PRODUCER_EPOCH: HeaderName = HeaderName::from_static("producer-epoch");
pub(crate) const PRODUCER_SEQ: HeaderName = HeaderName::from_static("producer-seq");
pub(crate) const PRODUCER_EXPECTED_SEQ: HeaderName = HeaderName::from_static("producer-expected-seq");
pub(crate) const PRODUCER_RECEIVED_SEQ: HeaderName = HeaderName::from_static("producer-received-seq");

/// The headers that a page may send.
pub const REQUEST_HEADERS: [HeaderName; 11] = [
    SEQ,
    TTL,
    EXPIRES_AT,
    CLOSED,
    PRODUCER_ID,
    PRODUCER_EPOCH,
    PRODUCER_SEQ,
    FORKED_FROM,
    FORK_OFFSET,
    FORK_SUB_OFFSET,
    header::IF_NONE_MATCH,
];

/// The headers that a page may read.
pub const RESPONSE_HEADERS: [HeaderName; 13] = [
    NEXT_OFFSET,
    CURSOR,
    UP_TO_DATE,
    CLOSED,
    TTL,
    EXPIRES_AT,
    SSE_ENCODING,
    PRODUCER_EPOCH,
    PRODUCER_SEQ,
    PRODUCER_EXPECTED_SEQ,
    PRODUCER_RECEIVED_SEQ,
    header::ETAG,
    header::LOCATION,
];

/// A response, built header by header.
#[derive(Debug)]
pub(crate) struct StreamReply {
    status: StatusCode,
    headers: HeaderMap,
    body: Body,
}

impl StreamReply {
    pub(crate) fn new(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Body::empty() }
    }

    /// Sets a header. A value that no header can have is left out.
    pub(crate) fn set(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    pub(crate) fn content_type(self, content_type: &str) -> Self {
        self.set(header::CONTENT_TYPE, content_type)
    }

    pub(crate) fn next_offset(self, offset: Offset) -> Self {
        self.set(NEXT_OFFSET, &offset.to_string())
    }

    pub(crate) fn closed(self, closed: bool) -> Self {
        if closed { self.set(CLOSED, "true") } else { self }
    }

    pub(crate) fn up_to_date(self, up_to_date: bool) -> Self {
        if up_to_date { self.set(UP_TO_DATE, "true") } else { self }
    }

    pub(crate) fn body(self, body: impl Into<Body>) -> Self {
        Self { body: body.into(), ..self }
    }
}

impl IntoResponse for StreamReply {
    fn into_response(self) -> Response {
        (self.status, self.headers, self.body).into_response()
    }
}

/// A header as text; `None` if it is missing.
pub(crate) fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, StreamError> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = value.to_str().map_err(|_| {
        StreamError::bad("header.invalid", format!("`{name}` is not text: send visible ASCII characters"))
    })?;
    if text.len() > 256 && name != FORKED_FROM {
        return Err(StreamError::bad("header.invalid", format!("`{name}` is longer than 256 bytes")));
    }
    Ok(Some(text.trim().to_owned()))
}

/// A header that is a whole number without sign or leading zeros.
pub(crate) fn number(headers: &HeaderMap, name: &HeaderName) -> Result<Option<u64>, StreamError> {
    // The largest safe integer of JavaScript.
    const MOST: u64 = (1 << 53) - 1;
    let Some(text) = text(headers, name)? else { return Ok(None) };
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    let number = text.parse().ok().filter(|number| digits && *number <= MOST);
    number.map(Some).ok_or_else(|| {
        StreamError::bad("header.invalid", format!("invalid `{name}`: send a whole number from 0 to {MOST}"))
    })
}
