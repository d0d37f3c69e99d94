use crate::recorded;

#[test]
fn responses_recordings_decode_like_the_reference() {
    recorded::judge(&["openai-responses"]);
}
