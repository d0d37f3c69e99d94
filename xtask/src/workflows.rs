//! Checks that what the GitHub workflows run exists: tasks with their arguments, scripts of npm, files and packages.

use std::fs;
use std::path::Path;

use clap::Parser as _;
use serde_json::Value;

use crate::{Arguments, root};

/// A step that runs commands.
struct WorkflowCommand {
    place: String,
    /// From the root of the repository.
    folder: String,
    line: String,
    /// Whether the job runs in a container, as root.
    in_container: bool,
}

/// All workflows, by their file names.
fn workflows() -> Vec<(String, Value)> {
    let folder = root().join(".github/workflows");
    let mut found: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let workflow = serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, workflow)
        })
        .collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

/// The commands of all steps, with each value of the matrix that they name.
fn commands() -> Vec<WorkflowCommand> {
    let mut commands = Vec::new();
    for (file, workflow) in workflows() {
        for (job, body) in workflow["jobs"].as_object().unwrap() {
            for step in body["steps"].as_array().unwrap() {
                let script = step["run"].as_str().unwrap_or_default();
                for line in
                    script.lines().flat_map(|line| line.split(" && ")).flat_map(|line| line.split("; "))
                {
                    for line in with_matrix(line, &body["strategy"]["matrix"]) {
                        commands.push(WorkflowCommand {
                            place: format!("{file}: {job}"),
                            folder: step["working-directory"].as_str().unwrap_or(".").to_owned(),
                            line: line.trim().trim_start_matches("do ").trim_matches(['(', ')']).to_owned(),
                            in_container: body["container"].is_string(),
                        });
                    }
                }
            }
        }
    }
    commands
}

/// The line with each value of the one list of a matrix.
fn with_matrix(line: &str, matrix: &Value) -> Vec<String> {
    for (name, values) in matrix.as_object().into_iter().flatten() {
        let place = format!("${{{{ matrix.{name} }}}}");
        if line.contains(&place) {
            let values = values.as_array().unwrap().iter();
            return values.map(|value| line.replace(&place, value.as_str().unwrap())).collect();
        }
    }
    vec![line.to_owned()]
}

/// Whether the root has this file. What a job downloads or builds is not there.
fn exists(path: &str) -> bool {
    Path::new(&root()).join(path).exists()
}

/// Whether the workspace has this package, by its lock file.
fn lock_names(package: &str) -> bool {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    lock.lines().any(|line| line == format!("name = \"{package}\""))
}

/// What is wrong with a command.
fn problem(command: &WorkflowCommand) -> Option<String> {
    let words: Vec<_> = command.line.split_whitespace().collect();
    match &words[..] {
        ["cargo", "xtask", "tools", ..] if !command.in_container => {
            Some("`cargo xtask tools` installs only as root: run the job in a container".to_owned())
        }
        ["cargo", "xtask", rest @ ..] => {
            Arguments::try_parse_from([&["cargo xtask"], rest].concat()).err().map(|error| error.to_string())
        }
        ["npm", "run", script, ..] => {
            let manifest = root().join(&command.folder).join("package.json");
            let manifest: Value = serde_json::from_str(&fs::read_to_string(manifest).unwrap()).unwrap();
            manifest["scripts"][script].is_null().then(|| format!("there is no script {script}"))
        }
        ["npm", "ci", ..] => {
            let lock = format!("{}/package-lock.json", command.folder);
            (!exists(&lock)).then(|| format!("there is no {lock}"))
        }
        ["node", file, ..] => (!exists(file)).then(|| format!("there is no {file}")),
        [file] if file.starts_with(".ci/") => (!exists(file)).then(|| format!("there is no {file}")),
        ["docker", "compose", "--file", file, ..] => (!exists(file)).then(|| format!("there is no {file}")),
        ["cargo", ..] => words
            .windows(2)
            .filter(|pair| pair[0] == "--exclude")
            .find_map(|pair| (!lock_names(pair[1])).then(|| format!("there is no package {}", pair[1]))),
        _ => None,
    }
}

#[test]
fn workflows_run_commands_that_exist() {
    let commands = commands();
    let problems: Vec<_> = commands
        .iter()
        .filter_map(|command| Some(format!("{}: {}: {}", command.place, command.line, problem(command)?)))
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
    let of = |begin: &str| commands.iter().filter(|command| command.line.starts_with(begin)).count();
    // Those that are looked at are found: the tasks of the matrix, the packages, the publication.
    assert!(of("cargo xtask") > 10, "{}", of("cargo xtask"));
    assert_eq!((of("npm ci"), of("npm run"), of("node web/npm/pack.mjs")), (1, 1, 3));
}

#[test]
fn unknown_commands_of_a_workflow_are_found() {
    let command = |line: &str, in_container| WorkflowCommand {
        place: String::new(),
        folder: "web".to_owned(),
        line: line.to_owned(),
        in_container,
    };
    for line in ["cargo xtask fautls 3", "cargo xtask faults many", "npm run no-such", "node web/no-such.mjs"]
    {
        assert!(problem(&command(line, true)).is_some(), "{line}");
    }
    assert!(problem(&command("cargo package --exclude no-such", true)).is_some());
    assert!(problem(&command("cargo xtask tools", false)).is_some());
    assert!(problem(&command("cargo xtask tools", true)).is_none());
}

/// A file that an action reads, and a checkout on Windows that has the link of the facade's guides.
#[test]
fn workflows_name_files_that_exist_and_check_out_links() {
    let mut files = 0;
    for (name, workflow) in workflows() {
        for (job, body) in workflow["jobs"].as_object().unwrap() {
            let steps = body["steps"].as_array().unwrap();
            for file in steps.iter().filter_map(|step| step["with"]["file"].as_str()) {
                assert!(exists(file), "{name}: there is no {file}");
                files += 1;
            }
            let runners = format!("{}{}", body["runs-on"], body["strategy"]["matrix"]);
            if runners.contains("windows") {
                let first = steps[0]["run"].as_str().unwrap_or_default();
                assert_eq!(first, "git config --global core.symlinks true", "{name}: {job}");
            }
        }
    }
    assert_eq!(files, 2);
    assert!(fs::symlink_metadata(root().join("crates/headwater/docs")).unwrap().is_symlink());
}
