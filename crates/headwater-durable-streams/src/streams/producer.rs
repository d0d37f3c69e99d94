//! Idempotent producers: each request has a producer, its epoch, and a sequence within the epoch.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// The producer headers of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProducerStamp {
    pub(crate) id: String,
    pub(crate) epoch: u64,
    pub(crate) seq: u64,
}

/// Where each producer is.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ProducerTable(HashMap<String, ProducerPosition>);

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct ProducerPosition {
    epoch: u64,
    seq: u64,
}

/// Classification of a producer's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProducerVerdict {
    Accepted,
    /// It was accepted before.
    Duplicate {
        last: u64,
    },
    /// Another process of the producer has started a later epoch.
    StaleEpoch {
        current: u64,
    },
    /// An epoch must start with 0.
    EpochNotAtStart,
    Gap {
        expected: u64,
    },
    TooManyProducers,
}

impl ProducerTable {
    /// Decides about a request without recording it.
    pub(crate) fn check(&self, stamp: &ProducerStamp, limit: usize) -> ProducerVerdict {
        let Some(known) = self.0.get(&stamp.id) else {
            return match stamp.seq {
                0 if self.0.len() >= limit => ProducerVerdict::TooManyProducers,
                0 => ProducerVerdict::Accepted,
                _ => ProducerVerdict::Gap { expected: 0 },
            };
        };
        if stamp.epoch < known.epoch {
            return ProducerVerdict::StaleEpoch { current: known.epoch };
        }
        if stamp.epoch > known.epoch {
            return if stamp.seq == 0 { ProducerVerdict::Accepted } else { ProducerVerdict::EpochNotAtStart };
        }
        if stamp.seq <= known.seq {
            return ProducerVerdict::Duplicate { last: known.seq };
        }
        match known.seq + 1 {
            expected if expected == stamp.seq => ProducerVerdict::Accepted,
            expected => ProducerVerdict::Gap { expected },
        }
    }

    pub(crate) fn record(&mut self, stamp: &ProducerStamp) {
        self.0.insert(stamp.id.clone(), ProducerPosition { epoch: stamp.epoch, seq: stamp.seq });
    }

    /// The current epoch of a producer, if it is later than that of the request.
    pub(crate) fn later_epoch(&self, stamp: &ProducerStamp) -> Option<u64> {
        self.0.get(&stamp.id).map(|known| known.epoch).filter(|epoch| *epoch > stamp.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_are_accepted_once_and_in_order() {
        let mut table = ProducerTable::default();
        let stamp = |epoch, seq| ProducerStamp { id: "p".into(), epoch, seq };
        let check = |table: &ProducerTable, epoch, seq| table.check(&stamp(epoch, seq), 1);
        assert_eq!(check(&table, 0, 1), ProducerVerdict::Gap { expected: 0 });
        assert_eq!(check(&table, 0, 0), ProducerVerdict::Accepted);
        table.record(&stamp(0, 0));
        assert_eq!(check(&table, 0, 0), ProducerVerdict::Duplicate { last: 0 });
        assert_eq!(check(&table, 0, 2), ProducerVerdict::Gap { expected: 1 });
        assert_eq!(check(&table, 1, 1), ProducerVerdict::EpochNotAtStart);
        table.record(&stamp(1, 0));
        assert_eq!(check(&table, 0, 1), ProducerVerdict::StaleEpoch { current: 1 });
        assert_eq!(table.later_epoch(&stamp(0, 1)), Some(1));
        let other = ProducerStamp { id: "q".into(), epoch: 0, seq: 0 };
        assert_eq!(table.check(&other, 1), ProducerVerdict::TooManyProducers);
    }
}
