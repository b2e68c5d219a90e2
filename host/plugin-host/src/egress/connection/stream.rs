//! One connection, with or without TLS, counted while it is open.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use prometheus_client::metrics::gauge::Gauge;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A connection in the pool.
pub(crate) struct Stream {
    io: Transport,
    carried: Carried,
    open: Gauge,
}

enum Transport {
    Plain(TokioIo<TcpStream>),
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

/// Whether a connection has carried a request before: only then can it be stale.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried(Arc<AtomicBool>);

impl Carried {
    /// Says whether it had, and that it has.
    pub(crate) fn mark(&self) -> bool {
        self.0.swap(true, Ordering::Relaxed)
    }
}

impl Stream {
    pub(crate) fn plain(stream: TcpStream, open: Gauge) -> Self {
        Self::new(Transport::Plain(TokioIo::new(stream)), open)
    }

    pub(crate) fn tls(stream: TlsStream<TcpStream>, open: Gauge) -> Self {
        Self::new(Transport::Tls(Box::new(TokioIo::new(stream))), open)
    }

    fn new(io: Transport, open: Gauge) -> Self {
        open.inc();
        Self { io, carried: Carried::default(), open }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.open.dec();
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().extra(self.carried.clone());
        match &self.io {
            Transport::Tls(tls) if tls.inner().get_ref().1.alpn_protocol() == Some(b"h2") => {
                connected.negotiated_h2()
            }
            Transport::Tls(_) | Transport::Plain(_) => connected,
        }
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.io {
            Transport::Plain(io) => Pin::new(io).poll_read(cx, buffer),
            Transport::Tls(io) => Pin::new(io).poll_read(cx, buffer),
        }
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.io {
            Transport::Plain(io) => Pin::new(io).poll_write(cx, bytes),
            Transport::Tls(io) => Pin::new(io).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.io {
            Transport::Plain(io) => Pin::new(io).poll_write_vectored(cx, bytes),
            Transport::Tls(io) => Pin::new(io).poll_write_vectored(cx, bytes),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Transport::Plain(io) => io.is_write_vectored(),
            Transport::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Transport::Plain(io) => Pin::new(io).poll_flush(cx),
            Transport::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Transport::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Transport::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
