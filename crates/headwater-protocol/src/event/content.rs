//! Other content of a message: sources, files and application data.

use serde_json::Value;

use crate::{id::ToolCallId, json_struct::json_struct};

json_struct! {
    /// A web page that the answer cites.
    pub struct SourceUrl {
        /// Id of the source.
        pub source: String,
        /// URL of the page.
        pub url: String,
        /// Title of the page.
        pub title?: String,
        /// The tool call that found it.
        pub call?: ToolCallId,
        /// Provider-specific metadata.
        pub metadata?: Value,
    }

    /// A document that the answer cites.
    pub struct SourceDocument {
        /// Id of the source.
        pub source: String,
        /// Title of the document.
        pub title?: String,
        /// Media type of the document.
        pub media_type?: String,
        /// File name of the document.
        pub filename?: String,
        /// The cited passage.
        pub text?: String,
        /// The tool call that found it.
        pub call?: ToolCallId,
        /// Provider-specific metadata.
        pub metadata?: Value,
    }

    /// A file at a URL, which may be a `data:` URL.
    pub struct FileEvent {
        /// URL of the file.
        pub url: String,
        /// Media type of the file.
        pub media_type: String,
        /// Name of the file.
        pub filename?: String,
        /// Id of the file, if it has one.
        pub id?: String,
        /// Whether it belongs to the reasoning instead of the answer.
        pub reasoning: flag,
        /// Provider-specific metadata.
        pub metadata?: Value,
    }

    /// Application data.
    pub struct DataEvent {
        /// Kind of data, chosen by the application.
        pub name: String,
        /// Data with the same name and id replaces the earlier data.
        pub id?: String,
        /// The data.
        pub data: Value,
        /// Shown once; only the clients of some dialects keep it.
        pub transient: flag,
    }
}
