//! stub
use crate::{
    error::Error,
    request::{ChatRequest, RawRequest},
};
pub(super) fn parse(_request: &RawRequest<'_>) -> Result<ChatRequest, Error> {
    Ok(ChatRequest::default())
}
