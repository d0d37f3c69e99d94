//! Documents of any size to read, and the fields to extract from them.

use std::fmt::Write as _;

use headwater_json::{FieldKind, Fields};

pub(crate) struct Document {
    pub(crate) name: &'static str,
    fields: &'static [(&'static str, FieldKind)],
    /// Generates about this many bytes.
    pub(crate) text: fn(usize) -> String,
}

impl Document {
    pub(crate) fn fields(&self) -> Fields {
        let fields = self.fields.iter().fold(Fields::builder(), |all, (path, kind)| all.field(*kind, *path));
        fields.build().unwrap()
    }
}

pub(crate) const ALL: &[Document] = &[
    Document {
        name: "string",
        fields: &[("subject", FieldKind::Set), ("body", FieldKind::Text)],
        text: string,
    },
    Document {
        name: "records",
        fields: &[
            ("rows.*.name", FieldKind::Text),
            ("rows.*.score", FieldKind::Set),
            ("total", FieldKind::Set),
        ],
        text: records,
    },
    Document { name: "list", fields: &[("items", FieldKind::Append)], text: list },
    Document { name: "wildcard", fields: &[("points.*.label", FieldKind::Text)], text: wildcard },
    Document { name: "deep", fields: &[("groups.*.d.d.d.d.d.text", FieldKind::Text)], text: deep },
    Document { name: "unicode", fields: &[("rows.*.text", FieldKind::Text)], text: unicode },
];

fn string(size: usize) -> String {
    let mut text = r#"{"subject":"Beta access is open","body":""#.to_owned();
    let mut line = 0;
    while text.len() + 2 < size {
        write!(text, "Line {line} of a long letter that a model wrote and that must be read as well.\\n")
            .unwrap();
        line += 1;
    }
    text.push_str("\"}");
    text
}

/// Repeats items between a head and a tail until the text is large enough.
fn repeat(head: &str, tail: &str, size: usize, mut item: impl FnMut(&mut String, usize)) -> String {
    let mut text = head.to_owned();
    let mut index = 0;
    while text.len() + tail.len() < size {
        if index > 0 {
            text.push(',');
        }
        item(&mut text, index);
        index += 1;
    }
    text.push_str(tail);
    text
}

fn records(size: usize) -> String {
    repeat("{\"rows\":[", "],\"total\":12}", size, |text, n| {
        let mail = format!("person{n}@example.org");
        write!(
            text,
            r#"{{"id":{n},"name":"Person number {n}","email":"{mail}","score":{}.5,"active":{},"tags":["new","from {}"],"note":null}}"#,
            n % 100,
            n % 3 == 0,
            n % 7,
        )
        .unwrap();
    })
}

fn list(size: usize) -> String {
    repeat("{\"items\":[", "]}", size, |text, n| {
        write!(text, r#"{{"id":{n},"title":"A row of the table","done":false}}"#).unwrap();
    })
}

fn wildcard(size: usize) -> String {
    repeat("{\"points\":{", "}}", size, |text, n| {
        write!(
            text,
            r#""criterion_{n}":{{"label":"How it does in year {n}","weight":{},"open":true}}"#,
            n % 10
        )
        .unwrap();
    })
}

fn deep(size: usize) -> String {
    const DEPTH: usize = 90;
    repeat("{\"groups\":[", "]}", size, |text, n| {
        for level in 0..DEPTH {
            text.push_str("{\"d\":");
            if level == 4 {
                write!(text, r#"{{"text":"Group {n}","d":["#).unwrap();
            }
        }
        text.push_str("[1,2]");
        for level in (0..DEPTH).rev() {
            if level == 4 {
                text.push_str("]}");
            }
            text.push('}');
        }
    })
}

fn unicode(size: usize) -> String {
    repeat("{\"rows\":[", "]}", size, |text, n| {
        write!(
            text,
            r#"{{"text":"Grüße Nr. {n} 日本語 😀 \u00e9\u4e2d \ud83d\ude80 \"quoted\"\n","k\u00e9y":"\t"}}"#
        )
        .unwrap();
    })
}
