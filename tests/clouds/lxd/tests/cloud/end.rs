//! Nothing is left of an LXD: no process, no mount, no file, even if its test is killed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lxd::{Lxd, Options, SMALL};
use serde_json::json;

use crate::{TURN, body, start};

/// Makes the copy of this test program run the test that is killed.
const KILLED: &str = "MACHINIST_LXD_KILLED";
const TIMEOUT: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn nothing_is_left_when_an_lxd_is_dropped_while_containers_run() {
    let _turn = TURN.lock().await;
    let cloud = with_container().await;
    let folder = cloud.folder().to_owned();
    assert!(traces(&folder).len() > 1, "{:?}", traces(&folder));
    tokio::task::spawn_blocking(move || drop(cloud)).await.unwrap();
    assert_eq!(traces(&folder), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: needs root, and Debian's packages lxd and debootstrap"]
async fn nothing_is_left_when_the_test_is_killed() {
    let _turn = TURN.lock().await;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "end::a_test_that_is_killed", "--nocapture", "--ignored"])
        .env(KILLED, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
    let folder = tokio::task::spawn_blocking(move || {
        let mut line = String::new();
        while std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0 {
            if let Some((_, folder)) = line.trim().split_once("folder ") {
                return PathBuf::from(folder);
            }
            line.clear();
        }
        panic!("it has no LXD");
    });
    let folder = folder.await.unwrap();
    assert!(traces(&folder).len() > 1, "{:?}", traces(&folder));
    child.kill().unwrap();
    child.wait().unwrap();
    let began = Instant::now();
    while !traces(&folder).is_empty() && began.elapsed() < TIMEOUT {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(traces(&folder), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "nightly: the test before starts and kills it"]
async fn a_test_that_is_killed() {
    if std::env::var_os(KILLED).is_none() {
        return;
    }
    let cloud = with_container().await;
    println!("folder {}", cloud.folder().display());
    std::future::pending::<()>().await;
}

async fn with_container() -> Lxd {
    let cloud = Lxd::start(Options::default()).await.unwrap();
    cloud.ask("POST", "/1.0/instances", Some(body("runs", SMALL, &json!({})))).await.unwrap();
    cloud.ask("PUT", "/1.0/instances/runs/state", Some(start())).await.unwrap();
    assert!(cloud.instances().await.unwrap()[0].is_running());
    cloud
}

/// Processes, mounts and files that name the folder.
fn traces(folder: &Path) -> Vec<String> {
    let name = folder.display().to_string();
    let mut found: Vec<String> = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&name) {
            found.push(line);
        }
    }
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    found.extend(mounts.lines().filter(|line| line.contains(&name)).map(str::to_owned));
    if folder.exists() {
        found.push(name);
    }
    found
}
