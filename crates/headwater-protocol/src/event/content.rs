//! What a message holds beside its blocks: sources, files and the application's data.

use serde_json::Value;

use crate::{id::ToolCallId, json_struct::json_struct};

json_struct! {
    /// A web page that the answer rests on.
    pub struct SourceUrl {
        /// The source.
        pub source: String,
        /// Its address.
        pub url: String,
        /// Its title.
        pub title?: String,
        /// The tool call that found it.
        pub call?: ToolCallId,
        /// What the provider said about it.
        pub metadata?: Value,
    }

    /// A document that the answer rests on.
    pub struct SourceDocument {
        /// The source.
        pub source: String,
        /// Its title.
        pub title?: String,
        /// Its media type.
        pub media_type?: String,
        /// Its file name.
        pub filename?: String,
        /// The passage.
        pub text?: String,
        /// The tool call that found it.
        pub call?: ToolCallId,
        /// What the provider said about it.
        pub metadata?: Value,
    }

    /// A file, by its address or as a `data:` URL.
    pub struct FileEvent {
        /// Its address.
        pub url: String,
        /// Its media type.
        pub media_type: String,
        /// Its name.
        pub filename?: String,
        /// Its id, where it has one.
        pub id?: String,
        /// It belongs to the reasoning, not to the answer.
        pub reasoning: flag,
        /// What the provider said about it.
        pub metadata?: Value,
    }

    /// Data of the application's own.
    pub struct DataEvent {
        /// What kind of data it is.
        pub name: String,
        /// Data of the same name and id replaces what was there.
        pub id?: String,
        /// The data.
        pub data: Value,
        /// To be seen once; only some dialects' clients keep it.
        pub transient: flag,
    }
}
