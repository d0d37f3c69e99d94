//! The definition of a model.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use super::{node::ModelOptionsText, script::FileScript};
use crate::{
    Price,
    file::span::{WithSpan, text_or_map},
};

/// A model: `provider:model`, a mapping with the details of its calls, or a script that replaces one.
#[derive(Debug, JsonSchema)]
#[schemars(untagged)]
pub(in crate::file) enum ModelText {
    /// A model of a provider, as `provider:model`.
    Name(String),
    /// A model with its own address, key, options or price, or a script.
    Object(Box<ModelObjectText>),
}

/// A model of a provider with its own address, key, options or price; or a script.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct ModelObjectText {
    /// A model that follows a script and needs no API key.
    pub(in crate::file) script: Option<FileScript>,
    /// The provider, such as `openai`, `anthropic`, `azure` or `openai-compatible`.
    pub(in crate::file) provider: Option<WithSpan<String>>,
    /// The provider's name of the model.
    pub(in crate::file) model: Option<WithSpan<String>>,
    /// The address of the provider, with the version: `https://api.example.com/v1`.
    pub(in crate::file) base_url: Option<WithSpan<String>>,
    /// The environment variable that holds the API key. Default: the provider's own.
    pub(in crate::file) api_key_env: Option<WithSpan<String>>,
    /// The name of the provider in journals, metrics and prices, to distinguish several of one kind. Default:
    /// `provider`.
    pub(in crate::file) called: Option<WithSpan<String>>,
    /// Options of each call, unless the node sets its own.
    pub(in crate::file) options: Option<ModelOptionsText>,
    /// Price of a million tokens.
    pub(in crate::file) price: Option<WithSpan<PriceText>>,
}

/// Price of a million tokens, in any currency.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::file) struct PriceText {
    /// Input.
    pub(in crate::file) input: f64,
    /// Output.
    pub(in crate::file) output: f64,
    /// Input from the provider's cache. Default: as `input`.
    pub(in crate::file) cached_input: Option<f64>,
}

impl PriceText {
    pub(in crate::file) fn price(&self) -> Price {
        Price { input: self.input, output: self.output, cached_input: self.cached_input }
    }
}

impl From<ModelObjectText> for ModelText {
    fn from(object: ModelObjectText) -> Self {
        Self::Object(Box::new(object))
    }
}

impl<'de> Deserialize<'de> for ModelText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expecting = "`provider:model`, or a mapping with `provider` and `model`, or with `script`";
        text_or_map::<_, _, ModelObjectText>(deserializer, expecting, |name| Ok(Self::Name(name.to_owned())))
    }
}
