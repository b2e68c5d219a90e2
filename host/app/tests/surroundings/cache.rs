//! The command line of machine-controller-manager's pods names no folder for compiled plugins, and their image has
//! none.

use std::fs::{Permissions, set_permissions};
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::stub::Stub;

const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// The program as somebody who may not write `/var/cache`: its file and its folder can be read by everybody.
fn unprivileged(folder: &Path) -> Command {
    let program = folder.join("machinist");
    std::fs::copy(env!("CARGO_BIN_EXE_machinist"), &program).expect("copied");
    for path in [folder, &program] {
        set_permissions(path, Permissions::from_mode(0o755)).expect("opened to others");
    }
    let mut command = Command::new(program);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

#[test]
fn a_pod_without_a_cache_folder_gets_a_temporary_one_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let stub = Stub::start(|_| "{}".to_owned());
    let kubeconfig = stub.kubeconfig(folder.path(), &stub.url());
    set_permissions(&kubeconfig, Permissions::from_mode(0o644)).expect("opened to others");
    let kubeconfig = kubeconfig.display();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).expect("made");
    set_permissions(&temporary, Permissions::from_mode(0o1777)).expect("opened to others");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("it is bound").port();
    let mut command = unprivileged(folder.path());
    command
        .args([
            "--machine-creation-timeout=20m", "--machine-drain-timeout=2h", "--machine-health-timeout=10m",
        ])
        .args(["--machine-safety-orphan-vms-period=30m", "--namespace=shoot", "--v=3", "--address=127.0.0.1"])
        .arg(format!("--port={port}"))
        .arg(format!("--control-kubeconfig={kubeconfig}"))
        .arg(format!("--target-kubeconfig={kubeconfig}"))
        .env("TMPDIR", &temporary)
        .env_remove("KUBECONFIG")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    // Its port is taken, so the program ends as soon as it has its folder.
    let lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let said: Vec<String> = lines.map_while(Result::ok).collect();
    let status = child.wait().expect("it ends");
    let is_warning = |line: &&String| line.contains("the folder for compiled plugins cannot be written");
    let warning = said.iter().find(is_warning).unwrap_or_else(|| panic!("{status}: {said:?}"));
    assert!(
        warning.contains("/var/cache/machinist") && warning.contains(&*temporary.to_string_lossy()),
        "{warning}"
    );
}
