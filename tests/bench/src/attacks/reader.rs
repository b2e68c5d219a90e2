//! A plain program that reads from the hostile cloud, for comparison with a driver that does.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use machinist_plugin_host::testing::lower_own_priority;

/// As much as a call of the hostile driver may read.
const LIMIT: usize = 64 << 10;

/// A thread that reads until it is dropped.
pub(super) struct Reader {
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Reads `path` over and over, in a new connection each time, and counts in `ended`.
    pub(super) fn start(port: u16, path: &'static str, ended: Arc<AtomicU64>) -> Self {
        let stops = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&stops);
        let thread = std::thread::spawn(move || {
            if let Err(error) = lower_own_priority() {
                eprintln!("the plain program competes with what is measured: {error}");
            }
            while !until.load(Ordering::Relaxed) {
                // However it ends: it is an attack.
                drop(read(port, path));
                ended.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { stops, thread: Some(thread) }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn read(port: u16, path: &str) -> std::io::Result<()> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    // In one write: the cloud reads once.
    connection.write_all(format!("GET {path} HTTP/1.1\r\nhost: cloud\r\n\r\n").as_bytes())?;
    let (mut part, mut taken) = ([0; 8192], 0);
    while taken < LIMIT {
        match connection.read(&mut part)? {
            0 => break,
            length => taken += length,
        }
    }
    Ok(())
}
