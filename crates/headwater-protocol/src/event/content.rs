//! What a message holds beside its blocks: sources, files and the application's data.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::ToolCallId;

payloads! {
    /// A web page that the answer rests on.
    pub struct SourceUrl {
        /// The source.
        pub source: String,
        /// Its address.
        pub url: String,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub title: Option<String>,
        /// The tool call that found it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub call: Option<ToolCallId>,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub metadata: Option<Value>,
    }

    /// A document that the answer rests on.
    pub struct SourceDocument {
        /// The source.
        pub source: String,
        /// Its title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub title: Option<String>,
        /// Its media type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub media_type: Option<String>,
        /// Its file name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub filename: Option<String>,
        /// The passage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub text: Option<String>,
        /// The tool call that found it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub call: Option<ToolCallId>,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub metadata: Option<Value>,
    }

    /// A file, by its address or as a `data:` URL.
    pub struct FileEvent {
        /// Its address.
        pub url: String,
        /// Its media type.
        pub media_type: String,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub filename: Option<String>,
        /// Its id, where it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub id: Option<String>,
        /// It belongs to the reasoning, not to the answer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub reasoning: bool,
        /// What the provider said about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub metadata: Option<Value>,
    }

    /// Data of the application's own.
    pub struct DataEvent {
        /// What kind of data it is.
        pub name: String,
        /// Data of the same name and id replaces what was there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub id: Option<String>,
        /// The data.
        pub data: Value,
        /// To be seen once; only some dialects' clients keep it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub transient: bool,
    }
}
