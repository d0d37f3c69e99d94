//! Text before and after the value.

use headwater_json::{Completion, LeadIn, Options, PartialValue, Trailing};

fn read(text: &str, size: usize) -> (Option<String>, Completion, Option<u64>) {
    let mut value = PartialValue::with(Options::lenient());
    for piece in text.as_bytes().chunks(size) {
        if value.push_bytes(piece).is_err() {
            break;
        }
    }
    let completion = value.finish();
    (value.value().map(ToString::to_string), completion, value.trailing_offset())
}

#[test]
fn value_is_found_after_prose() {
    let table = [
        ("{\"a\":1}", Some("{\"a\":1}")),
        ("\u{FEFF}{\"a\":1}", Some("{\"a\":1}")),
        ("\u{FEFF} \n [1]", Some("[1]")),
        ("Sure! Here it is: {\"a\":1}", Some("{\"a\":1}")),
        ("```json\n{\"a\":1}\n```", Some("{\"a\":1}")),
        ("```\n[1,2]\n```\n", Some("[1,2]")),
        ("Here:\n```json\n{ }\n```\nDone.", Some("{}")),
        ("Grüße 😀 [\"x\"] and so on", Some("[\"x\"]")),
        ("As [1] says, {x} is {\"a\":2}", Some("{\"a\":2}")),
        ("- [ ] to do\n- [x] done\n{\"a\":3}", Some("{\"a\":3}")),
        ("see [text](url) and [[wiki]]:\n[[4]]", Some("[[4]]")),
        ("list: [ {\"a\":6} ]", Some("[{\"a\":6}]")),
        ("x\n[true]", Some("[true]")),
        ("x [true] y", None),
        ("no JSON at all", None),
        ("", None),
        ("\"quoted\" and 12", None),
        ("x {", None),
    ];
    for (text, expected) in table {
        let whole = read(text, 1_000);
        assert_eq!(whole.0.as_deref(), expected, "{text}");
        assert_eq!(matches!(whole.1, Completion::Complete), expected.is_some(), "{text}");
        for size in [1, 2, 5] {
            assert_eq!(read(text, size), whole, "{text} by {size}");
        }
    }
}

#[test]
fn bracket_at_the_beginning_is_never_prose() {
    for text in ["{{\"a\":5}", "[x](y) {\"a\":5}", " {a} {\"a\":5}"] {
        assert!(matches!(read(text, 1).1, Completion::Invalid(_)), "{text}");
    }
}

#[test]
fn error_positions_count_from_the_beginning_of_the_text() {
    let (_, completion, _) = read("Well,\nyes: {\"a\":\n  oops}", 3);
    let Completion::Invalid(error) = completion else { panic!("{completion:?}") };
    assert_eq!((error.offset(), error.line(), error.column()), (19, 3, 3));
}

#[test]
fn trailing_text_is_reported() {
    assert_eq!(read("{} \n```\nDone.", 4).2, Some(4));
    assert_eq!(read("{} \n", 4).2, None);
    let mut options = Options::lenient();
    options.trailing = Trailing::Refuse;
    assert!(PartialValue::with(options).push("x {\"a\":1} y").is_err());
}

#[test]
fn trailing_bytes_need_not_be_utf_8() {
    let mut value = PartialValue::with(Options::lenient());
    value.push_bytes(b"[1] and \xFF\xFE").unwrap();
    value.push_bytes(b"\xF0\x9F").unwrap();
    assert_eq!(value.finish(), Completion::Complete);
}

#[test]
fn strict_options_skip_nothing() {
    assert_eq!(Options::default().lead_in, LeadIn::Refuse);
    assert_eq!(PartialValue::new().push("x {}").unwrap_err().offset(), 0);
    assert_eq!(PartialValue::new().push("\u{FEFF}{}").unwrap_err().offset(), 0);
}
