//! Servers that no driver should trust.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A server on loopback that answers everything alike. Ends with this handle.
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Server {
    /// Takes requests and never answers.
    pub(crate) async fn silent() -> Result<Self> {
        Self::start(None).await
    }

    pub(crate) async fn redirecting(to: &str) -> Result<Self> {
        let answer = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
        Self::start(Some(answer)).await
    }

    async fn start(answer: Option<String>) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let requests = Arc::new(AtomicUsize::new(0));
        let count = requests.clone();
        let task = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (answer, count) = (answer.clone(), count.clone());
                open.push(tokio::spawn(async move {
                    let mut buffer = vec![0; 16_384];
                    // Requests without a body, each in one piece.
                    while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {
                        count.fetch_add(1, Ordering::Relaxed);
                        if let Some(answer) = &answer {
                            stream.write_all(answer.as_bytes()).await.ok();
                        }
                    }
                }));
            }
        });
        Ok(Self { address, requests, task })
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// How many requests came.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
