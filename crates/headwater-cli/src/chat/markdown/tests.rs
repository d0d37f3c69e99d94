use super::*;

const LOOK: MarkdownLook = MarkdownLook { width: 40, colour: true };

fn texts(lines: &[StyledLine]) -> Vec<String> {
    lines.iter().map(StyledLine::text).collect()
}

fn shown(text: &str) -> Vec<String> {
    texts(&render(text, LOOK))
}

#[test]
fn every_kind_of_block_has_its_form() {
    assert_eq!(shown("# Title\n\nText *and* **more**."), ["Title", "", "Text and more."]);
    assert_eq!(shown("- one\n- two\n  - inner\n- three"), ["• one", "• two", "  ◦ inner", "• three"]);
    assert_eq!(shown("9. nine\n10. ten"), ["9. nine", "10. ten"]);
    assert_eq!(shown("- [x] done\n- [ ] open"), ["• ☑ done", "• ☐ open"]);
    assert_eq!(shown("> quoted\n> text\n\nafter"), ["│ quoted text", "", "after"]);
    assert_eq!(shown("```rust\nfn a() {}\n\nlet b;\n```"), ["  rust", "  fn a() {}", "", "  let b;"]);
    assert_eq!(shown("a\n\n---\n\nb"), ["a", "", &"─".repeat(40), "", "b"]);
    assert_eq!(shown("- one\n\n  more\n\n- two"), ["• one", "", "  more", "• two"]);
}

#[test]
fn links_show_their_target_unless_it_is_their_text() {
    assert_eq!(shown("[docs](http://a.b)"), ["docs (http://a.b)"]);
    assert_eq!(shown("<http://a.b>"), ["http://a.b"]);
    assert_eq!(shown("![A river](river.svg)"), ["[image: A river] (river.svg)"]);
}

#[test]
fn tables_are_aligned_and_wrap_in_a_narrow_terminal() {
    let text = "| name | size |\n|---|---:|\n| Nile | 6650 |\n| Po | 652 |";
    assert_eq!(shown(text), ["name │ size", "─────┼─────", "Nile │ 6650", "Po   │  652"]);
    let narrow = MarkdownLook { width: 16, ..LOOK };
    let lines = render("| a | b |\n|---|---|\n| alpha beta gamma | x |", narrow);
    assert_eq!(texts(&lines), ["a            │ b", "─────────────┼──", "alpha beta   │ x", "gamma        │"]);
}

#[test]
fn marks_stay_where_styles_are_not_visible() {
    let plain = MarkdownLook { colour: false, ..LOOK };
    assert_eq!(texts(&render("## Use\n\nThe `key`.", plain)), ["## Use", "", "The `key`."]);
}

#[test]
fn long_lines_wrap_behind_their_marker() {
    let lines =
        render("- alpha beta gamma delta\n  - epsilon zeta eta theta", MarkdownLook { width: 16, ..LOOK });
    assert_eq!(texts(&lines), ["• alpha beta", "  gamma delta", "  ◦ epsilon zeta", "    eta theta"]);
}

#[test]
fn control_characters_never_reach_the_terminal() {
    assert_eq!(shown("a\u{1B}[2Jb `\u{9B}1m`"), ["a␛[2Jb \u{FFFD}1m"]);
}

/// Feeds a text in pieces and gives all lines that were rendered for good.
fn streamed(text: &str, step: usize) -> Vec<String> {
    let (mut progress, mut lines) = (MarkdownProgress::default(), Vec::new());
    let ends = text.char_indices().map(|(at, _)| at).step_by(step);
    for end in ends {
        let so_far = &text[..end];
        lines.extend(progress.take_closed(so_far, false, LOOK));
        progress.open_lines(so_far, LOOK);
    }
    lines.extend(progress.take_closed(text, true, LOOK));
    texts(&lines)
}

#[test]
fn streamed_blocks_are_those_of_the_whole_text() {
    let text = "# Rivers\n\nThe **Nile** is long.\nVery long.\n\n- one\n- two\n\n  more\n\n    indented\n\n\
                ```js\nlet a = 1;\n\nlet b;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> said\n\n1. x\n2. y\n\nEnd.";
    for step in [1, 3, 7, 1000] {
        assert_eq!(streamed(text, step), shown(text), "in pieces of {step}");
    }
}

#[test]
fn only_the_last_block_is_open() {
    let mut progress = MarkdownProgress::default();
    let text = "First.\n\nSecond **bo";
    assert_eq!(texts(&progress.take_closed(text, false, LOOK)), ["First."]);
    assert_eq!(texts(&progress.open_lines(text, LOOK)), ["", "Second bo"]);
    assert_eq!(progress.take_closed(text, false, LOOK), []);
    // A state that is rebuilt after a reconnect has less text for a moment.
    assert_eq!(progress.take_closed("Fi", false, LOOK), []);
    assert_eq!(texts(&progress.take_closed("First.\n\nSecond **bold**.", true, LOOK)), ["", "Second bold."]);
}
