//! `headwater chat`: the real binary in a real terminal, and in a pipe.

mod plain;
mod tmux;

use std::{fs, path::Path};

use tempfile::tempdir;

use crate::server::Server;
use tmux::Tmux;

#[test]
fn markdown_reasoning_and_references_are_shown_in_80_columns() {
    let chat = Tmux::chat(&[]);
    chat.wait_for("demo agents in this process");
    chat.send("hello");
    chat.wait_for("questions:");
    let shown = chat.wait_idle();
    for line in ["› hello", "┊ A greeting", "Hello! I am the demo agent", "• table for a table in Markdown"]
    {
        assert!(shown.contains(line), "{line} in\n{shown}");
    }
    assert!(shown.contains("An example page  https://example.com/headwater"), "{shown}");
    assert!(shown.contains("image/svg+xml, "), "{shown}");
    chat.send("table");
    chat.wait_for("ask the agent table.");
    let shown = chat.wait_idle();
    assert!(shown.contains("ag-ui   │ SSE     │ Last-Event-ID"), "{shown}");
    assert!(!shown.contains("**") && !shown.contains("|---"), "{shown}");
    chat.send("/quit");
    assert_eq!(chat.wait_exit(), 0);
}

#[test]
fn tools_are_lines_and_page_tools_are_not_available() {
    let chat = Tmux::chat(&["--agent", "tools"]);
    chat.send("compare Paris and Rome");
    chat.wait_for("degrees warmer");
    let shown = chat.wait_idle();
    assert!(shown.contains("✓ Weather  city: Paris\n  └ city: Paris"), "{shown}");
    chat.send("/tools");
    chat.wait_for("\"city\": \"Rome\"");
    chat.send("where am I?");
    let shown = chat.wait_for("✗ get_location");
    assert!(!shown.contains("Allow the call"), "{shown}");
    chat.wait_idle();
}

#[test]
fn approvals_are_asked_at_the_prompt() {
    let chat = Tmux::chat(&["--agent", "tools"]);
    chat.send("delete notes.txt");
    chat.wait_for("Allow the call of delete_file?");
    // Nothing is approved by Enter alone.
    chat.keys(&["Enter"]);
    chat.wait_for("type `y`, `n`, or `n` and a reason");
    chat.send("n keep it");
    chat.wait_for("denied: keep it");
    chat.wait_idle();
    chat.send("delete notes.txt");
    chat.wait_for("y or n");
    chat.send("y");
    chat.wait_for("└ deleted: notes.txt");
    chat.wait_idle();
}

#[test]
fn choices_are_made_with_arrows_or_numbers_while_an_object_fills_in() {
    let chat = Tmux::chat(&["--agent", "email"]);
    chat.send("The new boat");
    let shown = chat.wait_for("❯ 1. Send");
    assert!(shown.contains("◆ email.compose") && shown.contains("subject  "), "{shown}");
    chat.keys(&["Down"]);
    chat.wait_for("❯ 2. Revise");
    chat.keys(&["Enter"]);
    chat.wait("a second draft", |shown| shown.contains("└ Revise") && shown.contains("❯ 1. Send"));
    chat.send("send");
    chat.wait_for("Sent: ");
    chat.wait_idle();
}

/// An agent that asks for a text, several options and a form.
const FORM: &str = "\
name: survey
workflows:
  survey:
    start: city
    nodes:
      city:
        interrupt: { ask: Which city? }
        save: { state: city }
      food:
        interrupt:
          ask: What do you eat?
          multiple: true
          options: [{ id: fish, label: Fish }, { id: bread, label: Bread }, { id: cake, label: Cake }]
        save: { state: food }
      trip:
        interrupt:
          ask: When?
          response:
            type: object
            properties:
              days: { type: integer, description: How long }
              train: { type: boolean }
            required: [days]
        save: { state: trip }
      done:
        message: \"{{ state.city }}, {{ state.food | join('+') }}, {{ state.trip.days }} days\"
    edges:
      - { from: city, to: food }
      - { from: food, to: trip }
      - { from: trip, to: done }
";

fn survey(folder: &Path) -> String {
    let file = folder.join("survey.yaml");
    fs::write(&file, FORM).unwrap();
    file.display().to_string()
}

#[test]
fn agent_file_asks_for_texts_several_options_and_a_form() {
    let folder = tempdir().unwrap();
    let chat = Tmux::chat(&[&survey(folder.path())]);
    chat.send("go");
    chat.wait_for("? Which city?");
    chat.send("Oslo");
    chat.wait_for("☐ 1. Fish");
    chat.keys(&["Space", "Down", "Down", "Space"]);
    chat.wait_for("☑ 3. Cake");
    chat.keys(&["Enter"]);
    chat.wait_for("days 1/2");
    chat.send("many");
    chat.wait_for("does not fit: type a whole number");
    chat.keys(&["C-u"]);
    chat.send("3");
    chat.wait_for("train 2/2");
    chat.keys(&["Enter"]);
    chat.wait_for("Oslo, fish+cake, 3 days");
    chat.wait_idle();
}

#[test]
fn interrupt_stops_the_run_and_a_second_one_quits() {
    let chat = Tmux::chat(&[]);
    chat.send("slow");
    chat.wait_for("One word");
    chat.keys(&["C-c"]);
    chat.wait_for("■ stopped");
    chat.send("hello");
    chat.wait_for("Hello! I am");
    chat.wait_idle();
    chat.keys(&["C-c"]);
    chat.wait_for("Ctrl-C again to quit");
    chat.keys(&["C-c"]);
    assert_eq!(chat.wait_exit(), 0);
}

#[test]
fn undo_gives_the_message_back_and_retry_and_fork_continue() {
    let chat = Tmux::chat(&[]);
    chat.send("my secret word");
    chat.wait_for("You wrote 3 words");
    chat.wait_idle();
    chat.send("/undo");
    chat.wait("the message at the prompt", |shown| {
        shown.contains("the last turn is undone") && shown.matches("› my secret word").count() == 2
    });
    chat.keys(&["C-u"]);
    chat.send("what did I say?");
    chat.wait_for("Nothing yet: this is your first message.");
    chat.wait_idle();
    chat.send("/retry");
    chat.wait("a second answer", |shown| shown.matches("Nothing yet: this is").count() == 2);
    chat.wait_idle();
    chat.send("/fork");
    chat.wait_for("continuing in the copy");
    chat.send("/sessions");
    let shown = chat.wait_for("/sessions N opens one");
    assert!(shown.contains("❯ ") && shown.contains(" 2. "), "{shown}");
    chat.send("/stopp");
    chat.wait_for("did you mean `/stop`?");
}

#[test]
fn resized_terminal_has_one_prompt_and_no_remains() {
    let chat = Tmux::chat_with(&[], &[("HEADWATER_DEMO_PACE", "60ms")]);
    chat.send("long");
    chat.wait_for("Ctrl-C to stop");
    for (width, height) in [(50, 20), (120, 30), (44, 14), (80, 24)] {
        // tmux reports sizes that follow each other quickly late, so the chat draws for a while first.
        let before = seconds(&chat.text());
        chat.wait("a later second", |shown| seconds(shown) != before);
        chat.resize(width, height);
        // The frame of the new size has the text that was typed since.
        chat.write("x");
        chat.wait("one prompt", |shown| shown.contains("› x") && shown.matches("/help").count() == 1);
        chat.keys(&["BSpace"]);
    }
    chat.wait_for("questions:");
    let shown = chat.wait_idle();
    assert_eq!(shown.matches("/help").count(), 1, "{shown}");
    assert_eq!(shown.matches("Ctrl-C to stop").count(), 0, "{shown}");
    for text in ["› long", "They want something to read"] {
        assert_eq!(shown.matches(text).count(), 1, "{shown}");
    }
}

/// How long the run lasts, as the status line shows it.
fn seconds(shown: &str) -> Option<String> {
    let (start, _) = shown.rsplit_once(" s · Ctrl-C to stop")?;
    start.split_whitespace().last().map(str::to_owned)
}

#[test]
fn run_is_detached_and_attached_again() {
    let folder = tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &[]);
    let url = format!("http://{}", server.address);
    let chat = Tmux::chat(&[&url]);
    chat.send("slow");
    chat.wait_for("One word");
    chat.send("/detach");
    let shown = chat.wait_for("detached: `/attach ");
    let run = shown.split("`/attach ").nth(1).unwrap().split('`').next().unwrap().to_owned();
    chat.wait_idle();
    let other = Tmux::chat(&[&url]);
    other.send(&format!("/attach {run}"));
    other.wait_for("› slow");
    other.wait_for("nothing is lost.");
    other.wait_idle();
    other.send("/quit");
    assert_eq!(other.wait_exit(), 0);
    other.wait_for("continues this session");
}

#[test]
fn session_is_opened_with_its_messages() {
    let folder = tempdir().unwrap();
    let server = Server::start(&folder.path().join("data"), &[]);
    let url = format!("http://{}", server.address);
    let chat = Tmux::chat(&[&url, "--session", "tea"]);
    chat.wait_for("session tea");
    chat.send("remember tea");
    chat.wait_for("You wrote 2 words");
    chat.wait_idle();
    let other = Tmux::chat(&[&url, "--session", "tea"]);
    let shown = other.wait_for("You wrote 2 words");
    assert!(shown.contains("› remember tea"), "{shown}");
    other.send("what did I say?");
    other.wait_for("│ remember tea");
}

#[test]
fn killed_server_is_reconnected_to() {
    let folder = tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start(&data, &["--lease", "1s"]);
    let address = server.address.clone();
    let chat = Tmux::chat(&[&format!("http://{address}")]);
    chat.send("slow");
    chat.wait_for("One word");
    server.kill();
    chat.wait_for("connection lost, retrying");
    let _again = Server::start_on(&address, &data, &["--lease", "1s"]);
    chat.wait_for("connected again");
    chat.wait_for("nothing is lost.");
    chat.wait_idle();
}

#[test]
fn failures_are_shown_and_a_retracted_attempt_is_named() {
    let chat = Tmux::chat(&[]);
    chat.send("error");
    chat.wait_for("✗ the demo was asked to fail");
    chat.wait_idle();
    chat.send("/agents flaky");
    chat.wait_for("Fails over");
    chat.send("hi");
    chat.wait_for("trying again");
    let shown = chat.wait_for("You said: hi");
    assert!(shown.contains('↺'), "{shown}");
}

#[test]
fn without_colour_there_are_no_styles() {
    for (args, variables) in [(&["--color", "never"][..], &[][..]), (&[], &[("NO_COLOR", "1")])] {
        let chat = Tmux::chat_with(args, variables);
        chat.send("hello");
        chat.wait_for("Hello! I am");
        chat.wait_idle();
        let styled = chat.styled();
        assert!(!styled.contains('\u{1B}'), "{styled:?}");
        assert!(styled.contains("• `table` for a table"), "{styled}");
    }
    let chat = Tmux::chat(&[]);
    chat.wait_for("other agents");
    assert!(chat.styled().contains("\u{1B}["), "colours are on by default");
}

#[cfg(target_os = "linux")]
#[test]
fn closed_terminal_ends_the_chat() {
    let chat = Tmux::chat(&[]);
    chat.send("slow");
    chat.wait_for("One word");
    let process = format!("/proc/{}", chat.pid());
    assert!(Path::new(&process).exists());
    chat.close();
    let begin = std::time::Instant::now();
    while Path::new(&process).exists() {
        assert!(begin.elapsed().as_secs() < 60, "the process is still there");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
