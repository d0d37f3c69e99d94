//! `headwater new`: what it writes works.

use std::{fs, path::Path, process::Command};

use crate::server::command;

#[test]
fn new_agent_is_sound_and_never_overwrites() {
    let folder = tempfile::tempdir().unwrap();
    let new = |args: &[&str]| command().arg("new").args(args).current_dir(folder.path()).output().unwrap();
    assert!(new(&["hello"]).status.success());
    let checked = command().args(["check", "hello.yaml"]).current_dir(folder.path()).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    let again = new(&["hello"]);
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("hello.yaml already exists"));
    let named = new(&["hello.yaml"]);
    assert!(String::from_utf8_lossy(&named.stderr).contains("without an ending"));
}

/// The program, with the change that is needed before a release: what the command says about it is done here.
#[test]
fn new_program_compiles_against_the_checkout() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new-program");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let written = command().args(["new", "starter", "--rust"]).current_dir(&folder).output().unwrap();
    let printed = String::from_utf8(written.stdout).unwrap();
    assert!(written.status.success() && printed.contains("cd starter && cargo run"), "{printed}");

    let (_, hint) = printed.split_once("replace `").unwrap();
    let (version, rest) = hint.split_once("` by `").unwrap();
    let repository = fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
    let path = rest.split_once('`').unwrap().0.replace("CHECKOUT", repository.to_str().unwrap());
    let manifest = folder.join("starter/Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let line = text.lines().find(|line| line.starts_with("headwater = ")).unwrap();
    assert!(line.contains(version), "{line} has no {version}");
    // A workspace of its own: the test's folder lies in one.
    let changed = format!("{}\n[workspace]\n", text.replace(line, &line.replace(version, &path)));
    fs::write(&manifest, changed).unwrap();
    // The versions that the rest of the tests have, since nothing is downloaded.
    fs::copy(repository.join("Cargo.lock"), folder.join("starter/Cargo.lock")).unwrap();
    let checked = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--quiet", "--color", "never"])
        .current_dir(folder.join("starter"))
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("fresh-target"))
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}
