//! The README's programs in crates of their own, with the dependencies that its `cargo add` lines name; and what
//! the compiler says about common mistakes there.
//!
//! The crates are checked in a workspace below `target/tmp`, which keeps what it compiled: the first run takes
//! a minute or two, later ones seconds.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "all of this is test code"
)]

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A mistake in a node or an agent, and what the compiler must say.
const MISTAKES: [(&str, &str, &[&str]); 5] = [
    ("node", "fn main() { let _ = Workflow::new(\"w\").node(\"n\", \"not a function\"); }", &["Fn(Cx, _)"]),
    (
        "question",
        "async fn ask(cx: Cx, _: ()) -> NodeResult { cx.interrupt(\"Which one?\").await?; Ok(Next::go()) }\nfn main() {}",
        &["`&str` is not a question", "ask with `Text::new(\"…\")`"],
    ),
    (
        "tool",
        "async fn f(x: u32) -> Result<u32, ToolError> { Ok(x) }\nfn main() { let _ = Tools::new().with(f); }",
        &["is not a tool", "`FunctionTool::new(\"name\", function)`"],
    ),
    (
        "store",
        "fn main() { let _ = Agent::builder().store(\"data\"); }",
        &["`&str` is not a store", "`Embedded::open(\"folder\")?`"],
    ),
    (
        "await",
        "async fn ask(cx: Cx, _: ()) -> NodeResult { cx.reason(\"writer\"); Ok(Next::go()) }\nfn main() {}",
        &["unused `ReasonHook` that must be used", "the model is not asked until it is awaited"],
    ),
];

struct FreshWorkspace(PathBuf);

impl FreshWorkspace {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(folder.join("crates"));
        fs::create_dir_all(folder.join("crates")).unwrap();
        fs::write(folder.join("Cargo.toml"), "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"3\"\n")
            .unwrap();
        // The versions that the rest of the tests have.
        fs::copy(repository().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        Self(folder)
    }

    /// Adds a crate with the dependencies of a `cargo add` line.
    fn add(&self, name: &str, line: &str, files: &[(String, String)]) {
        let folder = self.0.join("crates").join(name);
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{}",
            dependencies(line)
        );
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    }

    fn check(&self) -> (bool, String) {
        let done = Command::new(env!("CARGO"))
            .args(["check", "--offline", "--workspace", "--keep-going", "--quiet", "--color", "never"])
            .current_dir(&self.0)
            // Both tests share compiled dependencies.
            .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("fresh-target"))
            .output()
            .unwrap();
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    fs::read_to_string(repository().join("README.md")).unwrap()
}

/// The lines of a manifest for `cargo add a b --features a/x,b/y`. Crates of this workspace are taken from here.
fn dependencies(line: &str) -> String {
    let (names, features) = line.split_once(" --features ").unwrap_or((line, ""));
    let mut out = String::new();
    for name in names.split_whitespace() {
        let wanted = features.split(',').filter_map(|feature| feature.strip_prefix(&format!("{name}/")));
        let wanted: Vec<_> = wanted.collect();
        let path = repository().join("crates").join(name);
        let from = if name.starts_with("headwater") {
            format!("path = {:?}", fs::canonicalize(path).unwrap())
        } else {
            "version = \"*\"".to_owned()
        };
        writeln!(out, "{name} = {{ {from}, features = {wanted:?} }}").unwrap();
    }
    out
}

/// The `cargo add` lines of a text, each with the Rust blocks that follow it.
fn programs(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found = Vec::new();
    for part in text.split("$ cargo add ").skip(1) {
        let (line, rest) = part.split_once('\n').unwrap();
        let blocks = rest.split("\n```rust").skip(1).map(|block| {
            let (_, code) = block.split_once('\n').unwrap();
            code.split_once("\n```").unwrap().0
        });
        found.push((line, blocks.collect()));
    }
    found
}

#[test]
fn readme_programs_compile_in_fresh_crates() {
    let readme = readme();
    let programs = programs(&readme);
    assert_eq!(programs.len(), 2, "the README has an agent, and the protocol alone");
    let workspace = FreshWorkspace::new("fresh-crates");
    for (number, (line, blocks)) in programs.iter().enumerate() {
        assert!(!blocks.is_empty(), "no code follows `cargo add {line}`");
        let files: Vec<_> = blocks
            .iter()
            .enumerate()
            .map(|(block, code)| {
                let main = if code.contains("fn main()") { "" } else { "\nfn main() {}\n" };
                (format!("src/bin/program-{block}.rs"), format!("#![allow(dead_code)]\n{code}\n{main}"))
            })
            .collect();
        workspace.add(&format!("readme-{number}"), line, &files);
    }
    let (ok, output) = workspace.check();
    assert!(ok, "{output}");
}

#[test]
fn compiler_explains_common_mistakes() {
    let readme = readme();
    let (line, _) = programs(&readme)[0];
    for (name, code, expected) in MISTAKES {
        let workspace = FreshWorkspace::new("fresh-mistakes");
        let file = ("src/main.rs".to_owned(), format!("use headwater::prelude::*;\n{code}\n"));
        workspace.add(name, line, &[file]);
        let (_, output) = workspace.check();
        for phrase in expected {
            assert!(output.contains(phrase), "{name}: `{phrase}` is not in\n{output}");
        }
    }
}
