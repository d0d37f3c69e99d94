//! The HTTP tools of a file.

use std::sync::Arc;

use headwater_protocol::ToolSpec;
use headwater_tools::{Approval, HttpCall, HttpTool, ToolError};
use serde_json::{Value, json};

use super::{
    check::fixed_host,
    error::{FileError, FileErrorKind},
    format::http::HttpToolText,
    load::SourceDefinition,
    servers::variable,
    template::TemplateScope,
};

/// The tool of a definition. Reports environment variables that are not set.
pub(super) fn http_tool(
    tool: &Arc<SourceDefinition<HttpToolText>>,
    errors: &mut Vec<FileError>,
) -> Option<HttpTool> {
    let text = &tool.value;
    let mut headers: Vec<(String, String)> = Vec::new();
    if let Some(name) = &text.bearer_env {
        headers
            .push(("authorization".to_owned(), format!("Bearer {}", variable(name, &tool.source, errors))));
    }
    for (header, name) in &text.header_env.0 {
        headers.push((header.value.clone(), variable(name, &tool.source, errors)));
    }
    let input = text.input.as_ref().map_or_else(|| json!({ "type": "object" }), |input| input.value.clone());
    let mut spec = ToolSpec::new(tool.name.value.as_str(), input);
    spec.description.clone_from(&text.description);
    let secrets: Vec<_> =
        headers.iter().map(|(_, value)| value.trim_start_matches("Bearer ").to_owned()).collect();
    let definition = tool.clone();
    let made = HttpTool::new(spec, move |input| call(&definition, &headers, input));
    let mut made = match made {
        Ok(made) => made,
        Err(error) => {
            errors.push(FileError::new(
                FileErrorKind::Missing,
                &tool.source,
                tool.name.span,
                error.to_string(),
            ));
            return None;
        }
    };
    made = match text.hosts.as_slice() {
        [] => fixed_host(text.url.text()).into_iter().fold(made, HttpTool::host),
        hosts => hosts.iter().fold(made, |made, host| made.host(host.value.as_str())),
    };
    made = secrets.iter().fold(made, |made, secret| made.secret(secret));
    if let Some(timeout) = text.timeout {
        made = made.timeout(timeout.0);
    }
    if let Some(bytes) = text.max_bytes {
        made = made.max_bytes(bytes);
    }
    if text.approval {
        made = made.approval(Approval::Needed);
    }
    Some(match text.unfinished {
        Some(unfinished) => made.unfinished(unfinished.into()),
        None => made,
    })
}

/// The request for an input.
fn call(
    tool: &SourceDefinition<HttpToolText>,
    secret_headers: &[(String, String)],
    input: &Value,
) -> Result<HttpCall, ToolError> {
    let (text, source) = (&tool.value, &tool.source);
    let scope = TemplateScope::of_tool_input(input);
    let failed =
        |error: crate::Error| ToolError::new(error.message().to_owned()).with_code("template.failed");
    let url = text.url.render_url(source, &scope).map_err(failed)?;
    let mut headers = secret_headers.to_vec();
    for (name, value) in &text.headers.0 {
        headers.push((name.value.clone(), value.render(source, &scope).map_err(failed)?));
    }
    let body = text.body.as_ref().map(|body| body.fill(source, &scope)).transpose().map_err(failed)?;
    let default = if body.is_some() { "POST" } else { "GET" };
    let method = text.method.as_ref().map_or(default, |method| method.value.as_str()).to_owned();
    Ok(HttpCall { method, url, headers, body })
}
