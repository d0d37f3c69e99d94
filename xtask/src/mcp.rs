//! The MCP servers under `conformance/mcp` that others wrote: installing them, and running our client's tests on them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{Failure, cargo, command, run};
use crate::report::{Counts, Outcome};
use crate::{test, tools, vendors};

/// Where the servers' versions are pinned.
const FOLDER: &str = "conformance/mcp";

/// Names the folder of the installed npm packages for the Rust tests.
const NODE: &str = "HEADWATER_MCP_NODE";

/// Names the Python that has the servers from PyPI for the Rust tests.
const PYTHON: &str = "HEADWATER_MCP_PYTHON";

/// The tests that run on them.
pub(crate) const TESTS: &str = "mcp::vendors::";

/// Runs our client's tests on servers that others wrote.
pub(crate) fn test(root: &Path) -> Result<Outcome, Failure> {
    let folder = root.join(FOLDER);
    vendors::install(&folder)?;
    let python = install_python(&folder, &root.join("target/mcp-venv"))?;
    // The whole workspace, so that nothing is built again with other features.
    let mut tests = cargo(root, &["test", "--workspace", "--test", "tools", "--", TESTS]);
    tests.env(NODE, folder.join("node_modules")).env(PYTHON, python);
    let finished = run(tests)?;
    let mut counts = test::count(&finished.output);
    if !finished.ok && counts.failed == 0 {
        counts.add(Counts::FAILED);
    }
    Ok(Outcome { counts, notes: Vec::new(), output: finished.output })
}

/// Installs what the requirements name, unless exactly that is installed, and gives the Python that has it.
fn install_python(folder: &Path, venv: &Path) -> Result<PathBuf, Failure> {
    tools::ensure(tools::PYTHON)?;
    let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let wanted = folder.join("requirements.txt");
    let installed = venv.join("installed-requirements.txt");
    let requirements = fs::read(&wanted)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", wanted.display())))?;
    if fs::read(&installed).is_ok_and(|known| known == requirements) {
        return Ok(python);
    }
    // What an older list installed would stay.
    let _ = fs::remove_dir_all(venv);
    let mut make = command(folder, "python3", &["-m", "venv"]);
    make.arg(venv);
    let mut install = command(folder, &python, &["-m", "pip", "install", "--quiet", "--no-input", "-r"]);
    install.arg(&wanted);
    for step in [make, install] {
        let finished = run(step)?;
        if !finished.ok {
            return Err(Failure::new(format!(
                "the servers from PyPI cannot be installed:\n{}",
                finished.output
            )));
        }
    }
    fs::write(&installed, requirements)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", installed.display())))?;
    Ok(python)
}
