//! What runs cost in memory.

use headwater_store::{Class, Store, embedded::Fsync};

use crate::support::{Place, SteppedStore};

const RUNS: u64 = 2_000;

/// An ended run: claimed, some records, closed.
fn idle_run(store: &SteppedStore, number: u64) {
    let lease = store.claim(&format!("run_{number:026}"));
    for class in [Class::Delta, Class::Delta, Class::Fact] {
        drop(store.0.append(&lease, class, &[vec![b'x'; 200].into()]).unwrap());
    }
    store.drive(store.0.close(&lease, None)).unwrap();
}

#[test]
fn idle_run_costs_less_than_a_kibibyte_in_the_process_that_ran_it() {
    let place = Place::new();
    let mut options = place.options();
    options.fsync = Fsync::Never;
    let store = place.open_with(options);
    idle_run(&store, 0);
    let used = allocation_counter::measure(|| (1..=RUNS).for_each(|number| idle_run(&store, number)));
    let each = used.bytes_current / i64::try_from(RUNS).unwrap();
    assert!(each < 1_024, "{each} bytes for each run");
}

#[test]
fn idle_run_costs_less_than_half_a_kibibyte_once_its_segment_is_sealed() {
    let place = Place::new();
    let mut options = place.options();
    options.segment_bytes = 64 << 10;
    options.fsync = Fsync::Never;
    let store = place.open_with(options.clone());
    (0..RUNS).for_each(|number| idle_run(&store, number));
    drop(store);
    let mut opened = None;
    let used = allocation_counter::measure(|| opened = Some(place.open_with(options)));
    let each = used.bytes_current / i64::try_from(RUNS).unwrap();
    assert!(each < 512, "{each} bytes for each run");
}

/// `HEADWATER_MEGABYTES` sets how long the journal is.
#[test]
fn opening_and_reading_one_long_journal_takes_bounded_memory() {
    let megabytes = std::env::var("HEADWATER_MEGABYTES").map_or(24, |text| text.parse().unwrap());
    let place = Place::new();
    let mut options = place.options();
    options.segment_bytes = 8 << 20;
    options.fsync = Fsync::Never;
    let store = place.open_with(options.clone());
    let lease = store.claim("run");
    let body = bytes::Bytes::from(vec![b'x'; 10_000]);
    for _ in 0..megabytes * 100 {
        let receipt = store.0.append(&lease, Class::Fact, std::slice::from_ref(&body)).unwrap();
        store.drive(receipt).unwrap();
    }
    drop(store);
    let mut opened = None;
    let used = allocation_counter::measure(|| opened = Some(place.open_with(options)));
    println!("figure: opening {megabytes} MB takes {} KiB at its peak", used.bytes_max >> 10);
    assert!(used.bytes_max < 4 << 20, "{} bytes to open it", used.bytes_max);
    let store = opened.unwrap();
    let mut records = 0;
    let used = allocation_counter::measure(|| {
        let mut after = 0;
        loop {
            let page = store.page("run", after).unwrap();
            let Some(last) = page.records.last() else { break };
            (after, records) = (last.seq, records + page.records.len());
        }
    });
    println!("figure: reading it page by page takes {} KiB at its peak", used.bytes_max >> 10);
    assert_eq!(records, megabytes * 100);
    assert!(used.bytes_max < 8 << 20, "{} bytes to read it", used.bytes_max);
}

#[test]
fn delta_that_is_seen_at_once_allocates_next_to_nothing() {
    let place = Place::new();
    let mut options = place.options();
    options.delta_limit = u64::MAX;
    let store = place.open_with(options);
    let lease = store.claim("run");
    let body = [bytes::Bytes::from_static(b"a delta of some twenty bytes")];
    for _ in 0..1_000 {
        drop(store.0.append(&lease, Class::Delta, &body).unwrap());
    }
    let used = allocation_counter::measure(|| {
        for _ in 0..1_000 {
            drop(store.0.append(&lease, Class::Delta, &body).unwrap());
        }
    });
    // The tail grows by doubling, now and then.
    assert!(used.count_total <= 2, "{used:?}");
}
