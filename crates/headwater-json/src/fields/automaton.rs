//! All declared paths in one automaton, so that a key is looked up once whatever was declared.
//!
//! The paths make a trie in which a key may match a name and a wildcard. Sets of trie nodes that are matched together
//! become states, so a document is always in exactly one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::FieldKind;
use super::error::FieldError;
use crate::path::{is_digits, unescape};

/// The state in which nothing can match any more.
pub(crate) const DEAD: u32 = 0;
/// The state of the whole document.
pub(crate) const ROOT: u32 = 1;

const MAX_STATES: usize = 10_000;

/// One declared path.
#[derive(Debug)]
pub(super) struct Pattern {
    kind: FieldKind,
    segments: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Any,
    Key(String),
    /// Digits: an index, or a key.
    Digits(String),
}

impl Pattern {
    pub(super) fn read(kind: FieldKind, path: &str) -> Result<Self, FieldError> {
        if path.is_empty() {
            return Err(FieldError::empty_path(kind));
        }
        let segments = path.split('.').map(|segment| match segment {
            "" => Err(FieldError::empty_segment(kind, path)),
            "*" => Ok(Step::Any),
            digits if is_digits(digits) => Ok(Step::Digits(digits.to_owned())),
            key => Ok(Step::Key(unescape(key).into_owned())),
        });
        Ok(Self { kind, segments: segments.collect::<Result<_, _>>()? })
    }
}

#[derive(Debug)]
pub(crate) struct Automaton {
    states: Vec<State>,
}

#[derive(Debug, Default)]
struct State {
    kinds: Kinds,
    names: Names,
    /// Where each index leads that leads elsewhere than the others, in their order.
    indexes: Vec<(usize, u32)>,
    /// Where every other key and index leads.
    other: u32,
}

/// In which ways a place is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    #[inline]
    pub(crate) fn has(self, kind: FieldKind) -> bool {
        self.0 & Self::bit(kind) != 0
    }

    fn bit(kind: FieldKind) -> u8 {
        match kind {
            FieldKind::Set => 1,
            FieldKind::Text => 2,
            FieldKind::Append => 4,
        }
    }
}

/// Where a key leads, and its number among the declared names of its object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named {
    pub(crate) state: u32,
    pub(crate) ordinal: Option<u32>,
}

/// The declared names below a state. A few are compared one by one, which is faster than hashing.
#[derive(Debug)]
enum Names {
    Few(Vec<(Box<str>, u32)>),
    Many(HashMap<Box<str>, (u32, u32)>),
}

impl Default for Names {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Names {
    fn new(names: Vec<(Box<str>, u32)>) -> Self {
        if names.len() <= 8 {
            return Self::Few(names);
        }
        Self::Many(
            names.into_iter().zip(0..).map(|((name, state), ordinal)| (name, (state, ordinal))).collect(),
        )
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Few(names) if names.is_empty())
    }

    #[inline]
    fn find(&self, key: &str) -> Option<(u32, u32)> {
        match self {
            Self::Few(names) => {
                let found = names.iter().zip(0..).find(|((name, _), _)| **name == *key);
                found.map(|((_, state), ordinal)| (*state, ordinal))
            }
            Self::Many(names) => names.get(key).copied(),
        }
    }
}

impl Automaton {
    pub(super) fn new(patterns: &[Pattern]) -> Result<Self, FieldError> {
        let trie = Trie::new(patterns);
        let mut states = vec![State::default()];
        let mut known = HashMap::from([(BTreeSet::new(), DEAD)]);
        let mut queue = vec![BTreeSet::from([0])];
        known.insert(BTreeSet::from([0]), ROOT);
        let mut next = 0;
        while let Some(nodes) = queue.get(next).cloned() {
            next += 1;
            let mut number = |target: BTreeSet<usize>| {
                let new = u32::try_from(known.len()).unwrap_or(u32::MAX);
                *known.entry(target).or_insert_with_key(|target| {
                    queue.push(target.clone());
                    new
                })
            };
            states.push(trie.state(&nodes, &mut number));
            if known.len() > MAX_STATES {
                return Err(FieldError::too_many_states(MAX_STATES));
            }
        }
        Ok(Self { states })
    }

    #[inline]
    pub(crate) fn kinds(&self, state: u32) -> Kinds {
        self.states.get(state as usize).map_or(Kinds(0), |state| state.kinds)
    }

    /// Whether something below this state can match.
    #[inline]
    pub(crate) fn goes_on(&self, state: u32) -> bool {
        self.states
            .get(state as usize)
            .is_some_and(|state| state.other != DEAD || !state.names.is_empty() || !state.indexes.is_empty())
    }

    #[inline]
    pub(crate) fn at_key(&self, state: u32, key: &str) -> Named {
        let Some(state) = self.states.get(state as usize) else {
            return Named { state: DEAD, ordinal: None };
        };
        match state.names.find(key) {
            Some((state, ordinal)) => Named { state, ordinal: Some(ordinal) },
            None => Named { state: state.other, ordinal: None },
        }
    }

    #[inline]
    pub(crate) fn at_index(&self, state: u32, index: usize) -> u32 {
        let Some(state) = self.states.get(state as usize) else {
            return DEAD;
        };
        if state.indexes.is_empty() {
            return state.other;
        }
        let found = state.indexes.binary_search_by_key(&index, |(index, _)| *index).ok();
        found.and_then(|at| state.indexes.get(at)).map_or(state.other, |(_, state)| *state)
    }
}

#[derive(Debug, Default)]
struct Trie {
    nodes: Vec<Node>,
}

#[derive(Debug, Default)]
struct Node {
    kinds: u8,
    next: BTreeMap<Step, usize>,
}

impl Trie {
    fn new(patterns: &[Pattern]) -> Self {
        let mut nodes = vec![Node::default()];
        for pattern in patterns {
            let mut at = 0;
            for step in &pattern.segments {
                let new = nodes.len();
                let Some(node) = nodes.get_mut(at) else { break };
                at = *node.next.entry(step.clone()).or_insert(new);
                if at == new {
                    nodes.push(Node::default());
                }
            }
            if let Some(node) = nodes.get_mut(at) {
                node.kinds |= Kinds::bit(pattern.kind);
            }
        }
        Self { nodes }
    }

    /// The state of matching all of `nodes`. `number` gives the state of a set of nodes its number.
    fn state(&self, nodes: &BTreeSet<usize>, number: &mut dyn FnMut(BTreeSet<usize>) -> u32) -> State {
        let matched = || nodes.iter().filter_map(|node| self.nodes.get(*node));
        let any: BTreeSet<usize> = matched().filter_map(|node| node.next.get(&Step::Any).copied()).collect();
        let mut names: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        let mut indexes: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (step, next) in matched().flat_map(|node| &node.next) {
            let (Step::Key(name) | Step::Digits(name)) = step else { continue };
            names.entry(name).or_insert_with(|| any.clone()).insert(*next);
            // `07` is a key, and no way to spell an index.
            let is_index = matches!(step, Step::Digits(_)) && (name == "0" || !name.starts_with('0'));
            if let (true, Ok(index)) = (is_index, name.parse::<usize>()) {
                indexes.entry(index).or_insert_with(|| any.clone()).insert(*next);
            }
        }
        State {
            kinds: Kinds(matched().fold(0, |kinds, node| kinds | node.kinds)),
            names: Names::new(names.into_iter().map(|(name, next)| (name.into(), number(next))).collect()),
            indexes: indexes.into_iter().map(|(index, next)| (index, number(next))).collect(),
            other: number(any),
        }
    }
}
