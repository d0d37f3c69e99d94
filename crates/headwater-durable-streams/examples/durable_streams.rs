//! Streams in memory on a port: `cargo run -p headwater-durable-streams --example durable_streams -- 127.0.0.1:4437`.
//! Without authentication and CORS; `headwater serve` has both.

use std::{sync::Arc, time::Duration};

use headwater_durable_streams::{DurableStreams, StreamOptions, open_router, router};
use headwater_store::Memory;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:4437".to_owned());
    let mut options = StreamOptions::default();
    options.webhooks = true;
    options.long_poll = Duration::from_secs(2);
    let streams = DurableStreams::new(Arc::new(Memory::new()), options);
    let listener = tokio::net::TcpListener::bind(address).await?;
    axum::serve(listener, router(&streams).merge(open_router(&streams))).await
}
