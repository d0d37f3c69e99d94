//! Adding up token usage.

use headwater_protocol::Usage;

/// Adds up two usages.
pub(crate) fn add(total: &mut Usage, more: &Usage) {
    let sum = |total: &mut Option<u64>, more: Option<u64>| {
        if let Some(more) = more {
            *total = Some(total.unwrap_or(0).saturating_add(more));
        }
    };
    // A usage without a total still counts towards it.
    let whole = |usage: &Usage| {
        usage.total_tokens.or_else(|| match (usage.input_tokens, usage.output_tokens) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        })
    };
    let all = whole(more);
    sum(&mut total.input_tokens, more.input_tokens);
    sum(&mut total.output_tokens, more.output_tokens);
    sum(&mut total.total_tokens, all);
    sum(&mut total.reasoning_tokens, more.reasoning_tokens);
    sum(&mut total.cached_input_tokens, more.cached_input_tokens);
    sum(&mut total.cache_write_tokens, more.cache_write_tokens);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_call_does_not_say_does_not_erase_what_another_said() {
        let mut total = Usage::default();
        add(&mut total, &Usage { input_tokens: Some(1), output_tokens: Some(2), ..Usage::default() });
        add(&mut total, &Usage { total_tokens: Some(10), reasoning_tokens: Some(4), ..Usage::default() });
        let sum = Usage {
            input_tokens: Some(1),
            output_tokens: Some(2),
            total_tokens: Some(13),
            reasoning_tokens: Some(4),
            ..Usage::default()
        };
        assert_eq!(total, sum);
    }
}
