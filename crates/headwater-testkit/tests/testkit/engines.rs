//! The test servers are real: they keep their data, require authentication, and clean up.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::Arc,
    time::Duration,
};

use headwater_testkit::engines::{PostgresServer, RedisServer};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// The reply of a Redis server on its port.
fn ask(mut stream: impl std::io::Read + std::io::Write, line: &str) -> String {
    stream.write_all(format!("{line}\r\n").as_bytes()).unwrap();
    let mut answer = [0; 256];
    let read = stream.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

/// A TLS connection to `localhost` for a client that trusts only this authority.
fn secure(stream: TcpStream, authority: &Path) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(config, name).unwrap(), stream)
}

fn runs(pid: u32) -> bool {
    std::process::Command::new("kill").args(["-0", &pid.to_string()]).output().unwrap().status.success()
}

#[test]
fn redis_keeps_values_across_crash_and_restart() {
    let Some(mut redis) = RedisServer::options().config("appendfsync always").start() else { return };
    let (url, pid) = (redis.url(), redis.pid().unwrap());
    assert!(ask(connect(redis.address()), "SET answer 42").starts_with("+OK"));
    redis.kill();
    assert!(redis.pid().is_none() && !runs(pid));
    redis.restart();
    assert_eq!(redis.command(&["GET", "answer"]), "42");
    redis.restart();
    assert_eq!(redis.command(&["GET", "answer"]), "42");
    assert_eq!(redis.url(), url);
    let pid = redis.pid().unwrap();
    drop(redis);
    assert!(!runs(pid), "a dropped server still runs");
}

#[test]
fn redis_refuses_a_client_without_the_password() {
    let Some(redis) = RedisServer::options().password("secret").config("maxmemory 4mb").start() else {
        return;
    };
    assert!(redis.url().starts_with("redis://:secret@127.0.0.1:"), "{}", redis.url());
    assert!(ask(connect(redis.address()), "GET answer").starts_with("-NOAUTH"));
    assert_eq!(redis.command(&["CONFIG", "GET", "maxmemory"]), "maxmemory\n4194304");
    redis.command(&["ACL", "SETUSER", "reader", "on", ">word", "~*", "+get"]);
    assert!(redis.url_as("reader", "word").contains("reader:word@"));
    assert!(ask(connect(redis.address()), "AUTH reader word").starts_with("+OK"));
}

#[test]
fn redis_with_tls_has_a_certificate_of_its_authority() {
    let Some(redis) = RedisServer::options().tls().start() else { return };
    assert!(redis.url().starts_with("rediss://"), "{}", redis.url());
    let stream = secure(connect(redis.address()), redis.authority().unwrap());
    assert!(ask(stream, "PING").starts_with("+PONG"));
}

#[test]
fn postgres_keeps_rows_across_crash_and_restart() {
    let Some(mut postgres) = PostgresServer::options().config("max_connections = 17").start() else { return };
    let (url, pid) = (postgres.url(), postgres.pid().unwrap());
    assert_eq!(postgres.query("headwater", "SHOW max_connections"), "17");
    assert_eq!(postgres.query("headwater", "SHOW fsync"), "on");
    postgres.query("headwater", "CREATE TABLE kept AS SELECT 42 AS answer, 'yes' AS word");
    postgres.kill();
    assert!(postgres.pid().is_none() && !runs(pid));
    postgres.restart();
    assert_eq!(postgres.query("headwater", "SELECT * FROM kept"), "42|yes");
    postgres.restart();
    assert_eq!(postgres.query("headwater", "SELECT * FROM kept"), "42|yes");
    assert_eq!(postgres.url(), url);
    let second = postgres.database("second");
    assert!(second.ends_with("/second"), "{second}");
    let pid = postgres.pid().unwrap();
    drop(postgres);
    assert!(!runs(pid), "a dropped server still runs");
}

#[test]
fn postgres_with_tls_has_a_certificate_of_its_authority() {
    let Some(postgres) = PostgresServer::options().tls().start() else { return };
    assert!(postgres.url().ends_with("?sslmode=require"), "{}", postgres.url());
    let mut stream = connect(postgres.address());
    // A Postgres client requests TLS in plain text before the handshake.
    stream.write_all(&[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]).unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"S");
    let mut secure = secure(stream, postgres.authority().unwrap());
    while secure.conn.is_handshaking() {
        secure.conn.complete_io(&mut secure.sock).unwrap();
    }
    assert!(secure.conn.protocol_version().is_some());
}
