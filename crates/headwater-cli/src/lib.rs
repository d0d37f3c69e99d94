//! The `headwater` command: serves agents; inspects, checks and converts their streams; calls models;
//! validates agent files; replays recorded runs.
//!
//! [`main`] is the whole command line. A program adds its own agents to it:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use headwater_cli::ProgramAgents;
//! use headwater_runtime::{Agent, Cx, END, Next, NodeResult, START, Workflow};
//!
//! async fn greet(_cx: Cx, name: String) -> NodeResult {
//!     Ok(Next::message(format!("Hello {name}!")))
//! }
//!
//! fn main() -> ExitCode {
//!     headwater_cli::main(ProgramAgents::new().add("hello", |store| {
//!         let hello = Workflow::new("hello").node("greet", greet).edge(START, "greet").edge("greet", END).build()?;
//!         Agent::builder().name("hello").workflow(hello).store(store).build()
//!     }))
//! }
//! ```

mod agents;
mod args;
mod chat;
mod commands;
mod config;
mod decode_walk;
mod demo;
mod dialect_detection;
#[cfg(test)]
mod docs_tests;
mod failure;
mod input;
mod proxy;
mod serve;
mod server_args;
mod style;
mod text_table;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

pub use agents::ProgramAgents;

use commands::CliCommand;
use failure::ExitVerdict;

/// Serve AI agents to chat UIs; inspect, check and convert their streams; validate agent files.
#[derive(Debug, Parser)]
#[command(name = "headwater", version, after_help = EXIT_CODES, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,

    /// When to use colours; `auto` respects `NO_COLOR` and `CLICOLOR_FORCE`.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: args::Color,
}

const EXIT_CODES: &str = "\
A command reads FILE, or standard input if FILE is missing or `-`: Server-Sent Events, JSON lines, \
or one JSON array of chunks; extract reads one JSON document; check reads the files that describe agents.

Exit codes:
  0  all is well
  1  the stream is at fault: it breaks a rule (lint), it was cut (inspect, convert, extract),
     it is not JSON (extract), or its own client would have given up on it (inspect, convert, reduce);
     or an agent's file is at fault (check), or a model gave no answer (reason),
     or today's code does something else than the journal says (replay),
     or a store is damaged, could not be copied as a whole, or has no such run (store)
     or a run that was followed failed or was stopped (runs tail),
     or the server would not work as it is set up (doctor)
  2  the command was used wrongly, its input could not be read, or the server could not start
  3  the same command may succeed later: the server is not ready, cannot be reached or is overloaded,
     or its store stopped while it ran and `store_on_failure` is `exit` (serve)
  4  the server does not accept the key, or the key may not do this
  5  the server does not have it: no such run, session, question or agent
  6  it is not possible in the present state: the run has ended, the question is answered";

/// The command line, for documentation and packages.
#[doc(hidden)]
#[must_use]
pub fn command_line() -> clap::Command {
    Cli::command()
}

/// Runs the command line of this process, with the program's agents and those of files. Returns the exit
/// code.
#[must_use]
pub fn main(agents: ProgramAgents) -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Ignore the error: the reader of the help text may have closed its end.
            let _ = error.print();
            return ExitCode::from(u8::from(error.use_stderr()) * 2);
        }
    };
    cli.color.apply();
    match cli.command.run(&agents) {
        Ok(ExitVerdict::Sound) => ExitCode::SUCCESS,
        Ok(ExitVerdict::AtFault) => ExitCode::from(1),
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            style::error(&failure);
            ExitCode::from(failure.exit_code())
        }
    }
}
