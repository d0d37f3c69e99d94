use super::*;

#[test]
fn codes_are_sorted_and_sentences_end() {
    assert!(READER_ERRORS.is_sorted_by(|one, next| one.0 < next.0));
    for (code, sentence) in READER_ERRORS {
        assert!(is_code(code), "{code}");
        assert!(sentence.ends_with('.'), "{sentence}");
    }
}

#[test]
fn error_for_reader_keeps_nothing_of_the_text() {
    let mut error = ErrorInfo::new("openai: key sk-x").code("model.auth");
    error.request = Some("req_1".to_owned());
    let shown = error_for_reader(&error);
    assert_eq!(
        shown.message,
        "The model cannot be used with the server's settings. (model.auth, request req_1)"
    );
    assert_eq!(error_for_reader(&shown), shown);
    let odd = error_for_reader(&ErrorInfo::new("x").code("The Prompt Was: hello"));
    assert_eq!(odd.message, "Something went wrong. (error)");
}
