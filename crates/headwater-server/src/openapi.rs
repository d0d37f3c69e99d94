//! The document that tells machines what the server can do, in OpenAPI 3.1.
//!
//! It is made of the routes that the router has ([`Server::routes`](crate::Server::routes)), of the table of what they do
//! ([`operations`]), of the types of their bodies, and of the list of codes ([`CODES`](crate::CODES)). A route that the
//! table does not know is in the document without a word about it, and a test fails.

mod operations;
mod schemas;

use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use headwater_protocol::dialects;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use self::operations::{Answer, Operation};
use crate::{Server, error, limits::ids};

/// The document as it is sent.
#[derive(Debug)]
pub(crate) struct Document {
    text: Bytes,
    tag: String,
}

/// `GET /openapi.json`. Written once: that takes milliseconds, and the route needs no key.
pub(crate) async fn document(State(server): State<Server>, request: HeaderMap) -> Response {
    let Document { text, tag } = server.document(|| {
        let text = build(&server).to_string();
        let digest: String = Sha256::digest(&text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Document { text: text.into(), tag: format!("\"{digest}\"") }
    });
    let known = request.get_all(header::IF_NONE_MATCH).into_iter().filter_map(|tags| tags.to_str().ok());
    let unchanged =
        known.flat_map(|tags| tags.split(',')).any(|known| known.trim().trim_start_matches("W/") == tag);
    let headers = [(header::ETAG, tag.as_str()), (header::CACHE_CONTROL, "no-cache")];
    if unchanged {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(header::CONTENT_TYPE, "application/json")], text.clone()).into_response()
}

/// The document of a server.
fn build(server: &Server) -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut types = settings.into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for (method, route) in server.routes() {
        let operation = operations::find(method, &route);
        let path = route.replace("{*", "{");
        let described = describe(&mut types, method, &path, operation);
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = methods {
            methods.insert(method.to_ascii_lowercase(), described);
        }
    }
    types.subschema_for::<schemas::Error>();
    let mut security = vec![json!({ "bearer": [] }), json!({ "apiKey": [] })];
    if server.options().authenticator.is_open() {
        security.push(json!({}));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Headwater",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Runs AI agents and streams them to people",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "security": security,
        "components": {
            "schemas": types.take_definitions(true),
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "An API key, or a JSON Web Token." },
                "apiKey": { "type": "apiKey", "in": "header", "name": "X-Api-Key" },
            },
        },
    })
}

fn describe(
    types: &mut schemars::SchemaGenerator,
    method: &str,
    path: &str,
    operation: Option<&Operation>,
) -> Value {
    let mut parameters: Vec<Value> = path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| parameter("path", name, operations::path_parameter(name), true))
        .collect();
    let Some(operation) = operation else {
        return json!({ "summary": "", "parameters": parameters, "responses": {} });
    };
    let query = operation.query.iter().map(|(name, about)| parameter("query", name, about, false));
    let headers = operation.headers.iter().map(|(name, about)| parameter("header", name, about, false));
    parameters.extend(query.chain(headers));
    let mut responses = Map::new();
    for answer in operation.answers {
        responses.insert(answer.status().to_string(), written(types, answer));
    }
    for (status, response) in refusals(operation, method) {
        responses.entry(status.to_string()).or_insert(response);
    }
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if let Value::Object(fields) = &mut described {
        if let Some(body) = operation.body {
            let schema = body(types);
            let content = json!({ "application/json": { "schema": schema } });
            fields.insert(
                "requestBody".to_owned(),
                json!({ "required": operation.needs_body, "content": content }),
            );
        }
        if operation.open {
            fields.insert("security".to_owned(), json!([]));
        }
    }
    described
}

fn parameter(place: &str, name: &str, about: &str, required: bool) -> Value {
    let id = || json!({ "type": "string", "minLength": 1, "maxLength": ids::LONGEST });
    let schema = if name == "dialect" && place == "path" {
        let names: Vec<_> = dialects::CHAT.iter().map(|dialect| dialect.name()).collect();
        json!({ "type": "string", "enum": names })
    } else if place == "path" && name != "rest" || ["X-Run-Id", "Idempotency-Key"].contains(&name) {
        id()
    } else {
        json!({ "type": "string" })
    };
    json!({ "name": name, "in": place, "required": required, "description": about, "schema": schema })
}

/// An answer that is no error.
fn written(types: &mut schemars::SchemaGenerator, answer: &Answer) -> Value {
    match answer {
        Answer::Document(_, about, schema) => {
            let content = json!({ "application/json": { "schema": schema(types) } });
            json!({ "description": about, "content": content })
        }
        Answer::Stream(about) => {
            let text = json!({ "schema": { "type": "string" } });
            // The schema of one event, which is how readers of the document take it.
            let event = json!({ "schema": {
                "type": "object",
                "properties": {
                    "id": { "type": "string", "description": "The cursor, where the dialect has one." },
                    "event": { "type": "string", "description": "The kind, where the dialect names it." },
                    "data": { "type": "string", "description": "JSON in the words of the dialect, or `[DONE]`." },
                },
            } });
            let headers = json!({
                "x-run-id": { "description": "The run.", "schema": { "type": "string" } },
                "x-session-id": { "description": "The session.", "schema": { "type": "string" } },
            });
            let content = json!({
                "text/event-stream": event,
                "application/x-ndjson": text,
                "application/json": { "schema": {} },
            });
            json!({ "description": about, "headers": headers, "content": content })
        }
        Answer::Text(about) => {
            json!({ "description": about, "content": { "text/plain": { "schema": { "type": "string" } } } })
        }
        Answer::Nothing(about) => json!({ "description": about }),
    }
}

/// What a request may be told instead, by status.
fn refusals(operation: &Operation, method: &str) -> Vec<(u16, Value)> {
    let mut codes: Vec<&'static str> = operation.codes.to_vec();
    codes.extend(["host.refused", "header.invalid"]);
    if !operation.open {
        codes.extend(["auth.missing", "auth.unknown", "auth.invalid", "auth.expired", "auth.unavailable"]);
        codes.extend(["store", "store.corrupt", "store.busy", "store.failed", "store.stopped", "internal"]);
        codes.extend(["id.invalid", "path.invalid"]);
    }
    if method != "GET" {
        codes.extend(["origin.refused", "body.not-json", "body.cut", "body.slow", "body.too-large"]);
        codes.extend(["body.too-deep", "body.too-many-values", "body.key-too-long", "body.reserved-key"]);
        codes.extend(["bodies.too-many", "server.busy"]);
    }
    if operation.body.is_some() {
        codes.push("body.invalid");
    }
    if operation.needs_body {
        codes.push("body.missing");
    }
    if !operation.query.is_empty() {
        codes.push("query.invalid");
    }
    let mut all: Vec<(u16, &str, &str)> = codes
        .iter()
        .filter_map(|code| error::find(code).map(|(status, meaning)| (status, *code, meaning)))
        .collect();
    all.sort_unstable();
    all.dedup();
    let mut refusals = Vec::new();
    for together in all.chunk_by(|one, next| one.0 == next.0) {
        let Some((status, ..)) = together.first() else { continue };
        let about: Vec<_> =
            together.iter().map(|(_, code, meaning)| format!("`{code}`: {meaning}")).collect();
        let codes: Vec<_> = together.iter().map(|(_, code, _)| code).collect();
        let schema = json!({
            "allOf": [{ "$ref": "#/components/schemas/Error" }],
            "properties": { "code": { "examples": codes } },
        });
        let content = json!({ "application/json": { "schema": schema } });
        refusals.push((*status, json!({ "description": about.join("\n"), "content": content })));
    }
    refusals
}

#[cfg(test)]
mod tests;
