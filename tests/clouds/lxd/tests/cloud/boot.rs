//! A container boots, runs its user data and reaches a port of this machine.

use std::time::{Duration, Instant};

use lxd::{DEBIAN, Lxd, Options};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::{TURN, body, start};

const TIMEOUT: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn a_container_boots_runs_its_user_data_and_reaches_the_port_that_is_passed() {
    let _turn = TURN.lock().await;
    let cloud = Lxd::start(Options { has_debian: true, ..Options::default() }).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    cloud.pass_port(port).await.unwrap();

    // The quotes and the line end are those of user data.
    let script = format!(
        "import socket; s = socket.create_connection((\"127.0.0.1\", {port})); s.sendall(b\"booted\")"
    );
    let user_data = format!("#cloud-config\nruncmd:\n  - [python3, -c, '{script}']\n");
    let config = json!({ "cloud-init.user-data": user_data, "user.machinist-uid": "uid-1" });
    let began = Instant::now();
    cloud.ask("POST", "/1.0/instances", Some(body("boot", DEBIAN, &config))).await.unwrap();
    let created = began.elapsed();
    cloud.ask("PUT", "/1.0/instances/boot/state", Some(start())).await.unwrap();
    let started = began.elapsed();
    let (mut socket, _) = tokio::time::timeout(TIMEOUT, listener.accept()).await.expect("no boot").unwrap();
    let mut said = String::new();
    tokio::time::timeout(TIMEOUT, socket.read_to_string(&mut said)).await.expect("no end").unwrap();
    assert_eq!(said, "booted");
    let booted = began.elapsed();
    let memory = cloud.memory("boot").await.unwrap();
    let host = cloud.exec("boot", &["hostname"]).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&host.stdout).trim(), "boot");

    let removal = Instant::now();
    cloud.remove_by_hand("boot").await.unwrap();
    println!(
        "LXD up {:?}, created {created:?}, started {started:?}, user data ran {booted:?}, {} MiB, removed in {:?}",
        cloud.started_in(),
        memory >> 20,
        removal.elapsed()
    );
    assert_eq!(cloud.leftovers().await.unwrap(), Vec::<String>::new());
}
