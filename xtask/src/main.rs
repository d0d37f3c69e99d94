//! The commands that build, test and measure this workspace: `cargo xtask help` lists them.

mod bench;
mod command;
mod recorded;
mod report;
mod test;
mod tools;
mod vendors;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

/// The commands of this workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Check format and lints, run every test, and end with `N passed, N failed`
    Test {
        /// Parts to leave out, where a tool that they need cannot be had
        #[arg(long, value_delimiter = ',', value_name = "PART")]
        without: Vec<Optional>,
        /// Run only the tests whose name contains this
        filter: Option<String>,
    },
    /// Measure our code and the vendors' on the same streams, and print the ratios
    Bench {
        /// What to measure
        #[arg(default_value = "protocol")]
        subject: bench::Subject,
        /// Parts to leave out, where a tool that they need cannot be had
        #[arg(long, value_delimiter = ',', value_name = "PART")]
        without: Vec<Optional>,
    },
}

/// What can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Optional {
    /// Whatever needs Chromium
    Browser,
    /// Whatever needs a Redis server
    Redis,
    /// Whatever needs Node and the vendors' packages
    Vendors,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        Task::Test { without, filter } => test::run(&without, filter.as_deref()),
        Task::Bench { subject, without } => bench::run(subject, &without),
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            anstream::eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// The top of the working tree.
fn root() -> PathBuf {
    // `cargo run` names this package's folder; the one that was compiled in may belong to another checkout.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(|| package.clone(), Path::to_path_buf)
}
