//! Refuses query parameters that a route does not have: a filter with a typing error must not list everything.

use std::sync::{Arc, OnceLock};

use axum::{
    extract::{Query, Request},
    http::Uri,
    middleware::{self, Next},
    response::Response,
    routing::MethodRouter,
};

use super::{Operation, OperationSchema};
use crate::{ApiError, Server};

/// The route, with 400 `query.unknown` for parameters that its operation does not describe.
pub(crate) fn refuse_unknown_query(
    operation: Operation,
    route: MethodRouter<Server>,
) -> MethodRouter<Server> {
    // Found out with the first query: most routes never get one.
    let known: Arc<OnceLock<Vec<String>>> = Arc::default();
    route.route_layer(middleware::from_fn(move |request: Request, next: Next| {
        let known = known.clone();
        async move {
            if request.uri().query().is_some_and(|query| !query.is_empty()) {
                check(request.uri(), known.get_or_init(|| parameters(operation)))?;
            }
            Ok::<Response, ApiError>(next.run(request).await)
        }
    }))
}

fn parameters(operation: Operation) -> Vec<String> {
    let mut sketch = OperationSchema::new();
    (operation.describe)(&mut sketch);
    let names = sketch.query.iter().filter_map(|parameter| parameter["name"].as_str());
    names.map(str::to_owned).collect()
}

fn check(uri: &Uri, known: &[String]) -> Result<(), ApiError> {
    // An unreadable query is refused by the handler that uses it.
    let Ok(Query(sent)) = Query::<Vec<(String, String)>>::try_from_uri(uri) else { return Ok(()) };
    let Some((name, _)) = sent.iter().find(|(name, _)| !known.contains(name)) else { return Ok(()) };
    let message = match known {
        [] => format!("unknown query parameter `{name}`: this route has none"),
        _ => format!("unknown query parameter `{name}`: this route has `{}`", known.join("`, `")),
    };
    Err(ApiError::bad("query.unknown", message).known(known.iter().cloned()))
}
