//! Checks the definition of a model.

use crate::file::{
    error::{FileError, FileErrorKind},
    format::model::{ModelObjectText, ModelText, PriceText},
    load::SourceDefinition,
    span::{TextSpan, WithSpan},
};

/// A name has a provider and a model; an object has these as fields, or a script.
pub(super) fn check(model: &SourceDefinition<WithSpan<ModelText>>, errors: &mut Vec<FileError>) {
    let mut report = |span: TextSpan, message: String| {
        errors.push(FileError::new(FileErrorKind::Value, &model.source, span, message));
    };
    match &model.value.value {
        ModelText::Name(name) => {
            let is_whole = name
                .split_once(':')
                .is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty());
            if !is_whole {
                let message = format!(
                    "invalid model `{name}`: write `provider:model`, or a mapping with `provider` and `model`, or with `script`"
                );
                report(model.value.span, message);
            }
        }
        ModelText::Object(object) => object_errors(&model.name, object, &mut report),
    }
}

fn object_errors(
    name: &WithSpan<String>,
    object: &ModelObjectText,
    report: &mut impl FnMut(TextSpan, String),
) {
    let ModelObjectText { script, provider, model, base_url, api_key_env, called, options: _, price } =
        object;
    if script.is_some() {
        let fields =
            [("provider", provider), ("model", model), ("base_url", base_url), ("api_key_env", api_key_env)];
        for (field, value) in fields {
            if let Some(value) = value {
                report(
                    value.span,
                    format!("`{field}` needs a model of a provider, but `{}` has a `script`", name.value),
                );
            }
        }
    } else {
        for (field, value) in [("provider", provider), ("model", model)] {
            match value {
                None => report(
                    name.span,
                    format!("model `{}` has no `{field}`: add it, or a `script`", name.value),
                ),
                Some(text) if text.value.is_empty() => {
                    report(text.span, format!("`{field}` must not be empty"));
                }
                Some(_) => {}
            }
        }
    }
    if let Some(provider) = provider
        && let Err(error) = headwater_models::http::Provider::new(&provider.value)
    {
        report(provider.span, error.message().to_owned());
    }
    if let Some(url) = base_url
        && !(url.value.starts_with("http://") || url.value.starts_with("https://"))
    {
        report(url.span, format!("invalid URL `{}`: it must begin with http:// or https://", url.value));
    }
    if let Some(variable) = api_key_env
        && !is_variable(&variable.value)
    {
        let message = format!(
            "`{}` is not the name of an environment variable: keys are never written into files",
            variable.value
        );
        report(variable.span, message);
    }
    if let Some(called) = called
        && (called.value.is_empty() || called.value.contains(':'))
    {
        report(called.span, format!("invalid name `{}`: it must not be empty or contain `:`", called.value));
    }
    if let Some(WithSpan { value: PriceText { input, output, cached_input }, span }) = price {
        let prices = [*input, *output, cached_input.unwrap_or_default()];
        if prices.iter().any(|price| !price.is_finite() || *price < 0.0) {
            report(*span, "a price must not be negative".to_owned());
        }
    }
}

/// Whether a text can be the name of an environment variable. An API key written here by mistake usually
/// cannot.
pub(super) fn is_variable(name: &str) -> bool {
    let is_part = |part: char| part.is_ascii_uppercase() || part.is_ascii_digit() || part == '_';
    !name.is_empty() && name.chars().all(is_part) && !name.starts_with(|first: char| first.is_ascii_digit())
}
