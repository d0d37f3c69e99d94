//! `headwater lint`: checks streams against the rules of their dialect.

use crate::run::{DIALECTS, example, headwater, read_example};

#[test]
fn examples_have_no_findings() {
    let more = ["kortyx-interrupt.sse", "tanstack.ndjson", "mui.ndjson"];
    for name in DIALECTS.map(|dialect| format!("{dialect}.sse")).into_iter().chain(more.map(str::to_owned)) {
        let ran = headwater(&["lint", &example(&name)], "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{name}");
    }
}

/// The rules that a broken example breaks, with their frames.
fn findings(dialect: &str) -> Vec<(String, Option<u64>)> {
    let file = example(&format!("broken/{dialect}.sse"));
    let ran = headwater(&["lint", "--json", "--dialect", dialect, &file], "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{dialect}");
    let findings = ran.json_lines();
    assert!(findings.iter().all(|finding| finding["seen"].is_string() && finding["expected"].is_string()));

    // The text output has the same findings.
    let ran = headwater(&["lint", "--dialect", dialect, &file], "");
    assert_eq!((ran.code, ran.stdout.lines().count()), (Some(1), findings.len()), "{dialect}");
    for (line, finding) in ran.stdout.lines().zip(&findings) {
        let place = match (&finding["frame"], &finding["offset"]) {
            (serde_json::Value::Null, _) => "end of stream".to_owned(),
            (frame, offset) => format!("frame {frame} at byte {offset}"),
        };
        let start = format!("{place}: {}: saw ", finding["rule"].as_str().unwrap());
        assert!(line.starts_with(&start), "{line:?} does not start with {start:?}");
    }
    let rule = |finding: &serde_json::Value| {
        (finding["rule"].as_str().unwrap().to_owned(), finding["frame"].as_u64())
    };
    findings.iter().map(rule).collect()
}

fn assert_findings(dialect: &str, expected: &[(&str, Option<u64>)]) {
    let found = findings(dialect);
    let found: Vec<_> = found.iter().map(|(rule, frame)| (rule.as_str(), *frame)).collect();
    assert_eq!(found, expected, "{dialect}");
}

#[test]
fn kortyx_after_done_and_against_the_structure() {
    assert_findings("kortyx", &[("structured-update-fits", Some(2)), ("nothing-after-done", Some(4))]);
}

#[test]
fn broken_examples_are_reported_at_their_frame() {
    for (dialect, frame) in [("native", 1), ("tanstack", 1), ("agents", 2), ("ai-sdk", 2), ("ag-ui", 1)] {
        let found = findings(dialect);
        assert!(found.iter().any(|(_, at)| *at == Some(frame)), "{dialect}: {found:?}");
    }
    assert_ne!(findings("mui"), [], "a gap in the numbers");
}

#[test]
fn lint_lists_the_rules_of_every_dialect() {
    let ran = headwater(&["lint", "--rules"], "");
    assert_eq!(ran.code, Some(0));
    let rules = headwater(&["lint", "--rules", "--json"], "").json_lines();
    for dialect in DIALECTS {
        assert!(ran.stdout.lines().any(|line| line == dialect), "{dialect}");
        assert!(rules.iter().any(|rule| rule["dialect"] == dialect), "{dialect}");
    }
    let kortyx = headwater(&["lint", "--rules", "--json", "--dialect", "kortyx"], "").json_lines();
    assert!(kortyx.iter().all(|rule| rule["dialect"] == "kortyx"));
    assert!(kortyx.iter().any(|rule| rule["rule"] == "nothing-after-done"));
}

#[test]
fn undecodable_frames_are_reported() {
    for dialect in DIALECTS {
        let stream = read_example(&format!("broken/{dialect}.sse"));
        let garbage = [&b"data: {\"type\":7}\n\ndata: {\n\nevent: x\ndata: []\n\n"[..], &stream].concat();
        for stream in [stream, garbage] {
            let shown = headwater(&["inspect", "--json", "--dialect", dialect], stream.clone()).json_lines();
            let found = headwater(&["lint", "--json", "--dialect", dialect], stream).json_lines();
            for problem in shown.iter().filter(|line| line["problem"]["unreadable"] == true) {
                let same_frame = |finding: &serde_json::Value| finding["frame"] == problem["frame"];
                assert!(found.iter().any(same_frame), "{dialect}: {problem} is not in {found:?}");
            }
        }
    }
}
