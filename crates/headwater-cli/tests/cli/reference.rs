//! `docs/cli.md` lists every command with its options. `HEADWATER_BLESS=1` writes it anew.

use std::{fmt::Write as _, fs, path::Path};

use clap::{Arg, Command};

const BEGIN: &str = "<!-- generated: commands -->\n";
const END: &str = "<!-- /generated -->";

#[test]
fn reference_lists_every_command() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    let mut expected = String::new();
    let mut root = headwater_cli::command_line();
    root.build();
    for command in commands(&root) {
        describe(command, &format!("headwater {}", command.get_name()), &mut expected);
    }
    let help = root.get_after_help().unwrap().to_string();
    let codes = help.split_once("Exit codes:\n").unwrap().1.trim_end();
    write!(expected, "\n## Exit codes\n\n```text\n{codes}\n```\n\n").unwrap();
    if std::env::var_os("HEADWATER_BLESS").is_some() {
        fs::write(&page, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(
        written, expected,
        "write it with `HEADWATER_BLESS=1 cargo test -p headwater-command --test cli reference`"
    );
}

fn commands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| command.get_name() != "help" && !command.is_hide_set())
}

/// The section of a command, then those of its subcommands.
fn describe(command: &Command, name: &str, out: &mut String) {
    let about = command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string);
    write!(out, "\n## `{name}`\n\n{}\n", about.unwrap_or_default().trim_end()).unwrap();
    if command.has_subcommands() {
        for command in commands(command) {
            describe(command, &format!("{name} {}", command.get_name()), out);
        }
        return;
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").split_whitespace().collect::<Vec<_>>().join(" ");
    write!(out, "\n```text\n{usage}\n```\n").unwrap();
    let own =
        |arg: &&Arg| !arg.is_hide_set() && !["help", "version", "color"].contains(&arg.get_id().as_str());
    let arguments: Vec<_> = command.get_arguments().filter(own).collect();
    if arguments.is_empty() {
        return;
    }
    out.push_str("\n| argument | does |\n| --- | --- |\n");
    for positional in [true, false] {
        for arg in arguments.iter().filter(|arg| arg.is_positional() == positional) {
            writeln!(out, "| `{}` | {} |", escaped(&shape(arg)), escaped(&meaning(arg))).unwrap();
        }
    }
}

/// How an argument is written: `FILE`, `-o, --output FILE`.
fn shape(arg: &Arg) -> String {
    let takes_value = arg.get_action().takes_values();
    let values: Vec<_> = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let values = if values.is_empty() { arg.get_id().as_str().to_uppercase() } else { values.join(" ") };
    let mut names: Vec<String> = arg.get_short().map(|short| format!("-{short}")).into_iter().collect();
    names.extend(arg.get_long().map(|long| format!("--{long}")));
    let names = names.join(", ");
    match (arg.is_positional(), takes_value) {
        (true, _) => values,
        (false, true) => format!("{names} {values}"),
        (false, false) => names,
    }
}

/// The help of an argument, with its default, its values and its variable.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = help.split_whitespace().collect::<Vec<_>>().join(" ");
    // clap removes the full stop of the last sentence.
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    let quoted = |values: &mut dyn Iterator<Item = String>| {
        values.map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
    };
    if arg.get_action().takes_values() {
        let possible = arg.get_possible_values();
        let mut names =
            possible.iter().filter(|value| !value.is_hide_set()).map(|value| value.get_name().to_owned());
        let names = quoted(&mut names);
        if !names.is_empty() {
            text.push_str(&format!(" One of {names}."));
        }
        let mut defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned());
        let defaults = quoted(&mut defaults);
        if !defaults.is_empty() {
            text.push_str(&format!(" Default: {defaults}."));
        }
    }
    if let Some(variable) = arg.get_env() {
        text.push_str(&format!(" Also `${}`.", variable.to_string_lossy()));
    }
    text
}

/// A text for a cell of a table.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
