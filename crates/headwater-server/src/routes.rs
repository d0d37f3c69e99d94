//! Collects routes into a router, and into a list for the OpenAPI document.

use axum::{
    Router,
    handler::Handler,
    http::StatusCode,
    middleware,
    routing::{MethodRouter, delete, get, patch, post},
};

use crate::{
    ApiError, Options, Server, durable_streams, guard,
    operation::{Operation, query::refuse_unknown_query},
    telemetry,
};

/// Routes, and the list of them.
pub(crate) struct Routes {
    /// Routes for authenticated callers.
    guarded: Router<Server>,
    /// Routes without authentication.
    open: Router<Server>,
    listed: Vec<ListedRoute>,
}

/// A route as it is listed.
pub(crate) struct ListedRoute {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) operation: Operation,
}

impl Routes {
    pub(crate) fn new() -> Self {
        Self { guarded: Router::new(), open: Router::new(), listed: Vec::new() }
    }

    /// Whether there is a route with this path.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        self.listed.iter().any(|route| route.path == path)
    }

    pub(crate) fn get<T: 'static, H: Handler<T, Server>>(self, path: &str, route: (Operation, H)) -> Self {
        let (operation, handler) = route;
        self.on("GET", path, operation, refuse_unknown_query(operation, get(handler)))
    }

    pub(crate) fn post<T: 'static, H: Handler<T, Server>>(self, path: &str, route: (Operation, H)) -> Self {
        let (operation, handler) = route;
        self.on("POST", path, operation, refuse_unknown_query(operation, post(handler)))
    }

    pub(crate) fn delete<T: 'static, H: Handler<T, Server>>(self, path: &str, route: (Operation, H)) -> Self {
        let (operation, handler) = route;
        self.on("DELETE", path, operation, refuse_unknown_query(operation, delete(handler)))
    }

    pub(crate) fn patch<T: 'static, H: Handler<T, Server>>(self, path: &str, route: (Operation, H)) -> Self {
        let (operation, handler) = route;
        self.on("PATCH", path, operation, refuse_unknown_query(operation, patch(handler)))
    }

    /// A route that needs no key.
    pub(crate) fn open<T: 'static, H: Handler<T, Server>>(
        mut self,
        path: &str,
        route: (Operation, H),
    ) -> Self {
        let (operation, handler) = route;
        let operation = Operation { open: true, ..operation };
        self.listed.push(ListedRoute { method: "GET", path: path.to_owned(), operation });
        Self { open: self.open.route(path, refuse_unknown_query(operation, get(handler))), ..self }
    }

    /// A route of a dialect: the request decides the action, so all methods share one handler.
    pub(crate) fn dialect<T: 'static>(
        self,
        path: &str,
        operations: impl Iterator<Item = (&'static str, Operation)>,
        handler: impl Handler<T, Server>,
    ) -> Self {
        operations.fold(self, |routes, (method, operation)| {
            let serve = match method {
                "GET" => get(handler.clone()),
                "PATCH" => patch(handler.clone()),
                "DELETE" => delete(handler.clone()),
                _ => post(handler.clone()),
            };
            routes.on(method, path, operation, serve)
        })
    }

    fn on(
        mut self,
        method: &'static str,
        path: &str,
        operation: Operation,
        route: MethodRouter<Server>,
    ) -> Self {
        self.listed.push(ListedRoute { method, path: path.to_owned(), operation });
        Self { guarded: self.guarded.route(path, route), ..self }
    }

    pub(crate) fn into_list(self) -> Vec<ListedRoute> {
        self.listed
    }

    /// The routes, to be merged into an application. Paths that are not among them are the application's.
    pub(crate) fn into_router(self, server: &Server) -> Router {
        let (admit, server) = (middleware::from_fn_with_state(server.clone(), guard::admit), server);
        // Added to each route: on the router, these would answer paths outside of it. The last layer receives
        // a request first.
        self.merged(server)
            .route_layer(admit)
            .route_layer(guard::cors(server))
            .route_layer(middleware::from_fn_with_state(server.clone(), guard::errors_in_dialect))
            .route_layer(middleware::map_response(guard::add_security_headers))
            .route_layer(middleware::from_fn(telemetry::trace_request))
            .with_state(server.clone())
    }

    /// The routes and those of `more`, with an error for every other path.
    pub(crate) fn into_application(self, server: &Server, more: Router) -> Router {
        let unknown = || async { ApiError::not_found("route.unknown", "unknown route: see /openapi.json") };
        self.merged(server)
            .merge(more.with_state(()))
            .fallback(unknown)
            .method_not_allowed_fallback(unsupported)
            .layer(middleware::from_fn_with_state(server.clone(), guard::admit))
            .layer(guard::cors(server))
            .layer(middleware::from_fn_with_state(server.clone(), guard::errors_in_dialect))
            .layer(middleware::map_response(guard::add_security_headers))
            .layer(middleware::from_fn(telemetry::trace_request))
            .with_state(server.clone())
    }

    fn merged(self, server: &Server) -> Router<Server> {
        warn_of_wildcards(server.options());
        server.ensure_recovering();
        self.guarded
            .merge(durable_streams::guarded_routes(server))
            .route_layer(middleware::from_fn_with_state(server.clone(), guard::read_body))
            .route_layer(middleware::from_fn_with_state(server.clone(), guard::authenticate))
            .merge(self.open)
            .merge(durable_streams::open_routes(server))
            .method_not_allowed_fallback(unsupported)
    }
}

async fn unsupported() -> ApiError {
    let message = "the route does not have this method: see /openapi.json";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method.unsupported", message)
}

/// Logs that `*` counts for nothing without keys.
fn warn_of_wildcards(options: &Options) {
    if !options.authenticator.is_open() {
        return;
    }
    for (setting, names) in [("hosts", &options.hosts), ("origins", &options.origins)] {
        if names.iter().any(|name| name == "*") {
            tracing::error!(
                "`*` in `{setting}` is ignored: without keys every web page could drive this server"
            );
        }
    }
}
