//! The `headwater` command: looks at the streams of AI agents, checks them, turns one dialect into another, and checks
//! the files that describe agents.

mod args;
mod commands;
mod config;
mod demo;
mod failure;
mod input;
mod recognise;
mod serve;
mod style;
mod walk;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;
use failure::Verdict;

/// Reads, checks and converts the streams that AI agents send to chat UIs, and checks the files that describe agents.
#[derive(Debug, Parser)]
#[command(name = "headwater", version, after_help = EXIT_CODES, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// When to use colours; `auto` heeds `NO_COLOR` and `CLICOLOR_FORCE`.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: args::Color,
}

const EXIT_CODES: &str = "\
A command reads FILE, or standard input if there is none or it is `-`: Server-Sent Events, JSON lines, \
or one JSON array of chunks; extract reads one JSON document; check reads the files that describe agents.

Exit codes:
  0  all is well
  1  the stream is at fault: it breaks a rule (lint), it was cut (inspect, convert, extract),
     it is not JSON (extract), or its own client would have given up on it (inspect, convert, reduce);
     or an agent's file is at fault (check)
  2  the command was used wrongly, or its input could not be read";

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help for a reader that has gone is not worth an error.
            let _ = error.print();
            return ExitCode::from(u8::from(error.use_stderr()) * 2);
        }
    };
    cli.color.apply();
    match cli.command.run() {
        Ok(Verdict::Sound) => ExitCode::SUCCESS,
        Ok(Verdict::AtFault) => ExitCode::from(1),
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            style::error(&failure);
            ExitCode::from(2)
        }
    }
}
