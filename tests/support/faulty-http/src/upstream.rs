//! The real server behind a proxy.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode};

use crate::body::AnswerBody;

/// A server that requests are forwarded to.
#[derive(Clone, Debug)]
pub struct Upstream {
    url: String,
    client: reqwest::Client,
}

/// An answer of the real server, read to its end.
#[derive(Clone, Debug)]
pub struct Received {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Upstream {
    /// `url` has no slash at the end.
    pub fn new(url: impl Into<String>, client: reqwest::Client) -> Self {
        Self { url: url.into(), client }
    }

    /// Sends the request to this target with its headers, but those of the connection.
    pub async fn forward(&self, head: &Parts, target: &str, body: Bytes) -> Result<Received, reqwest::Error> {
        let mut headers = head.headers.clone();
        remove_framing(&mut headers);
        let request = self.client.request(head.method.clone(), format!("{}{target}", self.url));
        let answer = request.headers(headers).body(body).send().await?;
        let (status, mut headers) = (answer.status(), answer.headers().clone());
        // The answer to HEAD has the length of a body that does not come.
        let length = headers.get(CONTENT_LENGTH).filter(|_| head.method == Method::HEAD).cloned();
        remove_framing(&mut headers);
        headers.extend(length.map(|length| (CONTENT_LENGTH, length)));
        Ok(Received { status, headers, body: answer.bytes().await? })
    }
}

impl Received {
    #[must_use]
    pub fn whole(self) -> Response<AnswerBody> {
        self.with(AnswerBody::whole)
    }

    /// Half of the body under the length of the whole, then the connection breaks.
    #[must_use]
    pub fn cut(mut self) -> Response<AnswerBody> {
        self.headers.insert(CONTENT_LENGTH, self.body.len().max(1).into());
        self.halved().with(AnswerBody::cut)
    }

    /// Half of the body, as if it were the whole.
    #[must_use]
    pub fn halved(self) -> Self {
        Self { body: self.body.slice(..self.body.len() / 2), ..self }
    }

    fn with(self, body: impl FnOnce(Bytes) -> AnswerBody) -> Response<AnswerBody> {
        let mut response = Response::new(body(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

fn remove_framing(headers: &mut HeaderMap) {
    for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
}
