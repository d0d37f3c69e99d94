use crate::recorded;

#[test]
fn chat_recordings_decode_like_the_reference() {
    for api in ["openai-chat", "deepseek-chat", "groq-chat", "mistral-chat", "openai-compatible-chat"] {
        recorded::judge(&[api]);
    }
}
