//! The cloud as its clients see it.
//!
//! | module | content |
//! | --- | --- |
//! | `form` | requests that the API's types refuse |
//! | `limits` | the rate limit and its headers, full groups, networks and locations |
//! | `faults` | lost answers, half answers, pages of proxies |
//! | `python` | Hetzner's own client for Python |
//! | `driver` | the driver's journeys in Go, with every answer lost once |

mod driver;
mod faults;
mod form;
mod limits;
mod python;

use hetzner::{Hetzner, Options};
use serde_json::{Value, json};

/// A client that knows the token.
struct Client {
    cloud: Hetzner,
    http: reqwest::Client,
}

impl Client {
    fn of(options: Options) -> Self {
        // Fails only when another test was first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self { cloud: Hetzner::start(options).expect("a cloud"), http: reqwest::Client::new() }
    }

    fn new() -> Self {
        Self::of(Options::default())
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> reqwest::Result<reqwest::Response> {
        let method = method.parse().expect("a method");
        let url = format!("{}/v1{path}", self.cloud.url());
        let request = self.http.request(method, url).bearer_auth(self.cloud.token());
        match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        }
        .send()
        .await
    }

    /// The status and the body.
    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let response = self.send(method, path, body).await.expect("an answer");
        let status = response.status().as_u16();
        let text = response.text().await.expect("a body");
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    /// The code of a create that must be refused.
    async fn refused(&self, changes: Value) -> (u16, String) {
        let (status, body) = self.call("POST", "/servers", Some(server("refused", changes))).await;
        (status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
    }
}

/// A request for a server that the cloud accepts, with changes.
fn server(name: &str, changes: Value) -> Value {
    let mut body = json!({
        "name": name, "server_type": "cx23", "image": 114_690_387, "location": "hel1", "ssh_keys": [2_323],
        "labels": { "machinist.dev/machine-uid": name },
    });
    if let Value::Object(changes) = changes {
        for (key, value) in changes {
            body[key] = value;
        }
    }
    body
}
