use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{Agents, CODES, Options};

fn server() -> Server {
    Server::new(Agents::new(), Options::default().path("ai-sdk", "/api/chat"))
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
fn the_document_has_every_route_and_the_table_no_other() {
    let server = server();
    let routes = server.routes();
    let routed: BTreeSet<_> =
        routes.iter().map(|(method, path)| ((*method).to_owned(), path.replace("{*", "{"))).collect();
    assert_eq!(routed.len(), routes.len(), "a route is there twice");
    let documented = documented(&build(&server));
    assert_eq!(documented.keys().cloned().collect::<BTreeSet<_>>(), routed);
    for (route, operation) in &documented {
        assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{route:?}");
        assert!(!operation["responses"].as_object().unwrap().is_empty(), "{route:?}");
    }
    let known: BTreeSet<_> = routes.iter().map(|(method, path)| (*method, path.as_str())).collect();
    for operation in operations::all() {
        assert!(known.contains(&operation), "the table has {operation:?}, the router has not");
    }
}

#[test]
fn operations_have_names_of_their_own() {
    // The paths that were added for a dialect are the same operations elsewhere.
    let plain = Server::new(Agents::new(), Options::default());
    let documented = documented(&build(&plain));
    let names: BTreeSet<_> =
        documented.values().map(|operation| operation["operationId"].to_string()).collect();
    assert_eq!(names.len(), documented.len());
}

#[test]
fn every_code_is_told_by_some_route() {
    let text = build(&server()).to_string();
    // These are told where there is no such route, or cannot be caused by a request that names no run.
    let nowhere =
        ["connections.too-many", "route.unknown", "method.unsupported", "path.invalid", "run.exists"];
    for (_, code, _) in CODES.iter().filter(|(_, code, _)| !nowhere.contains(code)) {
        assert!(text.contains(&format!("`{code}`")), "no operation tells `{code}`");
    }
}

#[test]
fn the_codes_of_operations_are_in_the_list() {
    for (method, path) in operations::all() {
        for code in operations::find(method, path).unwrap().codes {
            assert!(error::find(code).is_some(), "{method} {path} tells `{code}`, which is not in CODES");
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = build(&server());
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert!(document.pointer(reference).is_some(), "{reference} leads nowhere");
    }
}

#[test]
fn only_what_tells_nothing_about_anybody_needs_no_key() {
    let documented = documented(&build(&server()));
    let open: Vec<_> = documented
        .iter()
        .filter(|(_, operation)| operation["security"].as_array().is_some_and(Vec::is_empty))
        .map(|((_, path), _)| path.as_str())
        .collect();
    assert_eq!(open, ["/healthz", "/metrics", "/openapi.json", "/readyz"]);
}
