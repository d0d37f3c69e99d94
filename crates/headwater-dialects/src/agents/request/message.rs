//! The UI messages in a request.

use headwater_protocol::{Error, Message, Role};
use serde_json::Value;

use super::wrong;
use crate::ui_message;

/// Reads the message at a place of the list.
///
/// The contract keeps the AI SDK's UI messages; a message of one text, as older UIs keep it, is read too.
pub(super) fn read(at: usize, message: &Value) -> Result<Message, Error> {
    let path = format!("messages[{at}]");
    Ok(match (message.get("parts"), message.get("content")) {
        (None, Some(Value::String(text))) => {
            let role = message.get("role").cloned().unwrap_or_default();
            let role: Role = serde_json::from_value(role.clone()).map_err(|_| {
                wrong(&format!("{path}.role"), "\"user\", \"assistant\" or \"system\"", &role)
            })?;
            let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
            let mut read = Message::text(id, role, text);
            read.metadata = message.get("metadata").cloned();
            read
        }
        _ => ui_message::read(message, &path)?,
    })
}
