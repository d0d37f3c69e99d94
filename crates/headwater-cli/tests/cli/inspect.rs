//! `headwater inspect`: a stream in readable form.

use serde_json::json;

use crate::run::{DIALECTS, example, headwater, read_example};

fn inspect(args: &[&str], name: &str) -> String {
    let file = example(name);
    let ran = headwater(&[&["inspect"], args, &[&file]].concat(), "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout
}

#[test]
fn pieces_are_joined_to_one_item() {
    let rule = "─".repeat(100);
    let expected = format!(
        r#" #0  ▶ started     session session_42
 #1  → tool        search_issues  call_1 input-available  [support]
                   {{"query":"open payment bugs"}}
 #2  ← tool        search_issues  call_1 output-available  [support]
                   [{{"title":"Payment failure"}}]
                   {{"results":[{{"title":"Payment failure"}}]}}
 #3  ¶ text        There is one open payment bug. Here is a note to the team.  (3 deltas, 58 bytes)
                   [support]
 #8  ▣ structured  email.compose  run_123
                   set subject, text-delta body ×2, append bullets ×2, final
                   {{"subject":"Beta access is open","body":"Hi team,\n\nBeta access is
                   open.","bullets":["Faster setup","Live streaming UI"]}}
#14  ⚑ checkpoint  cp_1 turn 0
#15  ■ finished
{rule}
run     finished
holds   1 message · 1 tool call · 1 structured stream
stream  16 events · 17 frames · 2,488 bytes · kortyx over sse
"#
    );
    assert_eq!(inspect(&[], "kortyx.sse"), expected);
}

#[test]
fn question_is_shown_with_its_options() {
    let shown = inspect(&[], "kortyx-interrupt.sse");
    let question = "\
#29  ? interrupt   Send this draft?  choice req_1  [approve]
                   ○ send    Send
                   ○ revise  Revise: say what to change
";
    assert!(shown.contains(question), "{shown}");
    assert!(shown.contains("\nrun     waiting\n"), "{shown}");
    assert!(!shown.contains("rt_5b1e"), "the resume token is not shown: {shown}");
}

#[test]
fn full_output_is_not_abbreviated() {
    let end = "Best,";
    assert!(!inspect(&[], "kortyx-interrupt.sse").contains(end));
    assert!(inspect(&["--full"], "kortyx-interrupt.sse").contains(end));
}

#[test]
fn lines_fit_the_terminal() {
    for dialect in DIALECTS {
        for line in inspect(&[], &format!("{dialect}.sse")).lines() {
            assert!(line.chars().count() <= 100, "{line}");
            assert_eq!(line, line.trim_end(), "{dialect}");
        }
    }
}

#[test]
fn colours_are_only_used_on_terminals() {
    assert!(!inspect(&[], "kortyx.sse").contains('\u{1b}'));
    assert!(inspect(&["--color", "always"], "kortyx.sse").contains("\u{1b}["));
}

#[test]
fn inspect_json_has_every_record_and_a_summary() {
    let ran = headwater(&["inspect", "--json", &example("kortyx.sse")], "");
    let lines = ran.json_lines();
    assert_eq!(lines.len(), 17);
    assert_eq!(
        lines[4],
        json!({"frame": 4, "offset": 504, "seq": 4, "node": "support", "operation": "op_124", "segment": "seg_1",
               "event": {"type": "block-delta", "kind": "text", "id": "op_124:seg_1", "delta": "There is one open "}})
    );
    assert_eq!(
        lines[16]["summary"],
        json!({"dialect": "kortyx", "framing": "sse", "status": "finished", "messages": 1, "tools": 1, "structured": 1,
               "interrupts": 0, "events": 16, "frames": 17, "bytes": 2488, "problems": 0,
               "rejected": false, "cut": false})
    );
}

#[test]
fn problems_are_shown_where_they_occur() {
    let file = example("broken/kortyx.sse");
    let ran = headwater(&["inspect", "--dialect", "kortyx", &file], "");
    assert_eq!(ran.code, Some(0), "its client reads on");
    let lines: Vec<_> = ran.stdout.lines().collect();
    let at = |text: &str| {
        lines.iter().position(|line| line.contains(text)).unwrap_or_else(|| panic!("{}", ran.stdout))
    };
    assert!(at("▣ structured") < at("structured-update-fits  frame 2 at byte 190"));
    assert!(at("structured-update-fits") < at("■ finished"));
    assert!(at("● status") < at("nothing-after-done  frame 4 at byte 363"));
    assert!(ran.stdout.ends_with("faults  2 problems\n"), "{}", ran.stdout);

    let ran = headwater(&["inspect", "--dialect", "ai-sdk", &example("broken/ai-sdk.sse")], "");
    assert_eq!(ran.code, Some(1), "its client gives up");
    assert!(ran.stdout.contains("the dialect's own client gives up here"), "{}", ran.stdout);
}

#[test]
fn truncated_stream_is_shown_up_to_its_end() {
    let stream = String::from_utf8(read_example("kortyx.sse")).unwrap();
    let cut = stream.find("a note").unwrap();
    let ran = headwater(&["inspect", "--dialect", "kortyx"], &stream[..cut]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout.contains("There is one open payment bug. Here is  (2 deltas, 39 bytes, not ended)"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("run     failed · the stream was cut\n"), "{}", ran.stdout);
}
