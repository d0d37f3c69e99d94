//! The models of a file.

use std::{env, sync::Arc};

use headwater_models::{
    Model, ModelKey, ModelRequest, ModelStream, Models, ReasoningEffort, ReasoningOptions, http::Provider,
};

use super::{
    error::{FileError, FileErrorKind},
    format::model::{ModelObjectText, ModelText},
    format::node::ModelOptionsText,
    load::SourceDefinition,
    span::WithSpan,
};

/// The model of an object that names a provider.
pub(super) fn provider_model(
    object: &ModelObjectText,
    definition: &SourceDefinition<WithSpan<ModelText>>,
    models: &Models,
) -> Result<Arc<dyn Model>, FileError> {
    let missing =
        |span, message: &str| FileError::new(FileErrorKind::Missing, &definition.source, span, message);
    let text = |field: &Option<WithSpan<String>>| {
        field.as_ref().map(|field| field.value.clone()).unwrap_or_default()
    };
    let span = definition.value.span;
    let provider = Provider::new(&text(&object.provider)).map_err(|error| missing(span, error.message()))?;
    let mut provider = provider.with_env();
    if let Some(url) = &object.base_url {
        provider = provider.base_url(&url.value);
        // The key of the usual address must not go to another one.
        if object.api_key_env.is_none() {
            provider = provider.without_key();
        }
    }
    if let Some(called) = &object.called {
        provider = provider.called(called.value.as_str());
    }
    if let Some(variable) = &object.api_key_env {
        provider = match env::var(&variable.value) {
            Ok(key) if !key.trim().is_empty() => provider.key(key),
            _ if models.needs_no_keys() => provider,
            _ => {
                let message = format!("the environment variable {} is not set", variable.value);
                return Err(missing(variable.span, &message));
            }
        };
    }
    let model =
        models.model_of(&provider, &text(&object.model)).map_err(|error| missing(span, error.message()))?;
    Ok(match &object.options {
        Some(options) => Arc::new(ModelWithDefaults { model, defaults: defaults(options) }),
        None => Arc::new(model),
    })
}

/// A model with options for calls that set none of their own.
#[derive(Debug)]
struct ModelWithDefaults<M> {
    model: M,
    defaults: ModelRequest,
}

fn defaults(options: &ModelOptionsText) -> ModelRequest {
    let mut defaults = ModelRequest::default();
    defaults.temperature = options.temperature;
    defaults.max_output_tokens = options.max_output_tokens;
    defaults.stop_sequences.clone_from(&options.stop);
    if options.effort.is_some() || options.thinking_tokens.is_some() {
        let effort = options.effort.map(ReasoningEffort::from);
        defaults.reasoning = Some(ReasoningOptions { effort, max_tokens: options.thinking_tokens });
    }
    defaults.provider_options.clone_from(&options.provider);
    defaults
}

impl<M: Model> Model for ModelWithDefaults<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn ask(&self, mut request: ModelRequest) -> ModelStream {
        let defaults = &self.defaults;
        request.temperature = request.temperature.or(defaults.temperature);
        request.max_output_tokens = request.max_output_tokens.or(defaults.max_output_tokens);
        if request.stop_sequences.is_empty() {
            request.stop_sequences.clone_from(&defaults.stop_sequences);
        }
        if request.reasoning.is_none() {
            request.reasoning.clone_from(&defaults.reasoning);
        }
        for (provider, options) in &defaults.provider_options {
            let own = request.provider_options.entry(provider.clone()).or_insert_with(|| options.clone());
            if let (Some(own), Some(options)) = (own.as_object_mut(), options.as_object()) {
                for (name, value) in options {
                    own.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
        self.model.ask(request)
    }

    fn key(&self) -> ModelKey {
        self.model.key()
    }

    fn address(&self) -> Option<&str> {
        self.model.address()
    }
}
