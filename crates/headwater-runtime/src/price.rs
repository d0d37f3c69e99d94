//! Prices of models.

use std::collections::BTreeMap;

use headwater_protocol::Usage;
use serde::{Deserialize, Serialize};

/// Price of a model per million tokens, in any currency.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Input tokens.
    pub input: f64,
    /// Output tokens, including reasoning.
    pub output: f64,
    /// Input tokens from the provider's cache; the default is the price of input.
    #[serde(default)]
    pub cached_input: Option<f64>,
}

impl Price {
    /// The cost of a usage, in billionths of the currency.
    #[must_use]
    pub fn cost_nanos(&self, usage: &Usage) -> u64 {
        let input = usage.input_tokens.unwrap_or(0);
        let cached = usage.cached_input_tokens.unwrap_or(0).min(input);
        let cost = tokens(input - cached) * self.input
            + tokens(cached) * self.cached_input.unwrap_or(self.input)
            + tokens(usage.output_tokens.unwrap_or(0)) * self.output;
        // A price per million tokens equals millionths per token.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
        let nanos = (cost * 1_000.0).round() as u64;
        nanos
    }
}

#[expect(clippy::cast_precision_loss, reason = "no run has 2^52 tokens")]
fn tokens(count: u64) -> f64 {
    count as f64
}

/// The prices of models, by `provider:model`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PriceList(BTreeMap<String, Price>);

impl PriceList {
    /// Sets the price of a model.
    pub fn set(&mut self, model: impl Into<String>, price: Price) {
        self.0.insert(model.into(), price);
    }

    /// Sets the prices of another list, except where this one has a price.
    pub fn add_missing(&mut self, other: &Self) {
        for (model, price) in &other.0 {
            self.0.entry(model.clone()).or_insert(*price);
        }
    }

    /// The price of a model.
    #[must_use]
    pub fn get(&self, model: &str) -> Option<Price> {
        self.0.get(model).copied()
    }

    /// The total cost of several models, in billionths of the currency; `None` if one of them has no price,
    /// or none was used.
    pub(crate) fn cost_nanos(&self, used: &BTreeMap<String, Usage>) -> Option<u64> {
        let used = used.iter().filter(|(_, usage)| **usage != Usage::default());
        let costs = used.map(|(model, usage)| Some(self.get(model)?.cost_nanos(usage)));
        costs.reduce(|total, cost| Some(total?.saturating_add(cost?))).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_counts_cached_input_apart_and_is_unknown_with_an_unpriced_model() {
        let price = Price { input: 2.0, output: 10.0, cached_input: Some(0.5) };
        let usage = Usage {
            input_tokens: Some(1_000),
            cached_input_tokens: Some(400),
            output_tokens: Some(100),
            ..Usage::default()
        };
        // 600 x 2 + 400 x 0.5 + 100 x 10 millionths.
        assert_eq!(price.cost_nanos(&usage), 2_400_000);
        let mut prices = PriceList::default();
        prices.set("a:one", price);
        let mut used = BTreeMap::from([("a:one".to_owned(), usage.clone())]);
        assert_eq!(prices.cost_nanos(&used), Some(2_400_000));
        used.insert("a:free".to_owned(), Usage::default());
        assert_eq!(prices.cost_nanos(&used), Some(2_400_000), "a model that used nothing needs no price");
        used.insert("a:other".to_owned(), usage);
        assert_eq!(prices.cost_nanos(&used), None);
        assert_eq!(prices.cost_nanos(&BTreeMap::new()), None);
    }
}
