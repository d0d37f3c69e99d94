//! The parts of a message's content, and the shape that they had before 1.0.

use serde_json::{Map, Value, json};

use super::fields::{Field, Shape, may, must};

const SOURCE: Shape = Shape::Union(
    "type",
    &[
        ("data", &[must("type", Shape::Text), must("value", Shape::Text), must("mimeType", Shape::Text)]),
        ("url", &[must("type", Shape::Text), must("value", Shape::Text), may("mimeType", Shape::Text)]),
        (
            "file",
            &[
                must("type", Shape::Text),
                must("value", Shape::Text),
                may("provider", Shape::Text),
                may("mimeType", Shape::Text),
            ],
        ),
    ],
);

const MEDIA: &[Field] = &[
    must("type", Shape::Text),
    may("id", Shape::Text),
    must("source", SOURCE),
    may("metadata", Shape::NotNull),
];

pub(super) const PART: Shape = Shape::Union(
    "type",
    &[
        (
            "text",
            &[
                must("type", Shape::Text),
                may("id", Shape::Text),
                must("text", Shape::Text),
                may("metadata", Shape::NotNull),
            ],
        ),
        ("image", MEDIA),
        ("audio", MEDIA),
        ("video", MEDIA),
        ("document", MEDIA),
    ],
);

/// Turns the `binary` parts of older clients and servers into the media parts of today; one that is there in both
/// forms is not doubled, and one that has neither data nor address stays, to be dropped as unknown.
pub(super) fn upgrade_binaries(parts: &mut Vec<Value>) {
    if !parts.iter().any(|part| part.get("type").and_then(Value::as_str) == Some("binary")) {
        return;
    }
    let all = parts.clone();
    parts.retain_mut(|part| {
        let Some(modern) = part.as_object().and_then(modern) else {
            return true;
        };
        let there = all.iter().any(|other| {
            ["type", "source"].iter().all(|key| other.get(key) == modern.get(key))
                && modern.get("metadata").is_none_or(|metadata| {
                    other.get("metadata").and_then(|other| other.get("filename")) == metadata.get("filename")
                })
        });
        *part = modern;
        !there
    });
}

/// The media part that an old `binary` part says.
pub(in super::super) fn modern(part: &Map<String, Value>) -> Option<Value> {
    let text = |key: &str| part.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mime = part.get("mimeType").and_then(Value::as_str).filter(|_| text("type") == Some("binary"))?;
    let kind = ["image", "audio", "video"].into_iter().find(|kind| mime.split('/').next() == Some(kind));
    let (source, value) =
        text("data").map(|data| ("data", data)).or_else(|| text("url").map(|url| ("url", url)))?;
    let mut modern = json!({
        "type": kind.unwrap_or("document"),
        "source": { "type": source, "value": value, "mimeType": mime },
    });
    if let Some(filename) = text("filename") {
        modern["metadata"] = json!({ "filename": filename });
    }
    Some(modern)
}
