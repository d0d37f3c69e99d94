use super::*;

#[test]
fn known_secrets_are_removed_in_every_encoding() {
    let key = "p/w\"ö 0123456789";
    let secrets = Secrets::of([key]);
    let basic = base64::engine::general_purpose::STANDARD.encode(format!("user:{key}"));
    for text in [
        key.to_owned(),
        percent_encoded(key),
        serde_json::to_string(&serde_json::json!({ "echo": key })).unwrap(),
        format!("{:?}", format!("echo {key}")),
        STANDARD_NO_PAD.encode(key),
        URL_SAFE_NO_PAD.encode(key),
        basic,
    ] {
        let clean = secrets.remove(&text);
        assert!(clean.contains(REMOVED), "{text} became {clean}");
        assert!(!clean.contains("0123456789") && !clean.contains("MTIzNDU2Nz"), "{text} became {clean}");
    }
    assert_eq!(secrets.remove("ends with p/w\"ö 01"), "ends with [removed]", "a cut text");
    assert!(!format!("{secrets:?}").contains("0123"));
}

#[test]
fn lookalikes_are_removed() {
    let clean = |text: &str| Secrets::default().remove(text);
    for (text, shown) in [
        ("key sk-live-SECRETKEY-abcdef.", "key [removed]"),
        ("Incorrect API key provided: Bearer abcDEF123", "Incorrect API key provided: Bearer [removed]"),
        (
            "boot failed: DB_PASSWORD=hunter2 at /srv/app.js",
            "boot failed: DB_PASSWORD=[removed] at /srv/app.js",
        ),
        (r#"{"api_key":"abc","n":1}"#, r#"{"api_key":"[removed]","n":1}"#),
        (r#"{\"api_key\": \"abc\"}"#, r#"{\"api_key\": \"[removed]\"}"#),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [removed]"),
        ("--token=abc --verbose", "--token=[removed] --verbose"),
        ("get https://u:p@h:1/x?key=v#f now", "get https://h:1/x?[removed] now"),
        ("redis://:secret@cache/0", "redis://cache/0"),
    ] {
        assert_eq!(clean(text), shown);
    }
    for text in [
        "unexpected token: }",
        "bearer authentication is needed",
        "the key is missing: set OPENAI_API_KEY",
        "error 401 at http://127.0.0.1:8080/v1/chat",
        "sk-short, ünïcödé – and so on",
    ] {
        assert_eq!(clean(text), text);
    }
}

#[test]
fn secret_inside_another_leaves_no_rest() {
    let secrets = Secrets::of(["secret", "secret-and-more"]);
    assert_eq!(secrets.remove("a secret-and-more b"), "a [removed] b");
}
