//! Priority of the sources, and error messages.

use std::{fs, path::Path, time::Duration};

use headwater_store::embedded::Fsync;

use super::{
    Layers, ServerSettings, SettingKey, SettingValue, StoreUrl, keys::KEYS, layers::FlagValue, parse,
    value::of_text,
};

fn flag(name: &str, value: &str) -> FlagValue {
    let key = SettingKey::find(name).unwrap();
    FlagValue { key, value: of_text(key, value).unwrap(), flag: format!("--{name}") }
}

fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Loads settings with a file of this text.
fn with_file(text: &str) -> Result<Layers, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("headwater.toml");
    fs::write(&path, text).unwrap();
    Layers::gather(Vec::new(), [], Some(&path)).map_err(|failure| failure.to_string())
}

fn settings(text: &str) -> ServerSettings {
    ServerSettings::of(&with_file(text).unwrap()).unwrap()
}

fn mistake(text: &str) -> String {
    let wrong = match with_file(text) {
        Err(wrong) => wrong,
        Ok(layers) => ServerSettings::of(&layers).unwrap_err().to_string(),
    };
    // Cut off the temporary folder's name.
    wrong.rfind("headwater.toml:").map_or(wrong.clone(), |at| wrong[at..].to_owned())
}

#[test]
fn flags_override_environment_which_overrides_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    fs::write(&path, "listen = \"127.0.0.1:1\"\ndata = \"there\"\nheartbeat = \"1s\"\n").unwrap();
    let variables = environment(&[
        ("HEADWATER_LISTEN", "127.0.0.1:2"),
        ("HEADWATER_HEARTBEAT", "2s"),
        ("HEADWATER_CONFIG", path.to_str().unwrap()),
    ]);
    let layers = Layers::gather(vec![flag("listen", "127.0.0.1:3")], variables, None).unwrap();
    let settings = ServerSettings::of(&layers).unwrap();
    assert_eq!(settings.listen, "127.0.0.1:3");
    assert_eq!(settings.heartbeat, Duration::from_secs(2));
    assert_eq!(settings.data, folder.path().join("there"), "a path is relative to the folder of its file");
    assert_eq!(settings.limits.body, 1 << 20);
    let origin = |name: &str| layers.get(name).unwrap().origin.to_string();
    assert_eq!(origin("listen"), "--listen");
    assert_eq!(origin("heartbeat"), "$HEADWATER_HEARTBEAT");
    assert_eq!(origin("data"), format!("{}:2", path.display()));
    assert_eq!(origin("limits.body"), "default");
    assert!(layers.warnings.is_empty());
}

#[test]
fn file_can_set_every_setting() {
    let settings = settings(
        r#"
        listen = "[::1]:9000"
        agents = ["a.yaml", "more"]
        default_agent = "a"
        watch = true
        store = "memory:"
        fsync = "100ms"
        cors = ["https://a.example"]
        heartbeat = "5s"
        padding = "2KiB"
        lease = "10s"
        shutdown = "1s"
        [api_keys]
        web = "0123456789abcdef"
        "ann@example.com" = "fedcba9876543210"
        [jwt]
        public_key = "key.pem"
        issuer = "me"
        audience = "you"
        claim = "uid"
        prefix = "login/"
        typ = ["at+jwt"]
        max_age = "1m"
        [limits]
        connections = 100
        idle = "10s"
        stall = "20s"
        body = 1024
        messages = 10
        runs = 2
        run_time = "1m"
        [paths]
        ai-sdk = "/api/chat"
        kortyx = ["/a", "/b"]
        [log]
        level = "debug"
        format = "json"
        [demo]
        pace = "0ms"
        "#,
    );
    assert_eq!(settings.store, StoreUrl::Memory(None));
    assert_eq!(settings.fsync, Fsync::Interval(Duration::from_millis(100)));
    assert_eq!((settings.limits.body, settings.limits.messages, settings.limits.runs), (1024, 10, 2));
    assert_eq!(settings.limits.run_time, Some(Duration::from_secs(60)));
    assert_eq!(settings.padding, 2048);
    assert!(settings.agents[1].ends_with("more"));
    let names: Vec<_> = settings.api_keys.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["ann@example.com", "web"]);
    assert!(settings.jwt.as_ref().unwrap().public_key.as_ref().unwrap().ends_with("key.pem"));
    let jwt = settings.jwt.as_ref().unwrap();
    assert_eq!(
        (jwt.claim.as_str(), jwt.prefix.as_str(), jwt.max_age),
        ("uid", "login/", Duration::from_secs(60))
    );
    assert_eq!(jwt.types, ["at+jwt"]);
    let limits = settings.limits;
    assert_eq!(limits.connections.map(std::num::NonZeroUsize::get), Some(100));
    assert_eq!((limits.idle, limits.stall), (Duration::from_secs(10), Duration::from_secs(20)));
    let paths: Vec<_> =
        settings.paths.iter().map(|(dialect, path)| (dialect.name(), path.path.as_str())).collect();
    assert_eq!(paths, [("kortyx", "/a"), ("kortyx", "/b"), ("ai-sdk", "/api/chat")]);
    assert!(!format!("{settings:?}").contains("0123456789abcdef"), "no log may show a key");
}

#[test]
fn mistakes_are_reported_with_position_and_suggestion() {
    for (text, expected) in [
        ("lisen = \"1\"", "headwater.toml:1:1: unknown setting `lisen`: did you mean `listen`?"),
        (
            "\n[limits]\nbdoy = 1",
            "headwater.toml:3:1: unknown setting `limits.bdoy`: did you mean `limits.body`?",
        ),
        ("[limit]\nbody = 1", "headwater.toml:1:2: unknown setting `limit`: `headwater config` lists all"),
        ("listen = [1]", "headwater.toml:1:1: `listen`: expected a string in quotes, found array"),
        (
            "api_keys = [\"x\"]",
            "headwater.toml:1:1: `api_keys`: write a table of names and keys: `[api_keys]`, `web = \"…\"`",
        ),
        (
            "[api_keys]\nweb = \"short\"",
            "headwater.toml:1:2: `api_keys`: the key is too short: use at least 16 characters, such as the output of `openssl rand -hex 24`",
        ),
        ("listen = 5\nlisten = 6", "headwater.toml:2:1: duplicate key"),
        (
            "heartbeat = 15",
            "headwater.toml:1: `heartbeat`: invalid duration `15`: use a whole number and ms, s, m, h or d",
        ),
        (
            "heartbeat = \"0s\"",
            "headwater.toml:1: `heartbeat`: the interval must be greater than 0: use `15s`, for example",
        ),
        ("watch = \"perhaps\"", "headwater.toml:1: `watch`: invalid value `perhaps`: use `true` or `false`"),
        (
            "store = \"mysql://ann:secret@db/app\"",
            "headwater.toml:1: `store`: invalid store `mysql://db/app`: use `memory:`, `file:FOLDER`, `redis://HOST` or `postgres://HOST/DATABASE`",
        ),
        (
            "fsync = \"often\"",
            "headwater.toml:1: `fsync`: invalid value `often`: use `commit`, `never` or a duration such as `100ms`",
        ),
        (
            "listen = \"localhost\"",
            "headwater.toml:1: `listen`: invalid address `localhost`: use an address with a port, such as `127.0.0.1:8787`",
        ),
        (
            "[paths]\nmui = \"chat\"",
            "headwater.toml:2: `paths.mui`: invalid path `chat`: a path must begin with `/`",
        ),
        (
            "[paths]\nmui = \"/\"",
            "headwater.toml:2: `paths.mui`: invalid path `/`: the segments of a path must not be empty or begin with `:` or `*`",
        ),
        (
            "[paths]\nmui = \"/api/{x}\"",
            "headwater.toml:2: `paths.mui`: invalid path `/api/{x}`: a path must not contain `{`, `}`, `?`, `#`, `%` or white space",
        ),
        ("[paths]\nmui = \"/a=\"", "headwater.toml:2: `paths.mui`: missing agent name after `=` in `/a=`"),
        (
            "[paths]\nmui = \"/v1/runs/\"",
            "headwater.toml:2: `paths.mui`: `/v1/runs` is already a route of the server",
        ),
        (
            "[paths]\nkortyx = \"/chat\"\nmui = \"/chat/\"",
            "headwater.toml:3: `paths.mui`: `/chat` is already used by `paths.kortyx`",
        ),
        (
            "[limits]\nbody = \"4MB\"",
            "headwater.toml:2: `limits.body`: invalid size `4MB`: use a whole number, or one followed by KiB, MiB or GiB",
        ),
    ] {
        assert_eq!(mistake(text), expected, "{text}");
    }
    assert!(
        mistake("[jwt]\nissuer = \"me\"")
            .starts_with("`jwt.issuer` and `jwt.audience` have no effect without a key")
    );
    let missing = Layers::gather(Vec::new(), [], Some(Path::new("no/such.toml"))).unwrap_err();
    assert_eq!(missing.to_string(), "cannot read no/such.toml: there is no such file");
}

#[test]
fn wildcards_need_keys() {
    for name in ["cors", "hosts"] {
        let text = format!("{name} = [\"https://app.test\", \"*\"]\n");
        let refused = mistake(&text);
        assert!(refused.starts_with(&format!("headwater.toml:1: `{name}`: `*` needs keys")), "{refused}");
        settings(&format!("{text}[api_keys]\nweb = \"0123456789abcdef\"\n"));
        settings(&format!("{text}[jwt]\nsecret = \"0123456789abcdef0123456789abcdef\"\n"));
    }
}

#[test]
fn cors_settings_allow_headers_and_cookies() {
    let text = "cors = [\"https://app.test\"]\ncors_headers = [\"x-tenant\"]\ncors_credentials = true\n";
    let read = settings(text);
    assert_eq!((read.cors_headers, read.cors_credentials), (vec!["x-tenant".to_owned()], true));
    assert!(mistake("cors_headers = [\"x tenant\"]").contains("invalid header name `x tenant`"));
    let keys = "[api_keys]\nweb = \"0123456789abcdef\"\n";
    let any = mistake(&format!("cors = [\"*\"]\ncors_credentials = true\n{keys}"));
    assert!(any.contains("name the origins under `cors` instead of `*`"), "{any}");
}

#[test]
fn token_principals_are_distinct_from_key_principals() {
    let text =
        "[api_keys]\nann = \"0123456789abcdef\"\n[jwt]\nsecret = \"0123456789abcdef0123456789abcdef\"\n";
    let both = settings(text);
    let prefix = &both.jwt.as_ref().unwrap().prefix;
    assert_eq!(prefix, "jwt:");
    assert!(!both.api_keys.iter().any(|(name, _)| name.starts_with(prefix.as_str())));
    assert!(!parse::is_name("jwt:ann"), "no key has such a name");
    assert_eq!(settings(&format!("{text}prefix = \"\"\n")).jwt.unwrap().prefix, "");
}

#[test]
fn key_set_url_requires_tls_or_localhost() {
    let url = |url: &str| {
        with_file(&format!("[jwt]\njwks_url = \"{url}\"\n"))
            .map(|layers| ServerSettings::of(&layers).is_ok())
            .unwrap()
    };
    for good in [
        "https://login.example/keys",
        "http://localhost:1/keys",
        "http://127.0.0.1/keys",
        "http://[::1]:8/keys",
    ] {
        assert!(url(good), "{good}");
    }
    for bad in [
        "http://login.example/keys",
        "http://localhost:x@evil.test/",
        "http://localhost@evil.test/",
        "http://127.0.0.1:80@evil.test/",
        "http://[::1]@evil.test/",
        "http://localhost.evil.test/",
        "http://evil.test/#localhost",
        "http:/\\\\evil.test/localhost",
        "https://user:password@login.example/keys",
        "ftp://localhost/keys",
        "localhost/keys",
    ] {
        assert!(!url(bad), "{bad}");
    }
}

#[test]
fn environment_lists_are_comma_separated_and_typos_warn() {
    let variables = environment(&[
        ("HEADWATER_API_KEYS", "web=0123456789abcdef, AAAABBBBCCCCDDDDEEEE=="),
        ("HEADWATER_CORS", "https://a.example,https://b.example"),
        ("HEADWATER_LISTN", "1"),
        ("HEADWATER_SOMETHING_ELSE_ALTOGETHER", "1"),
    ]);
    let layers = Layers::gather(Vec::new(), variables, None).unwrap();
    let keys = vec![
        ("web".to_owned(), "0123456789abcdef".to_owned()),
        ("default".to_owned(), "AAAABBBBCCCCDDDDEEEE==".to_owned()),
    ];
    assert_eq!(layers.get("api_keys").unwrap().value, SettingValue::Secrets(keys));
    assert_eq!(ServerSettings::of(&layers).unwrap().cors, ["https://a.example", "https://b.example"]);
    assert_eq!(layers.warnings, ["unknown setting $HEADWATER_LISTN: did you mean $HEADWATER_LISTEN?"]);
}

#[test]
fn durations_and_sizes_have_units() {
    assert_eq!(parse::length("250ms"), Ok(Duration::from_millis(250)));
    assert_eq!(parse::length("7d"), Ok(Duration::from_secs(7 * 86_400)));
    assert!(parse::length("1.5s").is_err() && parse::length("").is_err() && parse::length("-1s").is_err());
    assert!(parse::length("99999999999999999999d").is_err() && parse::length("999999999999999999d").is_err());
    assert_eq!(parse::size("3KiB"), Ok(3072));
    assert!(parse::size("3 parsecs").is_err());
}

#[test]
fn settings_have_unique_names_and_variables() {
    let mut names: Vec<_> = KEYS.iter().map(SettingKey::variable).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), KEYS.len());
}

#[test]
fn manual_lists_every_setting() {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
    let text = fs::read_to_string(&manual).unwrap();
    let (before, rest) = text.split_once("<!-- generated: settings -->\n").unwrap();
    let (written, after) = rest.split_once("<!-- /generated -->").unwrap();
    let mut table = String::from("| setting | variable | default | does |\n| --- | --- | --- | --- |\n");
    for key in KEYS.iter() {
        let default = if key.default.is_empty() { "–".to_owned() } else { format!("`{}`", key.default) };
        let (name, variable, about) = (key.name, key.variable(), key.about);
        table.push_str(&format!("| `{name}` | `{variable}` | {default} | {about} |\n"));
    }
    if std::env::var_os("HEADWATER_BLESS").is_some() {
        fs::write(
            &manual,
            format!("{before}<!-- generated: settings -->\n{table}<!-- /generated -->{after}"),
        )
        .unwrap();
        return;
    }
    assert_eq!(written, table, "write it with `HEADWATER_BLESS=1 cargo test -p headwater-command manual`");
}

#[test]
fn store_url_is_shown_without_its_password() {
    let shown = |url: &str| {
        let layers =
            Layers::gather(Vec::new(), [("HEADWATER_STORE".to_owned(), url.to_owned())], None).unwrap();
        let settings = ServerSettings::of(&layers).unwrap();
        assert!(!format!("{:?}", settings.store).contains("pass"), "{url}");
        settings.store.to_string()
    };
    for (url, expected) in [
        ("redis://cache", "redis://cache"),
        ("rediss://ann:pass@cache:6380/1?prefix=pass", "rediss://cache:6380/1"),
        ("postgres://ann:pa:pass@db/app", "postgres://db/app"),
        ("postgresql://ann:p%40pass@db:5432/app?sslmode=require&password=pass", "postgresql://db:5432/app"),
    ] {
        assert_eq!(shown(url), expected);
    }
}
