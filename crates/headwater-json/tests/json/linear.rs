//! The cost of a byte does not depend on how many bytes preceded it.

use std::time::Instant;

use headwater_json::{Extractor, Fields, PartialValue};

/// 1 MB in pieces of 16 bytes: parsing everything again at each piece would read 30 GB.
#[test]
fn megabyte_in_small_pieces_is_read_in_linear_time() {
    let text =
        format!(r#"{{"body":"{}","rows":[{}1]}}"#, "text ".repeat(100_000), "{\"t\":\"x\"},".repeat(50_000));
    let start = Instant::now();
    let fields = Fields::builder().text("body").append("rows").text("rows.*.t").build().unwrap();
    let mut extractor = Extractor::new(fields);
    let mut value = PartialValue::new();
    let mut chunks = 0;
    for piece in text.as_bytes().chunks(16) {
        extractor.push_bytes(piece, |_| chunks += 1).unwrap();
        value.push_bytes(piece).unwrap();
        assert!(value.value().is_some());
    }
    assert!(chunks > 100_000);
    assert!(value.is_complete());
    // Takes tens of milliseconds in a release build; the bound allows for a busy machine and a debug build.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
