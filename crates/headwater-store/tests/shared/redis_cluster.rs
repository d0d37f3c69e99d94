//! Redis Cluster: all keys of a prefix are on one node, and a store finds it from any other.

use std::{net::TcpListener, time::Duration};

use headwater_store::{RedisStore, Store as _};
use headwater_testkit::engines::RedisServer;

use crate::engine::{bodies, fact, never_polls, until};

const SLOTS: [(&str, &str); 3] = [("0", "5460"), ("5461", "10922"), ("10923", "16383")];

/// Three masters that know each other. `None` if this machine has no Redis and says so.
async fn cluster() -> Option<Vec<RedisServer>> {
    let mut nodes = Vec::new();
    for (first, last) in SLOTS {
        // The usual port of the bus, 10,000 above the other, may be none or taken.
        let bus = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let options = RedisServer::options().config("cluster-enabled yes");
        let node = options.config(&format!("cluster-port {bus}")).start()?;
        node.command(&["CLUSTER", "ADDSLOTSRANGE", first, last]);
        nodes.push((node, bus.to_string()));
    }
    for (met, bus) in &nodes[1..] {
        let port = met.address().port().to_string();
        nodes[0].0.command(&["CLUSTER", "MEET", "127.0.0.1", &port, bus]);
    }
    let nodes: Vec<_> = nodes.into_iter().map(|(node, _)| node).collect();
    until("the cluster", async || {
        nodes.iter().all(|node| {
            let info = node.command(&["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3")
        })
    })
    .await;
    Some(nodes)
}

fn keys(nodes: &[RedisServer]) -> Vec<bool> {
    nodes.iter().map(|node| node.command(&["DBSIZE"]).trim() != "0").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn store_finds_the_node_of_its_keys_from_any_other() {
    let Some(nodes) = cluster().await else { return };
    let minute = Duration::from_secs(60);
    for (number, node) in nodes.iter().enumerate() {
        let store = RedisStore::connect(&node.url(), never_polls()).await.unwrap();
        let lease = store.claim(&format!("run {number}").into(), "driver", minute).await.unwrap();
        assert_eq!(fact(&store, &lease, "one").await.unwrap(), 1);
        // What one node of ours writes, one that came in elsewhere reads, and is woken by it.
        for other in &nodes {
            let reader = RedisStore::connect(&other.url(), never_polls()).await.unwrap();
            assert_eq!(bodies(&reader, &lease.journal).await, ["one"]);
        }
        let reader = RedisStore::connect(&nodes[0].url(), never_polls()).await.unwrap();
        let (tail, written) = tokio::join!(reader.wait(&lease.journal, 1), fact(&store, &lease, "two"));
        assert_eq!((tail.unwrap().last, written.unwrap()), (2, 2));
    }
    assert_eq!(keys(&nodes).into_iter().filter(|used| *used).count(), 1, "one prefix is in one slot");
}
