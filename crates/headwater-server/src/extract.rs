//! Request parts for handlers: parse errors have the same form everywhere.

use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts, Path as AxumPath, Query as AxumQuery, Request},
    http::request::Parts,
};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    ApiError,
    idempotency::{self, idempotency_key},
    limits::ids,
    operation::{HandlerInput, OperationSchema, set},
};

/// The parameters of the query. The router has refused unknown ones.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let AxumQuery(query) = AxumQuery::try_from_uri(&parts.uri).map_err(|error| {
            ApiError::bad("query.invalid", format!("the query cannot be read: {}", error.body_text()))
        })?;
        Ok(Self(query))
    }
}

impl<T: JsonSchema> HandlerInput for QueryParams<T> {
    fn describe(sketch: &mut OperationSchema) {
        let schema = T::json_schema(&mut sketch.requests);
        let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        for (name, mut schema) in fields {
            let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            let schema = never_null(schema);
            sketch.query.push(json!({
                "name": name, "in": "query", "required": false, "description": about, "schema": schema,
            }));
        }
    }
}

/// The schema of a parameter that is present: an absent one is left out of the query, never null.
fn never_null(mut schema: Value) -> Value {
    let is_null = |kind: &Value| kind == "null" || kind["type"] == "null";
    for alternatives in ["type", "anyOf"] {
        let Some(Value::Array(kinds)) = schema.get_mut(alternatives) else { continue };
        kinds.retain(|kind| !is_null(kind));
        let [only] = kinds.as_slice() else { continue };
        let only = only.clone();
        match alternatives {
            "type" => set(&mut schema, "type", only),
            _ => schema = only,
        }
    }
    schema
}

/// The parts of the path that are ids.
pub(crate) struct PathParams<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let AxumPath(path) = AxumPath::from_request_parts(parts, state).await.map_err(|error| {
            ApiError::bad("path.invalid", format!("the path cannot be read: {}", error.body_text()))
        })?;
        Ok(Self(path))
    }
}

impl<T> HandlerInput for PathParams<T> {}

/// `Last-Event-ID`: the position of the reader.
pub(crate) struct LastEventId(pub(crate) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for LastEventId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let id = parts.headers.get("last-event-id").and_then(|id| id.to_str().ok());
        Ok(Self(id.map(str::to_owned)))
    }
}

impl HandlerInput for LastEventId {
    fn describe(sketch: &mut OperationSchema) {
        sketch.header("Last-Event-ID", "As `after`.", json!({ "type": "string" }));
    }
}

/// A JSON body.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        parse(&whole(request.into_body()).await?).map(Self)
    }
}

impl<T: JsonSchema> HandlerInput for JsonBody<T> {
    fn describe(sketch: &mut OperationSchema) {
        sketch.takes_body::<T>(true);
    }
}

/// A JSON body that may be left out.
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for OptionalBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let bytes = whole(request.into_body()).await?;
        parse(if bytes.is_empty() { b"{}" } else { &bytes }).map(Self)
    }
}

impl<T: JsonSchema> HandlerInput for OptionalBody<T> {
    fn describe(sketch: &mut OperationSchema) {
        sketch.takes_body::<T>(false);
    }
}

/// A request that may come again: the same `Idempotency-Key` is the same request.
pub(crate) struct Repeatable {
    pub(crate) key: Option<String>,
    pub(crate) parts: Parts,
}

impl<S: Send + Sync> FromRequest<S> for Repeatable {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (parts, _) = request.into_parts();
        Ok(Self { key: idempotency_key(&parts.headers), parts })
    }
}

impl HandlerInput for Repeatable {
    fn describe(sketch: &mut OperationSchema) {
        let schema = json!({ "type": "string", "minLength": 1, "maxLength": ids::LONGEST });
        sketch.header("Idempotency-Key", "The same key again is the same request again.", schema);
    }
}

/// The same, with a JSON body.
pub(crate) struct RepeatableBody<T> {
    pub(crate) body: T,
    /// The fingerprint of the bytes of the body.
    pub(crate) fingerprint: String,
    pub(crate) key: Option<String>,
    pub(crate) parts: Parts,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for RepeatableBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = whole(body).await?;
        let (fingerprint, key) = (idempotency::fingerprint(&bytes), idempotency_key(&parts.headers));
        Ok(Self { body: parse(&bytes)?, fingerprint, key, parts })
    }
}

impl<T: JsonSchema> HandlerInput for RepeatableBody<T> {
    fn describe(sketch: &mut OperationSchema) {
        Repeatable::describe(sketch);
        sketch.takes_body::<T>(true);
    }
}

/// The bytes of a body, which was read within the limits before routing.
pub(crate) async fn whole(body: Body) -> Result<bytes::Bytes, ApiError> {
    let read = axum::body::to_bytes(body, usize::MAX).await;
    read.map_err(|error| ApiError::bad("body.cut", format!("the body did not arrive: {error}")))
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    if bytes.is_empty() {
        return Err(ApiError::bad("body.missing", "the body is empty: send a JSON object"));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| ApiError::bad("body.invalid", format!("the body cannot be read: {error}")))
}

/// Start and length of a page of a list.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Paging {
    /// The `next` of the page before.
    pub(crate) after: Option<String>,
    /// Maximum number of entries: 50, at most 500.
    pub(crate) limit: Option<usize>,
}

impl Paging {
    pub(crate) fn limit(&self) -> usize {
        page_size(self.limit)
    }
}

/// The number of entries in a page.
pub(crate) fn page_size(limit: Option<usize>) -> usize {
    limit.unwrap_or(50).clamp(1, 500)
}
