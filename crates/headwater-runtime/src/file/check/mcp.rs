//! Checks the definition of an MCP server.

use crate::file::{
    error::{FileError, FileErrorKind},
    format::mcp::McpText,
    load::SourceDefinition,
};

/// A server has either a command or a URL, and only the fields of that kind.
pub(super) fn check(server: &SourceDefinition<McpText>, errors: &mut Vec<FileError>) {
    let McpText { command, args, env, pass_env, cwd, url, headers, bearer_env, .. } = &server.value;
    let name = &server.name.value;
    let of_program = [
        ("args", !args.is_empty()),
        ("env", !env.0.is_empty()),
        ("pass_env", !pass_env.is_empty()),
        ("cwd", cwd.is_some()),
    ];
    let of_address = [("headers", !headers.0.is_empty()), ("bearer_env", bearer_env.is_some())];
    let given =
        |fields: &[(&'static str, bool)]| fields.iter().find(|(_, given)| *given).map(|(field, _)| *field);
    let message = match (command, url) {
        (None, None) => {
            format!("the MCP server `{name}` has neither a `command` nor a `url`: add one of them")
        }
        (Some(_), Some(_)) => {
            format!("the MCP server `{name}` has both a `command` and a `url`: remove one of them")
        }
        (Some(_), None) => match given(&of_address) {
            Some(field) => format!("`{field}` needs a server with a `url`, but `{name}` has a `command`"),
            None => return,
        },
        (None, Some(url)) => match given(&of_program) {
            Some(field) => {
                format!("`{field}` needs a server with a `command`, but `{name}` has a `url`")
            }
            None if url.value.starts_with("http://") || url.value.starts_with("https://") => return,
            None => {
                let message = format!("invalid URL `{}`: it must begin with http:// or https://", url.value);
                errors.push(FileError::new(FileErrorKind::Value, &server.source, url.span, message));
                return;
            }
        },
    };
    errors.push(FileError::new(FileErrorKind::Value, &server.source, server.name.span, message));
}
