//! The balancer does what a test asks for, and nothing else.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use headwater_testkit::balancer::{Balancer, LinkState};

/// A server that sends its name and then echoes its input. It ends with the test.
fn echo(name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                stream.write_all(name.as_bytes()).unwrap();
                let mut back = stream.try_clone().unwrap();
                // The balancer may have cut the connection.
                let _ = std::io::copy(&mut back, &mut stream);
            });
        }
    });
    address
}

struct Client(TcpStream);

impl Client {
    fn connect(balancer: &Balancer) -> Self {
        let stream = TcpStream::connect(balancer.address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self(stream)
    }

    fn read(&mut self) -> Result<String, ErrorKind> {
        let mut bytes = [0; 64];
        let read = self.0.read(&mut bytes).map_err(|error| error.kind())?;
        Ok(String::from_utf8_lossy(&bytes[..read]).into_owned())
    }

    fn ask(&mut self, text: &str) -> Result<String, ErrorKind> {
        self.0.write_all(text.as_bytes()).map_err(|error| error.kind())?;
        self.read()
    }
}

#[test]
fn connections_are_distributed_in_turn_and_skip_dead_nodes() {
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let balancer = Balancer::start(&[echo("a"), dead, echo("b")]).unwrap();
    let names: Vec<_> = (0..6).map(|_| Client::connect(&balancer).read().unwrap()).collect();
    assert_eq!(names, ["a", "b", "b", "a", "b", "b"]);
    balancer.set_target(1, echo("c"));
    let names: Vec<_> = (0..3).map(|_| Client::connect(&balancer).read().unwrap()).collect();
    assert_eq!(names, ["a", "c", "b"]);
}

#[test]
fn cut_link_resets_its_connections_and_gets_no_new_ones() {
    let balancer = Balancer::start(&[echo("a"), echo("b")]).unwrap();
    let (mut a, mut b) = (Client::connect(&balancer), Client::connect(&balancer));
    assert_eq!((a.read(), b.read()), (Ok("a".to_owned()), Ok("b".to_owned())));
    assert_eq!((balancer.connections(0), balancer.connections(1)), (1, 1));
    balancer.set_link(0, LinkState::Cut);
    assert_eq!(a.read(), Err(ErrorKind::ConnectionReset));
    assert_eq!(b.ask("still here"), Ok("still here".to_owned()));
    for _ in 0..3 {
        assert_eq!(Client::connect(&balancer).read(), Ok("b".to_owned()));
    }
    balancer.set_link(1, LinkState::Cut);
    assert!(matches!(Client::connect(&balancer).read(), Err(ErrorKind::ConnectionReset)));
    balancer.set_link(0, LinkState::Open);
    assert_eq!(Client::connect(&balancer).read(), Ok("a".to_owned()));
}

#[test]
fn draining_link_keeps_its_connections_and_reset_ends_them_once() {
    let balancer = Balancer::start(&[echo("a"), echo("b")]).unwrap();
    let mut a = Client::connect(&balancer);
    assert_eq!(a.read(), Ok("a".to_owned()));
    balancer.set_link(0, LinkState::Draining);
    assert_eq!(a.ask("more"), Ok("more".to_owned()));
    assert_eq!(Client::connect(&balancer).read(), Ok("b".to_owned()));
    assert_eq!(Client::connect(&balancer).read(), Ok("b".to_owned()));
    balancer.reset(0);
    assert_eq!(a.read(), Err(ErrorKind::ConnectionReset));
    balancer.set_link(0, LinkState::Open);
    let names = [Client::connect(&balancer).read().unwrap(), Client::connect(&balancer).read().unwrap()];
    assert!(names.contains(&"a".to_owned()), "{names:?}");
}

#[test]
fn forgotten_connections_pass_nothing_and_are_not_closed() {
    let balancer = Balancer::start(&[echo("a")]).unwrap();
    let mut early = Client::connect(&balancer);
    assert_eq!(early.read(), Ok("a".to_owned()));
    balancer.forget(0);
    // The balancer learns of it on its own thread: earlier bytes are echoed.
    early.0.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut silent = false;
    for _ in 0..600 {
        silent = matches!(early.ask("lost"), Err(ErrorKind::WouldBlock | ErrorKind::TimedOut));
        if silent {
            break;
        }
    }
    assert!(silent, "it still passes bytes");
    assert_eq!(Client::connect(&balancer).read(), Ok("a".to_owned()));
    balancer.reset(0);
    early.0.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(early.read(), Err(ErrorKind::ConnectionReset));
}

#[test]
fn stalled_link_delivers_everything_once_it_opens() {
    let balancer = Balancer::start(&[echo("a")]).unwrap();
    let mut early = Client::connect(&balancer);
    assert_eq!(early.read(), Ok("a".to_owned()));
    balancer.set_link(0, LinkState::Stalled);
    let mut late = Client::connect(&balancer);
    early.0.write_all(b"held back").unwrap();
    early.0.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(matches!(early.read(), Err(ErrorKind::WouldBlock | ErrorKind::TimedOut)));
    balancer.set_link(0, LinkState::Open);
    early.0.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert_eq!(early.read(), Ok("held back".to_owned()));
    assert_eq!(late.read(), Ok("a".to_owned()));
}
