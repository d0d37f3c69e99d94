//! A run as a durable stream: the records of the native wire, one JSON message each.

use axum::{
    Extension,
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use futures_util::future::BoxFuture;
use headwater_durable_streams::{
    RESPONSE_HEADERS, StreamError, StreamOptions,
    serve::{self, Offset, ReadQuery, SourcePage, StreamSource},
};
use headwater_protocol::{FrameWriter, Framing, native};
use headwater_runtime::{RecordReader, Run};
use headwater_store::{Cursor, JournalId, ReadLimit};

use crate::{ApiError, Principal, Server, Visibility, extract::PathParams, runs};

/// Maximum part of a journal in one response.
const PAGE: ReadLimit = ReadLimit { records: 1_024, bytes: 1 << 20 };

/// A run that is read as a stream. Its offsets have the epoch of the record, so an offset never points at other content:
/// if records were lost with the process that wrote them, the reader continues with the record that retracts them.
struct DurableRunStream {
    server: Server,
    run: Run,
    journal: JournalId,
    visibility: Visibility,
}

/// `GET /v1/streams/runs/{run}`.
pub(super) async fn read(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    PathParams(run): PathParams<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let source = DurableRunStream::open(&server, &principal, &run).await?;
    let options = stream_options(&server);
    let query = ReadQuery::parse(uri.query().unwrap_or_default());
    Ok(match query {
        Ok(query) => serve::read(source, query, &headers, &options).await.into_response(),
        Err(error) => error.into_response(),
    })
}

/// `HEAD /v1/streams/runs/{run}`.
pub(super) async fn inspect(
    State(server): State<Server>,
    Extension(principal): Extension<Principal>,
    PathParams(run): PathParams<String>,
) -> Result<Response, ApiError> {
    let source = DurableRunStream::open(&server, &principal, &run).await?;
    let [next_offset, _, _, closed, ..] = RESPONSE_HEADERS;
    let info = source.store().info(&source.journal).await?.ok_or_else(ApiError::no_run)?;
    let tail = source.tail().await.map(|tail| tail.to_string()).unwrap_or_default();
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (next_offset, tail),
    ];
    let closed = info.tail.closed.then_some([(closed, "true")]);
    Ok((StatusCode::OK, headers, closed, ()).into_response())
}

/// The options of streams, also where callers have none of their own.
fn stream_options(server: &Server) -> StreamOptions {
    let options = server.options();
    let mut streams =
        options.durable_streams.as_ref().map(|durable| durable.options().clone()).unwrap_or_default();
    streams.heartbeat = options.heartbeat;
    streams
}

impl DurableRunStream {
    async fn open(server: &Server, principal: &Principal, run: &str) -> Result<Self, ApiError> {
        let (served, run, _) = runs::owned(server, principal, run).await?;
        served.agent.ensure_driven(run.id()).await?;
        let journal = run.id().as_str().into();
        Ok(Self { server: server.clone(), run, journal, visibility: served.visibility })
    }

    fn store(&self) -> &dyn headwater_store::Store {
        self.run.store().as_ref()
    }

    /// The last record that a reader with an offset has read and that was kept.
    async fn place(&self, offset: Offset) -> Result<u64, StreamError> {
        if offset == Offset::default() {
            return Ok(0);
        }
        let info = self.store().info(&self.journal).await?;
        let info = info.ok_or_else(|| headwater_store::Error::unknown(&self.journal))?;
        let cursor = Cursor {
            journal: self.journal.clone(),
            epoch: offset.epoch,
            seq: offset.position,
            frame: 0,
            count: 0,
        };
        cursor.place(&self.journal, &info).map(headwater_store::Place::after).map_err(|_| {
            let message = "the offset does not belong to this run: read again from `-1`";
            StreamError::new(StatusCode::BAD_REQUEST, "offset.unknown", message)
        })
    }
}

impl StreamSource for DurableRunStream {
    fn content_type(&self) -> &str {
        "application/json"
    }

    fn tag(&self) -> &str {
        self.journal.as_str()
    }

    fn tail(&self) -> BoxFuture<'_, Result<Offset, StreamError>> {
        Box::pin(async {
            let info = self.store().info(&self.journal).await?;
            let info = info.ok_or_else(|| headwater_store::Error::unknown(&self.journal))?;
            let last = info.tail.last;
            let epoch = info.epochs.iter().rev().find(|epoch| epoch.first <= last).map_or(0, |it| it.epoch);
            Ok(if last == 0 { Offset::default() } else { Offset { epoch, position: last } })
        })
    }

    fn read(&self, after: Offset) -> BoxFuture<'_, Result<SourcePage, StreamError>> {
        Box::pin(async move {
            let from = self.place(after).await?;
            let page = self.store().read(&self.journal, from, PAGE).await?;
            let mut reader = RecordReader::default();
            reader.prepare(self.store(), &self.journal, &page).await.map_err(unreadable)?;
            let (mut items, mut next) = (Vec::new(), after);
            for stored in &page.records {
                next = Offset { epoch: stored.epoch, position: stored.seq };
                let event = reader.visible_event(stored).map_err(unreadable)?;
                let Some(record) = event.and_then(|record| self.visibility.filter(*record)) else { continue };
                let mut line = FrameWriter::new(Framing::Ndjson);
                native::write_record(&record, &mut line);
                let mut line = line.take();
                line.truncate(line.trim_ascii_end().len());
                items.push((next, line.into()));
            }
            let last = page.records.last().map_or(from, |record| record.seq);
            let up_to_date = last >= page.tail.last;
            Ok(SourcePage { items, next, up_to_date, closed: up_to_date && page.tail.closed })
        })
    }

    fn wait(&self, after: Offset) -> BoxFuture<'_, Result<(), StreamError>> {
        Box::pin(async move {
            self.store().wait(&self.journal, after.position).await?;
            Ok(())
        })
    }

    fn closing(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut closing = self.server.streams().closing();
            // The sender lives as long as the server.
            let _ = closing.wait_for(|closing| *closing).await;
        })
    }
}

fn unreadable(error: headwater_runtime::Error) -> StreamError {
    tracing::error!(code = error.code(), "the journal of a run cannot be read");
    StreamError::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the run cannot be read: the log says why",
    )
}
