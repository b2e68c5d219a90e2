//! One cloud for all tests of this program: it takes half a minute to start.

use openstack::{Openstack, Options};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

static CLOUD: Mutex<Option<Openstack>> = Mutex::const_new(None);

/// The cloud, for one test at a time: faults and lag apply to all requests.
pub(crate) struct Turn(MutexGuard<'static, Option<Openstack>>);

impl std::ops::Deref for Turn {
    type Target = Openstack;

    fn deref(&self) -> &Openstack {
        self.0.as_ref().expect("the cloud runs")
    }
}

pub(crate) async fn cloud() -> Turn {
    let mut kept = CLOUD.lock().await;
    if kept.is_none() {
        // Fails only if another test was first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        *kept = Some(Openstack::start(Options { has_tls: true }).await.expect("OpenStack starts"));
        // Statics are not dropped: the services end with this process, when their standard input closes.
    }
    let turn = Turn(kept);
    turn.faults().clear();
    turn.set_lag(std::time::Duration::ZERO);
    turn.forget();
    turn
}

pub(crate) fn plain() -> Client {
    Client::builder().no_proxy().build().expect("a client")
}

/// Logs in through the proxy. Returns the token.
pub(crate) async fn login(client: &Client, url: &str, password: &str) -> reqwest::Result<String> {
    let domain = json!({ "id": "default" });
    let body = json!({ "auth": {
        "identity": { "methods": ["password"], "password": { "user": {
            "name": "driver", "password": password, "domain": domain } } },
        "scope": { "project": { "name": "machines", "domain": domain } },
    } });
    let answer = client.post(format!("{url}/identity/v3/auth/tokens")).json(&body).send().await?;
    Ok(answer.headers()["x-subject-token"].to_str().expect("a token").to_owned())
}

pub(crate) async fn ask(
    client: &Client,
    token: &str,
    method: Method,
    url: String,
    body: Option<Value>,
) -> reqwest::Result<(StatusCode, Value)> {
    let request = client.request(method, url).header("x-auth-token", token);
    let request = match body {
        Some(body) => request.json(&body),
        None => request,
    };
    let answer = request.send().await?;
    let status = answer.status();
    Ok((status, answer.json().await.unwrap_or(Value::Null)))
}
