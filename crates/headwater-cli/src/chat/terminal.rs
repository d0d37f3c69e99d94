//! The terminal: raw mode, keys, frames, and the loop around them.

use std::{
    io::{self, Read as _},
    time::Duration,
};

use futures_util::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use headwater_client::{AgentPage, Client, RunStream, Update};
use tokio::{sync::mpsc, time::Instant};

use super::{
    action::{ChatAction, ChatReply},
    app::{ChatApp, ChatTarget},
    key::{ChatInput, KeyReader},
    raw::{self, RawTerminal, write_all},
    screen::Screen,
    server,
    signals::{TerminalSignal, TerminalSignals},
};
use crate::failure::CommandFailure;

/// The shortest time between two frames.
const FRAME: Duration = Duration::from_millis(33);

/// How fast spinners turn.
const TURN: Duration = Duration::from_millis(100);

/// The chat in a terminal.
struct TerminalChat {
    client: Client,
    app: ChatApp,
    screen: Screen,
    size: (u16, u16),
    stream: Option<RunStream>,
    jobs: FuturesUnordered<BoxFuture<'static, Option<ChatReply>>>,
    is_over: bool,
}

/// Chats until the person quits or the terminal is closed. Gives the session, if there is one.
pub(super) async fn run(
    client: Client,
    target: ChatTarget,
    agents: AgentPage,
    colour: bool,
) -> Result<Option<String>, CommandFailure> {
    let size = raw::size();
    let opens = target.session.clone();
    let mut chat = TerminalChat {
        client,
        app: ChatApp::new(target, agents, colour, size),
        screen: Screen::new(size.0.into(), colour),
        size,
        stream: None,
        jobs: FuturesUnordered::new(),
        is_over: false,
    };
    chat.app.greet();
    if let Some(session) = opens {
        chat.execute(vec![ChatAction::Open(session)]);
    }
    let signals = TerminalSignals::watch()?;
    let raw =
        RawTerminal::enter().map_err(|error| CommandFailure::new(format!("cannot read keys: {error}")))?;
    let looped = chat.run(signals).await;
    drop(raw);
    match looped {
        // The terminal was closed.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::BrokenPipe) || error.raw_os_error() == Some(5) =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
        Ok(()) => Ok(chat.app.target().session.clone()),
    }
}

impl TerminalChat {
    async fn run(&mut self, mut signals: TerminalSignals) -> io::Result<()> {
        let mut inputs = read_keys();
        let mut turns = tokio::time::interval(TURN);
        turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let mut next_frame = Instant::now();
        let mut is_changed = true;
        while !self.is_over {
            if is_changed && Instant::now() >= next_frame {
                self.draw()?;
                is_changed = false;
                next_frame = Instant::now() + FRAME;
            }
            let has_stream = self.stream.is_some();
            let follow = async {
                match &mut self.stream {
                    Some(stream) => stream.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                input = inputs.recv() => match input {
                    Some(input) => {
                        self.on_input(input)?;
                        // A key is shown at once.
                        next_frame = Instant::now();
                        is_changed = true;
                    }
                    None => self.is_over = true,
                },
                update = follow, if has_stream => {
                    self.on_update(update);
                    is_changed = true;
                }
                Some(reply) = self.jobs.next(), if !self.jobs.is_empty() => {
                    if let Some(reply) = reply {
                        self.on_reply(reply);
                    }
                    is_changed = true;
                }
                _ = turns.tick(), if self.app.is_animated() => {
                    self.app.on_tick();
                    is_changed = true;
                }
                () = tokio::time::sleep_until(next_frame), if is_changed => {}
                signal = signals.next() => {
                    match signal {
                        TerminalSignal::End => self.is_over = true,
                        TerminalSignal::Resize => {
                            let (width, height) = raw::size();
                            self.on_input(ChatInput::Resize(width, height))?;
                        }
                    }
                    is_changed = true;
                }
            }
        }
        self.leave()
    }

    fn draw(&mut self) -> io::Result<()> {
        // The terminal may have another size before its signal arrives.
        let size = raw::size();
        if size != self.size {
            self.on_input(ChatInput::Resize(size.0, size.1))?;
        }
        let state = self.stream.as_ref().map(RunStream::state);
        let bytes = self.screen.draw(self.app.frame(state));
        if bytes.is_empty() { Ok(()) } else { write_all(&bytes) }
    }

    /// Prints the finished lines, and removes the prompt.
    fn leave(&mut self) -> io::Result<()> {
        if let Some(stream) = self.stream.take() {
            self.app.end_run(stream.state());
        }
        let frame = self.app.frame(None);
        let shown = self.screen.draw(frame);
        write_all(&format!("{shown}{}", self.screen.remove_live()))
    }

    fn on_input(&mut self, input: ChatInput) -> io::Result<()> {
        if let ChatInput::Resize(width, height) = input {
            self.size = (width, height);
            self.screen.resize(width.into());
        }
        let actions = self.app.on_input(input);
        if actions.contains(&ChatAction::Redraw) {
            write_all(&self.screen.clear())?;
        }
        self.execute(actions);
        Ok(())
    }

    fn on_update(&mut self, update: headwater_client::Result<Option<Update>>) {
        let Some(stream) = &self.stream else { return };
        let actions = match update {
            Ok(Some(update)) => self.app.on_update(&update, stream.state(), &stream.pending()),
            Ok(None) => {
                let actions = self.app.on_run_end(stream.state());
                self.stream = None;
                actions
            }
            Err(error) => {
                self.app.on_run_lost(&error, stream.state());
                self.stream = None;
                Vec::new()
            }
        };
        self.execute(actions);
    }

    fn on_reply(&mut self, reply: ChatReply) {
        let actions = self.app.on_reply(&reply);
        if let ChatReply::Run { run, .. } | ChatReply::Opened { run: Some(run), .. } = reply {
            self.stream = Some(run.follow());
        }
        self.execute(actions);
    }

    fn execute(&mut self, actions: Vec<ChatAction>) {
        for action in actions {
            match action {
                ChatAction::Quit => self.is_over = true,
                ChatAction::Redraw => {}
                ChatAction::Detach => self.stream = None,
                action => {
                    let run = self.stream.as_ref().map(|stream| stream.run().clone());
                    let job = server::execute(self.client.clone(), self.app.target().clone(), run, action);
                    self.jobs.push(Box::pin(job));
                }
            }
        }
    }
}

/// Reads keys on a thread of its own, which ends with the terminal or the process.
fn read_keys() -> mpsc::UnboundedReceiver<ChatInput> {
    let (sender, inputs) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut reader = KeyReader::default();
        let mut bytes = [0; 4096];
        loop {
            let read = match io::stdin().lock().read(&mut bytes) {
                Ok(0) => return,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            for input in reader.push(bytes.get(..read).unwrap_or_default()) {
                if sender.send(input).is_err() {
                    return;
                }
            }
        }
    });
    inputs
}
