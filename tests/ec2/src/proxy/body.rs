//! Bodies of answers: whole, or broken off.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};

/// After the bytes of a broken body were written, so long passes until the connection breaks: they must be on the wire.
const BREAK_AFTER: Duration = Duration::from_millis(20);

/// The connection is broken on purpose.
#[derive(Debug)]
pub(super) struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection is broken on purpose")
    }
}

impl std::error::Error for Broken {}

/// A body of an answer.
pub(super) enum AnswerBody {
    Whole(Full<Bytes>),
    /// Some bytes, then the connection breaks.
    Cut {
        bytes: Option<Bytes>,
        then: Pin<Box<tokio::time::Sleep>>,
    },
}

impl AnswerBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self::Whole(Full::new(bytes))
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
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(full) => full.size_hint(),
            Self::Cut { .. } => SizeHint::default(),
        }
    }
}
