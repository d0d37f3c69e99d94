//! What a server gave, as a tool's output.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::{Mismatch, Schema, ToolError, ToolOutput};

/// Texts become one text; anything else is given as the blocks that came. Structured content must fit the schema that the
/// tool itself told.
pub(super) fn output(result: CallToolResult, schema: Option<&Schema>) -> Result<ToolOutput, ToolError> {
    let is_error = result.is_error.unwrap_or(false);
    if let (Some(schema), Some(structured), false) = (schema, &result.structured_content, is_error) {
        schema.check(structured).map_err(|mismatches| {
            let list = Mismatch::in_one_line(&mismatches);
            ToolError::new(format!("what it gave does not fit the schema of its output: {list}"))
        })?;
    }
    let output = match (text(&result.content), &result.structured_content) {
        (Some(text), Some(structured)) if text.is_empty() => structured.clone(),
        (Some(text), _) => Value::String(text),
        (None, _) => serde_json::to_value(&result.content)?,
    };
    Ok(ToolOutput { output, structured: result.structured_content, is_error })
}

/// The text, if it is nothing else.
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
