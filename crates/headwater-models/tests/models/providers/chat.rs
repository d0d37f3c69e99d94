use crate::recorded;

#[test]
fn recorded_completions_are_read_as_the_trusted_implementation_reads_them() {
    for api in ["openai-chat", "deepseek-chat", "groq-chat", "mistral-chat", "openai-compatible-chat"] {
        recorded::judge(&[api]);
    }
}
