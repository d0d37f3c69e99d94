//! Converts a server's result to a tool's output.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::{Mismatch, Schema, ToolError, ToolOutput};

/// Text blocks are joined to one text; other content is passed on as blocks. Structured content must fit the
/// tool's own output schema.
pub(super) fn output(result: CallToolResult, schema: Option<&Schema>) -> Result<ToolOutput, ToolError> {
    let is_error = result.is_error.unwrap_or(false);
    if let (Some(schema), Some(structured), false) = (schema, &result.structured_content, is_error) {
        schema.check(structured).map_err(|mismatches| {
            let list = Mismatch::in_one_line(&mismatches);
            ToolError::new(format!("its output does not fit its output schema: {list}"))
        })?;
    }
    let output = match (text(&result.content), &result.structured_content) {
        (Some(text), Some(structured)) if text.is_empty() => structured.clone(),
        (Some(text), _) => Value::String(text),
        (None, _) => serde_json::to_value(&result.content)?,
    };
    Ok(ToolOutput { output, structured: result.structured_content, is_error })
}

/// The text, if all blocks are text.
fn text(content: &[ContentBlock]) -> Option<String> {
    let texts: Option<Vec<&str>> = content
        .iter()
        .map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    texts.map(|texts| texts.join("\n"))
}
