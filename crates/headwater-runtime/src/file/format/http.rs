//! The definition of a tool that calls an HTTP API.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{duration::Length, mcp::UnfinishedWord};
use crate::file::{
    span::{NameMap, WithSpan},
    template::{Template, ValueTemplate},
};

/// A tool that calls an HTTP API. Templates may use `input`, the input of the call.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct HttpToolText {
    /// The description that the model gets.
    pub(in crate::file) description: Option<String>,
    /// The JSON Schema of its input. Default: any object.
    pub(in crate::file) input: Option<WithSpan<Value>>,
    /// The method. Default: `POST` with a body, otherwise `GET`.
    pub(in crate::file) method: Option<WithSpan<String>>,
    /// The URL. Placeholders are percent-encoded: `https://api.example.com/cities/{{ input.city }}`.
    pub(in crate::file) url: Template,
    /// Headers of the request.
    #[serde(default)]
    pub(in crate::file) headers: NameMap<Template>,
    /// Headers whose values are secrets, by the environment variables that hold them.
    #[serde(default)]
    pub(in crate::file) header_env: NameMap<WithSpan<String>>,
    /// The environment variable that holds the bearer token.
    pub(in crate::file) bearer_env: Option<WithSpan<String>>,
    /// The body, sent as JSON.
    pub(in crate::file) body: Option<ValueTemplate>,
    /// The hosts that may be called, such as `api.example.com` or `localhost:8000`. Default: the host of the URL.
    #[serde(default)]
    pub(in crate::file) hosts: Vec<WithSpan<String>>,
    /// Time limit of a call. Default: 30s.
    pub(in crate::file) timeout: Option<Length>,
    /// Maximum bytes of an answer. Default: 262144.
    pub(in crate::file) max_bytes: Option<usize>,
    /// Whether calls need a person's approval. Default: no.
    #[serde(default)]
    pub(in crate::file) approval: bool,
    /// What to do with a call whose outcome is unknown because the process died. Default: `fail`.
    pub(in crate::file) unfinished: Option<UnfinishedWord>,
}
