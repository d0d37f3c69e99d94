//! Commands that begin with a slash.

/// A command typed at the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SlashCommand {
    Stop,
    Detach,
    Attach(String),
    Undo,
    Retry,
    Fork,
    New,
    /// Lists the sessions, or opens one by its number in the list or its id.
    Sessions(Option<String>),
    /// Lists the agents, or begins a session with one.
    Agents(Option<String>),
    Tools,
    Decline,
    Help,
    Quit,
}

/// Name, argument and meaning of each command.
const COMMANDS: [(&str, &str, &str); 13] = [
    ("stop", "", "stop the run (Ctrl-C)"),
    ("detach", "", "leave the run running"),
    ("attach", "RUN", "follow a run from its beginning"),
    ("undo", "", "undo the last turn; its message is at the prompt again"),
    ("retry", "", "answer the last message again"),
    ("fork", "", "continue in a copy of this session"),
    ("new", "", "begin a new session"),
    ("sessions", "[N]", "list sessions, or open one"),
    ("agents", "[NAME]", "list agents, or talk to one"),
    ("tools", "", "show the tool calls of the last run in full"),
    ("decline", "", "do not answer the question"),
    ("help", "", "show this list"),
    ("quit", "", "leave (Ctrl-D)"),
];

/// Reads a line that begins with a slash. A path or a second slash makes it a message: that is `None`.
pub(super) fn parse(line: &str) -> Option<Result<SlashCommand, String>> {
    let mut words = line.trim().strip_prefix('/')?.splitn(2, char::is_whitespace);
    let name = words.next().unwrap_or_default();
    let argument = words.next().map(str::trim).filter(|argument| !argument.is_empty());
    if name.contains('/') {
        return None;
    }
    let some = argument.map(str::to_owned);
    let command = match (name, argument) {
        ("attach", None) => return Some(Err("which run? `/attach RUN`".to_owned())),
        ("attach", Some(run)) => SlashCommand::Attach(run.to_owned()),
        ("sessions" | "session", _) => SlashCommand::Sessions(some),
        ("agents" | "agent", _) => SlashCommand::Agents(some),
        ("stop", None) => SlashCommand::Stop,
        ("detach", None) => SlashCommand::Detach,
        ("undo", None) => SlashCommand::Undo,
        ("retry", None) => SlashCommand::Retry,
        ("fork", None) => SlashCommand::Fork,
        ("new", None) => SlashCommand::New,
        ("tools", None) => SlashCommand::Tools,
        ("decline", None) => SlashCommand::Decline,
        ("help", None) => SlashCommand::Help,
        ("quit" | "exit", None) => SlashCommand::Quit,
        (name, Some(_)) if COMMANDS.iter().any(|(known, ..)| *known == name) => {
            return Some(Err(format!("`/{name}` takes no argument")));
        }
        (name, _) => {
            let names = COMMANDS.iter().map(|(name, ..)| *name);
            let hint = headwater_models::nearest(name, names).map(|near| format!("did you mean `/{near}`? "));
            let hint = hint.unwrap_or_default();
            return Some(Err(format!("unknown command `/{name}`: {hint}`/help` lists them")));
        }
    };
    Some(Ok(command))
}

/// The commands as two columns: how they are typed, and what they do.
pub(super) fn help() -> impl Iterator<Item = (String, &'static str)> {
    COMMANDS
        .iter()
        .map(|(name, argument, meaning)| (format!("/{name} {argument}").trim_end().to_owned(), *meaning))
}

/// The rest of the command that begins with this text, if there is only one.
pub(super) fn complete(text: &str) -> Option<String> {
    let begun = text.strip_prefix('/').filter(|begun| !begun.is_empty())?;
    let mut fitting = COMMANDS.iter().filter(|(name, ..)| name.starts_with(begun));
    match (fitting.next(), fitting.next()) {
        (Some((name, argument, _)), None) => {
            Some(format!("/{name}{}", if argument.is_empty() { "" } else { " " }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_of_the_list_is_read() {
        for (name, argument, _) in COMMANDS {
            assert!(matches!(parse(&format!("/{name} {argument}")), Some(Ok(_))), "/{name}");
        }
    }

    #[test]
    fn errors_suggest_the_command() {
        assert_eq!(
            parse("/stopp"),
            Some(Err("unknown command `/stopp`: did you mean `/stop`? `/help` lists them".into()))
        );
        assert_eq!(parse("/attach"), Some(Err("which run? `/attach RUN`".into())));
        assert_eq!(parse("/undo two"), Some(Err("`/undo` takes no argument".into())));
        assert_eq!(parse("/usr/bin is a path"), None);
        assert_eq!(parse("hello"), None);
    }

    #[test]
    fn one_fitting_name_is_completed() {
        assert_eq!(complete("/st"), Some("/stop".into()));
        assert_eq!(complete("/at"), Some("/attach ".into()));
        assert_eq!(complete("/"), None);
        assert_eq!(complete("hello"), None);
    }
}
