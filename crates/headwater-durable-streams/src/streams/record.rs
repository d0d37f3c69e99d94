//! The record of one append: its data, and the state for deduplication and closing after a restart.
//!
//! Both are one record, so that no crash can keep one and lose the other.

use bytes::{BufMut as _, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use super::producer::ProducerStamp;
use crate::StreamError;

/// The version of the encoding.
const VERSION: u8 = 1;

/// One append.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AppendRecord {
    pub(crate) header: AppendHeader,
    pub(crate) data: Bytes,
}

/// The metadata beside the data.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct AppendHeader {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) producer: Option<ProducerStamp>,
    /// The `Stream-Seq` of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) seq: Option<String>,
    /// Whether the append closed the stream.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) closes: bool,
}

impl AppendRecord {
    /// A version, the length of the header in four bytes, the header as JSON, and the data.
    pub(crate) fn encode(&self) -> Result<Bytes, StreamError> {
        let header = serde_json::to_vec(&self.header).map_err(|_| StreamError::internal())?;
        let length = u32::try_from(header.len()).map_err(|_| StreamError::internal())?;
        let mut bytes = BytesMut::with_capacity(5 + header.len() + self.data.len());
        bytes.put_u8(VERSION);
        bytes.put_u32(length);
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(&self.data);
        Ok(bytes.freeze())
    }

    pub(crate) fn decode(bytes: &Bytes) -> Result<Self, StreamError> {
        let parse = || {
            let (start, rest) = bytes.split_first_chunk::<5>()?;
            let [VERSION, length @ ..] = *start else { return None };
            let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
            let header = serde_json::from_slice(rest.get(..length)?).ok()?;
            Some(Self { header, data: bytes.slice(5 + length..) })
        };
        parse().ok_or_else(|| {
            tracing::error!("the store has a record of a stream that cannot be decoded");
            StreamError::internal()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_round_trips() {
        let producer = Some(ProducerStamp { id: "p".into(), epoch: 1, seq: 2 });
        let header = AppendHeader { producer, seq: Some("7".into()), closes: true };
        for record in
            [AppendRecord::default(), AppendRecord { header, data: Bytes::from_static(b"\x00\xff") }]
        {
            assert_eq!(AppendRecord::decode(&record.encode().unwrap()).unwrap(), record);
        }
        for damaged in [&b""[..], b"\x02\x00\x00\x00\x00", b"\x01\x00\x00\x00\x09{}"] {
            assert!(AppendRecord::decode(&Bytes::from_static(damaged)).is_err());
        }
    }
}
