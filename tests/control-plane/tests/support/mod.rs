//! The tools that the tests need on the machine.

use std::fs;
use std::time::{Duration, Instant};

/// Waits for a condition, and fails with its name when it does not come.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds().await {
        assert!(Instant::now() < deadline, "not so after a minute: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A manifest of the folder beside this one.
pub(crate) fn manifest(name: &str) -> String {
    fs::read_to_string(format!("{}/tests/manifests/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// State and parent of a process, as in `/proc/<pid>/stat`.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Whether the process runs; one that is dead and that nobody waited for does not.
pub(crate) fn is_running(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

/// The processes whose parent this is.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(_, ppid)| ppid == parent)).collect()
}
