//! Models as objects and HTTP tools: each field wrong once, and calls to a real server.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, mpsc},
    thread,
};

use headwater_models::ModelKey;
use headwater_runtime::{AgentFile, FileOptions, Start};
use headwater_store::Memory;
use serde_json::{Value, json};

fn errors(text: &str) -> Vec<String> {
    let errors = AgentFile::parse("a.yaml", text).expect_err(text);
    errors.iter().map(ToString::to_string).collect()
}

const WORKFLOW: &str = "workflows: { w: { start: n, nodes: { n: { message: x } } } }\n";

#[test]
fn every_wrong_field_of_a_model_has_a_position() {
    let cases = [
        ("{ provider: opnai, model: x }", "a.yaml:2:26: unknown provider `opnai`: did you mean `openai`?"),
        ("{ model: x }", "a.yaml:2:11: model `m` has no `provider`: add it, or a `script`"),
        ("{ provider: openai }", "a.yaml:2:11: model `m` has no `model`: add it, or a `script`"),
        ("{ provider: openai, model: '' }", "a.yaml:2:41: `model` must not be empty"),
        (
            "{ provider: openai, model: x, base_url: api.example.com }",
            "a.yaml:2:54: invalid URL `api.example.com`: it must begin with http:// or https://",
        ),
        (
            "{ provider: openai, model: x, api_key_env: sk-123 }",
            "a.yaml:2:57: `sk-123` is not the name of an environment variable",
        ),
        ("{ provider: openai, model: x, called: 'a:b' }", "a.yaml:2:52: invalid name `a:b`"),
        (
            "{ provider: openai, model: x, options: { temperatur: 1 } }",
            "a.yaml:2:55: unknown field `temperatur`",
        ),
        (
            "{ provider: openai, model: x, price: { input: -1, output: 2 } }",
            "a.yaml:2:51: a price must not be negative",
        ),
        ("{ provider: openai, model: x, price: { output: 2 } }", "a.yaml:2:53: missing field `input`"),
        ("{ provider: openai, model: x, key: secret }", "a.yaml:2:44: unknown field `key`"),
        (
            "{ provider: openai, script: { name: s, rules: [] } }",
            "a.yaml:2:26: `provider` needs a model of a provider, but `m` has a `script`",
        ),
        ("[a]", "a.yaml:2:11: invalid type: sequence"),
    ];
    let mut wrong = Vec::new();
    for (model, expected) in cases {
        let found = errors(&format!("name: a\nmodels: {{ m: {model} }}\n{WORKFLOW}"));
        if !found.iter().any(|error| error.starts_with(expected)) {
            wrong.push((model, expected, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_wrong_field_of_an_http_tool_has_a_position() {
    let cases = [
        ("{ url: ftp://x }", "a.yaml:3:13: the URL must begin with http:// or https://"),
        ("{ description: x }", "a.yaml:3:8: missing field `url`"),
        ("{ url: 'http://{{ input.host }}/x' }", "a.yaml:3:13: the host of the URL has a placeholder"),
        ("{ url: 'http://x/{{ data.city }}' }", "a.yaml:3:26: there is no name `data`"),
        (
            "{ url: http://x, method: FETCH }",
            "a.yaml:3:31: unknown method `FETCH`: use GET, POST, PUT, PATCH, DELETE",
        ),
        ("{ url: http://x, method: GET, body: {} }", "a.yaml:3:3: the tool `t` has a `body`"),
        ("{ url: http://x, input: { type: strng } }", "a.yaml:3:30: not a JSON Schema"),
        ("{ url: http://x, headers: { a: '{{ b }}' } }", "a.yaml:3:41: there is no name `b`"),
        (
            "{ url: http://x, headers: { Authorization: 'Bearer x' } }",
            "a.yaml:3:34: `Authorization` holds a secret",
        ),
        ("{ url: http://x, header_env: { x-key: secret } }", "a.yaml:3:44: `secret` is not the name"),
        ("{ url: http://x, bearer_env: sk-1 }", "a.yaml:3:35: `sk-1` is not the name"),
        ("{ url: http://x, body: ['{{ c }}'] }", "a.yaml:3:34: there is no name `c`"),
        ("{ url: http://x, hosts: ['*'] }", "a.yaml:3:31: invalid host `*`"),
        ("{ url: http://x, timeout: 5 }", "a.yaml:3:32: "),
        ("{ url: http://x, max_bytes: 0 }", "a.yaml:3:3: `max_bytes` must be greater than 0"),
        ("{ url: http://x, approval: maybe }", "a.yaml:3:33: "),
        ("{ url: http://x, unfinished: never }", "a.yaml:3:35: "),
        ("{ url: http://x, follow: true }", "a.yaml:3:23: unknown field `follow`"),
    ];
    let mut wrong = Vec::new();
    for (tool, expected) in cases {
        let found = errors(&format!("name: a\nhttp:\n  t: {tool}\n{WORKFLOW}"));
        if !found.iter().any(|error| error.starts_with(expected)) {
            wrong.push((tool, expected, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn several_endpoints_with_one_wire_are_models_with_their_own_names_and_keys() {
    let text = format!(
        "name: a\nmodels:\n  one: {{ provider: openai-compatible, model: llama, base_url: 'http://127.0.0.1:1/v1', called: local }}\n  \
         two: {{ provider: openai-compatible, model: llama, base_url: 'http://127.0.0.1:2/v1', called: remote, \
         api_key_env: PATH, options: {{ temperature: 0.1 }} }}\n{WORKFLOW}"
    );
    let file = AgentFile::parse("a.yaml", text).unwrap();
    let agent = file.build(FileOptions::new(Arc::new(Memory::new()))).unwrap();
    let models = agent.models();
    let seen: Vec<_> =
        models.iter().map(|model| (model.aliases.join(","), model.model.as_str(), model.key)).collect();
    assert_eq!(
        seen,
        [
            ("one".to_owned(), "local:llama", ModelKey::NotNeeded),
            ("two".to_owned(), "remote:llama", ModelKey::Configured)
        ]
    );
    let unset = format!(
        "name: a\nmodels: {{ m: {{ provider: openai, model: x, api_key_env: HEADWATER_TEST_NO_SUCH_KEY }} }}\n{WORKFLOW}"
    );
    let error = AgentFile::parse("a.yaml", unset)
        .unwrap()
        .build(FileOptions::new(Arc::new(Memory::new())))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("a.yaml:2:57: the environment variable HEADWATER_TEST_NO_SUCH_KEY is not set"),
        "{error}"
    );
}

/// A server that answers each request with the next answer, and hands on what it got.
fn api(answers: Vec<String>) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, got) = mpsc::channel();
    thread::spawn(move || {
        for (stream, answer) in listener.incoming().zip(answers) {
            let mut reader = BufReader::new(stream.unwrap());
            let mut request = String::new();
            while !request.ends_with("\r\n\r\n") {
                reader.read_line(&mut request).unwrap();
            }
            let length = request.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body).unwrap();
            request.push_str(&String::from_utf8(body).unwrap());
            let mut stream = reader.into_inner();
            // A client that has read enough closes the connection.
            let _ = stream.write_all(answer.as_bytes());
            let _ = sender.send(request);
        }
    });
    (address, got)
}

fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// The output that a model got for one call of a tool.
async fn called(tool: &str, input: &Value) -> String {
    let text = format!(
        "name: a
models:
  m:
    script:
      name: m
      rules:
        - when: {{ after_tool: t }}
          say: [{{ text: 'got {{tool.t}}' }}]
        - say: [{{ tool: {{ name: t, input: {input} }} }}]
http:
  t: {tool}
workflows: {{ w: {{ start: n, nodes: {{ n: {{ reason: {{ model: m, tools: [t] }} }} }} }} }}
"
    );
    let file = AgentFile::parse("a.yaml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let agent = file.build(FileOptions::new(Arc::new(Memory::new()))).unwrap();
    agent.start(Start::new("go")).await.unwrap().outcome().await.unwrap().text()
}

#[tokio::test(flavor = "multi_thread")]
async fn http_tool_calls_a_server_with_its_rendered_templates() {
    let (address, got) = api(vec![answer("200 OK\r\ncontent-type: application/json", r#"{"sky":"blue"}"#)]);
    let tool = format!(
        "{{ url: 'http://{address}/w/{{{{ input.city }}}}?x=1', headers: {{ x-city: '{{{{ input.city }}}}' }}, bearer_env: PATH, \
         body: {{ city: '{{{{ input.city }}}}', list: '{{{{ input.list }}}}' }} }}"
    );
    let said = called(&tool, &json!({ "city": "a/b?c", "list": [1, 2] })).await;
    assert!(said.contains("blue"), "{said}");
    let request = got.recv().unwrap();
    assert!(request.starts_with("POST /w/a%2Fb%3Fc?x=1 HTTP/1.1"), "{request}");
    assert!(request.contains("x-city: a/b?c") && request.contains("authorization: Bearer /"), "{request}");
    assert!(request.ends_with(r#"{"city":"a/b?c","list":[1,2]}"#), "{request}");
}

#[tokio::test(flavor = "multi_thread")]
async fn http_tool_reaches_only_its_hosts_and_reads_only_so_much() {
    let (elsewhere, visitors) = api(vec![answer("200 OK", "stolen")]);
    let (address, _got) = api(vec![
        answer(&format!("302 Found\r\nlocation: http://{elsewhere}/"), ""),
        answer("200 OK", &"x".repeat(2_000)),
        answer("404 Not Found", "no such city"),
    ]);
    let url = format!("url: 'http://{address}/'");
    let redirected = called(&format!("{{ {url} }}"), &json!({})).await;
    assert!(redirected.contains("302"), "{redirected}");
    let large = called(&format!("{{ {url}, max_bytes: 1000 }}"), &json!({})).await;
    assert!(large.contains("more than 1000 bytes"), "{large}");
    let unknown = called(&format!("{{ {url} }}"), &json!({})).await;
    assert!(unknown.contains("404") && unknown.contains("no such city"), "{unknown}");
    let other = format!("{{ url: 'http://{{{{ input.host }}}}/', hosts: ['{address}'] }}");
    let refused = called(&other, &json!({ "host": "127.0.0.1" })).await;
    assert!(refused.contains("is not allowed"), "{refused}");
    assert!(visitors.try_recv().is_err(), "a redirect to another host was followed");
}
