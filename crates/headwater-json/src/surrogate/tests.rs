use super::*;

fn mend(surrogates: &mut Surrogates, data: &str) -> (String, bool) {
    let mended = surrogates.mend(data);
    (mended.text.into_owned(), mended.lost)
}

#[test]
fn whole_pairs_and_plain_escapes_are_unchanged() {
    let mut surrogates = Surrogates::default();
    for data in [r#"{"a":"x"}"#, r#"{"a":"\u00e9 \ud83d\ude00"}"#, r#"{"a":"\\ud83d"}"#, r#""\uD83D\uDE00""#]
    {
        assert_eq!(mend(&mut surrogates, data), (data.to_owned(), false));
    }
}

#[test]
fn pair_split_between_two_frames_is_joined() {
    let mut surrogates = Surrogates::default();
    assert_eq!(mend(&mut surrogates, r#"{"delta":"a\ud83d"}"#), (r#"{"delta":"a"}"#.to_owned(), false));
    let joined = (r#"{"delta":"\ud83d\ude00b"}"#.to_owned(), false);
    assert_eq!(mend(&mut surrogates, r#"{"delta":"\ude00b"}"#), joined);
}

#[test]
fn lone_half_is_replaced_and_reported() {
    let mut surrogates = Surrogates::default();
    assert_eq!(mend(&mut surrogates, r#""\ud83d x""#), (r#""\ufffd x""#.to_owned(), true));
    assert_eq!(mend(&mut surrogates, r#""\ude00""#), (r#""\ufffd""#.to_owned(), true));
    assert_eq!(mend(&mut surrogates, r#""x\ud83d""#), (r#""x""#.to_owned(), false));
    assert_eq!(mend(&mut surrogates, r#""y""#), (r#""y""#.to_owned(), true));
}
