//! Nodes on one engine, each with a wire of its own to it, and the balancer in front of them.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::Duration,
};

use headwater_testkit::balancer::{Balancer, LinkState};

use crate::{
    agent,
    engine::{Engine, Kind},
    ledger::Ledger,
    reader::http,
    server::{Server, memory},
};

/// How long the runs of a dead node wait in these tests.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// What the nodes serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agents {
    /// The agent that writes into the ledger.
    Ledger,
    /// The demo agents, slow enough that a fault meets an active run.
    Demo,
}

/// How a cluster is set up.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) nodes: usize,
    pub(crate) agents: Agents,
    pub(crate) lease: Duration,
    /// How long runs are kept, such as `1h`.
    pub(crate) keep: &'static str,
    /// What each node has in its environment: that of a node is found by its number.
    pub(crate) environment: Vec<Vec<(String, String)>>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { nodes: 3, agents: Agents::Ledger, lease: LEASE, keep: "1h", environment: Vec::new() }
    }
}

/// One `headwater serve`.
struct Node {
    /// Only `None` while it is down.
    server: Mutex<Option<Server>>,
    /// Between the node and the engine.
    wire: Balancer,
}

/// Several nodes on one engine.
pub(crate) struct Cluster {
    pub(crate) engine: Mutex<Engine>,
    pub(crate) ledger: Ledger,
    /// In front of all nodes: where clients connect.
    pub(crate) balancer: Balancer,
    /// What clients send their requests with.
    pub(crate) http: reqwest::Client,
    nodes: Vec<Node>,
    setup: Setup,
    agent: PathBuf,
    folder: tempfile::TempDir,
}

impl Cluster {
    /// Starts an engine, and nodes on it. `None` where this machine has no such engine and says so.
    pub(crate) fn start(kind: Kind, setup: Setup) -> Option<Arc<Self>> {
        let engine = Engine::start(kind)?;
        let (ledger, folder) = (Ledger::start(), tempfile::tempdir().unwrap());
        let agent = agent::write(folder.path(), ledger.address, setup.keep);
        let wire = || Balancer::start(&[engine.address()]).unwrap();
        let nodes = (0..setup.nodes).map(|_| Node { server: Mutex::new(None), wire: wire() }).collect();
        // The balancer learns of the nodes as they start.
        let balancer = Balancer::start(&vec![nowhere(); setup.nodes]).unwrap();
        let engine = Mutex::new(engine);
        let cluster = Self { engine, ledger, balancer, http: http(), nodes, setup, agent, folder };
        // All at once, as after a power cut: none may mind that the others find an empty engine too.
        thread::scope(|scope| {
            let cluster = &cluster;
            for number in 0..cluster.len() {
                scope.spawn(move || cluster.start_node(number));
            }
        });
        Some(Arc::new(cluster))
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn lease(&self) -> Duration {
        self.setup.lease
    }

    /// Starts a node that is down.
    pub(crate) fn start_node(&self, number: usize) {
        let node = &self.nodes[number];
        let store = self.engine().url_over(node.wire.address());
        let lease = format!("lease={}ms", self.setup.lease.as_millis());
        let agents = match self.setup.agents {
            Agents::Ledger => vec![self.agent.to_str().unwrap()],
            Agents::Demo => vec!["--set", "demo.pace=4ms"],
        };
        let settings = [
            "--store",
            &store,
            "--set",
            &lease,
            // A reader whose node stands still must notice it soon.
            "--set",
            "heartbeat=500ms",
            "--set",
            "shutdown=3s",
        ];
        let settings = [agents.as_slice(), &settings].concat();
        let environment = self.setup.environment.get(number).map(Vec::as_slice).unwrap_or_default();
        let environment: Vec<_> = environment.iter().map(|(name, value)| (&**name, &**value)).collect();
        let data = self.folder.path().join(format!("node-{number}"));
        let server = Server::start_with("127.0.0.1:0", &data, &settings, &environment);
        self.balancer.set_target(number, server.address.parse().unwrap());
        let before = node.server.lock().unwrap().replace(server);
        assert!(before.is_none(), "node {number} was there already");
    }

    /// Starts a node that is down, without holding up the readers.
    pub(crate) fn start_later(self: &Arc<Self>, number: usize) -> tokio::task::JoinHandle<()> {
        let cluster = self.clone();
        tokio::task::spawn_blocking(move || cluster.start_node(number))
    }

    pub(crate) fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap()
    }

    fn with<T>(&self, number: usize, act: impl FnOnce(&Server) -> T) -> T {
        act(self.nodes[number]
            .server
            .lock()
            .unwrap()
            .as_ref()
            .unwrap_or_else(|| panic!("node {number} is down")))
    }

    fn take(&self, number: usize) -> Server {
        self.nodes[number].server.lock().unwrap().take().unwrap_or_else(|| panic!("node {number} is down"))
    }

    /// Where a node itself is, past the balancer.
    pub(crate) fn address(&self, number: usize) -> SocketAddr {
        self.with(number, |server| server.address.parse().unwrap())
    }

    /// Where clients connect.
    pub(crate) fn front(&self) -> SocketAddr {
        self.balancer.address()
    }

    /// How many bytes of memory a node takes, where the system says so.
    pub(crate) fn memory(&self, number: usize) -> Option<u64> {
        self.with(number, |server| memory(server.pid(), "VmRSS"))
    }

    /// Kills a node: it can clean up nothing.
    pub(crate) fn kill(&self, number: usize) {
        self.take(number).kill();
        self.balancer.set_target(number, nowhere());
    }

    /// Stops a node as an operator does, and waits until it has ended.
    pub(crate) fn terminate(&self, number: usize) -> Option<i32> {
        let ended = self.take(number).terminate();
        self.balancer.set_target(number, nowhere());
        ended
    }

    /// Has a node stand still.
    pub(crate) fn pause(&self, number: usize) {
        self.signal(number, "STOP");
    }

    /// Has a node that stands still continue.
    pub(crate) fn resume(&self, number: usize) {
        self.signal(number, "CONT");
    }

    fn signal(&self, number: usize, name: &str) {
        let pid = self.with(number, Server::pid).to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Changes the wire between a node and the engine.
    pub(crate) fn wire(&self, number: usize, link: LinkState) {
        self.nodes[number].wire.set_link(0, link);
    }

    /// How many connections a node has to the engine.
    pub(crate) fn wires(&self, number: usize) -> usize {
        self.nodes[number].wire.connections(0)
    }
}

/// An address where nothing listens. The port of a node that has ended may become that of a node of another cluster, so the
/// balancer must not continue connecting to it.
fn nowhere() -> SocketAddr {
    ([127, 0, 0, 1], 1).into()
}

/// Runs something on a runtime of its own.
pub(crate) fn at_once<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
}
