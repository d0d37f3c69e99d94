//! The files in `deploy/`. No container engine runs them here: the tests check that they can be read, agree with each other,
//! and use settings that the program has.

mod monitoring;
mod systemd;

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::server::command;

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)).unwrap()
}

fn compose() -> Value {
    serde_saphyr::from_str(&file("compose.yaml")).unwrap()
}

/// The services that run the program, by their names.
fn servers(compose: &Value) -> BTreeMap<&str, &Value> {
    let services = compose["services"].as_object().unwrap().iter();
    services.filter(|(_, service)| service["image"] == "headwater").map(|(name, it)| (&**name, it)).collect()
}

fn words(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

/// A value as compose puts it in: `${NAME:-DEFAULT}` and `${NAME:?WHY}` of a variable that is not set and one that is.
fn interpolated(value: &str) -> String {
    let Some((before, rest)) = value.split_once("${") else { return value.to_owned() };
    let (inner, after) = rest.split_once('}').unwrap();
    let set = match (inner.split_once(":-"), inner.split_once(":?")) {
        (Some((_, default)), _) => default,
        (None, Some(_)) => "0123456789abcdef0123456789abcdef",
        (None, None) => panic!("{value} has neither a default nor a reason"),
    };
    format!("{before}{set}{}", interpolated(after))
}

#[test]
fn settings_of_the_servers_in_compose_exist() {
    let compose = compose();
    let servers = servers(&compose);
    assert_eq!(servers.keys().copied().collect::<Vec<_>>(), ["one", "two"]);
    for (name, server) in servers {
        let words = words(&server["command"]);
        let ["serve", arguments @ ..] = &words[..] else { panic!("{name} runs {words:?}") };
        let environment = server["environment"].as_object().unwrap();
        let values = environment.iter().map(|(name, value)| (name, interpolated(value.as_str().unwrap())));
        // It takes the same flags and variables as `serve`, and names where each setting came from.
        let ran = command().arg("config").args(arguments).envs(values).output().unwrap();
        let (shown, warned) =
            (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
        assert!(ran.status.success() && warned.is_empty(), "{name}: {warned}");
        for variable in environment.keys() {
            assert!(shown.contains(&format!("${variable}\n")), "{name}: {variable} sets nothing:\n{shown}");
        }
    }
}

#[test]
fn parts_of_compose_know_each_other() {
    let compose = compose();
    let services = compose["services"].as_object().unwrap();
    let (servers, nginx) = (servers(&compose), file("nginx.conf"));
    for name in words(&services["balancer"]["depends_on"]) {
        assert!(servers.contains_key(name), "the balancer depends on {name}");
    }
    let mut balanced: Vec<_> = nginx.lines().filter_map(|line| line.trim().strip_prefix("server ")).collect();
    balanced.retain(|line| line.ends_with(';'));
    for (name, server) in &servers {
        let port = server["environment"]["HEADWATER_LISTEN"].as_str().unwrap().rsplit(':').next().unwrap();
        assert!(
            balanced.iter().any(|line| line.starts_with(&format!("{name}:{port} "))),
            "nginx.conf does not name {name}:{port}: {balanced:?}"
        );
    }
    assert_eq!(balanced.len(), servers.len(), "{balanced:?}");
    // The engine of each profile is what the comment at the top of the file connects to.
    for engine in ["postgres", "redis"] {
        assert_eq!(words(&services[engine]["profiles"]), [engine]);
        let volume = words(&services[engine]["volumes"])[0].split(':').next().unwrap();
        assert!(compose["volumes"].as_object().unwrap().contains_key(volume), "{volume} is not a volume");
        assert!(
            file("compose.yaml").contains(&format!("@{engine}/"))
                || file("compose.yaml").contains(&format!("//{engine}:"))
        );
    }
}

#[test]
fn mounts_of_compose_exist_and_its_agents_are_sound() {
    let compose = compose();
    let mut mounts = Vec::new();
    for service in compose["services"].as_object().unwrap().values() {
        let volumes = words(&service["volumes"]).into_iter();
        let paths = volumes.filter_map(|volume| volume.strip_prefix("./")?.split(':').next());
        mounts.extend(paths.map(str::to_owned));
    }
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    for mount in &mounts {
        assert!(deploy.join(mount).exists(), "deploy/{mount} is mounted, and does not exist");
    }
    mounts.sort();
    assert_eq!(mounts, ["agents", "agents", "nginx.conf"]);
    let agents: Vec<_> =
        fs::read_dir(deploy.join("agents")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!agents.is_empty());
    for agent in agents {
        let checked = command().arg("check").arg(&agent).output().unwrap();
        assert!(
            checked.status.success(),
            "{}: {}",
            agent.display(),
            String::from_utf8_lossy(&checked.stderr)
        );
    }
}

/// Runs `headwater config` with variables, and expects each of them to set something.
fn expect_settings(what: &str, variables: &[(String, String)]) {
    let ran = command().arg("config").envs(variables.iter().cloned()).output().unwrap();
    let (shown, warned) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert!(ran.status.success() && warned.is_empty(), "{what}: {warned}");
    for (variable, _) in variables {
        assert!(shown.contains(&format!("${variable}\n")), "{what}: {variable} sets nothing:\n{shown}");
    }
}

#[test]
fn image_runs_commands_and_settings_that_exist() {
    let text = file("Dockerfile");
    let words = text.split(|each: char| each.is_whitespace() || "=\\".contains(each));
    assert!(words.clone().any(|word| word == "HEADWATER_LISTEN"));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let settings = lines.flat_map(|line| line.split_whitespace()).filter_map(|word| word.split_once('='));
    let mut settings: Vec<_> = settings
        .filter(|(name, _)| name.starts_with("HEADWATER_"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    assert_eq!(settings.len(), 3, "{settings:?}");
    settings.push(("HEADWATER_API_KEYS".to_owned(), "web=0123456789abcdef0123456789abcdef".to_owned()));
    expect_settings("Dockerfile", &settings);
    for program in ["health", "serve"] {
        assert!(command().args([program, "--help"]).output().unwrap().status.success(), "{program}");
    }
    assert!(text.contains("USER 65532:65532") && text.contains(r#"CMD ["headwater", "health"]"#));
    let version = env!("CARGO_PKG_RUST_VERSION");
    assert!(
        text.contains(&format!("FROM rust:{version}-")),
        "the image builds with another Rust than {version}"
    );
}

#[test]
fn kubernetes_manifest_agrees_with_the_program() {
    let text = file("kubernetes/headwater.yaml");
    let documents: Vec<Value> =
        text.split("\n---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect();
    let kinds: Vec<_> = documents.iter().map(|document| document["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Deployment", "Service", "PodDisruptionBudget"]);
    let pod = &documents[0]["spec"]["template"];
    let container = &pod["spec"]["containers"][0];
    let values = container["env"].as_array().unwrap().iter();
    let mut settings: Vec<_> = values
        .map(|value| {
            (value["name"].as_str().unwrap().to_owned(), value["value"].as_str().unwrap().to_owned())
        })
        .collect();
    settings.push(("HEADWATER_API_KEYS".to_owned(), "web=0123456789abcdef0123456789abcdef".to_owned()));
    expect_settings("kubernetes", &settings);
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        let path = container[probe]["httpGet"]["path"].as_str().unwrap();
        assert!(["/readyz", "/healthz"].contains(&path), "{probe} asks {path}");
    }
    // The pod is killed only after its runs had their time.
    let of = |name: &str| {
        settings.iter().find(|(key, _)| key == name).unwrap().1.trim_end_matches('s').parse::<u64>()
    };
    let grace = pod["spec"]["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(grace >= of("HEADWATER_SHUTDOWN").unwrap() + 10, "{grace}");
    // Each part selects the pods of the deployment.
    let labels = &pod["metadata"]["labels"];
    for selector in [
        &documents[0]["spec"]["selector"]["matchLabels"],
        &documents[1]["spec"]["selector"],
        &documents[2]["spec"]["selector"]["matchLabels"],
    ] {
        assert_eq!(selector, labels);
    }
}
