//! `headwater serve --open`.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    time::{Duration, Instant},
};

use crate::server::Server;

#[test]
fn page_is_opened_once_the_server_is_ready() {
    let folder = tempfile::tempdir().unwrap();
    let (opener, opened) = (folder.path().join("xdg-open"), folder.path().join("opened"));
    fs::write(&opener, "#!/bin/sh\necho \"$1\" > opened.part && /bin/mv opened.part opened\n").unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let path = [("PATH", folder.path().to_str().unwrap())];
    let server = Server::start_with("127.0.0.1:0", &folder.path().join("data"), &["--open"], &path);
    let begun = Instant::now();
    while !opened.exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the page was not opened");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(fs::read_to_string(&opened).unwrap(), format!("http://{}/\n", server.address));
}

#[test]
fn missing_browser_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let path = [("PATH", folder.path().to_str().unwrap())];
    let server = Server::start_with("127.0.0.1:0", &folder.path().join("data"), &["--open"], &path);
    server.wait_for_log("`xdg-open`");
    assert_eq!(server.get("/healthz").status, 200);
}
