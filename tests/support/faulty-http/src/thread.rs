//! Servers on threads of their own.

use std::io;
use std::net::SocketAddr;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// How long connections may take to end when the server stops.
const GRACE: Duration = Duration::from_millis(200);

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is taken or not ours.
    #[error("failed to listen on {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    /// No threads could be had.
    #[error("failed to start the server's threads")]
    Threads(#[source] io::Error),
}

/// A server with threads and a clock of its own, so it works beside paused tokio time and while a test blocks. It stops
/// when it is dropped.
#[derive(Debug)]
pub struct ServerThread {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    /// Starts a server; it accepts connections when this returns.
    pub fn start<F: Future<Output = ()>>(
        name: &str,
        threads: usize,
        address: SocketAddr,
        serve: impl FnOnce(TcpListener) -> F + Send + 'static,
    ) -> Result<Self, StartError> {
        let listen = |source| StartError::Listen { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads.max(1))
            .thread_name(name)
            .enable_all()
            .build()
            .map_err(StartError::Threads)?;
        let listener = {
            let _context = runtime.enter();
            TcpListener::from_std(listener).map_err(listen)?
        };
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = serve(listener) => {}
                        _ = stopped => {}
                    }
                });
                runtime.shutdown_timeout(GRACE);
            })
            .map_err(StartError::Threads)?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}
