//! Bodies of answers: whole, broken off, or without end.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

/// After the bytes of a broken body were written, so long passes until the connection breaks: they must be on the wire.
const BREAK_AFTER: Duration = Duration::from_millis(20);

/// The connection is broken on purpose.
#[derive(Debug, thiserror::Error)]
#[error("the connection is broken on purpose")]
pub(super) struct Broken;

/// A body of an answer.
pub(super) enum AnswerBody {
    Whole(Full<Bytes>),
    /// Some bytes, then the connection breaks.
    Cut {
        bytes: Option<Bytes>,
        then: Pin<Box<tokio::time::Sleep>>,
    },
    /// Bytes as they come.
    Stream(mpsc::Receiver<Bytes>),
}

impl AnswerBody {
    pub(super) fn whole(bytes: Vec<u8>) -> Self {
        Self::Whole(Full::new(Bytes::from(bytes)))
    }

    pub(super) fn cut(bytes: Bytes) -> Self {
        Self::Cut { bytes: Some(bytes), then: Box::pin(tokio::time::sleep(BREAK_AFTER)) }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut *self {
            Self::Whole(full) => Pin::new(full)
                .poll_frame(context)
                .map(|frame| frame.map(|frame| frame.map_err(|never: Infallible| match never {}))),
            Self::Cut { bytes, then } => match bytes.take() {
                Some(bytes) if !bytes.is_empty() => Poll::Ready(Some(Ok(Frame::data(bytes)))),
                _ => then.as_mut().poll(context).map(|()| Some(Err(Broken))),
            },
            Self::Stream(lines) => {
                lines.poll_recv(context).map(|line| line.map(|line| Ok(Frame::data(line))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(full) => full.size_hint(),
            Self::Cut { .. } | Self::Stream(_) => SizeHint::default(),
        }
    }
}
