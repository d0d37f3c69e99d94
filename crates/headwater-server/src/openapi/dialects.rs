//! The routes of the dialects in the OpenAPI document: their bodies are those of other projects' clients, so they are
//! described in general terms.

use axum::http::StatusCode;
use headwater_dialects::{Operations, RouteBase};
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::{
    limits::ids,
    operation::{
        AcceptedResponse, HandlerOutput as _, Operation, OperationSchema, codes, event_stream, set,
        stream_headers,
    },
    runs::AnswerResponse,
};

/// The operations of a dialect's route with their methods. A configured path has the same ones.
pub(crate) fn operations(
    names: Operations,
    own_errors: bool,
) -> impl Iterator<Item = (&'static str, Operation)> {
    let operation = move |id, summary, describe| Operation {
        id,
        summary,
        codes: codes::DIALECT,
        open: false,
        own_errors,
        describe,
    };
    let read = "Resume a run, or read a conversation, as the dialect's client does it.";
    let write = "Send a message, answer or stop, as the dialect's client does it.";
    let change = "Change a conversation, as the dialect's client does it.";
    let remove = "Delete a conversation, as the dialect's client does it.";
    [
        ("GET", names.read, read, describe_read as fn(&mut OperationSchema)),
        ("POST", names.write, write, describe_write),
        ("PATCH", names.change, change, describe_write),
        ("DELETE", names.remove, remove, describe_read),
    ]
    .into_iter()
    .filter_map(move |(method, id, summary, describe)| Some((method, operation(id?, summary, describe))))
}

/// The requests of a dialect's clients; `docs/dialects.md` documents each.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct DialectRequest(Map<String, Value>);

fn describe_read(sketch: &mut OperationSchema) {
    for (name, about) in [
        ("agent", "The agent; otherwise the default."),
        ("profile", "The profile of the client; `docs/dialects.md` lists them."),
        ("framing", "`sse` or `ndjson`; otherwise by `Accept`."),
    ] {
        let schema = json!({ "type": "string" });
        sketch.query.push(json!({
            "name": name, "in": "query", "required": false, "description": about, "schema": schema,
        }));
    }
    let id = || json!({ "type": "string", "minLength": 1, "maxLength": ids::LONGEST });
    sketch.header("Last-Event-ID", "Where the reader was.", json!({ "type": "string" }));
    sketch.header("X-Run-Id", "The page's id of the run.", id());
    sketch.header("X-Request-Id", "The sender's id of the request.", json!({ "type": "string" }));
    sketch.header("Idempotency-Key", "The same key again is the same request again.", id());
    let mut content = event_stream();
    set(&mut content, "application/json", json!({ "schema": {} }));
    let about = "The run in the dialect's own form, or a document where the client asks for one.";
    sketch.answer(StatusCode::OK, about, content);
    if let Some((_, answer)) = sketch.answers.last_mut() {
        set(answer, "headers", stream_headers());
    }
    AcceptedResponse::<AnswerResponse>::describe(sketch);
    sketch.answer(StatusCode::NO_CONTENT, "There is nothing to resume.", Value::Null);
}

fn describe_write(sketch: &mut OperationSchema) {
    describe_read(sketch);
    sketch.takes_body::<DialectRequest>(true);
}

/// The schema of the name of a dialect.
pub(super) fn name_schema() -> Value {
    let below = headwater_dialects::CHAT
        .iter()
        .filter(|dialect| dialect.routes().iter().any(|route| route.base != RouteBase::Version));
    let names: Vec<_> = below.map(|dialect| dialect.name()).collect();
    json!({ "type": "string", "enum": names })
}
