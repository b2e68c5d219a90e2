//! What a component writes to stdout and stderr: the last bytes are kept, the rest is dropped.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// Enough for a panic message, a traceback of Python or the head of one of Go.
const KEPT_BYTES: usize = 4096;
/// The largest piece taken at once.
const PERMIT_BYTES: usize = 64 * 1024;

/// The end of an output. It never refuses: a component that prints too much must not panic because of that.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail(Arc<Mutex<VecDeque<u8>>>);

impl Tail {
    fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = bytes.get(bytes.len().saturating_sub(KEPT_BYTES)..).unwrap_or_default();
        let excess = (kept.len() + fresh.len()).saturating_sub(KEPT_BYTES);
        kept.drain(..excess);
        kept.extend(fresh);
    }

    /// Returns what is kept, as text.
    pub(crate) fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (front, back) = kept.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).trim().to_owned()
    }
}

impl IsTerminal for Tail {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Tail {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Tail {
    async fn ready(&mut self) {}
}

impl OutputStream for Tail {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT_BYTES)
    }
}

impl AsyncWrite for Tail {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.push(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_output_is_kept() {
        let tail = Tail::default();
        tail.push(&[b'a'; 3 * KEPT_BYTES]);
        tail.push(b"panicked at the end\n");
        let text = tail.text();
        assert!(text.starts_with("aaa") && text.ends_with("panicked at the end"));
        assert_eq!(text.len(), KEPT_BYTES - 1);
    }
}
