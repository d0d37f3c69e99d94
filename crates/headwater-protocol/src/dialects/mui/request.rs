//! x
use crate::{error::Error, request::*};
pub(super) fn parse(_: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    Ok(ChatRequest::default())
}
