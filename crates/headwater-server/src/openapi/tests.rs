use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{Agents, Options, api::routes};

fn server() -> Server {
    Server::new(Agents::new(), Options::default().path("ai-sdk", "/api/chat"))
}

fn document(server: &Server) -> Value {
    build(server, routes(server).into_list())
}

/// The operations of a document, by method and path.
fn documented(document: &Value) -> BTreeMap<(String, String), Value> {
    let paths = document["paths"].as_object().unwrap();
    let each = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(|(method, operation)| ((method.to_uppercase(), path.clone()), operation.clone()))
    });
    each.collect()
}

#[test]
fn document_has_every_route_once_with_its_responses() {
    let server = server();
    let routes = server.routes();
    let routed: BTreeSet<_> =
        routes.iter().map(|(method, path)| ((*method).to_owned(), path.replace("{*", "{"))).collect();
    assert_eq!(routed.len(), routes.len(), "a route is there twice");
    let documented = documented(&document(&server));
    assert_eq!(documented.keys().cloned().collect::<BTreeSet<_>>(), routed);
    for (route, operation) in &documented {
        assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{route:?}");
        assert!(operation["operationId"].as_str().is_some_and(|id| !id.is_empty()), "{route:?}");
        let responses = operation["responses"].as_object().unwrap();
        let good = responses.iter().find(|(status, _)| status.starts_with('2'));
        let (_, good) = good.unwrap_or_else(|| panic!("{route:?} never succeeds"));
        assert!(!good["description"].as_str().unwrap().is_empty(), "{route:?}");
        for parameter in operation["parameters"].as_array().unwrap() {
            assert!(
                !parameter["description"].as_str().unwrap_or_default().is_empty(),
                "{route:?}: {parameter}"
            );
        }
    }
}

#[test]
fn types_of_requests_and_responses_do_not_share_a_name() {
    let mut sketch = OperationSchema::new();
    for route in routes(&server()).into_list() {
        (route.operation.describe)(&mut sketch);
    }
    let requests = sketch.requests.take_definitions(true);
    for (name, schema) in sketch.responses.take_definitions(true) {
        assert!(requests.get(&name).is_none_or(|other| *other == schema), "{name} has two forms");
    }
}

#[test]
fn operations_have_names_of_their_own() {
    // The paths that were added for a dialect are the same operations elsewhere.
    let plain = Server::new(Agents::new(), Options::default());
    let documented = documented(&document(&plain));
    let names: BTreeSet<_> =
        documented.values().map(|operation| operation["operationId"].to_string()).collect();
    assert_eq!(names.len(), documented.len());
}

#[test]
fn every_code_is_listed_by_a_route() {
    let text = document(&server()).to_string();
    // These occur without a route, or cannot be caused by a request without a run.
    let nowhere =
        ["connections.too-many", "route.unknown", "method.unsupported", "path.invalid", "run.exists"];
    for (_, code, _) in CODES.iter().filter(|(_, code, _)| !nowhere.contains(code)) {
        assert!(text.contains(&format!("`{code}`")), "no operation tells `{code}`");
    }
}

#[test]
fn the_codes_of_operations_are_in_the_list() {
    for route in routes(&server()).into_list() {
        for code in route.operation.codes {
            assert!(
                error::find(code).is_some(),
                "{} {} has `{code}`, not in CODES",
                route.method,
                route.path
            );
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document(&server());
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(document.pointer(reference).is_some(), "{reference} leads nowhere");
    }
}

#[test]
fn only_routes_without_data_of_principals_need_no_key() {
    let documented = documented(&document(&server()));
    let open: Vec<_> = documented
        .iter()
        .filter(|(_, operation)| operation["security"].as_array().is_some_and(Vec::is_empty))
        .map(|((_, path), _)| path.as_str())
        .collect();
    assert_eq!(open, ["/healthz", "/metrics", "/openapi.json", "/readyz"]);
}
