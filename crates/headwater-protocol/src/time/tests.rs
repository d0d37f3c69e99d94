use super::*;

#[test]
fn dates_print_and_read_back() {
    for (ms, text) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (1_768_155_720_000, "2026-01-11T18:22:00.000Z"),
        (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
    ] {
        assert_eq!(rfc3339(ms), text);
        assert_eq!(parse_rfc3339(text), Some(ms));
    }
    assert_eq!(parse_rfc3339("2026-01-11T18:22:01Z"), Some(1_768_155_721_000));
    for text in ["yesterday", "2026-01-11T24:00:00Z", "99999999999999999-01-01T00:00:00Z", "2026-01-11"] {
        assert_eq!(parse_rfc3339(text), None, "{text}");
    }
}
