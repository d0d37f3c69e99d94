//! The routes.

use axum::{
    Router,
    extract::Request,
    handler::Handler,
    http::StatusCode,
    middleware,
    routing::{MethodRouter, delete, get, patch, post},
};
use headwater_dialects::{Dialect, ErrorReply, Operations, Route as DialectRoute, RouteBase};

use crate::{
    Agents, ApiError, ChatPath, Options, Server,
    api::{self, Operation, query::refuse_unknown_query},
    chat, guard, limits, openapi, seeing,
};

/// A router that serves agents without keys: mount it in an application of your own, or serve it as it is.
///
/// It answers for its own routes only. With a [`Server`] there are [`Options`]: who may ask, and for what.
pub fn router(agents: Agents) -> Router {
    Server::new(agents, Options::default()).router()
}

/// Routes, and the list of them.
pub(crate) struct Routes {
    /// For those who have shown who they are.
    guarded: Router<Server>,
    /// For everyone.
    open: Router<Server>,
    listed: Vec<Route>,
}

/// A route as it is listed.
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) operation: Operation,
}

/// All routes of a server.
pub(crate) fn routes(server: &Server) -> Routes {
    let mut routes = Routes { guarded: Router::new(), open: Router::new(), listed: Vec::new() };
    for route in dialect_routes() {
        let ask =
            move |state, principal, path, request| chat::by_route(route, state, principal, path, request);
        routes = routes.asked(&format!("/v1/{{dialect}}/{}", route.path), route.operations, false, ask);
        if let RouteBase::DialectAndAgent(operations) = route.base {
            routes =
                routes.asked(&format!("/v1/{{dialect}}/{{agent}}/{}", route.path), operations, false, ask);
        }
    }
    for &dialect in headwater_dialects::CHAT {
        let own = dialect.routes().iter().filter(|route| route.base == RouteBase::Version);
        for route in own {
            let ask =
                move |state, principal, request: Request| chat::ask(state, principal, dialect, None, request);
            routes = routes.asked(&route.url(dialect.name()), route.operations, has_own_errors(dialect), ask);
        }
    }
    routes = api::routes(routes);
    for (name, paths) in &server.options().paths {
        let Some(dialect) = headwater_dialects::CHAT.iter().copied().find(|dialect| dialect.name() == name)
        else {
            tracing::error!("there is no dialect `{name}`: its paths are not served");
            continue;
        };
        for ChatPath { path, agent } in paths {
            let path = path.trim_end_matches('/');
            let taken = routes.listed.iter().any(|known| known.path == path);
            if let Err(fault) = check_path(path).and(if taken { Err("it is served already") } else { Ok(()) })
            {
                tracing::error!("`{path}` of `{name}` is not served: {fault}");
                continue;
            }
            let agent = agent.clone();
            let ask = move |state, principal, request: Request| {
                let agent = agent.clone();
                async move { chat::ask(state, principal, dialect, agent.as_deref(), request).await }
            };
            let [own, below] =
                [0, 1].map(|at| dialect.routes().get(at).unwrap_or(&DialectRoute::CHAT).operations);
            // What its other routes change and delete is served below this path too.
            let below = dialect.routes().iter().fold(below, |below, route| Operations {
                change: below.change.or(route.operations.change),
                remove: below.remove.or(route.operations.remove),
                ..below
            });
            let errors = has_own_errors(dialect);
            routes = routes.asked(path, own, errors, ask.clone());
            routes = routes.asked(&format!("{path}/{{*rest}}"), below, errors, ask);
        }
    }
    routes
}

/// Whether the clients of a dialect read errors in a form of their own.
fn has_own_errors(dialect: &dyn Dialect) -> bool {
    dialect.error_document(&ErrorReply { status: 404, code: "", message: "", known: &[] }).is_some()
}

/// The routes below `/v1/{dialect}` of all dialects, each once.
fn dialect_routes() -> Vec<DialectRoute> {
    let mut routes: Vec<DialectRoute> = Vec::new();
    for route in headwater_dialects::CHAT.iter().flat_map(|dialect| dialect.routes()) {
        if !routes.contains(route) && route.base != RouteBase::Version {
            routes.push(*route);
        }
    }
    routes
}

/// Whether a path can be one of a dialect's further paths.
///
/// # Errors
/// What is wrong with it.
pub fn check_path(path: &str) -> Result<(), &'static str> {
    let Some(rest) = path.strip_prefix('/') else { return Err("a path must begin with `/`") };
    let mut segments = rest.trim_end_matches('/').split('/');
    if segments.any(|segment| segment.is_empty() || segment.starts_with([':', '*'])) {
        return Err("the segments of a path must not be empty or begin with `:` or `*`");
    }
    if rest.contains(|it: char| "{}?#%".contains(it) || it.is_whitespace()) {
        return Err("a path must not contain `{`, `}`, `?`, `#`, `%` or white space");
    }
    Ok(())
}

impl Routes {
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
        self.listed.push(Route { method: "GET", path: path.to_owned(), operation });
        Self { open: self.open.route(path, refuse_unknown_query(operation, get(handler))), ..self }
    }

    /// A route of a dialect: the request says what it asks for.
    fn asked<T: 'static>(
        self,
        path: &str,
        operations: Operations,
        own_errors: bool,
        handler: impl Handler<T, Server>,
    ) -> Self {
        openapi::dialects::operations(operations, own_errors).fold(self, |routes, (method, operation)| {
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
        self.listed.push(Route { method, path: path.to_owned(), operation });
        Self { guarded: self.guarded.route(path, route), ..self }
    }

    pub(crate) fn into_list(self) -> Vec<Route> {
        self.listed
    }

    /// The routes, to be merged into an application. Paths that are not among them are the application's.
    pub(crate) fn into_router(self, server: &Server) -> Router {
        let (admit, server) = (middleware::from_fn_with_state(server.clone(), guard::admit), server);
        // Around each route only: around the router, these would answer for paths that are not here. The last one sees a
        // request first.
        self.merged(server)
            .route_layer(admit)
            .route_layer(guard::cors(server))
            .route_layer(middleware::from_fn_with_state(server.clone(), guard::in_dialect))
            .route_layer(middleware::map_response(guard::secure))
            .route_layer(middleware::from_fn(seeing::see))
            .with_state(server.clone())
    }

    /// The routes and those of `more`, with an answer for every other path.
    pub(crate) fn into_application(self, server: &Server, more: Router) -> Router {
        let unknown =
            || async { ApiError::not_found("route.unknown", "there is no such route: see /openapi.json") };
        self.merged(server)
            .merge(more.with_state(()))
            .fallback(unknown)
            .method_not_allowed_fallback(unsupported)
            .layer(middleware::from_fn_with_state(server.clone(), guard::admit))
            .layer(guard::cors(server))
            .layer(middleware::from_fn_with_state(server.clone(), guard::in_dialect))
            .layer(middleware::map_response(guard::secure))
            .layer(middleware::from_fn(seeing::see))
            .with_state(server.clone())
    }

    fn merged(self, server: &Server) -> Router<Server> {
        warn_of_wildcards(server.options());
        server.ensure_recovering();
        self.guarded
            .route_layer(middleware::from_fn_with_state(server.clone(), limits::body::bound))
            .route_layer(middleware::from_fn_with_state(server.clone(), guard::authenticate))
            .merge(self.open)
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
