//! The behaviour suite passes a correct store, catches every faulty one, and has no case that cannot fail.

use std::{collections::BTreeSet, sync::Arc};

use headwater_store::{Memory, MemoryOptions, Store};
use headwater_testkit::store::{Failures, Opening, Setup, behaviour, cases, reopening, reopening_cases};

use super::{faulty_store::FaultyStore, store_fault::StoreFault};

async fn judge(fault: StoreFault) -> Result<(), Failures> {
    behaviour(async |setup: Setup| Arc::new(FaultyStore::new(setup, fault)) as Arc<dyn Store>).await
}

/// A store in memory stands for a persistent one: reopening gives the same store, or an empty one.
async fn judge_reopening(fault: StoreFault, forgets: bool) -> Result<(), Failures> {
    reopening(|setup| {
        let open = move || {
            Arc::new(Memory::with(MemoryOptions { clock: setup.clock.clone(), ..MemoryOptions::default() }))
        };
        let kept = open();
        move || {
            let memory = if forgets { open() } else { kept.clone() };
            let store: Arc<dyn Store> = Arc::new(FaultyStore::around(memory, fault));
            Box::pin(std::future::ready(store)) as Opening<'static>
        }
    })
    .await
}

fn names(failures: Result<(), Failures>) -> BTreeSet<&'static str> {
    failures.map_or_else(|failures| failures.iter().map(|(name, _)| name).collect(), |()| BTreeSet::new())
}

#[tokio::test]
async fn correct_store_passes() {
    judge(StoreFault::None).await.unwrap_or_else(|failures| panic!("{failures}"));
    judge_reopening(StoreFault::None, false).await.unwrap_or_else(|failures| panic!("{failures}"));
}

// The clock is paused, so a case that hangs times out immediately.
#[tokio::test(start_paused = true)]
async fn every_lie_is_caught_and_every_case_can_fail() {
    let mut failed = BTreeSet::new();
    for fault in StoreFault::ALL {
        let caught = names(judge(fault).await);
        assert!(!caught.is_empty(), "no case catches a store that {fault:?}");
        failed.extend(caught);
    }
    let idle: Vec<&str> = cases().map(|case| case.name()).filter(|name| !failed.contains(name)).collect();
    assert!(idle.is_empty(), "no fault makes these cases fail: {idle:#?}");
}

#[tokio::test(start_paused = true)]
async fn every_lie_about_reopening_is_caught_and_every_case_can_fail() {
    let mut failed = names(judge_reopening(StoreFault::None, true).await);
    assert!(failed.len() > 8, "a store that forgets everything fails nearly all: {failed:?}");
    for fault in [
        StoreFault::SweepsNothing,
        StoreFault::KeepsForEver,
        StoreFault::ForgetsTimeToLive,
        StoreFault::IgnoresEpochs,
    ] {
        let caught = names(judge_reopening(fault, false).await);
        assert!(!caught.is_empty(), "no case catches a store that {fault:?}");
        failed.extend(caught);
    }
    let idle: Vec<&str> = reopening_cases().filter(|name| !failed.contains(name)).collect();
    assert!(idle.is_empty(), "no fault makes these cases fail: {idle:#?}");
}

#[test]
fn case_names_are_unique() {
    let mut seen = BTreeSet::new();
    for name in cases().map(|case| case.name()).chain(reopening_cases()) {
        assert!(seen.insert(name), "two cases are named: {name}");
    }
}

#[test]
fn counts_in_the_docs_are_current() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reliability.md");
    let words: Vec<String> =
        std::fs::read_to_string(page).unwrap().split_whitespace().map(str::to_owned).collect();
    let text = words.join(" ");
    let (cases, reopening, lies) = (cases().count(), reopening_cases().count(), StoreFault::ALL.len());
    for sentence in [
        format!("is a list of {cases} cases"),
        format!("`reopening` has {reopening} more"),
        format!("each of {lies} stores with one deliberate mistake"),
    ] {
        assert!(text.contains(&sentence), "docs/reliability.md does not say: {sentence}");
    }
}
