//! The least HTTP server: one answer for every request, on a thread of its own.

use std::thread::JoinHandle;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// What `GET /v1/vms/vm-1` of the simulated cloud gives.
const VM: &str = r#"{"id":"vm-1","name":"machine-1","state":"running","region":"sim-1","zone":"sim-1a","type":"sim.small","image":"linux-1","addresses":[{"type":"InternalIP","address":"10.0.0.1"},{"type":"Hostname","address":"machine-1"}],"tags":{"cluster":"cluster-1","machine-uid":"uid-1","machine-name":"machine-1"},"volumes":[],"sourceDestCheck":true,"initialized":true,"bootId":1,"created":"2026-01-02T03:04:05.678Z"}"#;

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
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{VM}",
        VM.len()
    );
    while let Ok((connection, _)) = listener.accept().await {
        tokio::spawn(answer_all(connection, answer.clone()));
    }
}

/// Requests of this benchmark have no body: each ends with its head.
async fn answer_all(mut connection: TcpStream, answer: String) {
    connection.set_nodelay(true).ok();
    let mut heard: Vec<u8> = Vec::new();
    let mut part = [0; 4096];
    loop {
        match connection.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(length) => heard.extend(part.iter().take(length)),
        }
        while let Some(end) = heard.windows(END_OF_HEAD.len()).position(|four| four == END_OF_HEAD) {
            heard.drain(..end + END_OF_HEAD.len());
            if connection.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}
