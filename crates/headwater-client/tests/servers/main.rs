//! The client against the vendors' own servers: `cargo xtask test` starts them, and names their port in
//! `HEADWATER_VENDOR_SERVERS`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

use headwater_client::{Client, ConnectionStatus, DialectChat, Update};

/// The servers: path and dialect.
const SERVERS: [(&str, &str); 4] = [
    ("ai-sdk", "ai-sdk"),
    ("tanstack", "ag-ui"),
    ("ag-ui", "ag-ui"),
    ("copilotkit/agent/script/run", "ag-ui"),
];

fn chat(path: &str, dialect: &str) -> DialectChat {
    let base =
        std::env::var("HEADWATER_VENDOR_SERVERS").expect("HEADWATER_VENDOR_SERVERS: run `cargo xtask test`");
    Client::new(format!("{base}/{path}")).dialect(dialect).unwrap()
}

async fn read(chat: &mut DialectChat) {
    while chat.next().await.unwrap().is_some() {}
}

#[tokio::test]
async fn text_is_read_from_each_server() {
    for (path, dialect) in SERVERS {
        let mut chat = chat(path, dialect);
        for text in ["hello", "once more"] {
            chat.send(text);
            read(&mut chat).await;
            assert_eq!(chat.text(), format!("You said: {text}"), "{path}");
        }
        assert!(chat.problems().is_empty(), "{path}: {:?}", chat.problems());
    }
}

#[tokio::test]
async fn cut_response_of_the_ai_sdk_is_read_again_and_of_others_is_an_error() {
    for (path, dialect) in SERVERS {
        let mut chat = chat(&format!("{path}?cut=3000"), dialect);
        chat.send("long");
        let (mut lost, mut resets) = (0, 0);
        let end = loop {
            match chat.next().await {
                Ok(Some(Update::Connection(ConnectionStatus::Lost { .. }))) => lost += 1,
                Ok(Some(Update::Reset)) => resets += 1,
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        if path == "ai-sdk" {
            let whole: String = (0..200).map(|word| format!("word{word} ")).collect();
            assert!(end.is_none(), "{end:?}");
            assert_eq!((chat.text(), lost, resets), (whole, 1, 1));
        } else {
            let error = end.expect("an error");
            assert!(matches!(error.code(), "stream.cut" | "network"), "{path}: {error:?}");
            assert!(chat.text().starts_with("word0 word1 "), "{path}: {}", chat.text());
        }
    }
}
