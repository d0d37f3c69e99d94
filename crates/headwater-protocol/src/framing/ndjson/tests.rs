use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

type LineResult = Result<(String, u64, u64), (u64, u64)>;

fn read<'p>(mut reader: NdjsonReader, pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<LineResult> {
    let mut seen = Vec::new();
    let mut keep = |frame: Result<Frame<'_>, FramingError>| {
        seen.push(match frame {
            Ok(frame) => Ok((frame.data.to_owned(), frame.offset, frame.index)),
            Err(error) => Err((error.offset(), error.index())),
        });
    };
    for piece in pieces {
        reader.push(piece, &mut keep);
    }
    reader.finish(&mut keep);
    seen
}

#[test]
fn every_line_is_a_frame() {
    // (stream, [(data, offset)])
    type Row = (&'static [u8], &'static [(&'static str, u64)]);
    let table: &[Row] = &[
        (b"", &[]),
        (b"\n\r\n \t\n", &[]),
        (b"{}\n", &[("{}", 0)]),
        (b"{}\r\n[]\r\n", &[("{}", 0), ("[]", 4)]),
        (b"{}\n\n\n[]\n", &[("{}", 0), ("[]", 5)]),
        (b"{}\n[]", &[("{}", 0), ("[]", 3)]),
        (b"{}\n[]\r", &[("{}", 0), ("[]", 3)]),
        (b"{}\n  ", &[("{}", 0)]),
        (b"\xEF\xBB\xBF{}\n", &[("{}", 3)]),
        (b"\xEF\xBB\xBF\n{}\n", &[("{}", 4)]),
        (b"{}\n\xEF\xBB\xBF1\n", &[("{}", 0), ("\u{FEFF}1", 3)]),
        (b"{}\r[]\n", &[("{}\r[]", 0)]),
        (b"\"\xF0\x9F\x98\"\n", &[("\"\u{FFFD}\"", 0)]),
        (b" {} \n", &[(" {} ", 0)]),
    ];
    for (stream, expected) in table {
        for size in 1..=stream.len().max(1) {
            let seen = read(NdjsonReader::new(), stream.chunks(size));
            let seen: Vec<_> = seen.iter().map(|seen| seen.as_ref().unwrap()).collect();
            let found: Vec<_> = seen.iter().map(|(data, offset, _)| (data.as_str(), *offset)).collect();
            assert_eq!(found, *expected, "{}", stream.escape_ascii());
            assert!(seen.iter().map(|(_, _, index)| *index).eq(0..seen.len() as u64));
        }
    }
}

#[test]
fn line_above_the_limit_is_reported_once_and_skipped() {
    let stream = b"12\n12345\n34\n123456";
    for size in 1..=stream.len() {
        let seen = read(NdjsonReader::new().with_limit(4), stream.chunks(size));
        let expected = [Ok(("12".to_owned(), 0, 0)), Err((3, 1)), Ok(("34".to_owned(), 9, 2)), Err((12, 3))];
        assert_eq!(seen, expected, "in pieces of {size}");
    }
}

#[test]
fn complete_line_is_borrowed_from_the_input() {
    let input = b"{\"a\":1}\r\n[2]\n";
    let range = input.as_ptr_range();
    NdjsonReader::new().push(input, |frame| {
        assert!(range.contains(&frame.unwrap().data.as_ptr()));
    });
}

#[test]
fn large_line_is_read_in_linear_time() {
    let size = 8 << 20;
    let mut stream = vec![b'1'; size];
    stream.push(b'\n');
    let mut reader = NdjsonReader::new();
    let mut frames = 0;
    for piece in stream.chunks(4096) {
        reader.push(piece, |frame| {
            frames += usize::from(frame.unwrap().data.len() == size);
        });
    }
    assert_eq!(frames, 1);
    assert!(reader.work <= 2 * size as u64 + 2);
    assert!(reader.line.capacity() <= KEPT_CAPACITY, "the buffer of a large line is released");
}

/// A simple implementation over the whole stream.
fn reference(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.strip_prefix('\u{FEFF}').unwrap_or(&text).split('\n');
    let lines = lines.map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned());
    lines.filter(|line| !line.trim_matches([' ', '\t', '\r']).is_empty()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1000) })]

    #[test]
    fn any_split_equals_the_reference(
        fragments in vec(prop_oneof![
            4 => prop::sample::select(vec!["{}", "[1]", "\n", "\r\n", "\r", " ", "\u{FEFF}", "\u{1F600}"])
                .prop_map(|text| text.as_bytes().to_vec()),
            1 => vec(any::<u8>(), 0..4),
        ], 0..30),
        piece in 1usize..12,
        limit in 0usize..12,
    ) {
        let stream = fragments.concat();
        let whole = read(NdjsonReader::new(), [stream.as_slice()]);
        prop_assert_eq!(read(NdjsonReader::new(), stream.chunks(piece)), whole.clone());
        let data: Vec<_> = whole.into_iter().map(|seen| seen.unwrap().0).collect();
        prop_assert_eq!(data, reference(&stream));

        let limited = || NdjsonReader::new().with_limit(limit);
        prop_assert_eq!(read(limited(), stream.chunks(piece)), read(limited(), [stream.as_slice()]));
    }
}
