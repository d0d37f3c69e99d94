//! Extraction against recordings of Kortyx. The states that both build are compared.

use headwater_json::{Completion, Extractor, FieldKind, Fields, Options, PartialValue};
use serde_json::Value;

use crate::reduce::{OwnedChunk, apply, covers};
use crate::vectors::{Judge, read_lines, replace_lone_surrogates};

const FILE: &str = "kortyx/structured_fields.jsonl";

#[test]
fn states_equal_those_of_kortyx_or_are_ahead() {
    let Some(lines) = read_lines(FILE) else { return };
    let mut judge = Judge::new(FILE);
    let mut tally = Tally::default();
    for line in &lines {
        let row: Value =
            serde_json::from_str(&replace_lone_surrogates(&join_pairs(line))).expect("a row is JSON");
        let name = row["name"].as_str().expect("a row has a name");
        let outcome = compare(&row, &mut tally);
        judge.row(name, |_| outcome.clone());
    }
    println!("vectors: {FILE} {tally:?}");
    judge.finish();
}

/// Counts of rows by outcome.
#[derive(Debug, Default)]
struct Tally {
    same: usize,
    ahead: usize,
    bugs: usize,
    cut_pairs: usize,
    refused_paths: usize,
}

/// A recorded delta may end between the halves of a surrogate pair, which UTF-8 cannot. Moves the second half
/// to the first.
fn join_pairs(line: &str) -> String {
    let mut out = line.to_owned();
    let mut from = 0;
    while let Some(at) = out[from..].find("\",\"\\ud").map(|at| from + at) {
        from = at + 3;
        let low = &out[from..from + 6];
        let high = out.get(at.wrapping_sub(6)..at).unwrap_or_default();
        let is = |text: &str, digits: &[char]| {
            text.starts_with("\\ud") && digits.contains(&char::from(text.as_bytes()[3]))
        };
        if is(low, &['c', 'd', 'e', 'f']) && high.len() == 6 && is(high, &['8', '9', 'a', 'b']) {
            let low = low.to_owned();
            out.replace_range(at..from + 6, &format!("{low}\",\""));
        }
    }
    out
}

fn compare(row: &Value, tally: &mut Tally) -> Result<(), String> {
    let recorded = row["emitted"].as_array().expect("a row has chunks");
    let fields = match fields(&row["fields"]) {
        Ok(fields) => fields,
        Err(_) if row.get("error").is_some() && recorded.is_empty() => {
            tally.refused_paths += 1;
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let deltas: Vec<&str> =
        row["deltas"].as_array().unwrap().iter().map(|delta| delta.as_str().unwrap()).collect();
    let whole: Option<Value> = serde_json::from_str(&deltas.concat()).ok();
    let bug = row.get("bug").is_some() || row.get("reducer_error").is_some();
    let cut_pairs = row.get("delta_splits_surrogate").is_some() || row.get("lone_surrogate").is_some();
    let streamed = !recorded.iter().any(|chunk| chunk["at"] == -1)
        && row["args"]["stream"] != false
        && row["args"]["emit"] != false
        && row["structured"]["stream"] != false;

    let mut extractor = Extractor::new(fields);
    let mut value = PartialValue::with(Options::lenient());
    let (mut ours, mut theirs) = (None, None);
    let mut ahead = false;
    let mut failed = false;
    for (at, delta) in deltas.iter().enumerate() {
        let mut chunks: Vec<OwnedChunk> = Vec::new();
        if !failed {
            failed = extractor.push(delta, |chunk| chunks.push(chunk.into())).is_err();
            let _ = value.push(delta);
        }
        for chunk in &chunks {
            apply(&mut ours, chunk).map_err(|error| format!("delta {at}: our own chunk: {error}"))?;
        }
        // Whatever was recorded, our state must be part of the document, unless a repeated key removes it.
        if let (Some(ours), Some(whole)) = (&ours, &whole)
            && !covers(whole, ours)
            && !row["name"].as_str().unwrap().starts_with("dup-key")
        {
            return Err(format!("delta {at}: {ours} is not in {whole}"));
        }
        if bug || cut_pairs || !streamed {
            continue;
        }
        for chunk in recorded.iter().filter(|chunk| chunk["at"] == at) {
            let path = chunk["path"].as_str().expect("a chunk has a path").to_owned();
            let chunk = match chunk["kind"].as_str() {
                Some("set") => OwnedChunk::Set(path, Some(chunk["value"].clone())),
                Some("append") => OwnedChunk::Append(path, chunk["items"].as_array().unwrap().clone()),
                Some("text-delta") => OwnedChunk::Text(path, chunk["delta"].as_str().unwrap().to_owned()),
                kind => panic!("{kind:?}"),
            };
            apply(&mut theirs, &chunk).map_err(|error| format!("delta {at}: the recorded chunk: {error}"))?;
        }
        let (ours, theirs) = (ours.clone().unwrap_or_default(), theirs.clone().unwrap_or_default());
        if !covers(&ours, &theirs) {
            return Err(format!("delta {at}: {ours} is behind {theirs}"));
        }
        ahead |= ours != theirs;
    }

    let end = recorded.iter().find(|chunk| chunk["kind"] == "final").map(|chunk| &chunk["data"]);
    let completion = extractor.finish();
    assert_eq!(completion, value.finish(), "both read in the same way");
    let complete = matches!(completion, Completion::Complete);
    match (end, value.snapshot().filter(|_| complete)) {
        (Some(end), Some(ours)) if covers(&ours, end) && covers(end, &ours) => {}
        (Some(_), Some(_)) if cut_pairs => {}
        (Some(end), ours) => return Err(format!("the final value is {ours:?} instead of {end}")),
        (None, Some(ours)) if !bug && row["args"]["emit"] != false && row["schema"] != "fail" => {
            return Err(format!("{ours} is complete, but Kortyx gave up"));
        }
        (None, _) => {}
    }
    let passed = match (bug, cut_pairs, ahead) {
        (true, ..) => &mut tally.bugs,
        (_, true, _) => &mut tally.cut_pairs,
        (_, _, true) => &mut tally.ahead,
        _ => &mut tally.same,
    };
    *passed += 1;
    Ok(())
}

fn fields(declared: &Value) -> Result<Fields, String> {
    let mut builder = Fields::builder();
    for (path, kind) in declared.as_object().expect("fields are an object") {
        let kind: FieldKind = kind.as_str().unwrap().parse().map_err(|error| format!("{error}"))?;
        builder = builder.field(kind, path);
    }
    builder.build().map_err(|error| error.to_string())
}
