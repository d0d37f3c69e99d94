//! Agent files: found in folders, reloaded, and kept when they break.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use headwater_models::Models;
use headwater_runtime::AgentOptions;
use headwater_store::{Memory, Store};

use super::agents::{AgentFileChange, AgentFiles};

fn load(paths: &[&Path]) -> Result<AgentFiles, String> {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    AgentFiles::load(&paths, &store, Models::new(), AgentOptions::default())
        .map_err(|failure| failure.to_string())
}

fn agent(name: &str, said: &str) -> String {
    format!("name: {name}\nworkflows: {{ w: {{ start: n, nodes: {{ n: {{ message: {said} }} }} }} }}\n")
}

fn names(files: &AgentFiles) -> Vec<&str> {
    files.loaded().iter().map(|loaded| loaded.file.name()).collect()
}

#[test]
fn folder_yields_agents_but_not_included_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("b.yaml", &agent("b", "hi"));
    write("a.yml", &format!("include: [parts.yaml]\n{}", agent("a", "hi")));
    write("parts.yaml", "models: { m: \"openai:gpt-5\" }\n");
    write("notes.txt", "no agent");
    // No agent uses the model of this part, so no key is needed.
    write("parts.yaml", "models: { m: { script: { name: m } } }\n");
    let mut files = load(&[folder.path()]).unwrap();
    assert_eq!(names(&files), ["a", "b"]);
    assert!(files.changes().is_empty(), "nothing has changed");
}

#[test]
fn changed_file_is_reloaded_and_broken_file_is_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    fs::write(&path, agent("a", "hi")).unwrap();
    let mut files = load(&[&path]).unwrap();
    let version =
        |files: &AgentFiles| files.loaded()[0].file.workflows().next().unwrap().version().to_owned();
    let first = version(&files);

    fs::write(&path, "name: a\nworkflow: {}\n").unwrap();
    let changes = files.changes();
    assert!(
        matches!(&changes[..], [AgentFileChange::Broken(why)] if why.contains("did you mean `workflows`?")),
        "{changes:?}"
    );
    assert!(files.changes().is_empty(), "the same error is not reported twice");
    assert_eq!(version(&files), first, "the old version stays");

    fs::write(&path, agent("a", "good day")).unwrap();
    let changes = files.changes();
    assert!(
        matches!(&changes[..], [AgentFileChange::Loaded(loaded)] if loaded.agent.workflows().count() == 1)
    );
    assert_ne!(version(&files), first);

    fs::write(&path, agent("other", "good day to you")).unwrap();
    let changes = files.changes();
    assert!(
        matches!(&changes[..], [AgentFileChange::Broken(why)] if why.contains("restart the server to rename it"))
    );

    fs::remove_file(&path).unwrap();
    assert!(files.changes().is_empty(), "a file that is being replaced is waited for");
}

#[test]
fn changed_include_reloads_the_agent() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("parts.yaml");
    fs::write(&parts, "models: { m: { script: { name: m } } }\n").unwrap();
    fs::write(folder.path().join("a.yaml"), format!("include: [parts.yaml]\n{}", agent("a", "hi"))).unwrap();
    let mut files = load(&[folder.path()]).unwrap();
    fs::write(&parts, "models: { m: { script: { name: another } } }\n").unwrap();
    assert!(matches!(&files.changes()[..], [AgentFileChange::Loaded(_)]));
    fs::write(folder.path().join("b.yaml"), agent("b", "hi")).unwrap();
    assert!(matches!(&files.changes()[..], [AgentFileChange::Loaded(loaded)] if loaded.file.name() == "b"));
    assert_eq!(names(&files), ["a", "b"]);
}

#[test]
fn duplicate_names_and_empty_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = load(&[folder.path()]).unwrap_err();
    assert!(wrong.contains("no agent file in"), "{wrong}");
    fs::write(folder.path().join("a.yaml"), agent("a", "hi")).unwrap();
    fs::write(folder.path().join("b.yaml"), agent("a", "hi")).unwrap();
    let wrong = load(&[folder.path()]).unwrap_err();
    assert!(wrong.contains("agent `a` is already defined"), "{wrong}");
    let wrong = load(&[Path::new("no/such.yaml")]).unwrap_err();
    assert_eq!(wrong, "no/such.yaml: there is no such file");
}

#[test]
fn deleted_file_removes_agent_and_moved_file_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a.yaml"), folder.path().join("b.yaml"));
    fs::write(&first, agent("a", "hi")).unwrap();
    let mut files = load(&[folder.path()]).unwrap();

    fs::rename(&first, &second).unwrap();
    assert!(matches!(&files.changes()[..], [AgentFileChange::Loaded(loaded)] if loaded.path == second));
    assert!(files.changes().is_empty());
    assert_eq!(names(&files), ["a"]);

    fs::remove_file(&second).unwrap();
    assert!(files.changes().is_empty(), "the file may be being rewritten");
    assert!(matches!(&files.changes()[..], [AgentFileChange::Removed(name)] if name == "a"));
    assert!(files.changes().is_empty(), "reported once");
    fs::write(&second, agent("a", "hi")).unwrap();
    assert!(matches!(&files.changes()[..], [AgentFileChange::Loaded(_)]), "it is back");
}
