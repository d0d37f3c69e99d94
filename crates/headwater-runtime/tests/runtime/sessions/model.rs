//! Random histories of a session beside a simple model of a conversation tree, with a new process before every step.

use std::{sync::Arc, time::Duration};

use headwater_protocol::{CheckpointId, SessionId};
use headwater_runtime::{Agent, Session};
use headwater_store::{
    Clock as _, Embedded, ManualClock, Memory, Store, SystemClock,
    embedded::{Fsync, Options},
};
use proptest::prelude::*;

use super::{answer, send, texts, workflow};

/// Something that a person does. Numbers choose among what there is.
#[derive(Debug, Clone)]
enum Step {
    Say(u8),
    Report,
    Answer(bool),
    RollBack(u8),
    Undo,
    Fork(u8),
    Regenerate(u8),
    Edit(u8, u8),
    Select(u8, u8),
    /// Time passes, and what nobody reaches is let go.
    Tend,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<u8>().prop_map(Step::Say),
        3 => Just(Step::Report),
        6 => any::<bool>().prop_map(Step::Answer),
        2 => any::<u8>().prop_map(Step::RollBack),
        1 => Just(Step::Undo),
        1 => any::<u8>().prop_map(Step::Fork),
        2 => any::<u8>().prop_map(Step::Regenerate),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(turn, text)| Step::Edit(turn, text)),
        2 => (any::<u8>(), any::<u8>()).prop_map(|(turn, which)| Step::Select(turn, which)),
        3 => Just(Step::Tend),
    ]
}

/// A turn of the model: what is said in all after it, and what it was.
#[derive(Debug, Clone)]
struct Node {
    id: CheckpointId,
    said: Vec<String>,
    /// The answers so far, while it waits for another one.
    waits: Option<Vec<&'static str>>,
    given: Given,
    /// The turns that were done at the same place and left, each with all that had followed.
    left: Vec<Vec<Node>>,
}

impl Node {
    /// All turns that can be gone to from here on: this one, and those that were left at its place.
    fn reach(&self, reached: &mut Vec<CheckpointId>) {
        reached.push(self.id.clone());
        self.left.iter().flatten().for_each(|node| node.reach(reached));
    }
}

#[derive(Debug, Clone)]
enum Given {
    Text(String),
    Answer(&'static str),
}

/// A session of the model: its turns.
#[derive(Debug, Clone, Default)]
struct Path(Vec<Node>);

impl Path {
    fn said(&self) -> Vec<String> {
        self.0.last().map(|node| node.said.clone()).unwrap_or_default()
    }

    /// What a turn leaves, by the rules of the workflow.
    fn then(&self, id: CheckpointId, given: Given) -> Node {
        let mut said = self.said();
        let waits = match &given {
            Given::Text(text) => {
                let reply = format!("{}: {text}", said.len());
                said.push(text.clone());
                let asks = text == "report";
                said.push(if asks { String::new() } else { reply });
                asks.then(Vec::new)
            }
            Given::Answer(with) => {
                let mut answers = self.0.last().and_then(|node| node.waits.clone()).unwrap_or_default();
                answers.push(*with);
                if answers.len() == 2 {
                    // The name that the step made is not compared.
                    *said.last_mut().unwrap() = format!("{}/{}", answers[0], answers[1]);
                }
                (answers.len() < 2).then_some(answers)
            }
        };
        Node { id, said, waits, given, left: Vec::new() }
    }

    /// Does a turn again: what was there is a variant of it.
    fn again(&mut self, at: usize, id: CheckpointId, given: Given) {
        let mut old = self.0.split_off(at);
        let mut left = std::mem::take(&mut old[0].left);
        left.push(old);
        let mut node = self.then(id, given);
        node.left = left;
        self.0.push(node);
    }

    fn select(&mut self, at: usize, which: usize) -> CheckpointId {
        let mut old = self.0.split_off(at);
        let mut left = std::mem::take(&mut old[0].left);
        let mut chosen = left.swap_remove(which);
        left.push(old);
        chosen[0].left = left;
        let id = chosen[0].id.clone();
        self.0.extend(chosen);
        id
    }
}

/// Where the store lives while processes come and go.
enum Ground {
    Memory(Arc<Memory>),
    Folder(tempfile::TempDir),
}

impl Ground {
    fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::Memory(store) => store.clone(),
            Self::Folder(folder) => {
                // A process that ends loses nothing that it wrote, and an fsync for each write is all that would take time here.
                let mut options = Options::default();
                options.fsync = Fsync::Never;
                Arc::new(Embedded::open_folder(folder.path(), options).unwrap())
            }
        }
    }
}

async fn idle(agent: &Agent) {
    while agent.driving() > 0 {
        tokio::task::yield_now().await;
    }
}

/// Names that are made by chance are cut off: `a/s/id_…`.
fn plain(said: Vec<String>) -> Vec<String> {
    said.into_iter().map(|text| text.split("/id_").next().unwrap_or_default().to_owned()).collect()
}

async fn follow(ground: Ground, steps: Vec<Step>) {
    let mut model: Vec<(SessionId, Path)> = Vec::new();
    let clock = Arc::new(ManualClock::at(SystemClock.now().0));
    let process = || {
        let agent = Agent::builder().workflow(workflow()).store(ground.open());
        agent.clock(clock.clone()).build().unwrap()
    };
    {
        let agent = process();
        model.push((agent.new_session(Some("ann")).await.unwrap().id().clone(), Path::default()));
    }
    for (number, step) in steps.into_iter().enumerate() {
        let agent = process();
        if matches!(step, Step::Tend) {
            clock.advance(Duration::from_secs(120));
            agent.tend().await.unwrap();
        }
        let at = number % model.len();
        let (id, mut path) = model[at].clone();
        let session = agent.session(id.clone(), Some("ann"));
        if let Some(fork) = act(&agent, &session, &mut path, step).await {
            model.push(fork);
        }
        model[at] = (id, path);
        for (id, path) in &model {
            let session = agent.session(id.clone(), Some("ann"));
            compare(&session, path).await;
        }
        idle(&agent).await;
    }
    sweeps(&process(), &clock, &model).await;
}

/// In the end there are as many checkpoints as can be reached, and none when all sessions are deleted.
async fn sweeps(agent: &Agent, clock: &ManualClock, model: &[(SessionId, Path)]) {
    clock.advance(Duration::from_secs(120));
    agent.tend().await.unwrap();
    let mut reached: Vec<CheckpointId> = Vec::new();
    for (_, path) in model {
        path.0.iter().for_each(|node| node.reach(&mut reached));
    }
    reached.sort();
    reached.dedup();
    let store = agent.store().clone();
    let kept = store.list("checkpoint/", None, 1_000).await.unwrap();
    let mut kept: Vec<_> = kept
        .iter()
        .map(|(key, _)| CheckpointId::from(key["checkpoint/".len()..].trim_end_matches('/')))
        .collect();
    kept.sort();
    assert_eq!(kept, reached);
    for (id, _) in model {
        agent.delete_session(id.clone(), Some("ann")).await.unwrap();
    }
    idle(agent).await;
    agent.tend().await.unwrap();
    for prefix in ["checkpoint", "session", "branch", "summary", "question"] {
        let left = store.list(prefix, None, 10).await.unwrap();
        assert!(left.is_empty(), "{:?}", left.iter().map(|(key, _)| key).collect::<Vec<_>>());
    }
}

async fn compare(session: &Session, path: &Path) {
    assert_eq!(plain(texts(session).await), path.said());
    let info = session.info().await.unwrap();
    assert_eq!(info.checkpoint.as_ref(), path.0.last().map(|node| &node.id));
    assert_eq!(info.turns as usize, path.0.len());
    assert_eq!(info.waiting.is_some(), path.0.last().is_some_and(|node| node.waits.is_some()));
    let chain: Vec<_> = session.checkpoints(None, usize::MAX).await.unwrap();
    let ids: Vec<_> = chain.iter().rev().map(|checkpoint| checkpoint.id.clone()).collect();
    assert_eq!(ids, path.0.iter().map(|node| node.id.clone()).collect::<Vec<_>>());
    for node in &path.0 {
        let mut variants: Vec<_> = node.left.iter().map(|left| left[0].id.clone()).collect();
        variants.push(node.id.clone());
        variants.sort();
        let listed = session.variants(&node.id).await.unwrap();
        let mut found: Vec<_> = listed.iter().map(|variant| variant.checkpoint.id.clone()).collect();
        found.sort();
        assert_eq!(found, variants);
        let page = session.history(Some(&node.id), None, usize::MAX).await.unwrap();
        assert_eq!(
            plain(page.messages.iter().map(headwater_protocol::Message::plain_text).collect()),
            node.said
        );
    }
}

async fn act(agent: &Agent, session: &Session, path: &mut Path, step: Step) -> Option<(SessionId, Path)> {
    let waits = path.0.last().is_some_and(|node| node.waits.is_some());
    let chosen = |number: u8| usize::from(number) % path.0.len().max(1);
    let turns = path.0.len();
    match step {
        Step::Say(number) => {
            let text = format!("text {number}");
            let id = send(session, &text).await;
            path.0.push(path.then(id, Given::Text(text)));
        }
        Step::Report => {
            let id = send(session, "report").await;
            path.0.push(path.then(id, Given::Text("report".into())));
        }
        Step::Answer(first) if waits => {
            let second =
                path.0.last().is_some_and(|node| node.waits.as_ref().is_some_and(|given| given.len() == 1));
            let with = match (second, first) {
                (false, true) => "a",
                (false, false) => "b",
                (true, true) => "s",
                (true, false) => "l",
            };
            let id = answer(agent, session, with).await;
            path.0.push(path.then(id, Given::Answer(with)));
        }
        Step::RollBack(number) if turns > 0 => {
            let at = chosen(number);
            session.roll_back(&path.0[at].id).await.unwrap();
            session.settled().await.unwrap();
            path.0.truncate(at + 1);
        }
        Step::Undo if turns > 0 => {
            session.undo().await.unwrap();
            session.settled().await.unwrap();
            path.0.pop();
        }
        Step::Fork(number) if turns > 0 => {
            let at = chosen(number);
            let fork = session.fork(&path.0[at].id, None).await.unwrap();
            fork.settled().await.unwrap();
            let mut forked = path.0[..=at].to_vec();
            forked.iter_mut().for_each(|node| node.left.clear());
            return Some((fork.id().clone(), Path(forked)));
        }
        Step::Regenerate(number) if turns > 0 => {
            let at = chosen(number);
            let id = session.regenerate(&path.0[at].id).await.unwrap().checkpoint;
            session.settled().await.unwrap();
            let given = path.0[at].given.clone();
            path.again(at, id, given);
        }
        Step::Edit(number, text) if turns > 0 => {
            let at = chosen(number);
            let edited = session.edit(&path.0[at].id, format!("edit {text}")).await;
            match &path.0[at].given {
                Given::Text(_) => {
                    let id = edited.unwrap().checkpoint;
                    session.settled().await.unwrap();
                    path.again(at, id, Given::Text(format!("edit {text}")));
                }
                Given::Answer(_) => assert_eq!(edited.unwrap_err().code(), "turn.answer"),
            }
        }
        Step::Select(number, which) if turns > 0 => {
            let at = chosen(number);
            let left = path.0[at].left.len();
            if left > 0 {
                let id = path.select(at, usize::from(which) % left);
                session.select(&id).await.unwrap();
                session.settled().await.unwrap();
            }
        }
        _ => {}
    }
    None
}

fn cases() -> ProptestConfig {
    let cases = std::env::var("HEADWATER_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn run(ground: Ground, steps: Vec<Step>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(follow(ground, steps));
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_session_in_memory_is_the_tree_that_its_steps_make(steps in proptest::collection::vec(step(), 1..14)) {
        run(Ground::Memory(Arc::new(Memory::new())), steps);
    }

    #[test]
    fn a_session_in_a_folder_is_the_tree_that_its_steps_make(steps in proptest::collection::vec(step(), 1..14)) {
        run(Ground::Folder(tempfile::tempdir().unwrap()), steps);
    }
}
