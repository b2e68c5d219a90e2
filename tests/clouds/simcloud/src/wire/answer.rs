//! Answers: bytes, their delay, and whether they arrive.

use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use crate::request::Request;
use crate::wire::VmPage;
use crate::wire::error::ApiError;

/// How the bytes of an answer reach the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    Whole,
    /// The header announces the whole body; the connection breaks after so many bytes of it.
    Truncated {
        /// Bytes of the body that arrive.
        bytes: usize,
    },
    /// Not at all: the connection is held for the answer's delay, then closed.
    Never,
}

/// An answer of the model.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    /// Headers beside content type and length: always `date` and `x-request-id`, sometimes `retry-after`.
    pub headers: Vec<(&'static str, String)>,
    /// The media type of the body.
    pub content_type: &'static str,
    pub body: Vec<u8>,
    /// How long the caller waits for it.
    pub delay: Duration,
    /// Whether and how it arrives.
    pub delivery: Delivery,
    /// The page of VMs, for a caller who asked for values.
    pub page: Option<VmPage>,
}

impl Answer {
    /// The body as JSON.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// The first header with this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| *key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn of(reply: Result<Reply, ApiError>, request_id: &str, date: Timestamp) -> Self {
        let mut headers = vec![
            ("date", date.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()),
            ("x-request-id", request_id.to_owned()),
        ];
        let (status, body, page) = match reply {
            Ok(reply) => (reply.status, reply.body, reply.page),
            Err(error) => {
                if let Some(seconds) = error.retry_after {
                    headers.push(("retry-after", seconds.to_string()));
                }
                let body = json!({"code": error.code, "message": error.message, "requestId": request_id});
                (error.status, body.to_string().into_bytes(), None)
            }
        };
        Self {
            status,
            headers,
            content_type: "application/json",
            body,
            delay: Duration::ZERO,
            delivery: Delivery::Whole,
            page,
        }
    }

    /// The page that a proxy in front of the cloud would show.
    pub(crate) fn into_html(mut self, status: u16) -> Self {
        self.status = status;
        self.page = None;
        self.content_type = "text/html";
        self.body = format!(
            "<html><head><title>{status}</title></head><body><center><h1>{status}</h1></center></body></html>\n"
        )
        .into_bytes();
        self
    }

    /// A success whose body is no JSON.
    pub(crate) fn into_garbage(mut self) -> Self {
        self.status = 200;
        self.page = None;
        self.body = b"{\"id\": \xff\xfe \x00 [[[ not json".to_vec();
        self
    }
}

/// A success before it is dressed as an answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) page: Option<VmPage>,
}

impl Reply {
    pub(crate) fn json(status: u16, value: &impl Serialize) -> Result<Self, ApiError> {
        match serde_json::to_vec(value) {
            Ok(body) => Ok(Self { status, body, page: None }),
            Err(error) => Err(ApiError::new(crate::Code::Internal, error.to_string())),
        }
    }

    /// As JSON, or as it is for a caller in this process.
    pub(crate) fn page(page: VmPage, request: &Request) -> Result<Self, ApiError> {
        if request.takes_values {
            return Ok(Self { page: Some(page), ..Self::empty(200) });
        }
        Self::json(200, &page)
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self { status, body: b"{}".to_vec(), page: None }
    }
}
