//! The systemd unit: systemd finds no fault with it, and its command runs as a user without rights.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use headwater_testkit::engines::left_out;

use super::file;
use crate::server::{ask, binary};

/// What `DynamicUser` gives a service: a user of nothing.
const NOBODY: u32 = 65_534;
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// The value of a line of the unit.
fn value<'a>(unit: &'a str, name: &str) -> &'a str {
    unit.lines().find_map(|line| line.strip_prefix(name)).unwrap()
}

#[test]
fn systemd_unit_is_valid() {
    if left_out("systemd") {
        return;
    }
    // The program is not installed where the unit expects it: a copy of the unit names the one under test.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("headwater.service");
    let program = binary();
    fs::write(
        &copy,
        file("headwater.service").replace("/usr/local/bin/headwater", program.to_str().unwrap()),
    )
    .unwrap();
    let verified = Command::new("systemd-analyze").arg("verify").arg(&copy).output().expect(
        "systemd-analyze is not on the PATH: install it (Debian: systemd), or set HEADWATER_WITHOUT=systemd to skip this test",
    );
    let complaints = String::from_utf8_lossy(&verified.stderr);
    let ours: Vec<_> = complaints.lines().filter(|line| line.contains("headwater.service")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

/// The service, as the unit starts it.
struct UnitService {
    child: Child,
    address: String,
}

impl UnitService {
    /// Starts the unit's command with the unit's settings, and with the folders of the test in place of the system's.
    fn start(unit: &str, folder: &Path) -> Self {
        let here = |text: &str| {
            text.replace("/usr/local/bin", &folder.join("bin").to_string_lossy())
                .replace("/etc/headwater", &folder.join("etc").to_string_lossy())
                .replace("/var/lib/headwater", &folder.join("state").to_string_lossy())
        };
        let umask = value(unit, "UMask=");
        let (variable, data) = value(unit, "Environment=").split_once('=').unwrap();
        let keys = here(value(unit, "EnvironmentFile=-"));
        let keys = fs::read_to_string(keys).unwrap();
        let (key, secret) = keys.trim().split_once('=').unwrap();
        let script = format!("umask {umask} && exec {}", here(value(unit, "ExecStart=")));
        let mut command =
            match fs::metadata("/proc/self").map(|process| std::os::unix::fs::MetadataExt::uid(&process)) {
                Ok(0) => {
                    let mut command = Command::new("setpriv");
                    let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
                    command.args(ids).args([
                        "--clear-groups",
                        "--no-new-privs",
                        "--bounding-set=-all",
                        "sh",
                        "-c",
                    ]);
                    command
                }
                _ => {
                    let mut command = Command::new("sh");
                    command.arg("-c");
                    command
                }
            };
        command
            .arg(script)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env(variable, here(data))
            .env(key, secret);
        let mut child =
            command.current_dir("/").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        while !greeting.contains("/v1/runs\n") {
            if out.read_line(&mut greeting).unwrap() == 0 {
                let mut errors = String::new();
                child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
                panic!("the service ended: {greeting}{errors}");
            }
        }
        // The rest goes nowhere, but a full pipe would stop the service.
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        let at = greeting.find("http://").unwrap() + 7;
        let address = greeting[at..].split_whitespace().next().unwrap().to_owned();
        Self { child, address }
    }

    /// Ends it as systemd does, and gives the exit code.
    fn terminate(&mut self) -> Option<i32> {
        let kill = format!("kill -TERM {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for UnitService {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with the program and the settings, in which the state is the service's alone.
fn installation() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name);
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(folder.path(), 0o755);
    for (name, access) in [("bin", 0o755), ("etc", 0o755), ("state", 0o700)] {
        fs::create_dir(of(name)).unwrap();
        mode(&of(name), access);
    }
    fs::copy(binary(), of("bin/headwater")).unwrap();
    mode(&of("bin/headwater"), 0o755);
    fs::write(of("etc/headwater.toml"), "listen = \"127.0.0.1:0\"\n").unwrap();
    mode(&of("etc/headwater.toml"), 0o644);
    // Only root can read it: the service gets it as its environment.
    fs::write(of("etc/keys.env"), format!("HEADWATER_API_KEYS=web={KEY}\n")).unwrap();
    mode(&of("etc/keys.env"), 0o600);
    // A test that is not root is the service's user itself.
    let _ = chown(of("state"), Some(NOBODY), Some(NOBODY));
    folder
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn command_of_the_unit_runs_as_an_unprivileged_user() {
    let (unit, folder) = (file("headwater.service"), installation());
    assert!(unit.contains("StateDirectoryMode=0700"));
    let mut service = UnitService::start(&unit, folder.path());
    let status = fs::read_to_string(format!("/proc/{}/status", service.child.id())).unwrap();
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
    if fs::metadata("/proc/1/mem").is_ok() && field("Uid:").starts_with(&NOBODY.to_string()) {
        assert_eq!(field("CapEff:"), "0000000000000000", "{status}");
    }
    assert!(!field("Uid:").split_whitespace().any(|id| id == "0"), "{status}");

    let key = ("x-api-key", KEY);
    let begin = r#"{"agent":"table","input":"planets"}"#;
    assert_eq!(ask(&service.address, "POST", "/v1/runs", &[], begin).status, 401);
    let begun = ask(&service.address, "POST", "/v1/runs", &[key], begin);
    assert_eq!(begun.status, 201, "{begun:?}");
    let run = begun.json()["run"].as_str().unwrap().to_owned();
    let events = ask(&service.address, "GET", &format!("/v1/runs/{run}/events"), &[key], "");
    assert!(events.body.contains("event: run-finished"), "{events:?}");
    assert_eq!(service.terminate(), Some(0));

    let kept = files(&folder.path().join("state"));
    assert!(!kept.is_empty());
    for path in kept {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} can be read by others: {mode:o}", path.display());
    }
}
