//! Bodies in recordings: text where it is text, and copied while they pass.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Frame, SizeHint};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use wasmtime_wasi_http::{Error as WasiError, WasiBody};

use super::Recorder;

/// A body, or the part of it that passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    Text(String),
    Base64(String),
    Unread,
    /// It was too large for a recording; its length.
    LeftOut(u64),
}

impl Body {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    /// The bytes; `None` where they are not in the recording.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.clone().into_bytes()),
            Self::Base64(text) => STANDARD.decode(text).ok(),
            Self::Unread => Some(Vec::new()),
            Self::LeftOut(_) => None,
        }
    }
}

/// The direction of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodySide {
    Request,
    Answer,
}

/// Copies a body into the recording while its reader reads it.
pub(crate) struct Tee {
    pub(crate) body: WasiBody,
    pub(crate) recorder: Recorder,
    pub(crate) exchange: usize,
    pub(crate) side: BodySide,
}

impl hyper::body::Body for Tee {
    type Data = Bytes;
    type Error = WasiError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, WasiError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(piece) = frame.data_ref() {
                    self.recorder.body_piece(self.exchange, self.side, piece);
                }
                if self.body.is_end_stream() {
                    self.recorder.body_end(self.exchange, self.side);
                }
            }
            Poll::Ready(Some(Err(error))) => self.recorder.broke_off(self.exchange, self.side, error),
            Poll::Ready(None) => self.recorder.body_end(self.exchange, self.side),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// How a body of a recording ends.
pub(crate) enum Ending {
    Whole,
    Broken(WasiError),
    /// The reader waited for more when the call was cut off. A reader of the replay is notified here.
    Stalls(Arc<Notify>),
}

/// A body that ends as the recorded one did.
pub(crate) fn played(bytes: Vec<u8>, ending: Ending) -> WasiBody {
    let whole = Full::new(Bytes::from(bytes)).map_err(|never| match never {});
    match ending {
        Ending::Whole => whole.boxed_unsync(),
        ending @ (Ending::Broken(_) | Ending::Stalls(_)) => Cut { whole, ending }.boxed_unsync(),
    }
}

struct Cut<B> {
    whole: B,
    ending: Ending,
}

impl<B> hyper::body::Body for Cut<B>
where
    B: hyper::body::Body<Data = Bytes, Error = WasiError> + Unpin,
{
    type Data = Bytes;
    type Error = WasiError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, WasiError>>> {
        match Pin::new(&mut self.whole).poll_frame(cx) {
            Poll::Ready(None) => {}
            other => return other,
        }
        match std::mem::replace(&mut self.ending, Ending::Whole) {
            Ending::Whole => Poll::Ready(None),
            Ending::Broken(error) => Poll::Ready(Some(Err(error))),
            Ending::Stalls(awaited) => {
                awaited.notify_one();
                self.ending = Ending::Stalls(awaited);
                Poll::Pending
            }
        }
    }
}
