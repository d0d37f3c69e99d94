//! Checks the definition of an HTTP tool.

use headwater_tools::Schema;

use super::model::is_variable;
use crate::file::{
    error::{FileError, FileErrorKind},
    format::http::HttpToolText,
    load::SourceDefinition,
    span::TextSpan,
};

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];
/// The variables allowed in the templates of a tool.
const NAMES: [&str; 1] = ["input"];

pub(super) fn check(tool: &SourceDefinition<HttpToolText>, errors: &mut Vec<FileError>) {
    let HttpToolText { input, method, url, headers, header_env, bearer_env, body, hosts, max_bytes, .. } =
        &tool.value;
    let source = &tool.source;
    url.check_names(source, &NAMES, errors);
    headers.0.iter().for_each(|(_, value)| value.check_names(source, &NAMES, errors));
    if let Some(body) = body {
        body.check_names(source, &NAMES, errors);
    }
    let mut report = |span: TextSpan, message: String| {
        errors.push(FileError::new(FileErrorKind::Value, source, span, message));
    };
    if let Some(method) = method.as_ref().filter(|method| !METHODS.contains(&method.value.as_str())) {
        report(method.span, format!("unknown method `{}`: use {}", method.value, METHODS.join(", ")));
    }
    if method.as_ref().is_some_and(|method| method.value == "GET") && body.is_some() {
        report(
            tool.name.span,
            format!("the tool `{}` has a `body`, which GET does not send: use POST", tool.name.value),
        );
    }
    if let Some(schema) = input
        && let Err(error) = Schema::new(schema.value.clone())
    {
        report(schema.span, format!("not a JSON Schema: {error}"));
    }
    if !(url.text().starts_with("http://") || url.text().starts_with("https://")) {
        report(url.span(), "the URL must begin with http:// or https://".to_owned());
    } else if fixed_host(url.text()).is_none() && hosts.is_empty() {
        report(
            url.span(),
            "the host of the URL has a placeholder: list the `hosts` that may be called".to_owned(),
        );
    }
    for host in hosts {
        if host.value.is_empty() || host.value.contains(['/', '*', '{', '@', ' ']) {
            report(
                host.span,
                format!("invalid host `{}`: write `api.example.com` or `localhost:8000`", host.value),
            );
        }
    }
    let names = header_env.0.iter().map(|(_, variable)| variable).chain(bearer_env);
    for variable in names.filter(|variable| !is_variable(&variable.value)) {
        let message = format!(
            "`{}` is not the name of an environment variable: secrets are never written into files",
            variable.value
        );
        report(variable.span, message);
    }
    for (name, _) in &headers.0 {
        let secret = ["authorization", "cookie", "proxy-authorization", "x-api-key"];
        if secret.contains(&name.value.to_ascii_lowercase().as_str()) {
            let message = format!(
                "`{}` holds a secret: name its environment variable under `header_env` or `bearer_env`",
                name.value
            );
            report(name.span, message);
        }
    }
    if *max_bytes == Some(0) {
        report(tool.name.span, "`max_bytes` must be greater than 0".to_owned());
    }
}

/// The host of a URL, with its port, if no placeholder is in it.
pub(in crate::file) fn fixed_host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?;
    (!host.is_empty() && !host.contains('{') && !host.contains('@')).then_some(host)
}
