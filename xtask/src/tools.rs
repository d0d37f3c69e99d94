//! The programs that some parts need besides cargo. What is on the PATH is used; as root on Debian a missing one is
//! installed; elsewhere the message names it and how to continue without it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Optional;
use crate::command::{Failure, command, run};

/// One program, and where it comes from.
#[derive(Debug)]
pub(crate) struct RequiredTool {
    /// Its name on the PATH.
    program: &'static str,
    /// The Debian package that holds it.
    package: &'static str,
    /// What it must be able to do; its version is read from what it prints.
    probe: &'static [&'static str],
    /// The oldest major version that will do.
    oldest: Option<u32>,
    /// The part of `--without` that continues without it.
    part: Option<&'static str>,
    /// Where it is when it is not on the PATH: in such a folder of each version.
    versions: Option<&'static str>,
    /// Whether the package starts a service. The tests start servers of their own.
    service: bool,
}

impl RequiredTool {
    const fn new(program: &'static str, package: &'static str) -> Self {
        Self { program, package, probe: VERSION, oldest: None, part: None, versions: None, service: false }
    }
}

/// What runs the lines of the README.
pub(crate) const CURL: &[RequiredTool] = &[RequiredTool::new("curl", "curl")];

/// The terminal in which the chat is tested. Its version has a flag of its own.
const TMUX: &[RequiredTool] = &[RequiredTool { probe: &["-V"], ..RequiredTool::new("tmux", "tmux") }];

/// What the vendors' clients run on.
pub(crate) const NODE: &[RequiredTool] = &[
    RequiredTool { oldest: Some(20), part: Some("vendors,browser"), ..RequiredTool::new("node", "nodejs") },
    RequiredTool { part: Some("vendors,browser"), ..RequiredTool::new("npm", "npm") },
];

/// What packages from PyPI run on. Debian keeps a part of Python's own library, `venv`, in a package of its own.
pub(crate) const PYTHON: &[RequiredTool] = &[RequiredTool {
    probe: &["-c", "import ensurepip, venv"],
    part: Some("vendors"),
    ..RequiredTool::new("python3", "python3-venv")
}];

/// The servers that the stores for several machines are tested on.
const REDIS: &[RequiredTool] = &[RequiredTool {
    part: Some("redis"),
    service: true,
    ..RequiredTool::new("redis-server", "redis-server")
}];
const POSTGRES: &[RequiredTool] = &[
    RequiredTool {
        part: Some("postgres"),
        versions: Some("/usr/lib/postgresql"),
        service: true,
        ..RequiredTool::new("postgres", "postgresql")
    },
    RequiredTool { part: Some("postgres"), service: true, ..RequiredTool::new("pgbouncer", "pgbouncer") },
];

/// What gives a node another time of day.
const FAKETIME: &[RequiredTool] =
    &[RequiredTool { part: Some("clocks"), ..RequiredTool::new("faketime", "faketime") }];

/// What judges the systemd unit.
const SYSTEMD: &[RequiredTool] =
    &[RequiredTool { part: Some("systemd"), ..RequiredTool::new("systemd-analyze", "systemd") }];

/// What shows the page.
const CHROMIUM: RequiredTool =
    RequiredTool { part: Some("browser"), ..RequiredTool::new("chromium", "chromium") };

/// Other names of the same program.
const CHROMIUMS: [&str; 3] = [CHROMIUM.program, "chromium-browser", "google-chrome"];

const VERSION: &[&str] = &["--version"];

/// Makes sure that every one of `tools` can be run.
pub(crate) fn ensure(tools: &[RequiredTool]) -> Result<(), Failure> {
    tools.iter().try_for_each(RequiredTool::ensure)
}

/// Makes sure of everything that the tests need, but for the parts that are left out.
pub(crate) fn ensure_all(without: &[Optional]) -> Result<(), Failure> {
    let wanted = |part| !without.contains(&part);
    ensure(CURL)?;
    ensure(TMUX)?;
    if wanted(Optional::Vendors) {
        ensure(NODE)?;
        ensure(PYTHON)?;
    }
    if wanted(Optional::Browser) {
        chromium()?;
    }
    ensure_systemd(without)?;
    ensure_engines(without)
}

/// Makes sure of what judges the systemd unit, unless it is left out.
pub(crate) fn ensure_systemd(without: &[Optional]) -> Result<(), Failure> {
    if without.contains(&Optional::Systemd) { Ok(()) } else { ensure(SYSTEMD) }
}

/// Makes sure of what stores and clusters are tested with, except those left out.
pub(crate) fn ensure_engines(without: &[Optional]) -> Result<(), Failure> {
    let parts = [(Optional::Redis, REDIS), (Optional::Postgres, POSTGRES), (Optional::Clocks, FAKETIME)];
    for (part, tools) in parts {
        if !without.contains(&part) {
            ensure(tools)?;
        }
    }
    Ok(())
}

/// Where Chromium is: what `CHROME` names, or what is on the PATH.
pub(crate) fn chromium() -> Result<PathBuf, Failure> {
    if let Some(named) = env::var_os("CHROME") {
        return Ok(named.into());
    }
    if let Some(found) = CHROMIUMS.iter().find_map(|name| on_path(name)) {
        return Ok(found);
    }
    CHROMIUM.ensure()?;
    on_path(CHROMIUM.program).ok_or_else(|| CHROMIUM.missing("is not on the PATH"))
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Adds a target to the toolchain, unless it is there.
pub(crate) fn ensure_target(folder: &Path, target: &str) -> Result<(), Failure> {
    // Without rustup the toolchain came some other way, and the build itself shows whether it has the target.
    let Ok(listed) = run(command(folder, "rustup", &["target", "list", "--installed"])) else {
        return Ok(());
    };
    if listed.output.lines().any(|line| line == target) {
        return Ok(());
    }
    let added = run(command(folder, "rustup", &["target", "add", target]))?;
    if added.ok { Ok(()) } else { Err(Failure::new(added.output)) }
}

/// Installs what the requirements name, unless exactly that is installed, and gives the Python that has it.
pub(crate) fn install_python(folder: &Path, venv: &Path) -> Result<PathBuf, Failure> {
    ensure(PYTHON)?;
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
                "what {} names cannot be installed from PyPI:\n{}",
                wanted.display(),
                finished.output
            )));
        }
    }
    fs::write(&installed, requirements)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", installed.display())))?;
    Ok(python)
}

impl RequiredTool {
    fn ensure(&self) -> Result<(), Failure> {
        if self.version().is_none() && may_install() {
            self.install()?;
        }
        let Some(version) = self.version() else {
            return Err(self.missing("is not on the PATH, or not whole"));
        };
        match (self.oldest, major(&version)) {
            (Some(oldest), Some(found)) if found < oldest => {
                Err(self.missing(&format!("is version {found}, and {oldest} is the oldest that will do")))
            }
            _ => Ok(()),
        }
    }

    fn version(&self) -> Option<String> {
        let probe = |program: &Path| {
            let finished = run(command(Path::new("."), program, self.probe)).ok()?;
            finished.ok.then_some(finished.output)
        };
        let installed = self.versions.into_iter().flat_map(fs::read_dir).flatten().filter_map(Result::ok);
        let elsewhere = installed.map(|version| version.path().join("bin").join(self.program));
        std::iter::once(PathBuf::from(self.program)).chain(elsewhere).find_map(|program| probe(&program))
    }

    fn install(&self) -> Result<(), Failure> {
        let _quiet = if self.service { Some(NoServices::hold()?) } else { None };
        let steps: [&[&str]; 2] =
            [&["update", "-q"], &["install", "-q", "-y", "--no-install-recommends", self.package]];
        for args in steps {
            let mut apt = command(Path::new("."), "apt-get", args);
            apt.env("DEBIAN_FRONTEND", "noninteractive");
            let finished = run(apt)?;
            if !finished.ok {
                let why = format!("is missing, and apt-get failed:\n{}", finished.output);
                return Err(self.missing(&why));
            }
        }
        Ok(())
    }

    fn missing(&self, why: &str) -> Failure {
        let Self { program, package, part, .. } = self;
        let without = part.map(|part| format!(", or continue with --without {part}")).unwrap_or_default();
        Failure::new(format!("{program} {why}: install it (Debian: {package}){without}"))
    }
}

/// Packages are installed only for root on Debian: that is a container or a CI machine, not a developer's machine.
fn may_install() -> bool {
    let root = run(command(Path::new("."), "id", &["-u"])).is_ok_and(|id| id.output.trim() == "0");
    root && Path::new("/etc/debian_version").exists()
}

/// Keeps packages from starting their services while it lives, by Debian's own rule: a file that is asked first.
#[derive(Debug)]
struct NoServices {
    /// Only set if the file was made here: a container's image often has one already.
    made: Option<&'static Path>,
}

impl NoServices {
    fn hold() -> Result<Self, Failure> {
        let rule = Path::new("/usr/sbin/policy-rc.d");
        if rule.exists() {
            return Ok(Self { made: None });
        }
        let write = || {
            // 101 means that the action is forbidden.
            fs::write(rule, "#!/bin/sh\nexit 101\n")?;
            #[cfg(unix)]
            fs::set_permissions(rule, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
            Ok(Self { made: Some(rule) })
        };
        write().map_err(|error: std::io::Error| {
            Failure::new(format!("cannot write {}: {error}", rule.display()))
        })
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if let Some(rule) = self.made {
            let _ = fs::remove_file(rule);
        }
    }
}

fn major(version: &str) -> Option<u32> {
    let digits = version.trim().trim_start_matches('v');
    digits.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn major_version_is_read_with_or_without_its_v() {
        assert_eq!(major("v20.20.2\n"), Some(20));
        assert_eq!(major("11.19.1"), Some(11));
        assert_eq!(major("unknown"), None);
    }

    #[test]
    fn missing_tool_is_named_with_the_way_around_it() {
        let tool = RequiredTool { part: Some("vendors"), ..RequiredTool::new("no-such-program", "nothing") };
        assert_eq!(tool.version(), None);
        let text = tool.missing("is not on the PATH").to_string();
        assert!(text.contains("no-such-program") && text.contains("--without vendors"), "{text}");
    }
}
