//! Helpers for encoding requests, shared by all wire formats.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use super::{EncodedRequest, HttpMethod, Settings};
use crate::{FileData, ModelError, ModelErrorKind, ModelRequest, ToolResultOutput, Warning};

/// A request under construction.
#[derive(Debug)]
pub(super) struct Draft<'s> {
    pub(super) settings: &'s Settings,
    pub(super) body: Map<String, Value>,
    pub(super) headers: Vec<(&'static str, String)>,
    warnings: Vec<Warning>,
}

impl<'s> Draft<'s> {
    pub(super) fn new(settings: &'s Settings) -> Self {
        Self { settings, body: Map::new(), headers: Vec::new(), warnings: Vec::new() }
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.body.insert(key.to_owned(), value.into());
    }

    /// Sets a field of a nested object in the body.
    pub(super) fn set_in(&mut self, object: &str, key: &str, value: impl Into<Value>) {
        let object = self.body.entry(object).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(fields) = object {
            fields.insert(key.to_owned(), value.into());
        }
    }

    /// Adds a warning, unless it was added before.
    pub(super) fn warn(&mut self, feature: &str, message: impl Into<String>) {
        let warning = Warning::new(feature, message);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The options of this provider.
    pub(super) fn options<'v>(&self, options: Option<&'v Value>) -> Option<&'v Map<String, Value>> {
        options?.get(&self.settings.provider)?.as_object()
    }

    /// A text option of this provider.
    pub(super) fn option<'v>(&self, options: Option<&'v Value>, key: &str) -> Option<&'v str> {
        self.options(options)?.get(key)?.as_str()
    }

    /// An error for input that this format cannot express.
    pub(super) fn refuse(&self, message: impl Into<String>) -> ModelError {
        ModelError::new(ModelErrorKind::InvalidRequest, message).provider(self.settings.provider.clone())
    }

    /// Completes the request. The caller's provider options are merged last and override ours.
    pub(super) fn finish(mut self, path: impl Into<String>, request: &ModelRequest) -> EncodedRequest {
        if let Some(Value::Object(options)) = request.provider_options.get(&self.settings.provider) {
            for (key, value) in options {
                if key == "stream" {
                    self.warn("provider_options", "`stream` is ignored: set `whole` on the request instead");
                } else {
                    merge(self.body.entry(key.as_str()).or_insert(Value::Null), value);
                }
            }
        }
        EncodedRequest {
            method: HttpMethod::Post,
            path: path.into(),
            headers: self.headers,
            body: Value::Object(self.body),
            warnings: self.warnings,
            is_resumable: false,
        }
    }
}

/// Merges objects; replaces anything else.
fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Sets a field of an object; does nothing for other values.
pub(super) fn put(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value.into());
    }
}

/// Whether a field equals this text.
pub(super) fn is(object: &Value, key: &str, text: &str) -> bool {
    object.get(key).and_then(Value::as_str) == Some(text)
}

/// A mutable list field.
pub(super) fn list_mut<'v>(object: &'v mut Value, key: &str) -> Option<&'v mut Vec<Value>> {
    object.get_mut(key)?.as_array_mut()
}

/// A file of a prompt.
#[derive(Debug)]
pub(super) struct Media<'f> {
    pub(super) media_type: Cow<'f, str>,
    pub(super) source: MediaSource<'f>,
}

#[derive(Debug)]
pub(super) enum MediaSource<'f> {
    Url(&'f str),
    /// Base64.
    Data(&'f str),
    /// The provider's id of the file.
    Id(&'f str),
}

impl<'f> Media<'f> {
    pub(super) fn read(
        media_type: &'f str,
        data: &'f FileData,
        draft: &Draft<'_>,
    ) -> Result<Self, ModelError> {
        let provider = draft.settings.provider.as_str();
        match data {
            FileData::Url { url } => match url.strip_prefix("data:") {
                Some(inline) => {
                    let Some((head, data)) = inline.split_once(',') else {
                        return Err(
                            draft.refuse("invalid data URL of a file: it has no comma, so no content")
                        );
                    };
                    let Some(inline_type) = head.strip_suffix(";base64") else {
                        return Err(draft.refuse("invalid data URL of a file: it must be base64-encoded"));
                    };
                    let inline_type = inline_type.split(';').next().unwrap_or_default();
                    let media_type = if inline_type.is_empty() { media_type } else { inline_type };
                    Ok(Self { media_type: full_type(media_type, data), source: MediaSource::Data(data) })
                }
                None => Ok(Self { media_type: media_type.into(), source: MediaSource::Url(url) }),
            },
            FileData::Reference { reference } => {
                match reference.get(provider).and_then(Value::as_str) {
                    Some(id) => Ok(Self { media_type: media_type.into(), source: MediaSource::Id(id) }),
                    None => Err(draft
                        .refuse(format!("a file was uploaded to other providers only, not to {provider}"))),
                }
            }
        }
    }

    pub(super) fn is_image(&self) -> bool {
        self.media_type.starts_with("image")
    }

    pub(super) fn is_audio(&self) -> bool {
        self.media_type.starts_with("audio")
    }

    pub(super) fn is_pdf(&self) -> bool {
        self.media_type == "application/pdf"
    }

    /// A URL that the provider can fetch, or a data URL.
    pub(super) fn address(&self) -> Option<String> {
        match self.source {
            MediaSource::Url(url) => Some(url.to_owned()),
            MediaSource::Data(data) => Some(format!("data:{};base64,{data}", self.media_type)),
            MediaSource::Id(_) => None,
        }
    }

    /// The content as text, if it is text.
    pub(super) fn text(&self) -> Option<String> {
        let is_text = self.media_type.starts_with("text/")
            || ["json", "xml", "yaml", "javascript"].iter().any(|ending| self.media_type.ends_with(ending));
        let MediaSource::Data(data) = self.source else { return None };
        if !is_text {
            return None;
        }
        String::from_utf8(STANDARD.decode(data).ok()?).ok()
    }
}

/// Prompts may use `image` and `image/*`, but providers reject them. Detects the type by the first bytes.
fn full_type<'f>(media_type: &'f str, data: &str) -> Cow<'f, str> {
    if media_type != "image" && media_type != "image/*" {
        return media_type.into();
    }
    let known =
        [("iVBOR", "image/png"), ("/9j/", "image/jpeg"), ("R0lG", "image/gif"), ("UklGR", "image/webp")];
    known.iter().find(|(start, _)| data.starts_with(start)).map_or("image/png", |(_, name)| *name).into()
}

/// A tool's output as text, and whether it is an error.
pub(super) fn output_text(output: &ToolResultOutput) -> (String, bool) {
    match output {
        ToolResultOutput::Text { value } => (value.clone(), false),
        ToolResultOutput::Json { value } => (value.to_string(), false),
        ToolResultOutput::ErrorText { value } => (value.clone(), true),
        ToolResultOutput::ErrorJson { value } => (value.to_string(), true),
        ToolResultOutput::ExecutionDenied { reason } => {
            let reason = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            (format!("the call was denied{reason}"), true)
        }
    }
}

/// A tool's output as JSON.
pub(super) fn output_value(output: &ToolResultOutput) -> Value {
    match output {
        ToolResultOutput::Json { value } | ToolResultOutput::ErrorJson { value } => value.clone(),
        other => Value::String(output_text(other).0),
    }
}

/// Whether a schema meets OpenAI's rules for strict output: every object closed, all properties required.
pub(super) fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let is_object =
                fields.get("type").is_some_and(|kind| kind == "object") || fields.contains_key("properties");
            let is_closed = !is_object || {
                let properties = fields.get("properties").and_then(Value::as_object);
                let required = fields.get("required").and_then(Value::as_array);
                fields.get("additionalProperties") == Some(&Value::Bool(false))
                    && properties.is_some_and(|properties| {
                        properties
                            .keys()
                            .all(|key| required.is_some_and(|list| list.iter().any(|name| name == key)))
                    })
            };
            is_closed && fields.values().all(is_strict)
        }
        Value::Array(items) => items.iter().all(is_strict),
        _ => true,
    }
}

/// A prompt text that requests JSON, for providers without an option for it.
pub(super) fn in_words(schema: Option<&Value>) -> String {
    match schema {
        Some(schema) => {
            format!("Answer with JSON only, without any other text. It must fit this JSON Schema: {schema}")
        }
        None => "Answer with JSON only, without any other text.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schema_is_strict_if_all_objects_are_closed_and_complete() {
        let closed = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "additionalProperties": false });
        assert!(is_strict(&closed));
        assert!(is_strict(&json!({ "type": "array", "items": closed })));
        assert!(!is_strict(
            &json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false })
        ));
        assert!(!is_strict(&json!({ "type": "array", "items": { "type": "object" } })));
    }
}
