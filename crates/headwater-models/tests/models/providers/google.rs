use crate::recorded;

#[test]
fn google_recordings_decode_like_the_reference() {
    recorded::judge(&["gemini-generate"]);
}
