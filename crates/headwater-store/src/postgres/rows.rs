//! Reads the rows of the tables.

use bytes::Bytes;
use tokio_postgres::{Row, types::FromSql};

use crate::{
    EpochStart, Error, ErrorKind, Time, Value,
    remote::{Answer, EngineFault, JournalHeader, JournalHold},
};

pub(super) fn column<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Answer<T> {
    row.try_get(at).map_err(|error| {
        let message =
            format!("Postgres answered something that is not expected: {error}; is the schema changed?");
        EngineFault::Refused(Error::new(ErrorKind::Corrupt, message))
    })
}

pub(super) fn header(row: &Row) -> Answer<JournalHeader> {
    let expires = unsigned(column(row, 4)?);
    let hold = match column::<i16>(row, 2)? {
        0 => JournalHold::Free,
        1 => JournalHold::Leased { owner: text(column(row, 3)?).into(), expires },
        _ => JournalHold::Closed { goes: column::<Option<i64>>(row, 5)?.map(unsigned) },
    };
    let (epochs, firsts): (Vec<i64>, Vec<i64>) = (column(row, 10)?, column(row, 11)?);
    let start = |(epoch, first): (i64, i64)| EpochStart { epoch: unsigned(epoch), first: unsigned(first) };
    Ok(JournalHeader {
        number: unsigned(column(row, 0)?),
        epoch: unsigned(column(row, 1)?),
        hold,
        first: unsigned(column(row, 6)?),
        last: unsigned(column(row, 7)?),
        total: unsigned(column(row, 8)?),
        trimmed: unsigned(column(row, 9)?),
        epochs: epochs.into_iter().zip(firsts).map(start).collect(),
        now: unsigned(column(row, 13)?),
    })
}

pub(super) fn value(row: &Row, at: usize) -> Answer<Value> {
    Ok(Value {
        bytes: Bytes::from(column::<Vec<u8>>(row, at)?),
        version: unsigned(column(row, at + 1)?),
        expires: column::<Option<i64>>(row, at + 2)?.map(|expires| Time(unsigned(expires))),
        damaged: false,
    })
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
