//! Random documents and fields, each generated from a seed that a failure prints.

use headwater_json::FieldKind;

/// A small random generator with the same sequence on every platform.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap()
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Few keys, so that fields match and keys repeat, including every key that needs an escape.
const KEYS: [&str; 14] =
    ["a", "b", "c", "rows", "", "0", "1", "x.y", "~", "~1", "*", "__proto__", "é😀", "quote\\\"d"];
const TEXTS: [&str; 12] = [
    "",
    "x",
    "plain text of some length",
    "é",
    "😀",
    "\\n",
    "\\\"",
    "\\\\",
    "\\u00e9",
    "\\ud83d\\ude00",
    "日本語",
    "\\/ \\b\\f\\r\\t",
];
const SCALARS: [&str; 18] = [
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1",
    "12",
    "1.5",
    "-2.5e+10",
    "1E-2",
    "123456789012345678901234567890",
    "0.1",
    "18446744073709551615",
    "-9223372036854775808",
    "1e-400",
    "2e3",
    "7",
    "\"\"",
];
const SPACES: [&str; 6] = ["", "", "", " ", "\n", "\t \r\n"];

/// A valid document whose root is a container.
pub(crate) fn document(random: &mut Random) -> String {
    let mut text = String::new();
    let root = if random.below(8) == 0 { 1 } else { 0 };
    container(random, &mut text, 5, root == 1);
    text
}

fn space(random: &mut Random, text: &mut String) {
    let space = *random.pick(&SPACES);
    text.push_str(space);
}

fn container(random: &mut Random, text: &mut String, depth: usize, array: bool) {
    text.push(if array { '[' } else { '{' });
    let count = random.below(5);
    for index in 0..count {
        if index > 0 {
            text.push(',');
        }
        space(random, text);
        if !array {
            let key = *random.pick(&KEYS);
            text.push_str(&format!("\"{key}\""));
            space(random, text);
            text.push(':');
            space(random, text);
        }
        value(random, text, depth - 1);
        space(random, text);
    }
    space(random, text);
    text.push(if array { ']' } else { '}' });
}

fn value(random: &mut Random, text: &mut String, depth: usize) {
    match random.below(10) {
        0..4 if depth > 0 => {
            let array = random.below(2) == 0;
            container(random, text, depth, array);
        }
        0..6 => {
            text.push('"');
            for _ in 0..random.below(4) {
                let part = *random.pick(&TEXTS);
                text.push_str(part);
            }
            text.push('"');
        }
        _ => {
            let scalar = *random.pick(&SCALARS);
            text.push_str(scalar);
        }
    }
}

/// Fields that are likely to match and to overlap.
pub(crate) fn fields(random: &mut Random) -> Vec<(FieldKind, String)> {
    const SEGMENTS: [&str; 14] =
        ["*", "*", "*", "a", "b", "c", "rows", "0", "1", "~:", "~:0", "x~1y", "~2", "~01"];
    const KINDS: [FieldKind; 3] = [FieldKind::Set, FieldKind::Text, FieldKind::Append];
    let one = |random: &mut Random| {
        let segments: Vec<_> = (0..=random.below(3)).map(|_| *random.pick(&SEGMENTS)).collect();
        (*random.pick(&KINDS), segments.join("."))
    };
    (0..=random.below(5)).map(|_| one(random)).collect()
}
