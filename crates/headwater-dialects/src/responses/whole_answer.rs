//! The document of a response, built from the records of its run.

use headwater_protocol::{FrameWriter, Framing};
use serde_json::Value;

use super::encode::ResponsesEncoder;
use crate::{
    documents::WholeAnswer,
    encode::{Encode as _, EncodeOptions},
};

/// The document of a response, as far as the records go.
pub(super) fn whole_answer(answer: &WholeAnswer<'_>) -> Value {
    let mut encoder = ResponsesEncoder::new(&EncodeOptions::default());
    let mut out = FrameWriter::new(Framing::Sse);
    let (before, rest) = answer.records.split_at(answer.records.partition_point(|it| it.seq <= answer.since));
    for record in before {
        encoder.record(record, &mut out);
        out.clear();
    }
    if answer.since > 0 {
        encoder.next_response(&mut out);
    }
    for record in rest {
        encoder.record(record, &mut out);
        out.clear();
    }
    encoder.finish(&mut out);
    let mut document = encoder.document();
    // A queued response has no records yet that would name it.
    if let Some(id) = &answer.names.run {
        document.id = id;
    }
    document.model = document.model.or(answer.names.model.as_deref());
    if document.created == 0 {
        document.created = answer.created;
    }
    // All keys are strings, so this cannot fail.
    serde_json::to_value(&document).unwrap_or_default()
}

#[cfg(test)]
mod tests;
