//! The vendors' own clients as readers of a cluster: their connections are cut, and the node that answers is killed, or
//! stands still.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    process::Command,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use headwater_testkit::balancer::LinkState;

use crate::{
    cluster::{Agents, Cluster, Setup},
    engine::Kind,
    on_each_engine,
    report::held,
    server::binary,
};

/// Set where the packages of `conformance/clients` are installed, which `cargo xtask` does.
const INSTALLED: &str = "HEADWATER_CLUSTER_CLIENTS";

const CLIENTS: [&str; 4] = ["ai-7", "ag-ui", "tanstack", "mui"];
const SCENARIOS: [&str; 3] = ["a long text", "two tools at once", "a call that is allowed"];
/// What runs for long enough to be taken over in its middle.
const LONG: [&str; 1] = ["a long text"];

on_each_engine!(
    vendors_clients_end_with_the_same_messages,
    vendors_clients_of_a_paused_node_end_with_the_same_messages,
);

fn vendors_clients_end_with_the_same_messages(kind: Kind) {
    // Each scenario is also read from the journal, and its request is repeated.
    if !judge(kind, &SCENARIOS, &["--cuts", "1", "--kills", "1"], 5) {
        return;
    }
    held(
        "connections of the vendors' clients cut, and the node that answers them killed",
        CLIENTS.len() * SCENARIOS.len(),
        CLIENTS.len() * SCENARIOS.len(),
        "the same messages as undisturbed",
    );
}

fn vendors_clients_of_a_paused_node_end_with_the_same_messages(kind: Kind) {
    if !judge(kind, &LONG, &["--cuts", "0", "--kills", "0", "--pauses", "1"], 4) {
        return;
    }
    held(
        "SIGSTOP of the node that answers a vendor's client for longer than its lease, then SIGCONT",
        CLIENTS.len(),
        CLIENTS.len(),
        "the same messages as undisturbed; the old driver writes nothing",
    );
}

/// Has each client read from a cluster over its balancer. Returns `false` on a machine where that is not possible. `cases` is how
/// many there are of each client and scenario: none may be passed over.
fn judge(kind: Kind, scenarios: &[&str], faults: &[&str], cases: usize) -> bool {
    if env::var_os(INSTALLED).is_none() {
        println!("skipped: {INSTALLED} is not set");
        return false;
    }
    let setup = Setup { nodes: 2, agents: Agents::Demo, ..Setup::default() };
    let Some(cluster) = Cluster::start(kind, setup) else { return false };
    // One after the other: a fault of one would disturb another.
    for client in CLIENTS {
        let control = Control::of(cluster.clone());
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/clients");
        let mut judges = Command::new("node");
        judges.current_dir(folder).args(["run.mjs", "--binary"]).arg(binary());
        judges.args(["--front", &cluster.front().to_string(), "--control", &control.address.to_string()]);
        judges.args(["--seed", "1", "--client", client]).args(faults);
        judges.args(scenarios.iter().flat_map(|scenario| ["--scenario", scenario]));
        let finished = judges.output().unwrap();
        control.end();
        let output = String::from_utf8_lossy(&finished.stdout);
        let errors = String::from_utf8_lossy(&finished.stderr);
        assert!(finished.status.success(), "{client}: {output}{errors}");
        let passed = output.lines().filter(|line| line.starts_with("ok ")).count();
        assert_eq!(passed, scenarios.len() * cases, "{client}: {output}");
    }
    true
}

/// Does to the nodes what the judges ask for, one line for each order: `kill PORT` and `pause PORT` for the node that
/// serves the connection from that port, and `resume`. Each is answered with `done`.
struct Control {
    address: SocketAddr,
    obeying: JoinHandle<()>,
}

impl Control {
    fn of(cluster: Arc<Cluster>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let obeying = thread::spawn(move || {
            let (mut judge, _) = listener.accept().unwrap();
            let orders = BufReader::new(judge.try_clone().unwrap()).lines();
            let mut nodes = DisturbedNodes { cluster, starting: None, paused: None };
            for order in orders.map_while(Result::ok) {
                nodes.obey(&order);
                // The judge may have given up.
                let _ = writeln!(judge, "done");
            }
            nodes.calm();
        });
        Self { address, obeying }
    }

    /// Waits until all nodes are up again.
    fn end(self) {
        // Judges that failed before they connected must not leave it waiting.
        drop(std::net::TcpStream::connect(self.address));
        self.obeying.join().unwrap();
    }
}

struct DisturbedNodes {
    cluster: Arc<Cluster>,
    starting: Option<JoinHandle<()>>,
    paused: Option<usize>,
}

impl DisturbedNodes {
    fn obey(&mut self, order: &str) {
        let (action, port) = order.split_once(' ').unwrap_or((order, ""));
        let node = || {
            let port: u16 = port.parse().unwrap_or_else(|_| panic!("no port in `{order}`"));
            let node = self.cluster.balancer.target_of((Ipv4Addr::LOCALHOST, port).into());
            node.unwrap_or_else(|| panic!("`{order}`: no node serves that connection"))
        };
        match action {
            "kill" => {
                let node = node();
                // One of the two is always up.
                self.started();
                self.cluster.kill(node);
                let cluster = self.cluster.clone();
                self.starting = Some(thread::spawn(move || cluster.start_node(node)));
            }
            "pause" => {
                let node = node();
                self.cluster.pause(node);
                // A balancer finds out by its health checks.
                self.cluster.balancer.set_link(node, LinkState::Cut);
                self.paused = Some(node);
            }
            "resume" => {
                self.resume();
                // It learns that its leases are lost; nothing that it does in twice that time may be seen.
                thread::sleep(Duration::from_secs(1) + self.cluster.lease() * 2);
            }
            _ => panic!("unknown order `{order}`"),
        }
    }

    fn started(&mut self) {
        if let Some(starting) = self.starting.take() {
            starting.join().unwrap();
        }
    }

    fn resume(&mut self) {
        if let Some(node) = self.paused.take() {
            self.cluster.resume(node);
            self.cluster.balancer.set_link(node, LinkState::Open);
        }
    }

    fn calm(&mut self) {
        self.started();
        self.resume();
    }
}
