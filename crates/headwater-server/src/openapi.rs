//! The OpenAPI 3.1 document of a server, generated from its routes, the signatures of their handlers, and the list of
//! codes ([`CODES`](crate::CODES)).

pub(crate) mod dialects;

use axum::{
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    Server,
    error::{self, CODES, ErrorDocument},
    limits::ids,
    operation::{HandlerOutput, Operation, OperationSchema, set},
    routes::ListedRoute,
    server::OpenApiDocument,
};

/// The response with the document.
#[derive(Debug)]
pub(crate) struct DocumentResponse(Response);

impl IntoResponse for DocumentResponse {
    fn into_response(self) -> Response {
        self.0
    }
}

impl HandlerOutput for DocumentResponse {
    fn describe(sketch: &mut OperationSchema) {
        let content = json!({ "application/json": { "schema": { "type": "object" } } });
        sketch.answer(StatusCode::OK, "The document.", content);
        sketch.answer(StatusCode::NOT_MODIFIED, "The document that `If-None-Match` names.", Value::Null);
    }
}

/// The response to `GET /openapi.json`. The document is built once: that takes milliseconds, and the route needs no key.
pub(crate) fn document(
    server: &Server,
    request: &HeaderMap,
    routes: impl FnOnce() -> Vec<ListedRoute>,
) -> DocumentResponse {
    let OpenApiDocument { text, etag } = server.openapi(|| {
        let text = build(server, routes()).to_string();
        let digest: String = Sha256::digest(&text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        OpenApiDocument { text: text.into(), etag: format!("\"{digest}\"") }
    });
    let known = request.get_all(header::IF_NONE_MATCH).into_iter().filter_map(|tags| tags.to_str().ok());
    let unchanged =
        known.flat_map(|tags| tags.split(',')).any(|known| known.trim().trim_start_matches("W/") == etag);
    let headers = [(header::ETAG, etag.as_str()), (header::CACHE_CONTROL, "no-cache")];
    DocumentResponse(if unchanged {
        (StatusCode::NOT_MODIFIED, headers).into_response()
    } else {
        (headers, [(header::CONTENT_TYPE, "application/json")], text.clone()).into_response()
    })
}

/// The document of a server.
fn build(server: &Server, routes: Vec<ListedRoute>) -> Value {
    let mut sketch = OperationSchema::new();
    let mut paths: Map<String, Value> = Map::new();
    for ListedRoute { method, path, operation } in routes {
        let path = path.replace("{*", "{");
        let described = describe(&mut sketch, method, &path, &operation);
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = methods {
            methods.insert(method.to_ascii_lowercase(), described);
        }
    }
    sketch.responses.subschema_for::<ErrorDocument>();
    let mut schemas = sketch.definitions();
    if let Some(code) = schemas.get_mut("Error").and_then(|error| error.pointer_mut("/properties/code")) {
        // The meaning of each code is documented here once. A server's own context function may add further
        // codes.
        let known = CODES.iter().map(|(_, code, meaning)| json!({ "const": code, "description": meaning }));
        set(code, "anyOf", known.chain([json!({ "type": "string" })]).collect());
    }
    let mut security = vec![json!({ "bearer": [] }), json!({ "apiKey": [] })];
    if server.options().authenticator.is_open() {
        security.push(json!({}));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Headwater",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Runs AI agents and streams them to chat UIs",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "security": security,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "description": "An API key, or a JSON Web Token." },
                "apiKey": { "type": "apiKey", "in": "header", "name": "X-Api-Key" },
            },
        },
    })
}

fn describe(sketch: &mut OperationSchema, method: &str, path: &str, operation: &Operation) -> Value {
    sketch.begin();
    (operation.describe)(sketch);
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = names.map(path_parameter).collect();
    let takes_query = !sketch.query.is_empty();
    parameters.append(&mut sketch.query);
    parameters.append(&mut sketch.headers);
    let body = sketch.body.take();
    let mut responses = Map::new();
    for (status, answer) in sketch.answers.drain(..) {
        responses.insert(status.to_string(), answer);
    }
    for (status, response) in refusals(operation, method, takes_query, body.as_ref()) {
        responses.entry(status.to_string()).or_insert(response);
    }
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(body) = body {
        set(&mut described, "requestBody", body);
    }
    if operation.open {
        set(&mut described, "security", json!([]));
    }
    described
}

fn path_parameter(name: &str) -> Value {
    let about = match name {
        "dialect" => "The dialect of the client.",
        "agent" => "The agent that answers.",
        "run" => "The run.",
        "request" => "The question, approval or call that waits.",
        "session" => "The session.",
        "thread" => "The session, as CopilotKit calls it.",
        "checkpoint" => "The checkpoint.",
        "rest" => {
            "What the client adds: an id, `{id}/stream` to resume, `{run}/stop` to stop, `answer` to answer. It may have slashes."
        }
        _ => "",
    };
    let schema = match name {
        "dialect" => dialects::name_schema(),
        "rest" => json!({ "type": "string" }),
        _ => json!({ "type": "string", "minLength": 1, "maxLength": ids::LONGEST }),
    };
    json!({ "name": name, "in": "path", "required": true, "description": about, "schema": schema })
}

/// The errors of a route, by status.
fn refusals(
    operation: &Operation,
    method: &str,
    takes_query: bool,
    body: Option<&Value>,
) -> Vec<(u16, Value)> {
    let mut codes: Vec<&'static str> = operation.codes.to_vec();
    codes.extend(["host.refused", "header.invalid", "query.unknown"]);
    if !operation.open {
        codes.extend(["auth.missing", "auth.unknown", "auth.invalid", "auth.expired", "auth.unavailable"]);
        codes.push("operator.needed");
        codes.extend([
            "store",
            "store.corrupt",
            "store.busy",
            "store.failed",
            "store.full",
            "store.stopped",
            "internal",
        ]);
        codes.extend(["id.invalid", "path.invalid"]);
    }
    if method != "GET" {
        codes.extend(["origin.refused", "body.not-json", "body.cut", "body.slow", "body.too-large"]);
        codes.extend(["body.too-deep", "body.too-many-values", "body.key-too-long", "body.reserved-key"]);
        codes.extend(["bodies.too-many", "server.busy"]);
    }
    if let Some(body) = body {
        codes.push("body.invalid");
        if body["required"] == true {
            codes.push("body.missing");
        }
    }
    if takes_query {
        codes.push("query.invalid");
    }
    let mut all: Vec<(u16, &str)> =
        codes.iter().filter_map(|code| error::find(code).map(|(status, _)| (status, *code))).collect();
    all.sort_unstable();
    all.dedup();
    let mut refusals = Vec::new();
    for together in all.chunk_by(|one, next| one.0 == next.0) {
        let Some((status, _)) = together.first() else { continue };
        let about: Vec<_> = together.iter().map(|(_, code)| format!("`{code}`")).collect();
        let schema = match operation.own_errors {
            true => json!({ "type": "object" }),
            false => json!({ "$ref": "#/components/schemas/Error" }),
        };
        let content = json!({ "application/json": { "schema": schema } });
        refusals.push((*status, json!({ "description": about.join(", "), "content": content })));
    }
    refusals
}

#[cfg(test)]
mod tests;
