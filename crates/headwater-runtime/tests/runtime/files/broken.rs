//! Twenty broken files, and the messages that the docs show for them.

use std::{fmt::Write as _, fs, path::PathBuf};

use headwater_runtime::{AgentFile, FileErrorKind};

fn docs() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/yaml.md")
}

const BEGIN: &str = "<!-- twenty broken files -->\n";
const END: &str = "<!-- end of the broken files -->";

/// The expected section of the docs. Set `HEADWATER_BLESS` to write it.
#[test]
fn broken_files_give_the_messages_of_the_docs() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/runtime/files/broken");
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 20);
    let mut section = String::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let errors = AgentFile::read(&path).expect_err(name);
        let folder = format!("{}/", folder.display());
        let said = errors.to_string().replace(&folder, "");
        write!(section, "\n`{name}`\n\n```yaml broken\n{text}```\n\n```text\n{said}\n```\n").unwrap();
    }
    section.push('\n');
    let docs_text = fs::read_to_string(docs()).unwrap();
    let (before, rest) = docs_text.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    if shown != section && std::env::var_os("HEADWATER_BLESS").is_some() {
        fs::write(docs(), format!("{before}{BEGIN}{section}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(shown, section, "run the test once more with HEADWATER_BLESS=1, and read what it wrote");
}

fn errors(text: &str) -> Vec<String> {
    let errors = AgentFile::parse("a.yaml", text).expect_err(text);
    errors.iter().map(ToString::to_string).collect()
}

fn with_node(node: &str) -> String {
    format!(
        "name: a\nmodels: {{ m: \"p:m\" }}\nworkflows:\n  w:\n    start: n\n    nodes:\n      n: {node}\n"
    )
}

#[test]
fn every_error_has_a_position() {
    let cases = [
        ("{ reason: { model: m, schema: { type: strng } } }", "a.yaml:7:40: not a JSON Schema"),
        ("{ reason: { model: m, structured: { type: t } } }", "a.yaml:7:44: `structured` needs a `schema`"),
        ("{ route: { by: data.x, model: m } }", "a.yaml:7:19: a route needs exactly one of"),
        ("{ route: { model: m } }", "a.yaml:7:19: `model` and `among` must be used together"),
        ("{ route: { cases: [{ then: a }, { when: 1, then: b }] } }", "a.yaml:7:19: a case without `when`"),
        ("{ route: { by: data. } }", "a.yaml:7:29: syntax error"),
        ("{ interrupt: { ask: x, multiple: true } }", "a.yaml:7:23: `multiple` needs `options`"),
        (
            "{ interrupt: { ask: x, options: [{ id: a, label: b }, { id: a, label: c }] } }",
            "a.yaml:7:70: duplicate option `a`",
        ),
        ("{ message: x, on_error: { go_to: m } }", "a.yaml:7:43: there is no node `m`"),
        ("{ message: x, save: { date: y } }", "a.yaml:7:32: unknown word `date`: did you mean `data`?"),
        (
            "{ reason: { model: m, interrupt: maybe } }",
            "a.yaml:7:43: `maybe` is neither `required` nor `optional`",
        ),
        ("{ description: nothing }", "a.yaml:7:7: node `n` does nothing"),
        (
            "{ message: x, result: { a: [\"{{ outptu.b }}\"] } }",
            "a.yaml:7:42: there is no name `outptu`: did you mean `output`?",
        ),
    ];
    for (node, expected) in cases {
        let found = errors(&with_node(node));
        assert!(found.iter().any(|error| error.starts_with(expected)), "{node}\n{found:#?}\n{expected}");
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let text = "name: a\nworkflows:\n  w:\n    start: m\n    nodes:\n      n: { message: \"{{ x }}\" }\n      o: {}\n";
    assert_eq!(errors(text).len(), 3, "{:#?}", errors(text));
}

#[test]
fn circular_includes_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("a.yaml", "name: a\ninclude: [b.yaml]\n");
    write("b.yaml", "include: [c.yaml]\n");
    write("c.yaml", "include: [a.yaml]\n");
    let errors = AgentFile::read(folder.join("a.yaml")).unwrap_err();
    let error = errors.iter().next().unwrap();
    assert_eq!((error.kind(), error.code()), (FileErrorKind::Include, "file.include"));
    let circle = "the files include each other in a circle: a.yaml → b.yaml → c.yaml → a.yaml";
    assert_eq!(error.message(), circle);
    assert_eq!((error.line(), error.column(), error.width()), (1, 11, 6));

    write("c.yaml", "models: { m: \"p:m\" }\n");
    write("b.yaml", "include: [c.yaml, gone.yaml]\nmodels: { m: \"p:n\" }\n");
    let found: Vec<_> =
        AgentFile::read(folder.join("a.yaml")).unwrap_err().iter().map(|e| e.message().to_owned()).collect();
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found[0], "cannot include `gone.yaml`: there is no such file");
    assert!(
        found[1].starts_with("duplicate model `m`: first defined at ") && found[1].ends_with("c.yaml:1:11"),
        "{found:?}"
    );
}

#[test]
fn missing_file_is_a_typed_error() {
    let errors = AgentFile::read("no-such.yaml").unwrap_err();
    assert_eq!(errors.to_string(), "no-such.yaml: there is no such file");
    assert_eq!(errors.iter().next().unwrap().code(), "file.read");
}

#[test]
fn garbage_is_refused_and_never_panics() {
    let valid = with_node("{ message: \"Hello {{ input }}\", retry: { times: 2 } }");
    for end in (0..valid.len()).filter(|end| valid.is_char_boundary(*end)) {
        let _ = AgentFile::parse("a.yaml", &valid[..end]);
        for char in ["{", "]", "\t", "é", "\0", "'", "%"] {
            let broken = format!("{}{char}{}", &valid[..end], &valid[end..]);
            if let Err(errors) = AgentFile::parse("a.yaml", broken) {
                assert!(errors.iter().all(|error| error.width() > 0 && !error.message().is_empty()));
            }
        }
    }
}
