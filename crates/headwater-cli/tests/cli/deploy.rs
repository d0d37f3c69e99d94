//! The files in `deploy/` for several servers. No container engine runs them here: what is checked is that they can be
//! read, agree with each other, and use settings that the program has.

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
        let ["headwater", "serve", arguments @ ..] = &words[..] else { panic!("{name} runs {words:?}") };
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
