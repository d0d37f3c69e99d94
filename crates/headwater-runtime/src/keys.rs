//! Builds every store key of the runtime.
//!
//! Ids are encoded and terminated by [`headwater_store::key`], so that no client's session, run or request id
//! is a prefix of another client's. Owners are hashed, since their names may have any length.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use headwater_protocol::{CheckpointId, MessageId, RequestId, RunId, SessionId};
use headwater_store::key::{join, split};
use sha2::{Digest as _, Sha256};

pub(crate) const RUNS: &str = "run/";
pub(crate) const INBOX: &str = "inbox/";
pub(crate) const WAITING: &str = "waiting/";
pub(crate) const QUESTIONS: &str = "question/";
pub(crate) const OPEN_QUESTIONS: &str = "question-of/";
pub(crate) const SESSION_QUEUES: &str = "session-queue/";
pub(crate) const TREE_SWEEPS: &str = "session-sweep/";
pub(crate) const NOTICES: &str = "run-notice/";
pub(crate) const HANDOVERS: &str = "handover/";

/// The stop request in a run's inbox. No encoded id contains a `!`.
const STOP: &str = "!stop/";
/// The start of a session, in place of a checkpoint. No encoded id contains a `*`.
const BEGINNING: &str = "*/";

/// An owner as a part of a key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OwnerTag(String);

impl OwnerTag {
    /// An owner, across agents.
    pub(crate) fn new(owner: Option<&str>) -> Self {
        Self::hash(None, owner)
    }

    /// An owner, for one agent.
    pub(crate) fn of_agent(agent: &str, owner: Option<&str>) -> Self {
        Self::hash(Some(agent), owner)
    }

    /// All owners, across agents. Shorter than any hash.
    pub(crate) fn everyone() -> Self {
        Self("all".to_owned())
    }

    /// All owners, for one agent.
    pub(crate) fn everyone_of_agent(agent: &str) -> Self {
        Self(format!("all-{}", Self::hash(Some(agent), None).0))
    }

    fn hash(agent: Option<&str>, owner: Option<&str>) -> Self {
        let mut digest = Sha256::new();
        for part in [agent, owner] {
            let bytes = part.unwrap_or_default().as_bytes();
            digest.update([u8::from(part.is_some())]);
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        }
        let short: Vec<u8> = digest.finalize().iter().copied().take(18).collect();
        Self(URL_SAFE_NO_PAD.encode(short))
    }
}

/// A session by owner and id: two owners may use the same id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SessionKey {
    owner: OwnerTag,
    pub(crate) id: SessionId,
}

impl SessionKey {
    pub(crate) fn new(owner: Option<&str>, id: &SessionId) -> Self {
        Self { owner: OwnerTag::new(owner), id: id.clone() }
    }

    fn parts(&self) -> [&str; 2] {
        [&self.owner.0, self.id.as_str()]
    }

    /// The session in the last parts of a key.
    fn read(parts: Vec<String>) -> Option<Self> {
        let [owner, id] = <[String; 2]>::try_from(parts).ok()?;
        Some(Self { owner: OwnerTag(owner), id: id.into() })
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

pub(crate) fn run(run: &RunId) -> String {
    join("run", &[run.as_str()])
}

/// The runs of an owner, newest first.
pub(crate) fn runs_of(owner: &OwnerTag) -> String {
    join("run-of", &[&owner.0])
}

pub(crate) fn listed_run(owner: &OwnerTag, created: u64, run: &RunId) -> String {
    join("run-of", &[&owner.0, &newest_first(created), run.as_str()])
}

/// The active runs of an owner, in all processes.
pub(crate) fn active_runs(owner: &OwnerTag) -> String {
    join("active-run", &[&owner.0])
}

pub(crate) fn active_run(owner: &OwnerTag, run: &RunId) -> String {
    join("active-run", &[&owner.0, run.as_str()])
}

/// The notice of an end or a wait; waits are numbered.
pub(crate) fn notice(run: &RunId, status: &str, number: u64) -> String {
    join("run-notice", &[run.as_str(), status, &number.to_string()])
}

/// The public id of a notice.
pub(crate) fn read_notice(key: &str) -> Option<String> {
    let [run, status, number] = <[String; 3]>::try_from(split(NOTICES, key)?).ok()?;
    Some(format!("{run}.{status}.{number}"))
}

/// Written when a process has handed its runs over.
pub(crate) fn handover(process: &str) -> String {
    join("handover", &[process])
}

/// Start time and id of a listed run or session.
pub(crate) fn read_listed(prefix: &str, key: &str) -> Option<(u64, String)> {
    let [time, id] = <[String; 2]>::try_from(split(prefix, key)?).ok()?;
    Some((u64::MAX - time.parse::<u64>().ok()?, id))
}

/// Encodes a time so that newer entries sort first.
fn newest_first(time: u64) -> String {
    format!("{:020}", u64::MAX - time)
}

/// The inbox of a run.
pub(crate) fn inbox(run: &RunId) -> String {
    join("inbox", &[run.as_str()])
}

pub(crate) fn answer(run: &RunId, request: &RequestId) -> String {
    join("inbox", &[run.as_str(), request.as_str()])
}

/// The stop request of a run, which sorts before any answer.
pub(crate) fn stop(run: &RunId) -> String {
    inbox(run) + STOP
}

/// Parses an inbox key: the run, and the answered request. `None`: a stop request.
pub(crate) fn read_inbox(key: &str) -> Option<(RunId, Option<RequestId>)> {
    if let Some(run) = key.strip_suffix(STOP) {
        let [run] = <[String; 1]>::try_from(split(INBOX, run)?).ok()?;
        return Some((run.into(), None));
    }
    let [run, request] = <[String; 2]>::try_from(split(INBOX, key)?).ok()?;
    Some((run.into(), Some(request.into())))
}

/// A waiting run, ordered by the time limit of its wait.
pub(crate) fn waiting(until: u64, run: &RunId) -> String {
    join("waiting", &[&format!("{until:020}"), run.as_str()])
}

pub(crate) fn read_waiting(key: &str) -> Option<(u64, RunId)> {
    let [time, run] = <[String; 2]>::try_from(split(WAITING, key)?).ok()?;
    Some((time.parse().ok()?, run.into()))
}

pub(crate) fn question(request: &RequestId) -> String {
    join("question", &[request.as_str()])
}

/// The open questions of an owner.
pub(crate) fn open_questions(owner: &OwnerTag) -> String {
    join("question-of", &[&owner.0])
}

pub(crate) fn open_question(owner: &OwnerTag, request: &RequestId) -> String {
    join("question-of", &[&owner.0, request.as_str()])
}

pub(crate) fn session(session: &SessionKey) -> String {
    join("session", &session.parts())
}

/// The sessions of an owner, newest first.
pub(crate) fn sessions_of(owner: &OwnerTag) -> String {
    join("session-of", &[&owner.0])
}

pub(crate) fn listed_session(owner: &OwnerTag, created: u64, session: &SessionId) -> String {
    join("session-of", &[&owner.0, &newest_first(created), session.as_str()])
}

/// A session in the list of all owners, which may contain the same id several times.
pub(crate) fn listed_session_of_everyone(agent: &str, created: u64, session: &SessionKey) -> String {
    let [owner, id] = session.parts();
    join("session-of", &[&OwnerTag::everyone_of_agent(agent).0, &newest_first(created), owner, id])
}

/// Start time and key of a session in the list of all owners.
pub(crate) fn read_listed_of_everyone(prefix: &str, key: &str) -> Option<(u64, SessionKey)> {
    let [time, owner, id] = <[String; 3]>::try_from(split(prefix, key)?).ok()?;
    let session = SessionKey { owner: OwnerTag(owner), id: id.into() };
    Some((u64::MAX - time.parse::<u64>().ok()?, session))
}

/// A session with queued turns.
pub(crate) fn session_queue(session: &SessionKey) -> String {
    join("session-queue", &session.parts())
}

pub(crate) fn read_session_queue(key: &str) -> Option<SessionKey> {
    SessionKey::read(split(SESSION_QUEUES, key)?)
}

/// The sessions that share a tree of checkpoints.
pub(crate) fn sessions_in_tree(tree: &str) -> String {
    join("session-tree", &[tree])
}

pub(crate) fn session_in_tree(tree: &str, session: &SessionKey) -> String {
    let [owner, id] = session.parts();
    join("session-tree", &[tree, owner, id])
}

pub(crate) fn read_session_in_tree(tree: &str, key: &str) -> Option<SessionKey> {
    SessionKey::read(split(&sessions_in_tree(tree), key)?)
}

/// The runs of a session without a checkpoint.
pub(crate) fn session_copies(session: &SessionKey) -> String {
    join("session-copy", &session.parts())
}

pub(crate) fn session_copy(session: &SessionKey, run: &RunId) -> String {
    let [owner, id] = session.parts();
    join("session-copy", &[owner, id, run.as_str()])
}

/// The turns of a session by the keys of their requests.
pub(crate) fn session_requests(session: &SessionKey) -> String {
    join("session-request", &session.parts())
}

pub(crate) fn session_request(session: &SessionKey, key: &str) -> String {
    let [owner, id] = session.parts();
    join("session-request", &[owner, id, key])
}

/// All abandoned branches of a session.
pub(crate) fn branches(session: &SessionKey) -> String {
    join("branch", &session.parts())
}

/// The branches abandoned at a checkpoint, or at the start of the session.
pub(crate) fn branches_at(session: &SessionKey, parent: Option<&CheckpointId>) -> String {
    let [owner, id] = session.parts();
    match parent {
        Some(parent) => join("branch", &[owner, id, parent.as_str()]),
        None => branches(session) + BEGINNING,
    }
}

pub(crate) fn branch(session: &SessionKey, parent: Option<&CheckpointId>, child: &CheckpointId) -> String {
    let child = join("", &[child.as_str()]);
    branches_at(session, parent) + child.strip_prefix('/').unwrap_or(&child)
}

/// Parses a branch key: the checkpoint before the branch, and its first checkpoint.
pub(crate) fn read_branch(session: &SessionKey, key: &str) -> Option<(Option<CheckpointId>, CheckpointId)> {
    let beginning = branches_at(session, None);
    if key.starts_with(&beginning) {
        let [child] = <[String; 1]>::try_from(split(&beginning, key)?).ok()?;
        return Some((None, child.into()));
    }
    let parts = split(&branches(session), key)?;
    let [parent, child] = <[String; 2]>::try_from(parts).ok()?;
    Some((Some(parent.into()), child.into()))
}

/// A checkpoint's id starts with that of its tree and a dot, so that the checkpoints of a tree can be listed.
fn of_tree(kind: &str, tree: &str) -> String {
    let mut prefix = join(kind, &[tree]);
    prefix.pop();
    prefix.push('.');
    prefix
}

fn read_checkpoint_of(prefix: &str, key: &str) -> Option<CheckpointId> {
    let [id] = <[String; 1]>::try_from(split(prefix, key)?).ok()?;
    Some(id.into())
}

pub(crate) fn checkpoint(id: &CheckpointId) -> String {
    join("checkpoint", &[id.as_str()])
}

pub(crate) fn checkpoints(tree: &str) -> String {
    of_tree("checkpoint", tree)
}

pub(crate) fn read_checkpoint(key: &str) -> Option<CheckpointId> {
    read_checkpoint_of("checkpoint/", key)
}

/// The pieces of a checkpoint that is too large for one value.
pub(crate) fn checkpoint_pieces(id: &CheckpointId) -> String {
    join("checkpoint-piece", &[id.as_str()])
}

pub(crate) fn checkpoint_piece(id: &CheckpointId, piece: usize) -> String {
    join("checkpoint-piece", &[id.as_str(), &format!("{piece:06}")])
}

/// The turns of a tree by the messages that started them.
pub(crate) fn message_turns_in_tree(tree: &str) -> String {
    join("message-turn", &[tree])
}

/// The checkpoints of the turns started by a message: several if a turn was repeated. Pages choose message
/// ids of any length, so they are hashed.
pub(crate) fn message_turns(tree: &str, message: &MessageId) -> String {
    let short: Vec<u8> = Sha256::digest(message.as_str()).iter().copied().take(18).collect();
    join("message-turn", &[tree, &URL_SAFE_NO_PAD.encode(short)])
}

pub(crate) fn message_turn(tree: &str, message: &MessageId, checkpoint: &CheckpointId) -> String {
    let of = join("", &[checkpoint.as_str()]);
    message_turns(tree, message) + of.strip_prefix('/').unwrap_or(&of)
}

pub(crate) fn read_message_turn(tree: &str, message: &MessageId, key: &str) -> Option<CheckpointId> {
    read_checkpoint_of(&message_turns(tree, message), key)
}

pub(crate) fn summary(at: &CheckpointId) -> String {
    join("summary", &[at.as_str()])
}

pub(crate) fn summaries(tree: &str) -> String {
    of_tree("summary", tree)
}

pub(crate) fn read_summary(key: &str) -> Option<CheckpointId> {
    read_checkpoint_of("summary/", key)
}

pub(crate) fn summary_claim(at: &CheckpointId) -> String {
    join("summary-claim", &[at.as_str()])
}

/// A tree scheduled for garbage collection.
pub(crate) fn tree_sweep(tree: &str) -> String {
    join("session-sweep", &[tree])
}

pub(crate) fn read_tree_sweep(key: &str) -> Option<String> {
    let [tree] = <[String; 1]>::try_from(split(TREE_SWEEPS, key)?).ok()?;
    Some(tree)
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    /// Names that clients may choose, with the special characters of keys.
    fn name() -> impl Strategy<Value = String> {
        let piece =
            select(vec!["a", "b", "/", "//", "-", ".", "*", "!stop", "%", "%2F", "=", "_", "é", "\0", ""]);
        prop_oneof![8 => vec(piece, 0..4).prop_map(|pieces| pieces.concat()), 1 => any::<String>()]
    }

    fn owner() -> impl Strategy<Value = Option<String>> {
        proptest::option::of(name())
    }

    /// Every key of a session, with the prefixes that remove them.
    fn of_session(owner: Option<&str>, id: &str) -> Vec<String> {
        let session = SessionKey::new(owner, &id.into());
        let point = CheckpointId::from("cp_1.x");
        vec![
            super::session(&session),
            session_queue(&session),
            session_in_tree("cp_1", &session),
            session_copies(&session),
            session_copy(&session, &"run_1".into()),
            session_requests(&session),
            session_request(&session, "key:1"),
            branches(&session),
            branches_at(&session, None),
            branches_at(&session, Some(&point)),
            branch(&session, None, &point),
            branch(&session, Some(&point), &point),
            listed_session(&OwnerTag::of_agent("one", owner), 7, &id.into()),
            listed_session_of_everyone("one", 7, &session),
        ]
    }

    /// Every key of one id, and of no other.
    fn of_id(id: &str) -> Vec<String> {
        let (run, request, point) = (RunId::from(id), RequestId::from(id), CheckpointId::from(id));
        vec![
            super::run(&run),
            inbox(&run),
            answer(&run, &"req_1".into()),
            stop(&run),
            answer(&"run_1".into(), &request),
            waiting(7, &run),
            question(&request),
            open_question(&OwnerTag::new(None), &request),
            listed_run(&OwnerTag::new(None), 7, &run),
            active_run(&OwnerTag::new(None), &run),
            notice(&run, "failed", 0),
            handover(id),
            checkpoint(&point),
            checkpoint_pieces(&point),
            checkpoint_piece(&point, 1),
            summary(&point),
            summary_claim(&point),
            tree_sweep(id),
            sessions_in_tree(id),
            message_turns_in_tree(id),
            message_turns("cp_1", &id.into()),
            message_turn("cp_1", &id.into(), &"cp_1.x".into()),
        ]
    }

    fn apart(one: &[String], other: &[String]) -> Result<(), TestCaseError> {
        for one in one {
            for other in other {
                prop_assert!(!one.starts_with(other.as_str()), "{other} is a prefix of {one}");
                prop_assert!(!other.starts_with(one.as_str()), "{one} is a prefix of {other}");
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn keys_of_two_sessions_never_meet(one in (owner(), name()), other in (owner(), name())) {
            prop_assume!(one != other);
            apart(&of_session(one.0.as_deref(), &one.1), &of_session(other.0.as_deref(), &other.1))?;
        }

        #[test]
        fn keys_of_two_ids_never_meet(one in name(), other in name()) {
            prop_assume!(one != other);
            apart(&of_id(&one), &of_id(&other))?;
        }

        #[test]
        fn keys_are_read_back(owner in owner(), id in name(), other in name()) {
            prop_assume!(id.len() <= 256 && other.len() <= 256);
            let session = SessionKey::new(owner.as_deref(), &id.as_str().into());
            let listed = listed_session_of_everyone("one", 7, &session);
            let prefix = sessions_of(&OwnerTag::everyone_of_agent("one"));
            prop_assert_eq!(read_listed_of_everyone(&prefix, &listed), Some((7, session.clone())));
            prop_assert_eq!(read_session_queue(&session_queue(&session)), Some(session.clone()));
            prop_assert_eq!(read_session_in_tree(&other, &session_in_tree(&other, &session)), Some(session.clone()));
            let (point, run) = (CheckpointId::from(other.as_str()), RunId::from(id.as_str()));
            for parent in [None, Some(&point)] {
                let key = branch(&session, parent, &point);
                prop_assert_eq!(read_branch(&session, &key), Some((parent.cloned(), point.clone())));
            }
            let request = RequestId::from(other.as_str());
            prop_assert_eq!(read_inbox(&answer(&run, &request)), Some((run.clone(), Some(request))));
            prop_assert_eq!(read_inbox(&stop(&run)), Some((run.clone(), None)));
            prop_assert_eq!(read_waiting(&waiting(7, &run)), Some((7, run.clone())));
            prop_assert_eq!(read_checkpoint(&checkpoint(&point)), Some(point.clone()));
            prop_assert_eq!(read_summary(&summary(&point)), Some(point.clone()));
            let message = MessageId::from(id.as_str());
            let key = message_turn(&other, &message, &point);
            prop_assert_eq!(read_message_turn(&other, &message, &key), Some(point));
            prop_assert_eq!(read_tree_sweep(&tree_sweep(&other)), Some(other.clone()));
            let tag = OwnerTag::new(owner.as_deref());
            let listed = listed_run(&tag, 7, &run);
            prop_assert_eq!(read_listed(&runs_of(&tag), &listed), Some((7, id)));
        }
    }

    #[test]
    fn newer_runs_are_listed_first() {
        let tag = OwnerTag::new(Some("ann"));
        assert!(listed_run(&tag, 8, &"a".into()) < listed_run(&tag, 7, &"b".into()));
    }
}
