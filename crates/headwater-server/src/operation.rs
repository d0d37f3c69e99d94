//! Handlers that describe themselves: request and response are derived from the handler's signature, so that the
//! OpenAPI document cannot differ from the code.
//!
//! [`HandlerInput`] is an argument of a handler, [`HandlerOutput`] its result, and [`ApiHandler`] a handler with both.

pub(crate) mod codes;
pub(crate) mod query;

use axum::{
    Extension, Json,
    extract::State,
    handler::Handler,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{ApiError, Principal, Server};

/// The description of a route in the OpenAPI document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// The error codes besides those that all routes of its kind have.
    pub(crate) codes: &'static [&'static str],
    /// Whether it needs no authentication.
    pub(crate) open: bool,
    /// Whether its errors have their own format.
    pub(crate) own_errors: bool,
    pub(crate) describe: fn(&mut OperationSchema),
}

/// The schemas derived from a handler's signature.
#[derive(Debug)]
pub(crate) struct OperationSchema {
    /// The types of requests. A field that may be left out is not required in them.
    pub(crate) requests: SchemaGenerator,
    /// The response types, in which every field that is always written is required.
    pub(crate) responses: SchemaGenerator,
    pub(crate) query: Vec<Value>,
    pub(crate) headers: Vec<Value>,
    pub(crate) body: Option<Value>,
    pub(crate) answers: Vec<(u16, Value)>,
}

impl OperationSchema {
    pub(crate) fn new() -> Self {
        let settings = || {
            let mut settings = SchemaSettings::draft2020_12();
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
            settings
        };
        Self {
            requests: settings().for_deserialize().into_generator(),
            responses: settings().for_serialize().into_generator(),
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            answers: Vec::new(),
        }
    }

    /// Describes one operation. The types that were met before stay known.
    pub(crate) fn begin(&mut self) {
        (self.query, self.headers, self.body, self.answers) = Default::default();
    }

    pub(crate) fn header(&mut self, name: &str, about: &str, schema: Value) {
        self.headers.push(json!({
            "name": name, "in": "header", "required": false, "description": about, "schema": schema,
        }));
    }

    pub(crate) fn takes_body<T: JsonSchema>(&mut self, required: bool) {
        let schema = self.requests.subschema_for::<T>();
        self.body =
            Some(json!({ "required": required, "content": { "application/json": { "schema": schema } } }));
    }

    pub(crate) fn answer(&mut self, status: StatusCode, about: &str, content: Value) {
        let mut answer = json!({ "description": about });
        if !content.is_null() {
            set(&mut answer, "content", content);
        }
        self.answers.push((status.as_u16(), answer));
    }

    pub(crate) fn document<T: JsonSchema>(&mut self, status: StatusCode) {
        let about = T::json_schema(&mut self.responses);
        let about = about.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        let schema = self.responses.subschema_for::<T>();
        self.answer(status, &about, json!({ "application/json": { "schema": schema } }));
    }

    /// The definitions of all types that were met.
    pub(crate) fn definitions(mut self) -> Map<String, Value> {
        let mut all = self.requests.take_definitions(true);
        all.extend(self.responses.take_definitions(true));
        all
    }
}

/// Sets a field of a JSON object.
pub(crate) fn set(document: &mut Value, field: &str, value: Value) {
    if let Value::Object(fields) = document {
        fields.insert(field.to_owned(), value);
    }
}

/// Something that a handler takes.
pub(crate) trait HandlerInput {
    fn describe(_: &mut OperationSchema) {}
}

impl HandlerInput for State<Server> {}
impl HandlerInput for Extension<Principal> {}
impl HandlerInput for HeaderMap {}

/// The response of a handler.
pub(crate) trait HandlerOutput {
    fn describe(sketch: &mut OperationSchema);
}

impl<T: Serialize + JsonSchema> HandlerOutput for Json<T> {
    fn describe(sketch: &mut OperationSchema) {
        sketch.document::<T>(StatusCode::OK);
    }
}

/// 201 and a document.
#[derive(Debug)]
pub(crate) struct CreatedResponse<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for CreatedResponse<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

impl<T: Serialize + JsonSchema> HandlerOutput for CreatedResponse<T> {
    fn describe(sketch: &mut OperationSchema) {
        sketch.document::<T>(StatusCode::CREATED);
    }
}

/// 202 and a document.
#[derive(Debug)]
pub(crate) struct AcceptedResponse<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for AcceptedResponse<T> {
    fn into_response(self) -> Response {
        (StatusCode::ACCEPTED, Json(self.0)).into_response()
    }
}

impl<T: Serialize + JsonSchema> HandlerOutput for AcceptedResponse<T> {
    fn describe(sketch: &mut OperationSchema) {
        sketch.document::<T>(StatusCode::ACCEPTED);
    }
}

/// 204.
#[derive(Debug)]
pub(crate) struct NoContent;

impl IntoResponse for NoContent {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

impl HandlerOutput for NoContent {
    fn describe(sketch: &mut OperationSchema) {
        sketch.answer(StatusCode::NO_CONTENT, "Done.", Value::Null);
    }
}

/// A stream of events.
#[derive(Debug)]
pub(crate) struct EventStream(pub(crate) Response);

impl IntoResponse for EventStream {
    fn into_response(self) -> Response {
        self.0
    }
}

impl HandlerOutput for EventStream {
    fn describe(sketch: &mut OperationSchema) {
        sketch.answer(StatusCode::OK, "The events of the run.", event_stream());
        if let Some((_, answer)) = sketch.answers.last_mut() {
            set(answer, "headers", stream_headers());
        }
    }
}

/// The stream of a session.
#[derive(Debug)]
pub(crate) struct SessionStream(pub(crate) Response);

impl IntoResponse for SessionStream {
    fn into_response(self) -> Response {
        self.0
    }
}

impl HandlerOutput for SessionStream {
    fn describe(sketch: &mut OperationSchema) {
        let content = json!({ "text/event-stream": { "schema": {
            "type": "object",
            "properties": {
                "event": { "const": "session" },
                "data": { "type": "string", "description": "A `Session` as JSON." },
            },
        } } });
        sketch.answer(StatusCode::OK, "The session, and again after each change.", content);
    }
}

/// The content of a stream. The schema describes one event, as readers of such documents expect.
pub(crate) fn event_stream() -> Value {
    json!({
        "text/event-stream": { "schema": {
            "type": "object",
            "properties": {
                "id": { "type": "string", "description": "The cursor, where the dialect has one." },
                "event": { "type": "string", "description": "The kind, where the dialect names it." },
                "data": { "type": "string", "description": "JSON of the dialect, or `[DONE]`." },
            },
        } },
        "application/x-ndjson": { "schema": { "type": "string" } },
    })
}

pub(crate) fn stream_headers() -> Value {
    json!({
        "x-run-id": { "description": "The run.", "schema": { "type": "string" } },
        "x-session-id": { "description": "The session.", "schema": { "type": "string" } },
    })
}

/// Plain text.
#[derive(Debug)]
pub(crate) struct PlainText(pub(crate) Response);

impl IntoResponse for PlainText {
    fn into_response(self) -> Response {
        self.0
    }
}

impl HandlerOutput for PlainText {
    fn describe(sketch: &mut OperationSchema) {
        let content = json!({ "text/plain": { "schema": { "type": "string" } } });
        sketch.answer(StatusCode::OK, "The text.", content);
    }
}

/// A handler whose signature describes its operation.
pub(crate) trait ApiHandler<T>: Handler<T, Server> {
    fn describe(sketch: &mut OperationSchema);
}

macro_rules! api_handler {
    ($($input:ident),+) => {
        impl<F, Fut, R, M, $($input,)+> ApiHandler<(M, $($input,)+)> for F
        where
            F: Handler<(M, $($input,)+), Server> + FnOnce($($input),+) -> Fut,
            Fut: Future<Output = Result<R, ApiError>>,
            R: HandlerOutput,
            $($input: HandlerInput,)+
        {
            fn describe(sketch: &mut OperationSchema) {
                $($input::describe(sketch);)+
                R::describe(sketch);
            }
        }
    };
}

api_handler!(A);
api_handler!(A, B);
api_handler!(A, B, C);
api_handler!(A, B, C, D);
api_handler!(A, B, C, D, E);
api_handler!(A, B, C, D, E, G);
