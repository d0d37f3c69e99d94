//! Cassettes: exchanges with providers, kept in files and played again without network or key.
//!
//! A [`Recorder`] keeps what goes over a [`Transport`](super::Transport), and a [`Player`] answers instead of it. The wires
//! know nothing of it: they get the same bytes in the same pieces. What is secret is never written: keys, cookies, and
//! whatever else a header holds that nobody needs to read an answer.

mod differ;
mod file;
mod player;
mod recorder;

pub use player::Player;
pub use recorder::Recorder;

pub(super) use recorder::Asking;

/// What stands between a transport and the network.
#[derive(Debug, Clone, Default)]
pub(super) enum Tape {
    /// Nothing.
    #[default]
    None,
    /// What goes over it is kept.
    Record(Recorder),
    /// The network is not used at all.
    Play(Player),
}
