use super::*;

#[test]
fn framing_is_detected_from_the_first_conclusive_line() {
    let cases: [(&[u8], Option<Framing>); 14] = [
        (b"", None),
        (b"\r\n\n", None),
        (b"data:x", Some(Framing::Sse)),
        (b"\xEF\xBB\xBFevent: x", Some(Framing::Sse)),
        (b"\n\r\nid: 1", Some(Framing::Sse)),
        (b"retry: 1", Some(Framing::Sse)),
        (b": open", Some(Framing::Sse)),
        (b"{", Some(Framing::Ndjson)),
        (b"\xEF\xBB\xBF\n [1]", Some(Framing::Ndjson)),
        (b"  data: x", None),
        (b"database: x", None),
        (b"<html>", None),
        (b"HTTP/1.1 200 OK", None),
        (b"\xEF\xBB", None),
    ];
    for (bytes, framing) in cases {
        assert_eq!(Framing::recognise(bytes), framing, "{:?}", bytes.escape_ascii().to_string());
    }
}
