//! Two principals and an operator.

use super::{ANN, BOB, Desk, OPS, values};

#[test]
fn principals_have_their_own_runs_and_operators_have_all() {
    let desk = Desk::start();
    let of_ann = desk.done(ANN, "asks", "mine", Some("chat"));
    let of_bob = desk.done(BOB, "says", "also mine", Some("chat"));

    let list = |key: &str, args: &[&str]| {
        let page = desk.json(key, &[&["runs", "list"], args].concat());
        values(&page["runs"], "id").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(list(ANN, &[]), [&*of_ann]);
    assert_eq!(list(BOB, &[]), [&*of_bob]);
    assert_eq!(list(OPS, &[]), [&*of_bob, &*of_ann]);
    assert_eq!(list(OPS, &["--owner", "ann"]), [&*of_ann]);
    let table = desk.text(OPS, &["runs", "list"]);
    assert!(table.contains("OWNER") && table.contains(" ann ") && table.contains(" bob "), "{table}");

    // Another principal's run is as one that does not exist.
    for args in [
        &["runs", "show", &of_ann][..],
        &["runs", "tail", &of_ann],
        &["runs", "stop", &of_ann],
        &["runs", "answer", &of_ann, "a"],
        &["runs", "export", &of_ann],
        &["runs", "fork", &of_ann],
    ] {
        assert_eq!(desk.ran(BOB, args).code, Some(5), "{args:?}");
    }
    let refused = desk.ran(BOB, &["runs", "list", "--owner", "ann"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.stderr.contains("(operator.needed)"), "{refused:?}");

    let shown = desk.text(OPS, &["runs", "show", &of_ann]);
    assert!(shown.contains("owner    ann"), "{shown}");
    desk.server.wait_for_log("operator access operator=\"ops\" owner=\"ann\"");
    assert!(desk.text(OPS, &["runs", "tail", &of_ann, "--until-wait"]).contains("Which one?"));
    desk.text(OPS, &["runs", "answer", &of_ann, "a"]);
    assert_eq!(desk.ran(ANN, &["runs", "tail", &of_ann]).code, Some(0));
}

#[test]
fn operator_names_the_owner_of_a_session() {
    let desk = Desk::start();
    let run = desk.done(ANN, "says", "of ann", Some("chat"));
    desk.done(OPS, "says", "of ops", Some("chat"));
    let own = desk.text(OPS, &["sessions", "messages", "chat"]);
    assert!(own.contains("of ops") && !own.contains("of ann"), "{own}");
    let of_ann = desk.text(OPS, &["sessions", "messages", "chat", "--owner", "ann"]);
    assert!(of_ann.contains("of ann"), "{of_ann}");
    let owners = desk.json(OPS, &["sessions", "list"]);
    assert_eq!(values(&owners["sessions"], "owner"), ["ops", "ann"]);

    // The owner of a run is known, so it needs no --owner.
    desk.text(OPS, &["runs", "fork", &run, "--as", "copy"]);
    assert!(desk.text(ANN, &["sessions", "messages", "copy"]).contains("You said of ann."));
    assert_eq!(desk.ran(OPS, &["sessions", "show", "copy"]).code, Some(5));
}
