//! Cassettes: exchanges with providers, stored in files and replayed without network or key.
//!
//! A [`Recorder`] stores the traffic of a [`Transport`](super::Transport); a [`Player`] replaces the network.
//! Wires see the same bytes in the same pieces either way. Secrets are never written: only an allow list of
//! headers is kept, and keys are removed.

mod diff;
mod file;
mod player;
mod recorder;

pub use player::Player;
pub use recorder::Recorder;

pub(super) use recorder::OutgoingRequest;

/// What a transport sends its requests to.
#[derive(Debug, Clone, Default)]
pub(super) enum Tape {
    /// No cassette: requests go to the provider.
    #[default]
    None,
    /// The network, with every exchange recorded.
    Record(Recorder),
    /// A cassette instead of the network.
    Play(Player),
}
