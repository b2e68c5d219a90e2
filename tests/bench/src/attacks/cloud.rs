//! A cloud that is hostile: answers that drip, that never end, and that unpack to a gigabyte.

use std::time::Duration;

use anyhow::{Context, Result};
use machinist_plugin_host::testing::lower_own_priority;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// A running server. It stops when it is dropped.
pub(super) struct HostileCloud {
    pub(super) port: u16,
    serving: Option<Runtime>,
}

impl HostileCloud {
    /// Starts it on a low-priority thread: a real cloud would be another machine, with processors of its own.
    pub(super) fn start() -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("hostile-cloud")
            .enable_all()
            .on_thread_start(|| {
                if let Err(error) = lower_own_priority() {
                    eprintln!("the hostile cloud competes with what is measured: {error}");
                }
            })
            .build()?;
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).context("failed to listen")?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener)?;
            while let Ok((connection, _)) = listener.accept().await {
                // It ends with its connection.
                tokio::spawn(answer(connection));
            }
            std::io::Result::Ok(())
        });
        Ok(Self { port, serving: Some(runtime) })
    }
}

impl Drop for HostileCloud {
    fn drop(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.shutdown_background();
        }
    }
}

/// One request a connection; whoever has enough hangs up.
async fn answer(mut connection: TcpStream) -> std::io::Result<()> {
    let mut head = [0; 4096];
    let length = connection.read(&mut head).await?;
    let head = String::from_utf8_lossy(head.get(..length).unwrap_or_default());
    let path = head.split(' ').nth(1).unwrap_or_default();
    match path {
        "/bomb" => {
            let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3];
            packed.resize(40_000, 0xec);
            let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 40000\r\nconnection: close\r\n\r\n";
            connection.write_all(&[head.as_bytes(), &packed].concat()).await
        }
        "/endless" => {
            connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
            loop {
                connection.write_all(&[b'x'; 8192]).await?;
                // Another machine would not use this one's processors.
                std::thread::yield_now();
            }
        }
        _ => {
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n").await?;
            loop {
                connection.write_all(b".").await?;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}
