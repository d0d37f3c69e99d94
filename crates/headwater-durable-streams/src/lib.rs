//! The [Durable Streams](https://durablestreams.com) protocol over a Headwater store: append-only streams at
//! URLs that are created with `PUT`, appended to with `POST`, read by offset with `GET`, followed by
//! long-poll or SSE, forked, and expired. Every append is one record of a journal, together with its
//! deduplication data, so a stream survives the process and is shared by all processes that share the store.
//!
//! [`DurableStreams`] is the engine and [`router`] its routes below `/v1/stream/`. The request extension
//! [`StreamOwner`] is the owner of the streams in a request; `headwater-server` sets it to the authenticated
//! principal.
//!
//! ```no_run
//! use std::sync::Arc;
//! use headwater_durable_streams::{DurableStreams, StreamOptions, router};
//! use headwater_store::Memory;
//!
//! let streams = DurableStreams::new(Arc::new(Memory::new()), StreamOptions::default());
//! let app: axum::Router = router(&streams);
//! ```
//!
//! [`serve`] has the building blocks for other kinds of streams under the same protocol: the parameters of a
//! read, the headers, and SSE.

mod caller;
mod clock;
mod error;
mod http;
mod streams;

pub use caller::StreamOwner;
pub use error::StreamError;
pub use http::{REQUEST_HEADERS, RESPONSE_HEADERS, open_router, router, serve};
pub use streams::{DurableStreams, StreamOptions};

/// The path of the streams.
pub const MOUNT: &str = "/v1/stream/";
