//! Repeated turns, and requests that may arrive twice.

use headwater_protocol::{FilePart, Message, Part, Role};
use headwater_runtime::{ErrorKind, Start, Turn};
use serde_json::{Value, json};

use super::{agent, answer, send, texts};

/// A message from a page.
fn message(text: &str, file: Option<&str>) -> Message {
    let mut message = Message::text("u1", Role::User, text);
    if let Some(url) = file {
        let file = json!({ "url": url, "mediaType": "image/png" });
        message.parts.push(Part::File(serde_json::from_value::<FilePart>(file).unwrap()));
    }
    message
}

fn said(text: &str, file: Option<&str>) -> Turn {
    Turn::new(text).message(message(text, file)).key("message-u1")
}

#[tokio::test]
async fn edited_turn_has_the_message_of_the_page_and_is_found_by_its_keys() {
    let session = agent().new_session(None).await.unwrap();
    let first = session.send(said("one", None)).await.unwrap();
    session.settled().await.unwrap();
    let (one, other) = tokio::join!(session.edit(&first.checkpoint, said("uno", Some("a"))), async {
        session.edit(&first.checkpoint, said("uno", Some("a"))).await
    });
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.run, other.run, "the same edit twice at once is one run");
    assert!(one.repeated != other.repeated);
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["uno", "0: uno"]);
    let found = session.turn_of(&message("uno", Some("a"))).await.unwrap().unwrap();
    assert_eq!((found.over, found.same, &found.turn.run), (true, true, &one.run));
    let found = session.turn_of(&message("uno", Some("b"))).await.unwrap().unwrap();
    assert!(!found.same, "another file is another message");
    let third = session.edit(&one.checkpoint, said("uno", Some("b"))).await.unwrap();
    assert!(!third.repeated);
    session.settled().await.unwrap();
    assert_eq!(session.info().await.unwrap().turns, 1);
    assert_eq!(session.variants(&third.checkpoint).await.unwrap().len(), 3);
    assert!(session.turn_of(&Message::text("u2", Role::User, "uno")).await.unwrap().is_none());
}

#[tokio::test]
async fn turn_of_a_message_is_found_on_the_current_branch() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let message = |id: &str| Message::text(id, Role::User, "the same");
    let say = async |id: &str| {
        let sent = session.send(Turn::new("the same").message(message(id))).await.unwrap();
        session.settled().await.unwrap();
        sent
    };
    let first = say("first").await;
    // Further back than a walk over checkpoints would go.
    for number in 0..230 {
        say(&format!("number {number}")).await;
    }
    let found = session.turn_of(&message("first")).await.unwrap().unwrap();
    assert_eq!((found.over, found.same, &found.turn.checkpoint), (true, true, &first.checkpoint));
    let fork = session.fork(&found.turn.checkpoint, Some("fork")).await.unwrap();
    assert!(fork.turn_of(&message("first")).await.unwrap().is_some(), "a fork has what it was forked with");
    assert!(fork.turn_of(&message("number 3")).await.unwrap().is_none(), "and nothing that came later");

    let again = session.regenerate(&first.checkpoint).await.unwrap();
    session.settled().await.unwrap();
    let found = session.turn_of(&message("first")).await.unwrap().unwrap();
    assert_eq!(found.turn.checkpoint, again.checkpoint, "of two variants the one where the session stands");
    assert!(session.turn_of(&message("number 3")).await.unwrap().is_none());
    session.select(&first.checkpoint).await.unwrap();
    let found = session.turn_of(&message("first")).await.unwrap().unwrap();
    assert_eq!(found.turn.checkpoint, first.checkpoint);
    assert!(session.turn_of(&message("number 3")).await.unwrap().is_some());

    session.roll_back(&first.checkpoint).await.unwrap();
    assert!(session.turn_of(&message("number 3")).await.unwrap().is_none(), "the rolled back turn is gone");
}

#[tokio::test]
async fn turn_is_regenerated_once_per_key() {
    let session = agent().new_session(None).await.unwrap();
    send(&session, "zero").await;
    let first = session.send(said("one", None)).await.unwrap();
    session.settled().await.unwrap();
    let keyed = |key: &str| Turn::new("").key(key);
    let (one, other) = tokio::join!(
        session.regenerate_as(&first.checkpoint, keyed("k")),
        session.regenerate_as(&first.checkpoint, keyed("k"))
    );
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.run, other.run);
    session.settled().await.unwrap();
    let late = session.regenerate_as(&first.checkpoint, keyed("k")).await.unwrap();
    assert_eq!((late.run, late.repeated), (one.run.clone(), true));
    let sent = session.send(said("one", None)).await.unwrap();
    assert_eq!(sent.run, one.run, "it is still known by the message that it answers");
    let fresh = session.regenerate_as(&one.checkpoint, keyed("l")).await.unwrap();
    assert!(!fresh.repeated);
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await.len(), 4);
}

#[tokio::test]
async fn answer_is_repeated_once_per_key_and_the_key_is_not_exported() {
    let agent = agent();
    let session = agent.new_session(Some("ann")).await.unwrap();
    send(&session, "report").await;
    let picked = answer(&agent, &session, "a").await;
    let keyed = || Turn::new("").key("a-private-key");
    let one = session.regenerate_as(&picked, keyed()).await.unwrap();
    let going = session.regenerate_as(&picked, keyed()).await.unwrap();
    assert_eq!((&going.run, going.repeated), (&one.run, true));
    session.settled().await.unwrap();
    let late = session.regenerate_as(&picked, keyed()).await.unwrap();
    assert_eq!((&late.run, &late.checkpoint, late.repeated), (&one.run, &one.checkpoint, true));
    let document = Value::from(session.export().await.unwrap());
    assert!(!document.to_string().contains("a-private-key"));
}

#[tokio::test]
async fn invalid_run_input_is_refused_before_a_turn_begins() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let turn = send(&session, "one").await;
    let odd = || Turn::from(Start::new("two").tool_choice(json!("somehow")));
    let refused = [
        agent.check_turn(&odd()).unwrap_err(),
        session.send(odd()).await.unwrap_err(),
        session.edit(&turn, odd()).await.unwrap_err(),
        session.regenerate_as(&turn, odd()).await.unwrap_err(),
    ];
    for error in refused {
        assert_eq!((error.kind(), error.code()), (ErrorKind::Input, "tool-choice.invalid"));
    }
    let nowhere = Turn::from(Start::new("two").workflow("nowhere"));
    assert_eq!(agent.check_turn(&nowhere).unwrap_err().kind(), ErrorKind::UnknownWorkflow);
    assert_eq!(texts(&session).await, ["one", "0: one"]);
}

#[tokio::test]
async fn rolled_back_turns_stay_gone_when_their_variant_is_selected_again() {
    let session = agent().new_session(None).await.unwrap();
    let one = send(&session, "one").await;
    let two = send(&session, "two").await;
    send(&session, "three").await;
    session.regenerate(&one).await.unwrap();
    session.settled().await.unwrap();
    session.select(&one).await.unwrap();
    session.roll_back(&two).await.unwrap();
    let document = Value::from(session.export().await.unwrap());
    let labels: Vec<_> =
        document["turns"].as_array().unwrap().iter().map(|turn| turn["label"].clone()).collect();
    assert_eq!(labels, ["one", "one", "two"]);
    let copy = agent().import_session(document, None, Some("copy")).await.unwrap();
    assert_eq!(texts(&copy).await, texts(&session).await);
    let first = copy.checkpoints(None, 10).await.unwrap().pop().unwrap();
    assert_eq!(copy.variants(&first.id).await.unwrap().len(), 2);
}

#[tokio::test]
async fn request_key_names_its_turn_long_after_others_came() {
    let agent = agent();
    let session = agent.new_session(None).await.unwrap();
    let keyed = |text: &str, key: &str| Turn::new(text).request_key(key);
    let first = session.send(keyed("one", "k1")).await.unwrap();
    session.settled().await.unwrap();
    let second = session.send(keyed("two", "k2")).await.unwrap();
    session.settled().await.unwrap();
    let redone = session.regenerate_as(&second.checkpoint, keyed("", "k3")).await.unwrap();
    session.settled().await.unwrap();
    send(&session, "three").await;
    for (key, sent) in [("k1", &first), ("k2", &second), ("k3", &redone)] {
        let again = session.send(keyed("whatever", key)).await.unwrap();
        assert_eq!((again.repeated, &again.run, &again.checkpoint), (true, &sent.run, &sent.checkpoint));
        let again = session.edit(&first.checkpoint, keyed("whatever", key)).await.unwrap();
        assert_eq!((again.repeated, &again.run), (true, &sent.run));
        let found = session.sent_before(&[key.to_owned()]).await.unwrap().unwrap();
        assert_eq!(found.run, sent.run);
    }
    assert_eq!(session.info().await.unwrap().turns, 3);
    session.undo().await.unwrap();
    assert!(session.send(keyed("one", "k1")).await.unwrap().repeated, "also after the session went back");
    let other = agent.new_session(None).await.unwrap();
    assert!(!other.send(keyed("one", "k1")).await.unwrap().repeated, "keys are those of a session");
}

#[tokio::test]
async fn request_with_one_key_at_the_same_time_begins_one_turn() {
    let session = agent().new_session(None).await.unwrap();
    let send = || session.send(Turn::new("one").request_key("k").request_key("run-1"));
    let sent = futures_util::future::join_all((0..8).map(|_| send())).await;
    let sent: Vec<_> = sent.into_iter().map(Result::unwrap).collect();
    assert!(sent.iter().all(|turn| turn.run == sent[0].run));
    assert_eq!(sent.iter().filter(|turn| !turn.repeated).count(), 1);
    session.settled().await.unwrap();
    assert_eq!(texts(&session).await, ["one", "0: one"]);
}
