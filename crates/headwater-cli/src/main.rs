//! The `headwater` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    headwater_cli::main(headwater_cli::Agents::new())
}
