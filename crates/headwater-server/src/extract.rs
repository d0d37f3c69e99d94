//! Parts of a request as handlers take them: what cannot be read is told as every other error is.

use axum::{
    extract::{FromRequestParts, Path as AxumPath, Query as AxumQuery},
    http::request::Parts,
};
use serde::de::DeserializeOwned;

use crate::ApiError;

/// The parameters of the query.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let AxumQuery(query) = AxumQuery::try_from_uri(&parts.uri).map_err(|error| {
            ApiError::bad("query.invalid", format!("the query cannot be read: {}", error.body_text()))
        })?;
        Ok(Self(query))
    }
}

/// The parts of the path that are names.
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let AxumPath(path) = AxumPath::from_request_parts(parts, state).await.map_err(|error| {
            ApiError::bad("path.invalid", format!("the path cannot be read: {}", error.body_text()))
        })?;
        Ok(Self(path))
    }
}
