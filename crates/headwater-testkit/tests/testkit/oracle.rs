//! The oracle accepts a correct history and catches wrong ones: every rule has a history that breaks it.

use std::collections::BTreeSet;

use bytes::Bytes;
use headwater_store::{
    Class, Cursor, CursorFault, EpochStart, Error, ErrorKind, JournalId, JournalInfo, Lease, Monotonic,
    Place, Record, Tail, Time, Value,
};
use headwater_testkit::store::simulation::{
    SimulationSettings,
    oracle::{Control, Oracle, StoreRule, ValueChange, Verdict, Violation},
    run,
};

const NOW: Time = Time(1_000);
const LATER: Time = Time(100_000);
const EXPIRES: Time = Time(50_000);
const AT: Monotonic = Monotonic(1_000);
const LATE: Monotonic = Monotonic(100_000);
const RUNS_OUT: Monotonic = Monotonic(50_000);

fn run_id() -> JournalId {
    "run".into()
}

fn lease(epoch: u64, first: u64) -> Lease {
    Lease { journal: run_id(), epoch, owner: "driver".into(), expires: RUNS_OUT, first }
}

fn body(seq: u64) -> Bytes {
    format!("body {seq}").into()
}

fn record(seq: u64, class: Class) -> Record {
    Record { seq, epoch: 1, time: NOW, class, body: body(seq) }
}

fn tail(last: u64) -> Tail {
    Tail { last, closed: false }
}

fn info(last: u64) -> JournalInfo {
    let epochs = vec![EpochStart { epoch: 1, first: 1 }];
    JournalInfo { first: 1, tail: tail(last), epochs, bytes: 0, goes: None, driven: true }
}

/// Epoch 1 has claimed the journal and appended this many facts and then deltas; nothing is durable.
fn appended(facts: u64, deltas: u64) -> Oracle {
    let mut oracle = Oracle::new();
    oracle.began(&run_id(), Control::Claim);
    oracle.claimed(&lease(1, 1), NOW, AT).unwrap();
    for (class, seqs) in [(Class::Fact, 1..=facts), (Class::Delta, facts + 1..=facts + deltas)] {
        for seq in seqs {
            oracle.appended(&lease(1, 1), class, &[body(seq)], seq, NOW).unwrap();
        }
    }
    oracle
}

/// The same, durable.
fn committed(facts: u64, deltas: u64) -> Oracle {
    let mut oracle = appended(facts, deltas);
    oracle.committed();
    oracle
}

fn acknowledge(oracle: &mut Oracle, control: Control) {
    oracle.began(&run_id(), control);
    oracle.acknowledged(&run_id()).unwrap();
}

fn put(oracle: &mut Oracle, text: &'static str, version: u64, expires: Option<Time>) {
    oracle.began_change("key", ValueChange::Put(text.into(), expires), NOW);
    oracle.put("key", version, true).unwrap();
}

fn value(text: &'static str, version: u64) -> Value {
    Value { bytes: text.into(), version, expires: None, damaged: false }
}

fn caught(rule: StoreRule, verdict: Verdict) -> StoreRule {
    match verdict {
        Err(Violation { rule: found, .. }) if found == rule => rule,
        other => panic!("{rule:?} was broken, and the oracle says {other:?}"),
    }
}

#[test]
fn correct_history_passes() {
    let mut oracle = appended(2, 0);
    oracle.informed(&run_id(), Some(&info(0)), NOW).unwrap();
    oracle.committed();
    oracle.settled(&run_id(), 2).unwrap();
    let facts = [record(1, Class::Fact), record(2, Class::Fact)];
    oracle.read(&run_id(), 0, &facts, tail(2)).unwrap();
    oracle.appended(&lease(1, 1), Class::Delta, &[body(3), body(4)], 3, NOW).unwrap();
    oracle.settled(&run_id(), 4).unwrap();
    oracle.read(&run_id(), 2, &[record(3, Class::Delta), record(4, Class::Delta)], tail(4)).unwrap();
    // One of the deltas survives.
    oracle.crashed();
    oracle.informed(&run_id(), Some(&info(3)), NOW).unwrap();
    oracle.began(&run_id(), Control::Claim);
    oracle.claimed(&lease(5, 4), NOW, AT).unwrap();
    let cursor = |seq| Cursor { journal: run_id(), epoch: 1, seq, frame: 0, count: 0 };
    oracle.placed(&cursor(3), &body(3), Ok(Place::After(3))).unwrap();
    oracle.placed(&cursor(4), &body(4), Ok(Place::Moved(3))).unwrap();
    oracle.checked(false).unwrap();
}

#[test]
fn calls_in_flight_at_a_crash_may_be_done_or_not() {
    for done in [false, true] {
        let mut oracle = committed(3, 0);
        oracle.began(&run_id(), Control::Trim(3));
        oracle.crashed();
        let first = if done { 3 } else { 1 };
        oracle.informed(&run_id(), Some(&JournalInfo { first, ..info(3) }), NOW).unwrap();

        let mut oracle = committed(3, 0);
        oracle.began(&run_id(), Control::Delete);
        oracle.crashed();
        oracle.informed(&run_id(), (!done).then(|| info(3)).as_ref(), NOW).unwrap();

        let mut oracle = committed(3, 0);
        oracle.began(&run_id(), Control::Close(None));
        oracle.crashed();
        let end = JournalInfo { tail: Tail { last: 3, closed: done }, ..info(3) };
        oracle.informed(&run_id(), Some(&end), NOW).unwrap();

        let mut oracle = Oracle::new();
        put(&mut oracle, "old", 1, None);
        oracle.began_change("key", ValueChange::Put("new".into(), None), NOW);
        oracle.crashed();
        let found = if done { value("new", 2) } else { value("old", 1) };
        oracle.got("key", Some(&found), NOW).unwrap();
    }
}

fn lost() -> Vec<StoreRule> {
    let rule = StoreRule::NothingIsLost;
    let crashed = |facts, deltas| {
        let mut oracle = committed(facts, deltas);
        oracle.crashed();
        oracle
    };
    let mut trimmed = committed(2, 0);
    acknowledge(&mut trimmed, Control::Trim(2));
    vec![
        // An acknowledged fact is missing after a crash.
        caught(rule, crashed(3, 0).informed(&run_id(), Some(&info(2)), NOW)),
        caught(rule, crashed(0, 3).informed(&run_id(), Some(&info(2)), NOW)),
        // A whole journal is missing.
        caught(rule, crashed(3, 0).informed(&run_id(), None, NOW)),
        // A closed journal is missing before its retention ends.
        caught(rule, {
            let mut oracle = committed(1, 0);
            acknowledge(&mut oracle, Control::Close(Some(LATER)));
            oracle.informed(&run_id(), None, NOW)
        }),
        // A takeover begins before the end of the durable records.
        caught(rule, crashed(3, 0).claimed(&lease(2, 3), NOW, AT)),
        // A read returns nothing although there are records, or fails without reason.
        caught(rule, committed(3, 0).read(&run_id(), 1, &[], tail(3))),
        caught(rule, committed(3, 0).read_failed(&run_id(), 1, &Error::unknown(&run_id()))),
        caught(rule, Oracle::new().excuse("get", &Error::new(ErrorKind::Format, "why?"))),
        // A fact that was found after reopening is missing after the next crash.
        caught(rule, {
            let mut oracle = appended(1, 0);
            oracle.crashed();
            oracle.informed(&run_id(), Some(&info(1)), NOW).unwrap();
            oracle.crashed();
            oracle.informed(&run_id(), Some(&info(0)), NOW)
        }),
    ]
}

fn other() -> Vec<StoreRule> {
    let rule = StoreRule::NothingIsOther;
    let read = |records: &[Record]| committed(3, 0).read(&run_id(), 0, records, tail(3));
    let fact = |seq| record(seq, Class::Fact);
    vec![
        // Duplicates, reordering, a gap.
        caught(rule, read(&[fact(1), fact(1), fact(2)])),
        caught(rule, read(&[fact(1), Record { seq: 2, ..fact(1) }])),
        caught(rule, read(&[fact(2), fact(1), fact(3)])),
        caught(rule, read(&[fact(1), fact(3)])),
        // Another body, class, epoch, time.
        caught(rule, read(&[Record { body: "x".into(), ..fact(1) }])),
        caught(rule, read(&[record(1, Class::Delta)])),
        caught(rule, read(&[Record { epoch: 2, ..fact(1) }])),
        caught(rule, read(&[Record { time: LATER, ..fact(1) }])),
        // More than was appended.
        caught(rule, read(&[fact(1), fact(2), fact(3), fact(4)])),
        caught(rule, committed(3, 0).settled(&run_id(), 4)),
        caught(rule, {
            let mut oracle = committed(3, 0);
            oracle.crashed();
            oracle.informed(&run_id(), Some(&info(4)), NOW)
        }),
        // A sequence that is not the next.
        caught(rule, committed(3, 0).appended(&lease(1, 1), Class::Fact, &[body(5)], 5, NOW)),
        caught(rule, committed(3, 0).appended(&lease(1, 1), Class::Fact, &[body(3)], 3, NOW)),
    ]
}

fn disappears() -> Vec<StoreRule> {
    let mut oracle = appended(0, 3);
    oracle.settled(&run_id(), 3).unwrap();
    vec![caught(StoreRule::NothingDisappears, oracle.informed(&run_id(), Some(&info(2)), NOW))]
}

fn seen_early() -> Vec<StoreRule> {
    let rule = StoreRule::NothingIsSeenEarly;
    vec![
        caught(rule, appended(1, 0).settled(&run_id(), 1)),
        caught(rule, appended(1, 0).informed(&run_id(), Some(&info(1)), NOW)),
        caught(rule, appended(1, 1).read(&run_id(), 0, &[record(1, Class::Fact)], tail(2))),
        caught(rule, appended(0, 257).settled(&run_id(), 257)),
    ]
}

fn old_epochs() -> Vec<StoreRule> {
    let rule = StoreRule::OldEpochsAreRefused;
    let taken_over = || {
        let mut oracle = committed(1, 0);
        oracle.claimed(&lease(2, 2), LATER, LATE).unwrap();
        oracle
    };
    let append = |mut oracle: Oracle| oracle.appended(&lease(1, 1), Class::Fact, &[body(2)], 2, NOW);
    let stale = Error::stale(&run_id(), 1, None);
    vec![
        caught(rule, append(taken_over())),
        caught(rule, taken_over().renewed(&lease(1, 1))),
        caught(rule, append(Oracle::new())),
        caught(rule, {
            let mut oracle = committed(1, 0);
            acknowledge(&mut oracle, Control::Release);
            append(oracle)
        }),
        // Claimed while it is held.
        caught(rule, committed(1, 0).claimed(&lease(2, 2), NOW, AT)),
        // Refused although the lease is the newest.
        caught(rule, committed(1, 0).write_refused(&lease(1, 1), &stale)),
        caught(rule, committed(1, 0).claim_refused(&run_id(), &Error::closed(&run_id()), AT)),
        caught(rule, committed(1, 0).control_refused(&run_id(), &stale)),
    ]
}

fn epochs() -> Vec<StoreRule> {
    let rule = StoreRule::EpochsGrow;
    let told = |epochs: &[(u64, u64)]| {
        let epochs = epochs.iter().map(|&(epoch, first)| EpochStart { epoch, first }).collect();
        committed(1, 0).informed(&run_id(), Some(&JournalInfo { epochs, ..info(1) }), NOW)
    };
    vec![
        caught(rule, committed(1, 0).claimed(&lease(1, 2), LATER, LATE)),
        caught(rule, {
            // Not even if the journal was deleted meanwhile.
            let mut oracle = committed(1, 0);
            acknowledge(&mut oracle, Control::Delete);
            oracle.claimed(&lease(1, 1), LATER, LATE)
        }),
        caught(rule, told(&[])),
        caught(rule, told(&[(1, 1), (9, 2)])),
        caught(rule, told(&[(2, 1)])),
    ]
}

fn versions() -> Vec<StoreRule> {
    let mut oracle = Oracle::new();
    put(&mut oracle, "one", 5, None);
    oracle.began_change("key", ValueChange::Put("two".into(), None), NOW);
    vec![caught(StoreRule::VersionsGrow, oracle.put("key", 5, true))]
}

fn values() -> Vec<StoreRule> {
    let rule = StoreRule::ValuesStay;
    let with = |expires| {
        let mut oracle = Oracle::new();
        put(&mut oracle, "one", 1, None);
        put(&mut oracle, "two", 2, expires);
        oracle
    };
    let removed = || {
        let mut oracle = with(None);
        oracle.began_change("key", ValueChange::Remove, NOW);
        oracle.removed("key", true, true).unwrap();
        oracle
    };
    let got = |mut oracle: Oracle, value: Option<Value>, now| oracle.got("key", value.as_ref(), now);
    vec![
        caught(rule, got(with(None), None, NOW)),
        caught(rule, got(with(None), Some(value("one", 1)), NOW)),
        caught(rule, got(with(None), Some(value("two", 3)), NOW)),
        caught(rule, got(removed(), Some(value("two", 2)), NOW)),
        caught(rule, {
            let mut oracle = with(None);
            oracle.crashed();
            got(oracle, Some(value("one", 1)), NOW)
        }),
        caught(rule, {
            // Visible before it is durable.
            let mut oracle = with(None);
            oracle.began_change("key", ValueChange::Put("three".into(), None), NOW);
            got(oracle, Some(value("three", 3)), NOW)
        }),
        // Expired or not expired at the wrong time.
        caught(rule, {
            let expired = Value { expires: Some(EXPIRES), ..value("two", 2) };
            got(with(Some(EXPIRES)), Some(expired), LATER)
        }),
        caught(rule, got(with(Some(EXPIRES)), None, NOW)),
        caught(rule, {
            let mut oracle = with(None);
            oracle.began_change("key", ValueChange::Remove, NOW);
            oracle.removed("key", false, true)
        }),
    ]
}

fn expectations() -> Vec<StoreRule> {
    let rule = StoreRule::ExpectationsHold;
    let mut oracle = Oracle::new();
    put(&mut oracle, "one", 1, None);
    vec![
        caught(rule, oracle.put("key", 2, false)),
        caught(rule, oracle.removed("key", true, false)),
        caught(rule, oracle.conflicted("key", true, Some(1), NOW)),
        caught(rule, oracle.conflicted("key", false, Some(2), NOW)),
        caught(rule, oracle.conflicted("key", false, None, NOW)),
    ]
}

fn closes() -> Vec<StoreRule> {
    let rule = StoreRule::ClosesStay;
    let closed = |goes| {
        let mut oracle = committed(1, 0);
        acknowledge(&mut oracle, Control::Close(goes));
        oracle
    };
    let end = Tail { last: 1, closed: true };
    vec![
        caught(rule, closed(None).informed(&run_id(), Some(&info(1)), NOW)),
        caught(rule, closed(None).appended(&lease(1, 1), Class::Fact, &[body(2)], 2, NOW)),
        caught(rule, closed(None).claimed(&lease(2, 2), LATER, LATE)),
        caught(rule, {
            let other = JournalInfo { tail: end, goes: Some(LATER), ..info(1) };
            closed(Some(EXPIRES)).informed(&run_id(), Some(&other), NOW)
        }),
        // Closed without a call.
        caught(rule, committed(1, 0).informed(&run_id(), Some(&JournalInfo { tail: end, ..info(1) }), NOW)),
    ]
}

fn deletes() -> Vec<StoreRule> {
    let rule = StoreRule::DeletesStay;
    let deleted = || {
        let mut oracle = committed(2, 0);
        acknowledge(&mut oracle, Control::Delete);
        oracle
    };
    vec![
        caught(rule, deleted().informed(&run_id(), Some(&info(2)), NOW)),
        caught(rule, deleted().read(&run_id(), 0, &[record(1, Class::Fact)], tail(2))),
        caught(rule, {
            let mut oracle = deleted();
            oracle.crashed();
            oracle.informed(&run_id(), Some(&info(2)), NOW)
        }),
    ]
}

fn trims() -> Vec<StoreRule> {
    let rule = StoreRule::TrimsStay;
    let trimmed = || {
        let mut oracle = committed(5, 0);
        acknowledge(&mut oracle, Control::Trim(3));
        oracle
    };
    let told =
        |mut oracle: Oracle, first| oracle.informed(&run_id(), Some(&JournalInfo { first, ..info(5) }), NOW);
    vec![
        caught(rule, told(trimmed(), 1)),
        caught(rule, told(trimmed(), 4)),
        caught(rule, {
            let mut oracle = trimmed();
            oracle.crashed();
            told(oracle, 2)
        }),
        caught(rule, trimmed().read_failed(&run_id(), 2, &Error::trimmed(&run_id(), 2, 3))),
        caught(rule, trimmed().read_failed(&run_id(), 0, &Error::trimmed(&run_id(), 0, 4))),
    ]
}

fn cursors() -> Vec<StoreRule> {
    let rule = StoreRule::CursorsAreTrue;
    let oracle = || {
        // Delta 3 was lost with epoch 1, and epoch 2 wrote another record 3.
        let mut oracle = committed(2, 0);
        oracle.appended(&lease(1, 1), Class::Delta, &[body(3)], 3, NOW).unwrap();
        oracle.crashed();
        oracle.informed(&run_id(), Some(&info(2)), NOW).unwrap();
        oracle.claimed(&lease(2, 3), LATER, LATE).unwrap();
        oracle.appended(&lease(2, 3), Class::Fact, &["other".into()], 3, NOW).unwrap();
        oracle
    };
    let placed = |seq, place: Result<Place, ErrorKind>| {
        let cursor = Cursor { journal: run_id(), epoch: 1, seq, frame: 0, count: 0 };
        let place = place.map_err(|kind| Error::new(kind, "no"));
        oracle().placed(&cursor, &body(seq), place.as_ref().copied())
    };
    placed(2, Ok(Place::After(2))).unwrap();
    placed(3, Ok(Place::Moved(2))).unwrap();
    vec![
        caught(rule, placed(3, Ok(Place::After(3)))),
        caught(rule, placed(3, Ok(Place::Moved(3)))),
        caught(rule, placed(2, Ok(Place::After(1)))),
        caught(rule, placed(2, Ok(Place::Moved(1)))),
        caught(rule, placed(2, Err(ErrorKind::Cursor(CursorFault::UnknownEpoch)))),
        caught(rule, placed(2, Err(ErrorKind::Cursor(CursorFault::Foreign)))),
        caught(rule, placed(2, Err(ErrorKind::Trimmed { first: 9 }))),
    ]
}

fn stops() -> Vec<StoreRule> {
    let rule = StoreRule::FailuresStop;
    let stopped = || {
        let mut oracle = committed(1, 0);
        put(&mut oracle, "one", 1, None);
        oracle.stopped();
        oracle
    };
    vec![
        caught(rule, stopped().appended(&lease(1, 1), Class::Delta, &[body(2)], 2, NOW)),
        caught(rule, stopped().claimed(&lease(2, 2), LATER, LATE)),
        caught(rule, stopped().acknowledged(&run_id())),
        caught(rule, stopped().put("key", 2, true)),
        caught(rule, committed(1, 0).failed(false, true)),
        caught(rule, committed(1, 0).failed(true, false)),
        caught(rule, stopped().recovered(false, false)),
        caught(rule, stopped().recovered(true, true)),
        caught(rule, stopped().not_recovered(true)),
        caught(rule, stopped().removed("key", true, true)),
    ]
}

/// The state after a store was reopened in place.
fn recoveries() -> Vec<StoreRule> {
    let recovered = || {
        let mut oracle = committed(2, 0);
        oracle.appended(&lease(1, 1), Class::Fact, &[body(3)], 3, NOW).unwrap();
        oracle.stopped();
        oracle.recovered(true, false).unwrap();
        oracle
    };
    recovered().informed(&run_id(), Some(&info(2)), NOW).unwrap();
    vec![
        // Failed writes are there, and successful ones are missing.
        caught(StoreRule::NothingIsOther, recovered().informed(&run_id(), Some(&info(3)), NOW)),
        caught(StoreRule::NothingDisappears, recovered().informed(&run_id(), Some(&info(1)), NOW)),
        caught(
            StoreRule::OldEpochsAreRefused,
            recovered().appended(&lease(1, 1), Class::Fact, &[body(3)], 3, NOW),
        ),
    ]
}

fn room() -> Vec<StoreRule> {
    let rule = StoreRule::RoomComesBack;
    let busy = Error::new(ErrorKind::Busy, "the disk is slow");
    appended(0, 1).write_refused(&lease(1, 1), &busy).unwrap();
    let mut idle = appended(0, 1);
    idle.caught_up(true).unwrap();
    vec![caught(rule, idle.write_refused(&lease(1, 1), &busy)), caught(rule, appended(1, 0).caught_up(false))]
}

fn damage() -> Vec<StoreRule> {
    let rule = StoreRule::DamageIsFound;
    let corrupt = Error::new(ErrorKind::Corrupt, "segment 1 at offset 7");
    let mut damaged = committed(3, 0);
    damaged.damaged();
    damaged.read_failed(&run_id(), 0, &corrupt).unwrap();
    damaged.excuse("get", &corrupt).unwrap();
    // Wrong bytes are wrong, damaged or not.
    let wrong = Record { body: "wrong".into(), ..record(1, Class::Fact) };
    caught(StoreRule::NothingIsOther, damaged.read(&run_id(), 0, &[wrong], tail(3)));
    let mut shortened = committed(3, 0);
    shortened.crashed();
    shortened.damaged();
    shortened.informed(&run_id(), Some(&info(2)), NOW).unwrap();
    shortened.read_failed(&run_id(), 2, &corrupt).unwrap();
    vec![
        caught(rule, shortened.read(&run_id(), 2, &[], tail(2))),
        caught(rule, damaged.checked(false)),
        caught(rule, committed(3, 0).checked(true)),
        caught(rule, committed(3, 0).read_failed(&run_id(), 0, &corrupt)),
        caught(rule, committed(3, 0).excuse("get", &corrupt)),
    ]
}

#[test]
fn every_rule_catches_its_violation() {
    let all = [
        lost(),
        other(),
        disappears(),
        seen_early(),
        old_epochs(),
        epochs(),
        versions(),
        values(),
        expectations(),
        closes(),
        deletes(),
        trims(),
        cursors(),
        stops(),
        recoveries(),
        room(),
        damage(),
    ];
    let caught: BTreeSet<StoreRule> = all.concat().into_iter().collect();
    assert_eq!(caught, StoreRule::ALL.into_iter().collect(), "each rule is broken once");
}

/// The whole simulation, not only the oracle, detects a disk that lies.
#[test]
fn disk_that_lies_about_sync_is_detected() {
    let settings = SimulationSettings { disk_lies: true, ..SimulationSettings::default() };
    let noticed = (0..20).filter(|seed| run(*seed, settings).is_err()).count();
    assert!(noticed > 10, "only {noticed} of 20 histories notice that nothing is durable");
}

#[test]
fn same_seed_gives_the_same_history() {
    for seed in 0..3 {
        let settings = SimulationSettings { steps: 150, disk_lies: true };
        let tell = || match run(seed, settings) {
            Ok(summary) => summary.to_string(),
            Err(broken) => broken.to_string(),
        };
        assert_eq!(tell(), tell());
    }
}
