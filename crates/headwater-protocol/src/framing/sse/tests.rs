use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// An owned frame, or offset and index of a rejected one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FrameResult {
    Frame { event: Option<String>, id: Option<String>, data: String, offset: u64, index: u64 },
    Refused { offset: u64, index: u64 },
}

impl From<Result<Frame<'_>, FramingError>> for FrameResult {
    fn from(frame: Result<Frame<'_>, FramingError>) -> Self {
        match frame {
            Ok(Frame { event, id, data, offset, index }) => Self::Frame {
                event: event.map(str::to_owned),
                id: id.map(str::to_owned),
                data: data.to_owned(),
                offset,
                index,
            },
            Err(error) => Self::Refused { offset: error.offset(), index: error.index() },
        }
    }
}

/// The frames of a reader, and its final state.
#[derive(Debug, PartialEq, Eq)]
struct ReadOutcome {
    seen: Vec<FrameResult>,
    last_id: Option<String>,
    retry: Option<u64>,
}

fn read<'p>(mut reader: SseReader, pieces: impl IntoIterator<Item = &'p [u8]>) -> ReadOutcome {
    let mut seen = Vec::new();
    for piece in pieces {
        reader.push(piece, |frame| seen.push(frame.into()));
    }
    reader.finish(|frame| seen.push(frame.into()));
    ReadOutcome { seen, last_id: reader.last_event_id().map(str::to_owned), retry: reader.retry() }
}

/// The frames as (event, data), the last event id, and the retry delay.
type Reference = (Vec<(Option<String>, String)>, String, Option<u64>);

/// A literal implementation of the standard over the whole stream, decoded first: no limit, no offsets.
fn reference(bytes: &[u8]) -> Reference {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop();
    let (mut frames, mut last_id, mut retry) = (Vec::new(), String::new(), None);
    let (mut data, mut event, mut id_buffer) = (String::new(), String::new(), String::new());
    for line in lines {
        if line.is_empty() {
            last_id.clone_from(&id_buffer);
            if let Some(data) = data.strip_suffix('\n') {
                frames.push((Some(event.clone()).filter(|e| !e.is_empty()), data.to_owned()));
            }
            data.clear();
            event.clear();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut event),
            "data" => data.extend([value, "\n"]),
            "id" if !value.contains('\0') => value.clone_into(&mut id_buffer),
            "retry" if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                retry = value.parse().ok().or(retry);
            }
            _ => {}
        }
    }
    (frames, last_id, retry)
}

#[test]
fn frames_follow_the_standard() {
    // (stream, [(event, id, data)])
    type Row = (&'static str, &'static [(Option<&'static str>, Option<&'static str>, &'static str)]);
    let table: &[Row] = &[
        ("", &[]),
        ("\n\n\n", &[]),
        ("data: a\n\n", &[(None, None, "a")]),
        ("data:a\n\n", &[(None, None, "a")]),
        ("data:  a\n\n", &[(None, None, " a")]),
        ("data:\ta\n\n", &[(None, None, "\ta")]),
        ("data: a: b\n\n", &[(None, None, "a: b")]),
        ("data\n\n", &[(None, None, "")]),
        ("data:\n\n", &[(None, None, "")]),
        ("data\ndata\n\n", &[(None, None, "\n")]),
        ("data: a\ndata: b\n\n", &[(None, None, "a\nb")]),
        ("data: a\n\ndata: b\n\n", &[(None, None, "a"), (None, None, "b")]),
        ("data: a\r\n\r\n", &[(None, None, "a")]),
        ("data: a\r\r", &[(None, None, "a")]),
        ("data: a\r\n\n", &[(None, None, "a")]),
        ("data: a\n\r\n", &[(None, None, "a")]),
        ("data: a\n\r", &[(None, None, "a")]),
        ("data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\n", &[(None, None, "a\nb\nc"), (None, None, "d")]),
        ("\u{FEFF}data: a\n\n", &[(None, None, "a")]),
        ("\u{FEFF}\u{FEFF}data: a\n\n", &[]),
        ("\n\u{FEFF}data: a\n\n", &[]),
        ("data: \u{FEFF}a\n\n", &[(None, None, "\u{FEFF}a")]),
        (": a\n\n", &[]),
        (":\n\n:\n\n", &[]),
        ("data: a\n: data: b\ndata: c\n\n", &[(None, None, "a\nc")]),
        ("event: e\ndata: a\n\ndata: b\n\n", &[(Some("e"), None, "a"), (None, None, "b")]),
        ("event: e\nevent: f\ndata: a\n\n", &[(Some("f"), None, "a")]),
        ("event: e\nevent\ndata: a\n\n", &[(None, None, "a")]),
        ("event:\ndata: a\n\n", &[(None, None, "a")]),
        ("event: e\n\ndata: a\n\n", &[(None, None, "a")]),
        ("id: 1\ndata: a\n\ndata: b\n\n", &[(None, Some("1"), "a"), (None, None, "b")]),
        ("id\ndata: a\n\n", &[(None, Some(""), "a")]),
        ("id: 1\nid: 2\ndata: a\n\n", &[(None, Some("2"), "a")]),
        ("id: 1\nid: 2\0\ndata: a\n\n", &[(None, Some("1"), "a")]),
        ("Data: a\ndata : b\n data: c\ndatax: d\ndat: e\n\n", &[]),
        ("foo: bar\ndata: a\n\n", &[(None, None, "a")]),
        ("data: a\0b\n\n", &[(None, None, "a\0b")]),
        ("data: a", &[]),
        ("data: a\n", &[]),
        ("data: a\r\n", &[]),
        ("data: a\n\ndata: b\n", &[(None, None, "a")]),
    ];
    for (stream, expected) in table {
        let seen = read(SseReader::new(), [stream.as_bytes()]).seen;
        let found: Vec<_> = seen
            .iter()
            .map(|seen| match seen {
                FrameResult::Frame { event, id, data, .. } => {
                    (event.as_deref(), id.as_deref(), data.as_str())
                }
                FrameResult::Refused { .. } => panic!("nothing here is large"),
            })
            .collect();
        assert_eq!(found, *expected, "{stream:?}");
    }
}

#[test]
fn malformed_utf8_is_replaced_like_a_streaming_decoder_does() {
    // (bytes of the data, text): the maximal subparts of the standard's decoder.
    let table: &[(&[u8], &str)] = &[
        (b"\xFF", "\u{FFFD}"),
        (b"\xC0\xAF", "\u{FFFD}\u{FFFD}"),
        (b"\xE2\x82", "\u{FFFD}"),
        (b"\xE2\x82x", "\u{FFFD}x"),
        (b"\xE2\x28\xA1", "\u{FFFD}(\u{FFFD}"),
        (b"\xF0\x9F\x98", "\u{FFFD}"),
        (b"\xF0\x9F\x98\xF0\x9F\x98\x80", "\u{FFFD}\u{1F600}"),
        (b"\xED\xA0\x80", "\u{FFFD}\u{FFFD}\u{FFFD}"),
        (b"\xF5\x80\x80\x80", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
        (b"\xF0\x80\x80\x41", "\u{FFFD}\u{FFFD}\u{FFFD}A"),
    ];
    for (bytes, text) in table {
        let stream = [b"data: ", *bytes, b"\n\n"].concat();
        for pieces in [stream.chunks(stream.len()), stream.chunks(1)] {
            let reading = read(SseReader::new(), pieces);
            let data = match reading.seen.as_slice() {
                [FrameResult::Frame { data, .. }] => data,
                other => panic!("{other:?}"),
            };
            assert_eq!(data, text, "{}", bytes.escape_ascii());
        }
    }
}

#[test]
fn frame_offset_is_that_of_its_first_line_that_is_not_a_comment() {
    let stream = "\u{FEFF}: hi\r\n\r\n\n: x\nid: 1\ndata: a\r\rdata: b\n\n";
    for size in 1..=stream.len() {
        let reading = read(SseReader::new(), stream.as_bytes().chunks(size));
        let places: Vec<_> = reading
            .seen
            .iter()
            .map(|seen| match seen {
                FrameResult::Frame { offset, index, .. } => (*offset, *index),
                FrameResult::Refused { .. } => panic!("nothing here is large"),
            })
            .collect();
        let first = stream.find("id:").unwrap() as u64;
        let second = stream.find("data: b").unwrap() as u64;
        assert_eq!(places, [(first, 0), (second, 1)], "in pieces of {size}");
    }
    let marked = read(SseReader::new(), ["\u{FEFF}data: a\n\n".as_bytes()]);
    assert!(matches!(marked.seen[..], [FrameResult::Frame { offset: 3, .. }]));
}

#[test]
fn last_event_id_is_that_of_the_last_complete_block() {
    let table = [
        ("id: 1\ndata: a\n\n", Some("1")),
        ("id: 1\n\n", Some("1")),
        ("id: 1\n\nid: 2\n", Some("1")),
        ("id: 1\n\ndata: a\n\n", Some("1")),
        ("id: 1\n\nid\n\n", None),
        ("id: 1\n\nid: \0\n\n", Some("1")),
    ];
    for (stream, id) in table {
        assert_eq!(read(SseReader::new(), [stream.as_bytes()]).last_id.as_deref(), id, "{stream:?}");
    }
}

#[test]
fn retry_takes_digits_only() {
    let table = [
        ("retry: 10\n", Some(10)),
        ("retry: 10\nretry: -1\nretry: 1.5\nretry:\nretry: +1\nretry: x\n", Some(10)),
        ("retry: 99999999999999999999\n", None),
        ("retry: 007\n\n", Some(7)),
    ];
    for (stream, retry) in table {
        assert_eq!(read(SseReader::new(), [stream.as_bytes()]).retry, retry, "{stream:?}");
    }
}

#[test]
fn incomplete_block_is_delivered_only_if_requested() {
    // (stream, last frame with `Tail::Deliver`)
    let table: &[(&str, Option<&str>)] = &[
        ("", None),
        ("data: a\n\n", None),
        ("data: a\r\n\r", None),
        ("data: a\n\n: bye\n", None),
        ("data: a\n\n\n", None),
        ("data: b", Some("b")),
        ("data: b\n", Some("b")),
        ("data: b\r", Some("b")),
        ("data: b\nda", Some("b")),
        ("event: e\n", None),
        ("dat", None),
    ];
    for (stream, tail) in table {
        for size in 1..=stream.len().max(1) {
            let pieces = || stream.as_bytes().chunks(size);
            let discarding = read(SseReader::new(), pieces());
            let delivering = read(SseReader::new().with_tail(Tail::Deliver), pieces());
            let last = delivering.seen.get(discarding.seen.len()).map(|seen| match seen {
                FrameResult::Frame { data, .. } => data.as_str(),
                FrameResult::Refused { .. } => panic!("nothing here is large"),
            });
            assert_eq!(last, *tail, "{stream:?}");
        }
    }
}

#[test]
fn block_above_the_limit_is_reported_once_and_skipped() {
    let stream = b"data: 1\n\ndata: 12345\nid: 9\n\ndata: 1\ndata: 2\n\n: a comment\n: another\ndata: 2\n\n";
    for size in 1..=stream.len() {
        let reading = read(SseReader::new().with_limit(11), stream.chunks(size));
        let frame = |data: &str, offset, index| FrameResult::Frame {
            event: None,
            id: None,
            data: data.to_owned(),
            offset,
            index,
        };
        let expected = [
            frame("1", 0, 0),
            FrameResult::Refused { offset: 9, index: 1 },
            FrameResult::Refused { offset: 28, index: 2 },
            frame("2", 67, 3),
        ];
        assert_eq!(reading.seen, expected, "in pieces of {size}");
        assert_eq!(reading.last_id, None, "a rejected block sets no id");
    }
}

#[test]
fn memory_stays_below_the_limit() {
    let mut reader = SseReader::new().with_limit(1000);
    let mut refused = 0;
    for _ in 0..10_000 {
        reader.push(&[b'x'; 100], |frame| refused += usize::from(frame.is_err()));
        assert!(reader.line.capacity() <= 2000);
    }
    assert_eq!(refused, 1);
    reader.push(b"\n\ndata: ok\n\n", |frame| {
        assert_eq!(frame.unwrap().data, "ok");
    });
}

#[test]
fn comments_between_the_lines_of_a_block_are_not_counted() {
    let mut reader = SseReader::new().with_limit(20);
    reader.push(b"data: a\n", |_| ());
    for _ in 0..1000 {
        reader.push(b": still here\n", |_| panic!("comments are not frames"));
    }
    let mut frames = 0;
    reader.push(b"\n", |frame| {
        frames += usize::from(frame.unwrap().data == "a");
    });
    assert_eq!(frames, 1);
}

#[test]
fn complete_frame_is_borrowed_from_the_input() {
    let input = "event: e\nid: 1\ndata: {\"a\":\"\u{1F600}\"}\n\ndata: b\r\n\r\n";
    let range = input.as_bytes().as_ptr_range();
    let mut frames = 0;
    SseReader::new().push(input.as_bytes(), |frame| {
        let frame = frame.unwrap();
        for text in [Some(frame.data), frame.event, frame.id].into_iter().flatten() {
            assert!(range.contains(&text.as_ptr()), "{text:?} was copied");
        }
        frames += 1;
    });
    assert_eq!(frames, 2);
}

#[test]
fn large_event_is_read_in_linear_time() {
    let work = |size: usize, piece: usize| {
        let mut stream = b"data: ".to_vec();
        stream.resize(size, b'x');
        stream.extend_from_slice(b"\n\n");
        let mut reader = SseReader::new();
        let mut frames = 0;
        for piece in stream.chunks(piece) {
            reader.push(piece, |frame| {
                frames += usize::from(frame.unwrap().data.len() == size - 6);
            });
        }
        assert_eq!(frames, 1);
        reader.work
    };
    let mebibytes = 1 << 20;
    // Searched once and copied once, whatever the size of the pieces.
    assert!(work(8 * mebibytes, 4096) <= 2 * 8 * mebibytes as u64 + 8);
    assert!(work(mebibytes, 7) <= 2 * mebibytes as u64 + 8);
    assert_eq!(work(mebibytes, usize::MAX), mebibytes as u64 + 2, "whole: searched only");
}

/// Streams built from relevant fragments, since random bytes rarely form a block.
fn streams() -> impl Strategy<Value = Vec<u8>> {
    let fragments: Vec<&'static [u8]> = vec![
        b"data",
        b"data:",
        b"data: ",
        b"event: ",
        b"event",
        b"id: ",
        b"id",
        b"retry: ",
        b"retry:",
        b":",
        b" ",
        b"\n",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\n",
        b"\r\n\r\n",
        b"\0",
        b"\xEF\xBB\xBF",
        b"\xEF",
        b"\xBB",
        b"\xF0\x9F\x98\x80",
        b"\xF0\x9F",
        b"\xFF",
        b"x",
        b"12",
        b"{\"a\":1}",
        b"foo: bar\n",
        b"data: a\n\n",
    ];
    let fragment = prop_oneof![
        9 => prop::sample::select(fragments).prop_map(<[u8]>::to_vec),
        1 => vec(any::<u8>(), 0..4),
    ];
    vec(fragment, 0..40).prop_map(|fragments| fragments.concat())
}

fn split<'b>(bytes: &'b [u8], cuts: &[prop::sample::Index]) -> Vec<&'b [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn any_split_gives_the_same_frames(
        stream in streams(),
        cuts in vec(any::<prop::sample::Index>(), 0..8),
        limit in prop_oneof![Just(DEFAULT_LIMIT), 0usize..40],
        deliver in any::<bool>(),
    ) {
        let tail = if deliver { Tail::Deliver } else { Tail::Discard };
        let reader = || SseReader::new().with_limit(limit).with_tail(tail);
        let whole = read(reader(), [stream.as_slice()]);
        prop_assert_eq!(&read(reader(), split(&stream, &cuts)), &whole);
        prop_assert_eq!(&read(reader(), stream.chunks(1)), &whole);
    }

    #[test]
    fn frames_equal_the_reference(stream in streams()) {
        let reading = read(SseReader::new(), [stream.as_slice()]);
        let frames: Vec<_> = reading.seen.into_iter().map(|seen| match seen {
            FrameResult::Frame { event, data, .. } => (event, data),
            FrameResult::Refused { .. } => panic!("nothing here is large"),
        }).collect();
        let (expected, last_id, retry) = reference(&stream);
        prop_assert_eq!(frames, expected);
        prop_assert_eq!(reading.last_id.unwrap_or_default(), last_id);
        prop_assert_eq!(reading.retry, retry);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(stream in vec(any::<u8>(), 0..300), piece in 1usize..20) {
        let whole = read(SseReader::new(), [stream.as_slice()]);
        prop_assert_eq!(read(SseReader::new(), stream.chunks(piece)), whole);
    }
}
