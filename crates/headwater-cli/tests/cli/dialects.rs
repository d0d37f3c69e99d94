//! `headwater dialects`: the list of dialects.

use serde_json::Value;

use crate::run::{DIALECTS, headwater};

#[test]
fn every_dialect_is_listed() {
    let ran = headwater(&["dialects"], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let heading = ran.stdout.lines().position(|line| line.starts_with("dialect ")).unwrap();
    let rows = ran.stdout.lines().skip(heading + 1).take_while(|line| !line.is_empty());
    let mut names: Vec<_> = rows.filter_map(|line| line.split_whitespace().next()).collect();
    names.dedup();
    assert_eq!(names, [&["native"], &DIALECTS[..]].concat());
}

#[test]
fn dialects_json_lists_support_for_each_event() {
    let ran = headwater(&["dialects", "--json"], "");
    let all = ran.json();
    let names: Vec<_> = all.as_array().unwrap().iter().map(|dialect| dialect["name"].clone()).collect();
    assert_eq!(names, [&["native"], &DIALECTS[..]].concat());
    for dialect in all.as_array().unwrap() {
        for profile in dialect["profiles"].as_array().unwrap() {
            assert_ne!(profile["events"]["block-delta"], "not sent", "{}", dialect["name"]);
            assert_ne!(profile["framings"], Value::Array(Vec::new()), "{}", dialect["name"]);
        }
    }
}

#[test]
fn one_dialect_is_shown_with_its_events() {
    let ran = headwater(&["dialects", "kortyx"], "");
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.starts_with("kortyx"), "{}", ran.stdout);
    assert!(
        ran.stdout.lines().any(|line| line.starts_with("  block-delta             shown")),
        "{}",
        ran.stdout
    );
}
