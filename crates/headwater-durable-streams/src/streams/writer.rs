//! Appends to a stream.

use bytes::Bytes;
use headwater_store::{Class, Expect, Receipt, WriteOp};

use super::{
    StreamEngine, StreamId, StreamMeta,
    catalog::encode,
    content::{ContentKind, flatten_json, media_type},
    meta::StreamClosing,
    producer::{ProducerStamp, ProducerVerdict},
    record::{AppendHeader, AppendRecord},
    writers::{StreamWriter, is_fenced, state_key},
};
use crate::StreamError;

/// A request to append, to close, or both.
#[derive(Debug, Clone)]
pub(crate) struct AppendRequest {
    /// Empty if the stream is only to be closed.
    pub(crate) body: Bytes,
    pub(crate) content_type: Option<String>,
    pub(crate) seq: Option<String>,
    pub(crate) producer: Option<ProducerStamp>,
    pub(crate) closes: bool,
}

/// The outcome of an append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AppendOutcome {
    Appended {
        tail: u64,
        closed: bool,
    },
    /// The producer has sent it before; the last sequence that was accepted of it.
    Duplicate {
        tail: u64,
        closed: bool,
        last: u64,
    },
    /// The stream was closed before.
    Closed {
        tail: u64,
    },
    StaleEpoch {
        current: u64,
    },
    EpochNotAtStart,
    Gap {
        expected: u64,
    },
}

/// An append that waits for its commit.
enum AppendStep {
    Done(AppendOutcome),
    Committing(Receipt, AppendOutcome),
}

impl StreamEngine {
    /// Appends to a stream.
    pub(crate) async fn append(
        &self,
        id: &StreamId,
        request: AppendRequest,
    ) -> Result<AppendOutcome, StreamError> {
        let meta = self.find(id).await?;
        if !request.body.is_empty() {
            let sent = request.content_type.as_deref().map(media_type);
            if sent.as_deref() != Some(&media_type(&meta.content_type)) && meta.closed.is_none() {
                let message =
                    format!("the content type of this stream is `{}`: send the same", meta.content_type);
                return Err(StreamError::conflict("content-type.differs", message));
            }
        }
        let outcome = match self.append_once(id, &meta, &request).await {
            // Another process has written in between: try again with the current state.
            Err(AppendFault::Fenced) => self.append_once(id, &meta, &request).await,
            other => other,
        };
        let outcome = outcome.map_err(|fault| match fault {
            AppendFault::Fenced => {
                StreamError::busy("another server writes to this stream: send the request again")
            }
            AppendFault::Refused(error) => error,
        })?;
        self.touch(id).await;
        Ok(outcome)
    }

    async fn append_once(
        &self,
        id: &StreamId,
        meta: &StreamMeta,
        request: &AppendRequest,
    ) -> Result<AppendOutcome, AppendFault> {
        let writer = self.writers().of(&meta.journal);
        let mut writer = writer.lock().await;
        self.prepare(meta, &mut writer).await?;
        let step = self.begin_append(id, meta, &mut writer, request).await;
        let step = step.inspect_err(|fault| {
            if matches!(fault, AppendFault::Fenced) {
                (writer.lease, writer.state) = (None, None);
            }
        })?;
        let (receipt, outcome) = match step {
            AppendStep::Done(outcome) => return Ok(outcome),
            AppendStep::Committing(receipt, outcome) => (receipt, outcome),
        };
        // A repeated request of a producer must not be confirmed before the first one is durable.
        let held = request.producer.is_some().then_some(writer);
        if let Err(error) = receipt.await {
            drop(held);
            self.writers().forget(&meta.journal);
            return Err(error.into());
        }
        Ok(outcome)
    }

    /// Checks a request and appends its record.
    async fn begin_append(
        &self,
        id: &StreamId,
        meta: &StreamMeta,
        writer: &mut StreamWriter,
        request: &AppendRequest,
    ) -> Result<AppendStep, AppendFault> {
        let base = meta.base();
        let StreamWriter { lease, state: Some(state), .. } = writer else { return Err(AppendFault::Fenced) };
        if let Some(closing) = &state.closed {
            let later = request.producer.as_ref().and_then(|stamp| state.producers.later_epoch(stamp));
            return Ok(AppendStep::Done(answer_closed(closing, request, base + state.last, later)));
        }
        let Some(lease) = lease else { return Err(AppendFault::Fenced) };
        if let Some(stamp) = &request.producer {
            let verdict = state.producers.check(stamp, self.options.producers);
            if let Some(outcome) = refuse_producer(verdict, base + state.last)? {
                return Ok(AppendStep::Done(outcome));
            }
        }
        if let (Some(seq), Some(last)) = (&request.seq, &state.seq)
            && seq <= last
        {
            let message = format!("`Stream-Seq` must be greater than the last one, `{last}`");
            return Err(StreamError::conflict("seq.not-greater", message).into());
        }
        let mut after = None;
        if request.body.is_empty() {
            if let Some(stamp) = &request.producer {
                state.producers.record(stamp);
            }
        } else {
            let record = record_of(meta, request)?;
            let receipt = self.store.append(lease, Class::Fact, &[record.encode()?])?;
            state.apply(receipt.last(), &record);
            after = Some(receipt);
        }
        let tail = base + state.last;
        let outcome = AppendOutcome::Appended { tail, closed: request.closes };
        if request.closes {
            let closing = StreamClosing { producer: request.producer.clone() };
            state.closed = Some(closing.clone());
            let (bytes, expect) = self.closed_meta(id, closing).await?;
            let changes = vec![
                WriteOp::Put {
                    key: state_key(&meta.journal),
                    bytes: encode(state)?,
                    expect: Expect::Any,
                    ttl: None,
                },
                WriteOp::Put { key: id.key(), bytes, expect, ttl: None },
                WriteOp::Close { lease: lease.clone(), keep: None },
            ];
            self.store.write(after, changes).await?;
            writer.lease = None;
            return Ok(AppendStep::Done(outcome));
        }
        let Some(receipt) = after else { return Ok(AppendStep::Done(outcome)) };
        if state.wants_snapshot() {
            let key = state_key(&meta.journal);
            let change = WriteOp::Put { key, bytes: encode(state)?, expect: Expect::Any, ttl: None };
            self.store.write(Some(receipt), vec![change]).await?;
            return Ok(AppendStep::Done(outcome));
        }
        Ok(AppendStep::Committing(receipt, outcome))
    }
}

/// The error for a producer whose request is not accepted; `None` if it is.
fn refuse_producer(verdict: ProducerVerdict, tail: u64) -> Result<Option<AppendOutcome>, StreamError> {
    Ok(Some(match verdict {
        ProducerVerdict::Accepted => return Ok(None),
        ProducerVerdict::Duplicate { last } => AppendOutcome::Duplicate { tail, closed: false, last },
        ProducerVerdict::StaleEpoch { current } => AppendOutcome::StaleEpoch { current },
        ProducerVerdict::EpochNotAtStart => AppendOutcome::EpochNotAtStart,
        ProducerVerdict::Gap { expected } => AppendOutcome::Gap { expected },
        ProducerVerdict::TooManyProducers => {
            let message = "the stream has too many producers: use fewer producer ids";
            let status = axum::http::StatusCode::TOO_MANY_REQUESTS;
            return Err(StreamError::new(status, "producers.too-many", message));
        }
    }))
}

/// The error for a request to a closed stream.
fn answer_closed(
    closing: &StreamClosing,
    request: &AppendRequest,
    tail: u64,
    later_epoch: Option<u64>,
) -> AppendOutcome {
    match &request.producer {
        Some(stamp) if closing.producer.as_ref() == Some(stamp) => {
            AppendOutcome::Duplicate { tail, closed: true, last: stamp.seq }
        }
        Some(_) if later_epoch.is_some() => {
            AppendOutcome::StaleEpoch { current: later_epoch.unwrap_or_default() }
        }
        None if request.body.is_empty() => AppendOutcome::Appended { tail, closed: true },
        _ => AppendOutcome::Closed { tail },
    }
}

fn record_of(meta: &StreamMeta, request: &AppendRequest) -> Result<AppendRecord, StreamError> {
    let data = match ContentKind::of(&meta.content_type) {
        ContentKind::Json => {
            let (data, count) = flatten_json(&request.body)?;
            if count == 0 {
                return Err(StreamError::bad("body.empty", "an empty array has no messages to append"));
            }
            data
        }
        _ => request.body.clone(),
    };
    let header =
        AppendHeader { producer: request.producer.clone(), seq: request.seq.clone(), closes: request.closes };
    Ok(AppendRecord { header, data })
}

/// Why an append did not happen.
enum AppendFault {
    /// The lease was lost, so the cached state of the stream may be outdated.
    Fenced,
    Refused(StreamError),
}

impl From<StreamError> for AppendFault {
    fn from(error: StreamError) -> Self {
        Self::Refused(error)
    }
}

impl From<headwater_store::Error> for AppendFault {
    fn from(error: headwater_store::Error) -> Self {
        if is_fenced(&error) { Self::Fenced } else { Self::Refused(error.into()) }
    }
}
