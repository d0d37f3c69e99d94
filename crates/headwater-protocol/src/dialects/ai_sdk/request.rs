//! Requests.
use crate::{
    error::{Error, ErrorKind},
    request::{ChatRequest, RawRequest},
};
pub(super) fn parse(_request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    Err(Error::new(ErrorKind::Request, "not yet"))
}
