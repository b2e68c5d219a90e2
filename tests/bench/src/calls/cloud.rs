//! The least HTTP server: one VM, and one that has much to tell, on a thread of its own.

use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// The answer of the simulated cloud to `GET /v1/vms/vm-1`.
const VM: &str = r#"{"id":"vm-1","name":"machine-1","state":"running","region":"sim-1","zone":"sim-1a","type":"sim.small","image":"linux-1","addresses":[{"type":"InternalIP","address":"10.0.0.1"},{"type":"Hostname","address":"machine-1"}],"tags":{"cluster":"cluster-1","machine-uid":"uid-1","machine-name":"machine-1"},"volumes":[],"sourceDestCheck":true,"initialized":true,"bootId":1,"created":"2026-01-02T03:04:05.678Z"}"#;

/// The id of the VM whose answer has a mebibyte.
pub(crate) const TALKATIVE: &str = "vm-talkative";

const MEBIBYTE: usize = 1024 * 1024;

const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// A running server. It stops when it is dropped.
pub(crate) struct Cloud {
    url: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Cloud {
    pub(crate) fn start() -> Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).context("failed to listen")?;
        listener.set_nonblocking(true).context("failed to listen")?;
        let url = format!("http://{}", listener.local_addr()?);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("failed to start the server's thread")?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("tiny-cloud".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    let Ok(listener) = TcpListener::from_std(listener) else { return };
                    tokio::select! {
                        () = serve(listener) => {}
                        _ = stopped => {}
                    }
                });
            })
            .context("failed to start the server's thread")?;
        Ok(Self { url, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

async fn serve(listener: TcpListener) {
    let answers = Arc::new(Answers { short: answer(VM), long: answer(&talkative()) });
    while let Ok((connection, _)) = listener.accept().await {
        tokio::spawn(answer_all(connection, Arc::clone(&answers)));
    }
}

struct Answers {
    short: String,
    long: String,
}

fn answer(body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// As a cloud answers whose VMs carry long descriptions: words, and no two lines alike.
fn talkative() -> String {
    let mut notes = String::with_capacity(MEBIBYTE);
    let mut number = 1_u64;
    while notes.len() < MEBIBYTE {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        notes.push_str(&format!("disk {number:x} of the pool; "));
    }
    VM.replace("vm-1", TALKATIVE).replace("\"volumes\":[]", &format!("\"volumes\":[],\"notes\":\"{notes}\""))
}

/// Requests of this benchmark have no body: each ends with its head.
async fn answer_all(mut connection: TcpStream, answers: Arc<Answers>) {
    connection.set_nodelay(true).ok();
    let mut heard: Vec<u8> = Vec::new();
    let mut part = [0; 4096];
    loop {
        match connection.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(length) => heard.extend(part.iter().take(length)),
        }
        while let Some(end) = heard.windows(END_OF_HEAD.len()).position(|four| four == END_OF_HEAD) {
            let head: Vec<u8> = heard.drain(..end + END_OF_HEAD.len()).collect();
            let wanted = format!("/{TALKATIVE} ");
            let is_long = head.windows(wanted.len()).any(|part| part == wanted.as_bytes());
            let answer = if is_long { &answers.long } else { &answers.short };
            if connection.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}
