//! Checking how an MCP server is described.

use crate::file::{
    error::{FileError, FileErrorKind},
    format::mcp::McpText,
    load::Defined,
};

/// A server is a program or at an address, and is told nothing that only the other kind understands.
pub(super) fn check(server: &Defined<McpText>, errors: &mut Vec<FileError>) {
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
            format!("the MCP server `{name}` is nowhere: give it a `command` to start, or a `url`")
        }
        (Some(_), Some(_)) => {
            format!(
                "the MCP server `{name}` has a `command` and a `url`: it is started, or it is at an address"
            )
        }
        (Some(_), None) => match given(&of_address) {
            Some(field) => format!("`{field}` is for a server with a `url`, and `{name}` is started"),
            None => return,
        },
        (None, Some(url)) => match given(&of_program) {
            Some(field) => {
                format!("`{field}` is for a server with a `command`, and `{name}` is at an address")
            }
            None if url.value.starts_with("http://") || url.value.starts_with("https://") => return,
            None => {
                let message = format!("`{}` is no address: it begins with http:// or https://", url.value);
                errors.push(FileError::new(FileErrorKind::Value, &server.source, url.place, message));
                return;
            }
        },
    };
    errors.push(FileError::new(FileErrorKind::Value, &server.source, server.name.place, message));
}
