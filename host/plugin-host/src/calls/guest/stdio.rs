//! The output of a component to stdout and stderr: the last bytes are kept, the rest is dropped.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use zeroize::Zeroizing;

use crate::vault::Vault;

/// Enough for a panic message, a traceback of Python or the head of one of Go.
const SHOWN_BYTES: usize = 4 * 1024;
/// The output before that is searched as well: a value that begins there would show its end.
const BEFORE_BYTES: usize = 16 * 1024;
const KEPT_BYTES: usize = BEFORE_BYTES + SHOWN_BYTES;
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

    /// The end of it as text, without secrets. They are looked for before it is cut.
    pub(crate) fn text(&self, vault: &Vault) -> String {
        let kept = self.kept();
        let shown = vault.scrub_behind(&kept, kept.len().saturating_sub(SHOWN_BYTES));
        String::from_utf8_lossy(&shown).trim().to_owned()
    }

    /// The end of it as text, for a component that has no secrets.
    pub(crate) fn text_without_secrets(&self) -> String {
        let kept = self.kept();
        let shown = kept.get(kept.len().saturating_sub(SHOWN_BYTES)..).unwrap_or_default();
        String::from_utf8_lossy(shown).trim().to_owned()
    }

    fn kept(&self) -> Zeroizing<Vec<u8>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (front, back) = kept.as_slices();
        Zeroizing::new([front, back].concat())
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
    use machinist_core::driver::SecretValues;

    use super::*;
    use crate::grants::Grants;

    fn vault() -> Vault {
        let values = [
            ("token".to_owned(), TOKEN.as_bytes().to_vec()),
            ("pass".to_owned(), PHRASE.as_bytes().to_vec()),
        ];
        let values = SecretValues { values: values.into(), ..SecretValues::default() };
        Vault::new(values, Grants::parse("reveal: [token]").unwrap().shared())
    }

    const TOKEN: &str = "canary-token-3f9b2d7c51";
    const PHRASE: &str = "hunter2-hunter2";

    #[test]
    fn the_end_of_an_output_is_kept() {
        let tail = Tail::default();
        tail.push(&[b'a'; 3 * KEPT_BYTES]);
        tail.push(b"panicked at the end\n");
        let text = tail.text(&vault());
        assert!(text.starts_with("aaa") && text.ends_with("panicked at the end"));
        assert_eq!(text.len(), SHOWN_BYTES - 1);
    }

    #[test]
    fn attack_an_output_that_is_cut_within_a_value_shows_no_part_of_it() {
        for value in [TOKEN, PHRASE] {
            for shown in 1..value.len() {
                let tail = Tail::default();
                tail.push(&[b'.'; KEPT_BYTES]);
                tail.push(value.as_bytes());
                tail.push(&vec![b'.'; SHOWN_BYTES - shown]);
                let text = tail.text(&vault());
                assert_eq!(text, format!("***{}", ".".repeat(SHOWN_BYTES - shown)), "{value} {shown}");
            }
        }
    }
}
