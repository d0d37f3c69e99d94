//! `headwater replay`: a stored run against the file of its agent and against changed ones.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use headwater_runtime::{AgentFile, FileOptions, Start};
use headwater_store::embedded::Embedded;
use serde_json::json;

use crate::run::headwater;

const AGENT: &str = "name: greeter
models:
  m:
    script: { name: m, rules: [{ say: [{ text: 'Hello {input}' }] }] }
workflows:
  greet:
    start: say
    nodes:
      say: { reason: { model: m, system: Be kind. }, save: said }
      bye: { message: 'That was it.' }
    edges:
      - { from: say, to: bye }
";

/// A store with one run, and the file of its agent.
struct StoredRun {
    folder: tempfile::TempDir,
    run: String,
}

impl StoredRun {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("greeter.yaml");
        fs::write(&path, AGENT).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let run = runtime.block_on(async {
            let store = Arc::new(Embedded::open(folder.path().join("data")).unwrap());
            let agent = AgentFile::read(&path).unwrap().build(FileOptions::new(store)).unwrap();
            let run = agent.start(Start::new("Ada")).await.unwrap();
            run.outcome().await.unwrap();
            // The driver finishes shortly after the end was published.
            while agent.driving() > 0 {
                tokio::task::yield_now().await;
            }
            run.id().to_string()
        });
        Self { folder, run }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn changed(&self, from: &str, to: &str) -> String {
        assert!(AGENT.contains(from));
        let path = self.path("changed.yaml");
        fs::write(&path, AGENT.replace(from, to)).unwrap();
        text(&path)
    }
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn run_is_replayed_with_the_file_of_its_agent() {
    let kept = StoredRun::new();
    let (data, file) = (text(&kept.path("data")), text(&kept.path("greeter.yaml")));
    let ran = headwater(&["replay", &kept.run, &file, "--store", &data], "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("today's code does the same: 2 visits"), "{}", ran.stdout);

    let changed = kept.changed("Be kind.", "Be brief.");
    let ran = headwater(&["replay", &kept.run, &changed, "--store", &data, "--json"], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let told = ran.json();
    assert_eq!((&told["same"], &told["divergence"]["kind"]), (&json!(false), &json!("input")), "{told}");
    assert_eq!(told["divergence"]["asked"]["messages"][0]["content"], "Be brief.");

    let changed = kept.changed("That was it.", "Good bye.");
    let ran = headwater(&["replay", &kept.run, &changed, "--store", &data], "");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("That was it.") && ran.stdout.contains("Good bye."), "{}", ran.stdout);
}

#[test]
fn golden_files_of_every_dialect_are_written_and_compared() {
    let kept = StoredRun::new();
    let (data, file) = (text(&kept.path("data")), text(&kept.path("greeter.yaml")));
    let golden = text(&kept.path("golden"));
    let args = ["replay", &kept.run, &file, "--store", &data, "--golden", &golden, "--json"];
    let first = headwater(&args, "").json();
    let written = first["golden"]["written"].as_u64().unwrap();
    assert!(written > 6, "{first}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let folder = kept.path("golden").join(&kept.run);
        assert_eq!(mode(&folder), 0o700);
        assert!(fs::read_dir(&folder).unwrap().all(|file| mode(&file.unwrap().path()) == 0o600));
    }
    let second = headwater(&args, "").json();
    assert_eq!(
        second["golden"],
        json!({ "run": kept.run, "same": written, "written": 0, "differences": [] })
    );

    // Without the store and without the agent.
    let ran = headwater(&["replay", "--golden", &golden], "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let stream = kept.path("golden").join(&kept.run).join("kortyx.default.sse");
    let stream = if stream.exists() { stream } else { first_stream(&kept, "kortyx") };
    let before = fs::read_to_string(&stream).unwrap();
    assert!(before.contains("Hello"), "{before}");
    fs::write(&stream, before.replacen("Hello", "Hallo", 1)).unwrap();
    let ran = headwater(&["replay", "--golden", &golden], "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("kortyx.") && ran.stdout.contains("Hallo"), "{}", ran.stdout);
}

fn first_stream(kept: &StoredRun, dialect: &str) -> PathBuf {
    let files = fs::read_dir(kept.path("golden").join(&kept.run)).unwrap();
    let mut paths = files.map(|entry| entry.unwrap().path());
    paths.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(dialect)).unwrap()
}

#[test]
fn unreplayable_runs_are_reported() {
    let kept = StoredRun::new();
    let data = text(&kept.path("data"));
    let nowhere = text(&kept.path("nowhere"));
    for (args, says) in [
        (vec!["replay", "run_x", "--store", &data], "there is no run run_x in this store"),
        (vec!["replay", "run_x", "--store", &nowhere], "there is no such folder"),
        (
            vec!["replay", &kept.run, "--store", &data],
            "belongs to agent `greeter`, which is not known here (known: none)",
        ),
        (vec!["replay", "--golden", &nowhere], "there is no such file"),
        (vec!["replay"], "required"),
    ] {
        let ran = headwater(&args, "");
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{says:?} is not in {}", ran.stderr);
    }
}
