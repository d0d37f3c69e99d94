//! A TCP load balancer that a test controls, including network failures.
//!
//! In front of several nodes it is their load balancer. With one target it is the connection between a node
//! and its database, which a test can cut, stall and restore.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener, TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    runtime::Runtime,
    sync::watch,
};

/// The state of the connection to one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// Bytes pass.
    Open,
    /// Existing connections work; no new ones are made, as for a node that is being removed.
    Draining,
    /// Nothing passes and nothing is closed, as behind a firewall that drops packets.
    Stalled,
    /// Every connection is reset, and no new ones are made.
    Cut,
}

#[derive(Debug)]
struct Target {
    address: SocketAddr,
    link: watch::Sender<LinkState>,
    /// Number of resets.
    resets: watch::Sender<u64>,
    /// How often its open connections were forgotten.
    forgotten: watch::Sender<u64>,
    open: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct BalancerState {
    targets: Mutex<Vec<Target>>,
    next: AtomicUsize,
    /// The target of the last connection from each address.
    served: Mutex<HashMap<SocketAddr, usize>>,
}

/// What an open connection needs to know about its target.
struct BalancerRoute {
    number: usize,
    address: SocketAddr,
    link: watch::Receiver<LinkState>,
    resets: watch::Receiver<u64>,
    forgotten: watch::Receiver<u64>,
    open: Arc<AtomicUsize>,
}

/// A balancer on a free port. Dropping it closes every connection.
///
/// ```no_run
/// use headwater_testkit::balancer::{Balancer, LinkState};
///
/// let nodes = ["127.0.0.1:4001".parse().unwrap(), "127.0.0.1:4002".parse().unwrap()];
/// let balancer = Balancer::start(&nodes).unwrap();
/// balancer.set_link(0, LinkState::Cut); // all clients are now served by the second node
/// ```
#[derive(Debug)]
pub struct Balancer {
    shared: Arc<BalancerState>,
    address: SocketAddr,
    /// `None` only during the drop.
    runtime: Option<Runtime>,
}

impl Balancer {
    /// Starts a balancer that distributes connections over these targets in turn.
    ///
    /// # Errors
    /// If no port or thread is available.
    pub fn start(targets: &[SocketAddr]) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        let targets = targets.iter().map(|address| Target::new(*address)).collect();
        let shared = Arc::new(BalancerState {
            targets: Mutex::new(targets),
            next: AtomicUsize::new(0),
            served: Mutex::default(),
        });
        let accepting = shared.clone();
        runtime.spawn(async move {
            loop {
                // For example out of descriptors; the next connection may work.
                let Ok((client, _)) = listener.accept().await else {
                    tokio::task::yield_now().await;
                    continue;
                };
                // The target is chosen here, so that connections are distributed in order of arrival.
                tokio::spawn(serve(accepting.clone(), accepting.routes(), client));
            }
        });
        Ok(Self { shared, address, runtime: Some(runtime) })
    }

    /// The address that clients connect to.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the address of a target: a restarted node has another port.
    pub fn set_target(&self, number: usize, address: SocketAddr) {
        if let Some(target) = self.shared.targets().get_mut(number) {
            target.address = address;
        }
    }

    /// Changes the state of the connection to a target.
    pub fn set_link(&self, number: usize, link: LinkState) {
        if let Some(target) = self.shared.targets().get(number) {
            target.link.send_replace(link);
            if link == LinkState::Cut {
                target.resets.send_modify(|resets| *resets += 1);
            }
        }
    }

    /// Resets the open connections of a target. New connections are served.
    pub fn reset(&self, number: usize) {
        if let Some(target) = self.shared.targets().get(number) {
            target.resets.send_modify(|resets| *resets += 1);
        }
    }

    /// Nothing passes over the open connections of a target any more, and they are not closed, as when a firewall has
    /// forgotten them. New connections are served.
    pub fn forget(&self, number: usize) {
        if let Some(target) = self.shared.targets().get(number) {
            target.forgotten.send_modify(|forgotten| *forgotten += 1);
        }
    }

    /// The target that serves the connection from this address, or served the last one.
    #[must_use]
    pub fn target_of(&self, client: SocketAddr) -> Option<usize> {
        self.shared.served.lock().unwrap_or_else(PoisonError::into_inner).get(&client).copied()
    }

    /// Number of open connections of a target.
    #[must_use]
    pub fn connections(&self, number: usize) -> usize {
        self.shared.targets().get(number).map_or(0, |target| target.open.load(Ordering::Relaxed))
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waiting is not allowed inside another runtime.
            runtime.shutdown_background();
        }
    }
}

impl Target {
    fn new(address: SocketAddr) -> Self {
        let link = watch::Sender::new(LinkState::Open);
        Self {
            address,
            link,
            resets: watch::Sender::new(0),
            forgotten: watch::Sender::new(0),
            open: Arc::default(),
        }
    }
}

impl BalancerState {
    fn targets(&self) -> MutexGuard<'_, Vec<Target>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The targets that may get a connection, beginning with the next in turn.
    fn routes(&self) -> Vec<BalancerRoute> {
        let targets = self.targets();
        let first = self.next.fetch_add(1, Ordering::Relaxed);
        let turn = (0..targets.len()).map(|number| (first + number) % targets.len());
        let routes = turn.filter_map(|number| {
            let target = targets.get(number)?;
            let accepts = matches!(*target.link.borrow(), LinkState::Open | LinkState::Stalled);
            accepts.then(|| BalancerRoute {
                number,
                address: target.address,
                link: target.link.subscribe(),
                resets: target.resets.subscribe(),
                forgotten: target.forgotten.subscribe(),
                open: target.open.clone(),
            })
        });
        routes.collect()
    }
}

/// Connects a client to the first target that accepts, or closes its connection if none does.
async fn serve(shared: Arc<BalancerState>, routes: Vec<BalancerRoute>, mut client: TcpStream) {
    for mut route in routes {
        if *route.link.borrow() == LinkState::Stalled {
            // Simulates a handshake whose packets are dropped.
            tokio::select! {
                _ = route.link.wait_for(|link| *link != LinkState::Stalled) => {}
                _ = route.resets.changed() => {}
            }
            if *route.link.borrow() == LinkState::Cut {
                continue;
            }
        }
        // The target may have moved while the link was stalled.
        let address = shared.targets().get(route.number).map_or(route.address, |target| target.address);
        let Ok(mut server) = TcpStream::connect(address).await else { continue };
        // Events are small, and Nagle's delay would show up as latency.
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        if let Ok(address) = client.peer_addr() {
            let mut served = shared.served.lock().unwrap_or_else(PoisonError::into_inner);
            served.insert(address, route.number);
        }
        route.open.fetch_add(1, Ordering::Relaxed);
        let reset = tokio::select! {
            () = exchange(&mut client, &mut server, &route.link) => false,
            _ = route.resets.changed() => true,
            _ = route.forgotten.changed() => {
                // Both sides believe that they are connected, until their own timers say otherwise.
                let _ = route.resets.changed().await;
                true
            }
        };
        route.open.fetch_sub(1, Ordering::Relaxed);
        if reset {
            // Closing without linger sends a reset: the peer sees an error, not the end of the stream.
            let _ = (client.set_zero_linger(), server.set_zero_linger());
        }
        return;
    }
    let _ = client.set_zero_linger();
}

async fn exchange(client: &mut TcpStream, server: &mut TcpStream, link: &watch::Receiver<LinkState>) {
    let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
    tokio::join!(pump(from_client, to_server, link.clone()), pump(from_server, to_client, link.clone()));
}

/// Copies bytes in one direction until the source ends.
async fn pump(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, mut link: watch::Receiver<LinkState>) {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let read = match from.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(read) => read,
        };
        // Bytes that arrive on a stalled link are delivered when it opens, like TCP retransmissions.
        if link.wait_for(|link| *link != LinkState::Stalled).await.is_err() {
            break;
        }
        let Some(bytes) = buffer.get(..read) else { break };
        if to.write_all(bytes).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}
