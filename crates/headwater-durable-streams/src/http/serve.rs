//! Reads under the protocol: catch-up, long-poll and SSE, for every stream with offsets.

mod sse;

use std::{sync::Arc, time::Duration};

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use futures_util::future::BoxFuture;

use super::headers::{self, StreamReply};
use crate::{
    StreamError, StreamOptions, clock,
    streams::{ContentKind, json_array},
};

pub use crate::streams::{Offset, parse_offset};

/// Something that can be read as a durable stream.
pub trait StreamSource: Send + Sync + 'static {
    /// The content type.
    fn content_type(&self) -> &str;

    /// A name that no other stream ever has, for ETags.
    fn tag(&self) -> &str;

    /// The offset of the end.
    fn tail(&self) -> BoxFuture<'_, Result<Offset, StreamError>>;

    /// Reads a page after an offset; the default offset is the start.
    fn read(&self, after: Offset) -> BoxFuture<'_, Result<SourcePage, StreamError>>;

    /// Waits until there is data after an offset, or the stream has ended.
    fn wait(&self, after: Offset) -> BoxFuture<'_, Result<(), StreamError>>;

    /// Records that the stream was read.
    fn touch(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Resolves when the response should end, so that the client reconnects.
    fn closing(&self) -> BoxFuture<'_, ()>;

    /// Whether the data is JSON messages.
    fn is_json(&self) -> bool {
        ContentKind::of(self.content_type()) == ContentKind::Json
    }
}

/// Some of a stream.
#[derive(Debug, Clone)]
pub struct SourcePage {
    /// The data, each with the offset after it.
    pub items: Vec<(Offset, Bytes)>,
    /// The offset after all of it.
    pub next: Offset,
    /// Whether the end is reached at present.
    pub up_to_date: bool,
    /// Whether there will never be more.
    pub closed: bool,
}

/// The parameters of a read.
#[derive(Debug, Clone)]
pub struct ReadQuery {
    offset: ReadStart,
    live: Option<LiveMode>,
    cursor: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadStart {
    Beginning,
    Now,
    After(Offset),
}

/// How a reader waits for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveMode {
    /// One response with the next data.
    LongPoll,
    /// A continuous response.
    Sse,
}

impl ReadQuery {
    /// Parses a query string. Parameters of others are ignored.
    ///
    /// # Errors
    /// 400 for an invalid offset or mode.
    pub fn parse(query: &str) -> Result<Self, StreamError> {
        let invalid = |message: &str| StreamError::bad("query.invalid", message);
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(
            &format!("/?{query}").parse().map_err(|_| invalid("the query cannot be parsed"))?,
        );
        let pairs = pairs.map_err(|_| invalid("the query cannot be parsed"))?.0;
        let mut offsets = pairs.iter().filter(|(name, _)| name == "offset").map(|(_, value)| value.as_str());
        let offset = match (offsets.next(), offsets.next()) {
            (_, Some(_)) => return Err(invalid("there are several offsets: send one")),
            (None, None) => None,
            (Some("-1"), None) => Some(ReadStart::Beginning),
            (Some("now"), None) => Some(ReadStart::Now),
            (Some(text), None) => Some(ReadStart::After(parse_offset(text)?)),
        };
        let one =
            |wanted: &str| pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        let live = match one("live") {
            None => None,
            Some("long-poll") => Some(LiveMode::LongPoll),
            Some("sse") => Some(LiveMode::Sse),
            Some(_) => return Err(invalid("`live` is `long-poll` or `sse`")),
        };
        if live.is_some() && offset.is_none() {
            return Err(invalid(
                "a live read needs an offset: send `offset=-1`, `offset=now`, or one that you were given",
            ));
        }
        let cursor = one("cursor").and_then(|cursor| cursor.parse().ok());
        Ok(Self { offset: offset.unwrap_or(ReadStart::Beginning), live, cursor })
    }

    /// How the reader waits for more.
    #[must_use]
    pub fn live(&self) -> Option<LiveMode> {
        self.live
    }

    /// A cursor for the response. Caches treat responses with different cursors as different: so it is always
    /// greater than that of the request, or a reader could get the same empty response forever.
    pub(super) fn next_cursor(&self) -> u64 {
        /// The cursor counts intervals of 20 s since 2024-10-09.
        const EPOCH: u64 = 1_728_432_000_000;
        let interval = clock::now().saturating_sub(EPOCH) / 20_000;
        match self.cursor {
            // Up to an hour, so that the cursors of many readers differ.
            Some(sent) if sent >= interval => sent.saturating_add(1 + clock::now() % 180),
            _ => interval,
        }
    }
}

/// The response to a read.
///
/// # Errors
/// Those of the source.
pub async fn read(
    source: impl StreamSource,
    query: ReadQuery,
    headers: &HeaderMap,
    options: &StreamOptions,
) -> Result<Response, StreamError> {
    let after = match query.offset {
        ReadStart::Beginning => Offset::default(),
        ReadStart::After(offset) => offset,
        ReadStart::Now => source.tail().await?,
    };
    source.touch().await;
    match query.live {
        Some(LiveMode::Sse) => Ok(sse::respond(Arc::new(source), after, query, options)),
        Some(LiveMode::LongPoll) => long_poll(&source, after, &query, options.long_poll).await,
        None if query.offset == ReadStart::Now => {
            let closed = source.read(after).await?.closed;
            let body = if source.is_json() { "[]" } else { "" };
            let reply =
                StreamReply::new(StatusCode::OK).content_type(source.content_type()).next_offset(after);
            let reply = reply.up_to_date(true).closed(closed).set(header::CACHE_CONTROL, "no-store");
            Ok(reply.body(body).into_response())
        }
        None => catch_up(&source, after, headers).await,
    }
}

async fn catch_up(
    source: &impl StreamSource,
    after: Offset,
    headers: &HeaderMap,
) -> Result<Response, StreamError> {
    let page = source.read(after).await?;
    let end = if page.closed { ":closed" } else { "" };
    let etag = format!("\"{}:{after}:{}{end}\"", source.tag(), page.next);
    let matches = |value: &axum::http::HeaderValue| value.to_str().is_ok_and(|value| value.contains(&etag));
    if headers.get_all(header::IF_NONE_MATCH).iter().any(matches) {
        return Ok(StreamReply::new(StatusCode::NOT_MODIFIED).set(header::ETAG, &etag).into_response());
    }
    // Earlier data never changes; at the end of the stream, more may follow.
    let caching = match page.up_to_date {
        true => "private, no-cache",
        false => "private, max-age=60, stale-while-revalidate=300",
    };
    let reply = with_page(StreamReply::new(StatusCode::OK), source, &page).set(header::ETAG, &etag);
    Ok(reply.set(header::CACHE_CONTROL, caching).body(body(source, &page)).into_response())
}

async fn long_poll(
    source: &impl StreamSource,
    after: Offset,
    query: &ReadQuery,
    timeout: Duration,
) -> Result<Response, StreamError> {
    let mut page = source.read(after).await?;
    let mut timeout = std::pin::pin!(tokio::time::sleep(timeout));
    while page.items.is_empty() && !page.closed {
        tokio::select! {
            waited = source.wait(page.next) => waited?,
            () = &mut timeout => break,
            () = source.closing() => break,
        }
        page = source.read(page.next).await?;
    }
    source.touch().await;
    let cursor = query.next_cursor().to_string();
    let status = if page.items.is_empty() { StatusCode::NO_CONTENT } else { StatusCode::OK };
    let reply = with_page(StreamReply::new(status), source, &page).set(headers::CURSOR, &cursor);
    let reply = reply.set(header::CACHE_CONTROL, "no-store");
    Ok(match page.items.is_empty() {
        true => reply,
        false => {
            let etag = format!("\"{}:{after}:{}\"", source.tag(), page.next);
            reply.set(header::ETAG, &etag).body(body(source, &page))
        }
    }
    .into_response())
}

fn with_page(reply: StreamReply, source: &impl StreamSource, page: &SourcePage) -> StreamReply {
    let reply = reply.content_type(source.content_type()).next_offset(page.next);
    reply.up_to_date(page.up_to_date).closed(page.closed)
}

fn body(source: &impl StreamSource, page: &SourcePage) -> Bytes {
    let data = page.items.iter().map(|(_, data)| &**data);
    if source.is_json() { json_array(data).into() } else { data.collect::<Vec<_>>().concat().into() }
}
