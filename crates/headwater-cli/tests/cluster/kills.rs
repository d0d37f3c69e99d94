//! The node that drives runs is killed, again and again: another takes them over.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use headwater_testkit::random::Random;
use tokio::task::JoinSet;

use crate::{
    cluster::{Cluster, LEASE, Setup, at_once},
    engine::Kind,
    on_each_engine,
    reader::Until,
    report::{held, measured, percentiles, setting},
};

const SHORT: usize = 30;
/// How many kills `cargo xtask cluster` makes.
const LONG: usize = 1_000;
/// How many runs the node drives when it is killed.
const RUNS: usize = 3;
/// From so many kills on, the times of takeover are enough to judge them.
const ENOUGH: usize = 100;
/// No takeover takes so long, however busy the machine is.
const STUCK: Duration = Duration::from_secs(60);

on_each_engine!(runs_of_killed_nodes_continue_elsewhere);

fn runs_of_killed_nodes_continue_elsewhere(kind: Kind) {
    let count = setting("HEADWATER_CLUSTER_KILLS", SHORT);
    let Some(mut takeovers) = kill_in_several_clusters(kind, count) else { return };
    let samples = takeovers.len();
    let (middle, most, longest) = percentiles(&mut takeovers).unwrap_or_default();
    measured(
        kind,
        "takeover after a kill",
        &format!(
            "{count} kills, {samples} runs taken over, lease {LEASE:?} | p50 {middle:?}, p99 {most:?}, longest {longest:?}"
        ),
    );
    if count < ENOUGH {
        println!("{count} kills are too few to judge the p99 of takeovers, which takes {ENOUGH}");
        assert!(longest < STUCK, "a takeover took {longest:?}, the lease {LEASE:?}");
    } else {
        assert!(most < LEASE * 2, "takeover p99 is {most:?}, the lease {LEASE:?}");
    }
    held(
        "SIGKILL of the node that drives three runs",
        count,
        LONG,
        "all runs end with the same messages, each tool effect once, takeover p99 under twice the lease",
    );
}

/// Divides the kills among clusters that run at the same time, each with an engine of its own: most of the time of a kill
/// is spent waiting for a lease to run out. `None` where this machine has no such engine and says so.
fn kill_in_several_clusters(kind: Kind, count: usize) -> Option<Vec<Duration>> {
    let clusters = setting("HEADWATER_CLUSTER_PARALLEL", 1);
    let done = Progress { count, done: AtomicUsize::new(0) };
    thread::scope(|scope| {
        let started: Vec<_> = (0..clusters)
            .map(|number| {
                let (share, done) = ((count + number) / clusters, &done);
                scope.spawn(move || {
                    let cluster = Cluster::start(kind, Setup::default())?;
                    let random = Random::new(17 + number as u64);
                    // The cluster is dropped here: its parts may not be dropped where something waits.
                    Some(at_once(kill_one_after_another(cluster.clone(), share, random, done)))
                })
            })
            .collect();
        let ended = started.into_iter().map(|cluster| cluster.join().unwrap());
        ended.collect::<Option<Vec<_>>>().map(|takeovers| takeovers.concat())
    })
}

/// How many kills all clusters have made.
struct Progress {
    count: usize,
    done: AtomicUsize,
}

impl Progress {
    fn one_more(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(50) {
            println!("progress: {done} of {} kills", self.count);
        }
    }
}

/// Kills nodes in turn, each with runs of its own. Gives how long each run went without a driver.
async fn kill_one_after_another(
    cluster: Arc<Cluster>,
    count: usize,
    mut random: Random,
    progress: &Progress,
) -> Vec<Duration> {
    let expected = Arc::new(cluster.undisturbed().await);
    let (mut takeovers, mut judges) = (Vec::new(), JoinSet::new());
    for number in 0..count {
        let victim = number % cluster.len();
        let runs = cluster.begin(victim, &format!("kill-{number}"), RUNS, 1 + random.below(12)).await;
        cluster.kill(victim);
        let killed = now();
        let restarted = cluster.start_later(victim);
        // A commit that was under way when the process died may be dated just after its death.
        let late = killed + u64::try_from(cluster.lease().as_millis() / 4).unwrap();
        for mut run in runs {
            run.reader.follow(&cluster.http, cluster.front(), &run.run, Until::After(late)).await;
            // A run may have ended before the kill.
            takeovers.extend(run.reader.first_after(late).map(|time| Duration::from_millis(time - killed)));
            let (cluster, expected) = (cluster.clone(), expected.clone());
            judges.spawn(async move { cluster.judge(run, &expected).await });
        }
        restarted.await.unwrap();
        progress.one_more();
    }
    while let Some(judged) = judges.join_next().await {
        judged.unwrap();
    }
    takeovers
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}
