//! What all wires need when they write a request.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use super::{Encoded, Settings};
use crate::{FileData, ModelError, ModelErrorKind, ModelRequest, ToolResultOutput, Warning};

/// A request while it is written.
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

    /// Sets a field of an object in the body.
    pub(super) fn set_in(&mut self, object: &str, key: &str, value: impl Into<Value>) {
        let object = self.body.entry(object).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(fields) = object {
            fields.insert(key.to_owned(), value.into());
        }
    }

    /// Says what became of an option, once.
    pub(super) fn warn(&mut self, feature: &str, message: impl Into<String>) {
        let warning = Warning::new(feature, message);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// The options that are said to this provider alone.
    pub(super) fn options<'v>(&self, options: Option<&'v Value>) -> Option<&'v Map<String, Value>> {
        options?.get(&self.settings.provider)?.as_object()
    }

    /// An option that is said to this provider alone, as text.
    pub(super) fn option<'v>(&self, options: Option<&'v Value>, key: &str) -> Option<&'v str> {
        self.options(options)?.get(key)?.as_str()
    }

    /// Something that this wire cannot say at all.
    pub(super) fn refuse(&self, message: impl Into<String>) -> ModelError {
        ModelError::new(ModelErrorKind::InvalidRequest, message).provider(self.settings.provider.clone())
    }

    /// The finished request: the provider's own options last, because whoever gives them knows the provider.
    pub(super) fn finish(mut self, path: impl Into<String>, request: &ModelRequest) -> Encoded {
        if let Some(Value::Object(options)) = request.provider_options.get(&self.settings.provider) {
            for (key, value) in options {
                if key == "stream" {
                    self.warn("provider_options", "`stream` is left out: ask for the whole answer instead");
                } else {
                    merge(self.body.entry(key.as_str()).or_insert(Value::Null), value);
                }
            }
        }
        Encoded {
            path: path.into(),
            headers: self.headers,
            body: Value::Object(self.body),
            warnings: self.warnings,
        }
    }
}

/// Objects are merged, anything else is replaced.
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

/// Sets a field of an object. Anything but an object stays as it is.
pub(super) fn put(object: &mut Value, key: &str, value: impl Into<Value>) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value.into());
    }
}

/// Whether a field is this text.
pub(super) fn is(object: &Value, key: &str, text: &str) -> bool {
    object.get(key).and_then(Value::as_str) == Some(text)
}

/// A field that is a list, to add to it.
pub(super) fn list_mut<'v>(object: &'v mut Value, key: &str) -> Option<&'v mut Vec<Value>> {
    object.get_mut(key)?.as_array_mut()
}

/// A file of a prompt.
#[derive(Debug)]
pub(super) struct Media<'f> {
    pub(super) media_type: Cow<'f, str>,
    pub(super) source: Source<'f>,
}

#[derive(Debug)]
pub(super) enum Source<'f> {
    Url(&'f str),
    /// In base 64.
    Data(&'f str),
    /// The provider's own name of it.
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
                            draft.refuse("a file is a data URL without a comma, so it has no content")
                        );
                    };
                    let Some(inline_type) = head.strip_suffix(";base64") else {
                        return Err(draft.refuse("a file is a data URL that is not in base64: encode it so"));
                    };
                    let inline_type = inline_type.split(';').next().unwrap_or_default();
                    let media_type = if inline_type.is_empty() { media_type } else { inline_type };
                    Ok(Self { media_type: full_type(media_type, data), source: Source::Data(data) })
                }
                None => Ok(Self { media_type: media_type.into(), source: Source::Url(url) }),
            },
            FileData::Reference { reference } => match reference.get(provider).and_then(Value::as_str) {
                Some(id) => Ok(Self { media_type: media_type.into(), source: Source::Id(id) }),
                None => {
                    Err(draft.refuse(format!("a file is known to other providers only, not to {provider}")))
                }
            },
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

    /// An address that a provider can fetch or read: the URL, or a data URL.
    pub(super) fn address(&self) -> Option<String> {
        match self.source {
            Source::Url(url) => Some(url.to_owned()),
            Source::Data(data) => Some(format!("data:{};base64,{data}", self.media_type)),
            Source::Id(_) => None,
        }
    }

    /// The content as text, if it is text.
    pub(super) fn text(&self) -> Option<String> {
        let is_text = self.media_type.starts_with("text/")
            || ["json", "xml", "yaml", "javascript"].iter().any(|ending| self.media_type.ends_with(ending));
        let Source::Data(data) = self.source else { return None };
        if !is_text {
            return None;
        }
        String::from_utf8(STANDARD.decode(data).ok()?).ok()
    }
}

/// `image` and `image/*` are allowed in a prompt, but no provider takes them: the first bytes tell more.
fn full_type<'f>(media_type: &'f str, data: &str) -> Cow<'f, str> {
    if media_type != "image" && media_type != "image/*" {
        return media_type.into();
    }
    let known =
        [("iVBOR", "image/png"), ("/9j/", "image/jpeg"), ("R0lG", "image/gif"), ("UklGR", "image/webp")];
    known.iter().find(|(start, _)| data.starts_with(start)).map_or("image/png", |(_, name)| *name).into()
}

/// What a tool gave as text, and whether it is an error.
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

/// What a tool gave as JSON.
pub(super) fn output_value(output: &ToolResultOutput) -> Value {
    match output {
        ToolResultOutput::Json { value } | ToolResultOutput::ErrorJson { value } => value.clone(),
        other => Value::String(output_text(other).0),
    }
}

/// Whether a schema follows OpenAI's rules for strict answers: every object is closed, and all its fields are required.
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

/// A request in words for an answer in JSON, for those who have no option for it.
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
    fn a_schema_is_strict_if_all_its_objects_are_closed_and_complete() {
        let closed = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"], "additionalProperties": false });
        assert!(is_strict(&closed));
        assert!(is_strict(&json!({ "type": "array", "items": closed })));
        assert!(!is_strict(
            &json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false })
        ));
        assert!(!is_strict(&json!({ "type": "array", "items": { "type": "object" } })));
    }
}
