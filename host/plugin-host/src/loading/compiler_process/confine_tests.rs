//! Attacks of a compiler that was taken over, each on a thread of its own that is confined as the process is.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::thread;

use super::*;

/// Runs this on a thread that is confined by the calls' filter, or by landlock; `None` where the kernel lacks that.
fn beside<T: Send + 'static>(layer: fn() -> bool, attack: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    thread::spawn(move || layer().then(attack)).join().expect("no panic")
}

/// Tries calls that a compiler does not need. Returns the names of those that succeed.
fn attacks(token: &Path, elsewhere: &Path, port: u16) -> Vec<&'static str> {
    let mut done = Vec::new();
    let mut attack = |name, succeeds: bool| {
        if succeeds {
            done.push(name);
        }
    };
    attack("reads the token of the ServiceAccount", fs::read(token).is_ok());
    attack("lists the folder of the code cache", fs::read_dir(token.parent().expect("a folder")).is_ok());
    attack("writes a file", File::create(elsewhere).is_ok());
    attack("appends to the key", OpenOptions::new().append(true).open(token).is_ok());
    attack("removes the token", fs::remove_file(token).is_ok());
    attack("reads the memory of its parent", File::open("/proc/self/mem").is_ok());
    attack("connects", TcpStream::connect(("127.0.0.1", port)).is_ok());
    attack("listens", TcpListener::bind("127.0.0.1:0").is_ok());
    attack("runs a program", Command::new("/bin/true").status().is_ok());
    done
}

fn scene() -> (tempfile::TempDir, TcpListener) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("token"), "canary").expect("writable");
    (folder, TcpListener::bind("127.0.0.1:0").expect("a port"))
}

#[test]
fn attack_compiler_reads_connects_and_runs_programs() {
    let (folder, listener) = scene();
    let (token, elsewhere) = (folder.path().join("token"), folder.path().join("new"));
    let port = listener.local_addr().expect("an address").port();
    let free = {
        let token = folder.path().join("bait");
        fs::write(&token, "bait").expect("writable");
        attacks(&token, &folder.path().join("free"), port)
    };
    assert_eq!(free.len(), 9, "each attack succeeds where nothing is taken away: {free:?}");
    let seen = beside(makes_few_calls, {
        let (token, elsewhere) = (token.clone(), elsewhere.clone());
        move || attacks(&token, &elsewhere, port)
    });
    assert_eq!(seen, Some(Vec::new()), "this kernel has seccomp");
    assert!(token.is_file() && !elsewhere.exists());
}

#[test]
fn attack_compiler_opens_sockets_of_any_kind_and_traces_others() {
    let seen = beside(makes_few_calls, || {
        let denied = |error: io::Error| error.raw_os_error() == Some(libc::EPERM);
        [
            UdpSocket::bind("127.0.0.1:0").is_err_and(denied),
            UnixStream::pair().is_err_and(denied),
            nix::sys::ptrace::traceme().is_err(),
            unshare(CloneFlags::CLONE_NEWUSER).is_err(),
            nix::sys::signal::kill(nix::unistd::getppid(), None).is_err(),
            rustix::process::nice(1).is_err(),
        ]
    });
    assert_eq!(seen, Some([true; 6]));
}

/// By landlock alone, without the filter of calls.
#[test]
fn attack_compiler_reads_files_where_calls_are_not_filtered() {
    let (folder, _listener) = scene();
    let token = folder.path().join("token");
    let seen = beside(knows_no_file, move || fs::read(token).is_ok());
    let has_landlock =
        fs::read_to_string("/sys/kernel/security/lsm").is_ok_and(|list| list.contains("landlock"));
    assert!(seen == Some(false) || (seen.is_none() && !has_landlock), "{seen:?}");
}

#[test]
fn memory_threads_and_complaints_work() {
    let seen = beside(makes_few_calls, || {
        let large = vec![1_u8; 64 << 20];
        let sum: u64 =
            thread::spawn(move || large.iter().map(|byte| u64::from(*byte)).sum()).join().expect("ends");
        io::stderr().write_all(b"confined\n").is_ok() && sum == 64 << 20
    });
    assert_eq!(seen, Some(true));
}

#[test]
fn the_line_of_the_child_is_read_and_nothing_else() {
    for (files, calls, network) in [(true, true, true), (false, true, false), (false, false, false)] {
        let confinement = Confinement { files, calls, network };
        let output = format!("{}confined files=1\nbad", confinement.line());
        assert_eq!(Confinement::read(&output), (Some(confinement), "confined files=1\nbad"));
    }
    for output in ["", "confined", "error: confined files=1\n", "confinedfiles=1\n"] {
        assert_eq!(Confinement::read(output), (None, output));
    }
}
