//! The TypeScript packages under `web`: their types, their tests against recordings and a real server, their sizes.

use std::path::Path;

use crate::command::{Failure, command, run};
use crate::recorded::RecordedData;
use crate::report::{Counts, SuiteOutcome};
use crate::{clients, tools, vendors};

/// The scripts of `web/package.json` that run tests; the others hold or do not.
const TESTS: [&str; 5] = ["test:client", "test:mui", "test:react", "test:react-18", "test:npm"];

/// Those that judge the packages: their size, and how others find their modules and types.
const PUBLISHED: [&str; 2] = ["size", "packages"];

/// Checks, tests and measures the packages; in a real browser too, unless there is to be none.
pub(crate) fn test(root: &Path, recorded: &RecordedData, browser: bool) -> Result<SuiteOutcome, Failure> {
    let folder = root.join(clients::WEB_FOLDER);
    let chromium = browser.then(tools::chromium).transpose()?;
    vendors::install(&folder)?;
    let binary = clients::build(root)?;
    let (mut counts, mut output) = (Counts::default(), String::new());
    for script in ["check"].into_iter().chain(TESTS).chain(PUBLISHED) {
        let mut npm = command(&folder, "npm", &["run", "--silent", script]);
        recorded.pass_to(&mut npm);
        npm.env("HEADWATER_BINARY", &binary);
        npm.envs(chromium.as_ref().map(|chromium| ("CHROME", chromium)));
        // Newer versions of Node print another format unless they are asked.
        npm.env("NODE_OPTIONS", "--test-reporter=tap");
        let finished = run(npm)?;
        counts.add(match TESTS.contains(&script) {
            true => vendors::counted(&finished),
            false if finished.ok => Counts::PASSED,
            false => Counts::FAILED,
        });
        output.push_str(&finished.output);
    }
    let notes = output.lines().filter_map(|line| line.strip_prefix("# vectors: "));
    let notes = notes.filter(|note| note.contains(" rows, ")).map(|note| format!("web: {note}")).collect();
    Ok(SuiteOutcome { counts, notes, output })
}
