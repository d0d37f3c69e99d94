//! A copy is read back and a survey checks everything: both detect a faulty store.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use headwater_store::{
    Class, Expect, Memory, Store,
    copy::{CopyOptions, copy},
    survey::{Depth, Survey},
};

use super::{faulty_store::FaultyStore, store_fault::StoreFault};

const MINUTE: Duration = Duration::from_secs(60);

async fn fill(store: &dyn Store) {
    for run in 0..5_usize {
        let lease = store.claim(&format!("run {run}").into(), "driver", MINUTE).await.unwrap();
        for n in 0..=run {
            let class = if n % 2 == 0 { Class::Fact } else { Class::Delta };
            store.append(&lease, class, &[Bytes::from(vec![7; 10 + n])]).unwrap().await.unwrap();
        }
        if run % 2 == 0 {
            store.close(&lease, Some(MINUTE)).await.unwrap();
        }
        let next = store.claim(&format!("run {run}").into(), "driver", MINUTE).await;
        assert!(next.is_err(), "it is held or closed");
        store.put(&format!("value/{run}"), "x".into(), Expect::Any, None).await.unwrap();
    }
}

#[tokio::test]
async fn faulty_copy_target_is_detected() {
    let from = Memory::new();
    fill(&from).await;
    let lies = [
        StoreFault::RestoresTimesAnew,
        StoreFault::RestoresFactsOnly,
        StoreFault::RestoresAsGivenBack,
        StoreFault::RestoresAsOpen,
        StoreFault::RestoresForEver,
        StoreFault::HidesTheLastRecord,
        StoreFault::ForgetsEpochs,
        StoreFault::ForgetsTimes,
    ];
    for fault in [StoreFault::None].into_iter().chain(lies) {
        let to = FaultyStore::around(Arc::new(Memory::new()), fault);
        let report = copy(&from, &to, &CopyOptions::default(), |_| {}).await.unwrap();
        let expected = fault == StoreFault::None;
        assert_eq!(report.is_good(), expected, "{fault:?}: {report:?}");
        assert_eq!(report.problems.is_empty(), expected, "{fault:?}");
    }
}

#[tokio::test]
async fn survey_reports_missing_data() {
    let lies = [
        StoreFault::HidesTheLastRecord,
        StoreFault::ForgetsEpochs,
        StoreFault::ListsTheNewestEpochOnly,
        StoreFault::CountsNoBytes,
    ];
    for fault in [StoreFault::None].into_iter().chain(lies) {
        let inner = Arc::new(Memory::new());
        fill(&*inner).await;
        inner.release(&inner.claim(&"waits".into(), "driver", MINUTE).await.unwrap()).await.unwrap();
        let lease = inner.claim(&"waits".into(), "driver", MINUTE).await.unwrap();
        inner.append(&lease, Class::Fact, &["x".into()]).unwrap().await.unwrap();
        inner.release(&lease).await.unwrap();
        let lease = inner.claim(&"waits".into(), "driver", MINUTE).await.unwrap();
        inner.append(&lease, Class::Fact, &["y".into()]).unwrap().await.unwrap();
        inner.release(&lease).await.unwrap();
        let survey = Survey::of(&FaultyStore::around(inner, fault), Depth::Everything).await.unwrap();
        assert_eq!(survey.is_good(), fault == StoreFault::None, "{fault:?}: {:?}", survey.problems);
        assert_eq!(survey.faults, survey.problems.len() as u64);
    }
}
