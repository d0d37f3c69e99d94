//! Continuous reads as server-sent events: data events, each followed by the reader's position.

use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::json;
use tokio::time::Instant;

use super::{
    super::headers::{SSE_ENCODING, StreamReply},
    Offset, ReadQuery, SourcePage, StreamSource,
};
use crate::{
    StreamOptions,
    streams::{ContentKind, json_array},
};

/// How a stream's data is written into events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventEncoding {
    Json,
    Text,
    Base64,
}

/// A response in progress.
struct StreamEvents<S> {
    source: Arc<S>,
    encoding: EventEncoding,
    query: ReadQuery,
    after: Offset,
    /// Events that are ready.
    ready: VecDeque<Bytes>,
    heartbeat: Duration,
    ends: Instant,
    is_first: bool,
    over: bool,
}

pub(super) fn respond<S: StreamSource>(
    source: Arc<S>,
    after: Offset,
    query: ReadQuery,
    options: &StreamOptions,
) -> Response {
    let encoding = match ContentKind::of(source.content_type()) {
        _ if source.is_json() => EventEncoding::Json,
        ContentKind::Text => EventEncoding::Text,
        _ => EventEncoding::Base64,
    };
    let stream = StreamEvents {
        source,
        encoding,
        query,
        after,
        ready: VecDeque::new(),
        heartbeat: options.heartbeat,
        ends: Instant::now() + options.sse,
        is_first: true,
        over: false,
    };
    let events = futures_util::stream::unfold(stream, |mut stream| async move {
        let event = stream.next().await?;
        Some((Ok::<Bytes, Infallible>(event), stream))
    });
    let reply = StreamReply::new(StatusCode::OK).content_type("text/event-stream");
    let reply =
        reply.set(header::CACHE_CONTROL, "no-cache").set(HeaderName::from_static("x-accel-buffering"), "no");
    let reply = if encoding == EventEncoding::Base64 { reply.set(SSE_ENCODING, "base64") } else { reply };
    reply.body(Body::from_stream(events)).into_response()
}

impl<S: StreamSource> StreamEvents<S> {
    /// The next bytes; nothing at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if self.over {
                return None;
            }
            // For a deleted stream or a failed store, the client gets the error when it reconnects.
            let Ok(page) = self.source.read(self.after).await else { return None };
            let has_news = !page.items.is_empty() || page.closed || self.is_first;
            self.is_first = false;
            if has_news {
                self.write(&page);
                self.source.touch().await;
                continue;
            }
            if Instant::now() >= self.ends {
                return None;
            }
            tokio::select! {
                waited = self.source.wait(self.after) => waited.ok()?,
                () = self.source.closing() => return None,
                () = tokio::time::sleep(self.heartbeat.min(self.ends - Instant::now())) => {
                    let control = self.control(self.after, true, false);
                    self.ready.push_back(control);
                }
            }
        }
    }

    fn write(&mut self, page: &SourcePage) {
        self.after = page.next;
        let last = page.items.len().saturating_sub(1);
        for (index, (offset, data)) in page.items.iter().enumerate() {
            let is_last = index == last;
            let mut event = self.data(data);
            event.extend_from_slice(&self.control(
                *offset,
                is_last && page.up_to_date,
                is_last && page.closed,
            ));
            self.ready.push_back(event.into());
        }
        if page.items.is_empty() {
            let control = self.control(page.next, page.up_to_date, page.closed);
            self.ready.push_back(control);
        }
        self.over = page.closed;
    }

    fn data(&self, data: &Bytes) -> Vec<u8> {
        let text = match self.encoding {
            EventEncoding::Json => {
                String::from_utf8_lossy(&json_array(std::iter::once(&**data))).into_owned()
            }
            EventEncoding::Text => String::from_utf8_lossy(data).into_owned(),
            EventEncoding::Base64 => STANDARD.encode(data),
        };
        event("data", &text)
    }

    fn control(&self, offset: Offset, up_to_date: bool, closed: bool) -> Bytes {
        let offset = offset.to_string();
        let control = match (closed, up_to_date) {
            (true, _) => json!({ "streamNextOffset": offset, "streamClosed": true }),
            (false, true) => json!({
                "streamNextOffset": offset, "streamCursor": self.query.next_cursor().to_string(), "upToDate": true,
            }),
            (false, false) => json!({
                "streamNextOffset": offset, "streamCursor": self.query.next_cursor().to_string(),
            }),
        };
        event("control", &control.to_string()).into()
    }
}

/// Encodes one event. Each kind of line break starts a new `data` line, so that no content can forge an
/// event.
fn event(name: &str, text: &str) -> Vec<u8> {
    let mut event = format!("event: {name}\n");
    for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
        // Readers drop one space after the colon, and no more.
        event.push_str(if line.starts_with(' ') { "data: " } else { "data:" });
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::event;

    #[test]
    fn no_line_break_of_the_content_ends_an_event() {
        let text = String::from_utf8(event("data", "a\r\n\r\nevent: control\rx\n")).unwrap();
        assert_eq!(text, "event: data\ndata:a\ndata:\ndata:event: control\ndata:x\ndata:\n\n");
    }
}
