//! `POST`: append to a stream, close it, or both.

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};

use super::headers::{
    self, PRODUCER_EPOCH, PRODUCER_EXPECTED_SEQ, PRODUCER_ID, PRODUCER_RECEIVED_SEQ, PRODUCER_SEQ, SEQ,
    StreamReply, number, text,
};
use crate::{
    DurableStreams, StreamError,
    streams::{AppendOutcome, AppendRequest, Offset, ProducerStamp, StreamId},
};

pub(super) async fn append(
    State(streams): State<DurableStreams>,
    id: StreamId,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, StreamError> {
    streams.ensure_background();
    let producer = producer(&headers)?;
    let closes = headers.get(headers::CLOSED).is_some_and(|value| value == "true");
    let content_type = text(&headers, &header::CONTENT_TYPE)?;
    if body.is_empty() && !closes {
        return Err(StreamError::bad("body.empty", "there is nothing to append: send bytes"));
    }
    if !body.is_empty() && content_type.is_none() {
        return Err(StreamError::bad(
            "content-type.missing",
            "missing `Content-Type`: send the media type of the bytes",
        ));
    }
    let has_body = !body.is_empty();
    let request =
        AppendRequest { body, content_type, seq: text(&headers, &SEQ)?, producer: producer.clone(), closes };
    let outcome = streams.0.append(&id, request).await?;
    if has_body && matches!(outcome, AppendOutcome::Appended { .. }) {
        streams.notify_append(&id);
    }
    respond(outcome, producer.as_ref(), has_body)
}

fn respond(
    outcome: AppendOutcome,
    producer: Option<&ProducerStamp>,
    has_body: bool,
) -> Result<Response, StreamError> {
    let stamped = |reply: StreamReply, seq: u64| match producer {
        Some(stamp) => {
            reply.set(PRODUCER_EPOCH, &stamp.epoch.to_string()).set(PRODUCER_SEQ, &seq.to_string())
        }
        None => reply,
    };
    Ok(match outcome {
        AppendOutcome::Appended { tail, closed } => {
            let status = if producer.is_some() && has_body { StatusCode::OK } else { StatusCode::NO_CONTENT };
            let reply = StreamReply::new(status).next_offset(Offset::at(tail)).closed(closed);
            stamped(reply, producer.map_or(0, |stamp| stamp.seq))
        }
        AppendOutcome::Duplicate { tail, closed, last } => {
            let reply = StreamReply::new(StatusCode::NO_CONTENT).next_offset(Offset::at(tail)).closed(closed);
            stamped(reply, last)
        }
        AppendOutcome::Closed { tail } => {
            let error = StreamError::conflict("stream.closed", "the stream is closed and takes no more data");
            let error = error.header(headers::CLOSED, "true");
            return Err(error.header(headers::NEXT_OFFSET, &Offset::at(tail).to_string()));
        }
        AppendOutcome::StaleEpoch { current } => {
            let message = format!("the producer has begun epoch {current}: this one is over");
            let error = StreamError::new(StatusCode::FORBIDDEN, "producer.stale-epoch", message);
            return Err(error.header(PRODUCER_EPOCH, &current.to_string()));
        }
        AppendOutcome::EpochNotAtStart => {
            return Err(StreamError::bad(
                "producer.epoch-start",
                "a new epoch begins with `Producer-Seq: 0`",
            ));
        }
        AppendOutcome::Gap { expected } => {
            let received = producer.map_or(0, |stamp| stamp.seq);
            let message = format!("`Producer-Seq` is {received}, and {expected} is next");
            let error = StreamError::conflict("producer.gap", message);
            let error = error.header(PRODUCER_EXPECTED_SEQ, &expected.to_string());
            return Err(error.header(PRODUCER_RECEIVED_SEQ, &received.to_string()));
        }
    }
    .into_response())
}

/// The producer of a request: all three headers, or none.
fn producer(headers: &HeaderMap) -> Result<Option<ProducerStamp>, StreamError> {
    let id = text(headers, &PRODUCER_ID)?;
    let (epoch, seq) = (number(headers, &PRODUCER_EPOCH)?, number(headers, &PRODUCER_SEQ)?);
    match (id, epoch, seq) {
        (None, None, None) => Ok(None),
        (Some(id), Some(epoch), Some(seq)) if !id.is_empty() => Ok(Some(ProducerStamp { id, epoch, seq })),
        _ => {
            let message = "a producer sends `Producer-Id`, `Producer-Epoch` and `Producer-Seq`, and its id is not empty";
            Err(StreamError::bad("producer.incomplete", message))
        }
    }
}
