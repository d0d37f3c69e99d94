//! All error codes of the HTTP API, for `/openapi.json` and `docs/http.md`. Tests compare the code with this list.

/// The codes: status, code, meaning. A router's own context function may add others.
#[rustfmt::skip]
pub const CODES: &[(u16, &str, &str)] = &[
    (400, "answer.unclear", "the body has none or several of `answer`, `approved`, `output`, `error`, `declined`"),
    (400, "body.cut", "the connection was lost before the whole body arrived"),
    (400, "body.invalid", "the body is not valid JSON, or does not match the route"),
    (400, "body.key-too-long", "a key in the body is longer than allowed"),
    (400, "body.missing", "the route needs a body"),
    (400, "body.reserved-key", "the key `$serde_json::private::RawValue` is reserved"),
    (400, "body.too-deep", "the body is nested deeper than allowed"),
    (400, "framing.unknown", "`framing` is neither `sse` nor `ndjson`"),
    (400, "header.invalid", "an id in a header is not visible ASCII text"),
    (400, "id.invalid", "an id is empty, longer than 256 bytes, or has control characters"),
    (400, "label.invalid", "the label of a session is empty"),
    (400, "path.invalid", "a part of the path cannot be read"),
    (400, "profile.unknown", "the dialect has no profile of that name"),
    (400, "query.invalid", "a parameter of the query cannot be read"),
    (400, "query.unknown", "the route has no such query parameter"),
    (400, "request.invalid", "the body is not what clients of the dialect send"),
    (400, "run.missing", "the request names neither a run nor a session"),
    (400, "session.invalid", "the name of a session is empty, longer than 256 bytes, or has a control character"),
    (400, "session.missing", "the request names no session"),
    (400, "until.unknown", "`until` is neither `wait` nor `end`"),
    (401, "auth.expired", "the token has expired"),
    (401, "auth.invalid", "the token was changed, is not from a trusted issuer, or is for another audience"),
    (401, "auth.missing", "the request has neither a key nor a token"),
    (401, "auth.unknown", "unknown key"),
    (403, "data.refused", "clients may not send `data` to the agent"),
    (403, "host.refused", "the `Host` header is not one of the allowed hosts"),
    (403, "import.refused", "clients may not start a session of the agent with their own conversation"),
    (403, "operator.needed", "only an operator may send the request"),
    (403, "origin.refused", "the request comes from a web page whose origin is not allowed"),
    (403, "token.invalid", "the token of an answer is tampered with, or for another question or input"),
    (404, "agent.unknown", "unknown agent"),
    (404, "checkpoint.retired", "the checkpoint was deleted by retention"),
    (404, "checkpoint.run-gone", "the run of the checkpoint was deleted by retention, so it cannot be repeated"),
    (404, "checkpoint.unknown", "unknown checkpoint, or it is not yours"),
    (404, "dialect.unknown", "unknown dialect"),
    (404, "metrics.off", "metrics are off on this server"),
    (404, "previous.unknown", "unknown answer to continue from, or it is not yours"),
    (404, "request.unknown", "unknown question, or it is not yours"),
    (404, "route.unknown", "unknown route"),
    (404, "run.unknown", "unknown run, or it is not yours"),
    (404, "session.unknown", "unknown session, or it is not yours"),
    (404, "workflow.unknown", "unknown workflow"),
    (405, "method.unsupported", "the route does not support this method"),
    (406, "framing.unsupported", "the clients of the dialect do not read this framing"),
    (408, "body.slow", "the body took too long to arrive"),
    (409, "approval.undecided", "the page continues, but its decision about a tool call has not arrived"),
    (409, "cursor.foreign", "the cursor belongs to another run"),
    (409, "cursor.forged", "the cursor was not issued by this server"),
    (409, "cursor.future", "no frame with that number was sent yet"),
    (409, "cursor.malformed", "invalid cursor"),
    (409, "cursor.unknown-epoch", "the cursor is from a driver that the journal does not know"),
    (409, "history.differs", "the page shows messages that its session does not have, and the agent accepts none from pages"),
    (409, "queue.begun", "the message is no longer queued: its turn has started"),
    (409, "request.ambiguous", "the run has several open questions: name one"),
    (409, "request.answered", "the question already has a different answer"),
    (409, "request.not-open", "no open question for this answer"),
    (409, "request.retracted", "the question was retracted: the session continued or was rolled back"),
    (409, "run.ended", "the run has ended"),
    (409, "run.exists", "a run with that id exists already"),
    (409, "run.in-use", "the page's id of the run belongs to another message of the session"),
    (409, "session.busy", "the session has an active run"),
    (409, "session.exists", "a session with that id exists already"),
    (409, "session.other-agent", "the session was started with another agent"),
    (409, "session.queue-full", "too many messages are queued in the session"),
    (409, "turn.replaced", "another message arrived before the turn of this one had started"),
    (410, "cursor.trimmed", "the records after the cursor were deleted by retention"),
    (410, "interrupt.expired", "the question was not answered in time"),
    (413, "body.too-large", "the body is larger than allowed"),
    (413, "body.too-many-values", "the body has more JSON values than allowed"),
    (413, "limit", "something is larger than allowed"),
    (413, "messages.too-many", "the request has more messages than allowed"),
    (413, "session.too-large", "the session is too large to be exported or imported"),
    (413, "state.too-large", "the data is larger than allowed"),
    (413, "value.key-too-long", "a key in the value is longer than allowed"),
    (413, "value.reserved-key", "the key `$serde_json::private::RawValue` is reserved"),
    (413, "value.string-too-long", "a string in the value is longer than allowed"),
    (413, "value.too-deep", "the value is nested deeper than allowed"),
    (413, "value.too-large", "the strings of the value are longer than allowed"),
    (413, "value.too-many-values", "the value has more parts than allowed"),
    (415, "body.not-json", "the content type of the body is not `application/json`"),
    (422, "answer-format.invalid", "invalid schema of the answer"),
    (422, "answer.invalid", "the question does not allow this answer"),
    (422, "answers.none", "the request has no answers"),
    (422, "answers.repeated", "the request answers one question twice"),
    (422, "answers.several-runs", "the request answers questions of several runs"),
    (422, "approval.edited", "the answer changes the input of a tool whose input cannot be changed"),
    (422, "document.invalid", "the imported session cannot be read"),
    (422, "idempotency.mismatch", "the `Idempotency-Key` was used before with another body"),
    (422, "input.invalid", "the input does not match the workflow's input type"),
    (422, "page.invalid", "invalid page cursor"),
    (422, "state.invalid", "the data cannot be stored"),
    (422, "tool-choice.invalid", "invalid tool choice"),
    (422, "turn.answer", "the turn was an answer: it has no text to edit"),
    (422, "turn.no-answer", "the turn was not an answer"),
    (422, "turn.seeded", "the turn was imported, and cannot be repeated"),
    (429, "bodies.too-many", "too many bytes of the principal's requests are in progress; see `Retry-After`"),
    (429, "runs.too-many", "the principal has too many active runs; see `Retry-After`"),
    (429, "streams.too-many", "the principal has too many open streams; see `Retry-After`"),
    (500, "internal", "internal error: the log has the details"),
    (500, "session.unreadable", "the session cannot be read, only deleted; the log has the details"),
    (500, "store", "the store failed: the log has the details"),
    (500, "store.corrupt", "requested data is damaged on disk: the log names it"),
    (503, "auth.unavailable", "the keys of tokens are too old and cannot be fetched; see `Retry-After`"),
    (503, "connections.too-many", "too many connections are open; see `Retry-After`"),
    (503, "run.busy", "another process drives the run; see `Retry-After`"),
    (503, "server.busy", "the server has reached its limit of request bytes or active runs; see `Retry-After`"),
    (503, "server.leaving", "the server is about to stop; see `Retry-After`"),
    (503, "store.busy", "the disk is too slow for the writes; see `Retry-After`"),
    (503, "store.failed", "the store cannot read or write at the moment; see `Retry-After`"),
    (503, "store.full", "the store has reached its size limit and has nothing to drop; see `Retry-After`"),
    (503, "store.slow", "the store took too long to respond; see `Retry-After`"),
    (503, "store.stopped", "the store takes no writes until it is opened anew, because a write failed; see `Retry-After`"),
    (503, "workflow.version", "this server does not have the version that the run began with; see `Retry-After`"),
];

/// The status and the meaning of a code.
pub(crate) fn find(code: &str) -> Option<(u16, &'static str)> {
    CODES.iter().find(|(_, known, _)| *known == code).map(|(status, _, meaning)| (*status, *meaning))
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use headwater_runtime::{Error, ErrorKind};

    use super::*;
    use crate::ApiError;

    /// Collects the texts with the form of a code in this crate's source files, without tests.
    fn codes_in(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                codes_in(&path, found);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for call in [
                "ApiError::bad(",
                "::not_found(",
                "::conflict(",
                "ApiError::new(",
                "Self::new(",
                "refused(",
                "unready(",
            ] {
                for after in code.split(call).skip(1) {
                    let literal = after.split('"').nth(1).unwrap_or_default();
                    // The code is the first text, within the call.
                    let near = after.find('"').is_some_and(|at| at < 120 && !after[..at].contains(';'));
                    if near
                        && literal.contains('.')
                        && literal.chars().all(|c| c.is_ascii_lowercase() || ".-".contains(c))
                    {
                        found.insert(literal.to_owned());
                    }
                }
            }
        }
    }

    #[test]
    fn every_code_in_the_source_is_in_the_list() {
        let mut found = BTreeSet::new();
        codes_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        // An example in the documentation of `ApiError`.
        found.remove("plan.free");
        let unlisted: Vec<_> = found.iter().filter(|code| super::find(code).is_none()).collect();
        assert!(unlisted.is_empty(), "not in CODES: {unlisted:?}");
        assert!(found.len() > 25, "the source is no longer read as it is written: {found:?}");
    }

    #[test]
    fn runtime_errors_have_the_status_of_the_list() {
        use ErrorKind as K;
        for kind in [
            K::UnknownWorkflow,
            K::UnknownRun,
            K::UnknownSession,
            K::UnknownCheckpoint,
            K::UnknownRequest,
            K::Foreign,
            K::Token,
            K::Exists,
            K::Ended,
            K::Answered,
            K::Retracted,
            K::SessionExists,
            K::SessionBusy,
            K::Expired,
            K::Answer,
            K::Input,
            K::State,
            K::Limit,
            K::Busy,
            K::UnknownModel,
            K::Store,
        ] {
            let error = ApiError::from(Error::new(kind, "it went wrong"));
            let (status, _) = find(error.code()).unwrap_or_else(|| panic!("{} is not listed", error.code()));
            assert_eq!(error.status().as_u16(), status, "{}", error.code());
        }
    }

    #[test]
    fn store_failures_that_pass_are_answered_with_503_and_a_time() {
        use headwater_store::{Error as StoreError, ErrorKind as K};
        for (kind, status, code) in [
            (K::Stopped, 503, "store.stopped"),
            (K::NoSpace, 503, "store.stopped"),
            (K::Io, 503, "store.failed"),
            (K::Busy, 503, "store.busy"),
            (K::Corrupt, 500, "store.corrupt"),
            (K::Full, 503, "store.full"),
        ] {
            let error = StoreError::new(kind, "0000000000000001.seg at offset 7");
            for answer in [ApiError::from(error.clone()), ApiError::from(Error::from(error))] {
                assert_eq!((answer.status().as_u16(), answer.code()), (status, code));
                assert_eq!(find(code).map(|(status, _)| status), Some(status));
                assert!(!answer.message().contains(".seg"), "what is wrong is in the log");
                let response = axum::response::IntoResponse::into_response(answer);
                assert_eq!(response.headers().contains_key("retry-after"), status == 503);
            }
        }
    }

    #[test]
    fn the_list_is_in_order_and_has_each_code_once() {
        assert!(CODES.is_sorted_by(|one, next| (one.0, one.1) < (next.0, next.1)));
    }
}
