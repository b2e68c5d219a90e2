//! Requests to the API server: registering under the bootstrap token, everything else under our own account.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use kube::client::ConfigExt as _;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use crate::config::{StartError, Target};
use crate::fleet::{Action, Done, StatusWrite};
use crate::node;
use crate::source::VmSource;
use crate::user_data::{bootstrap_token, registers_uninitialized};
use crate::vm::Vm;

/// A request takes no longer.
const REQUEST_LIMIT: Duration = Duration::from_secs(15);
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC_MERGE: &str = "application/strategic-merge-patch+json";

/// The API server, by two ways in. Each has one pool of connections for all kubelets.
pub(crate) struct ApiServer {
    url: String,
    /// Shows no certificate, so that nothing but the bootstrap token counts.
    anonymous: reqwest::Client,
    own: reqwest::Client,
    own_token: Option<String>,
    client: kube::Client,
    labels: BTreeMap<String, String>,
}

/// The parts of a Node that we read.
#[derive(Deserialize)]
struct Registered {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    uid: String,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(rename = "providerID")]
    provider_id: Option<String>,
}

impl ApiServer {
    pub(crate) async fn new(target: Target, labels: BTreeMap<String, String>) -> Result<Self, StartError> {
        // A process with several providers must choose; an earlier choice stays.
        rustls::crypto::ring::default_provider().install_default().ok();
        let config = match target {
            Target::Config(config) => *config,
            Target::Kubeconfig(path) => {
                let failed = |source| StartError::Kubeconfig { path: path.clone(), source: Box::new(source) };
                let kubeconfig = kube::config::Kubeconfig::read_from(&path).map_err(failed)?;
                kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default())
                    .await
                    .map_err(failed)?
            }
        };
        let own_token = own_token(&config)?;
        let mut anonymous = config.clone();
        anonymous.auth_info = kube::config::AuthInfo::default();
        Ok(Self {
            url: config.cluster_url.to_string().trim_end_matches('/').to_owned(),
            anonymous: client(&anonymous)?,
            own: client(&config)?,
            own_token,
            client: kube::Client::try_from(config).map_err(|error| StartError::Tls(Box::new(error)))?,
            labels,
        })
    }

    /// A client under our own account.
    pub(crate) fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// Performs an action of a kubelet.
    pub(crate) async fn perform(&self, action: &Action, source: &dyn VmSource, now: Timestamp) -> Done {
        let done = match action {
            Action::Join { vm } => self.join(vm, source, now).await,
            Action::Lease { node_name, uid, is_first } => self.lease(node_name, uid, *is_first, now).await,
            Action::Status { vm, uid, write } => self.status(vm, uid, write, now).await,
        };
        done.unwrap_or_else(|error| {
            tracing::debug!(error = format!("{error:#}"), "a kubelet's action failed");
            Done::Failed
        })
    }

    async fn join(&self, vm: &Vm, source: &dyn VmSource, now: Timestamp) -> anyhow::Result<Done> {
        let user_data = source.user_data(vm).await?;
        let Some(token) = bootstrap_token(&user_data) else {
            tracing::warn!(vm = vm.id, "the user data has no bootstrap token");
            return Ok(Done::NoToken);
        };
        let request = self.anonymous.post(format!("{}/api/v1/nodes", self.url)).bearer_auth(token);
        let answer = request
            .json(&node::node(vm, &self.labels, registers_uninitialized(&user_data), now))
            .send()
            .await
            .context("failed to register the Node")?;
        match answer.status() {
            StatusCode::CREATED => {
                let made: Registered = answer.json().await.context("failed to read the Node")?;
                Ok(Done::Joined { uid: made.metadata.uid })
            }
            StatusCode::UNAUTHORIZED => Ok(Done::Refused),
            StatusCode::CONFLICT => self.adopt(vm).await,
            status => bail!("registering the Node was answered by {status}: {}", text(answer).await),
        }
    }

    /// A Node of this name is there: after a restart it is our own.
    async fn adopt(&self, vm: &Vm) -> anyhow::Result<Done> {
        let path = format!("/api/v1/nodes/{}", vm.node_name);
        let answer = self.own(Method::GET, &path).send().await.context("failed to read the Node")?;
        match answer.status() {
            StatusCode::OK => {
                let found: Registered = answer.json().await.context("failed to read the Node")?;
                Ok(if found.spec.provider_id.as_ref() == Some(&vm.provider_id) {
                    Done::Adopted { uid: found.metadata.uid }
                } else {
                    Done::NameTaken
                })
            }
            status => bail!("reading the Node was answered by {status}: {}", text(answer).await),
        }
    }

    async fn lease(&self, name: &str, uid: &str, is_first: bool, now: Timestamp) -> anyhow::Result<Done> {
        let request = if is_first {
            self.own(Method::POST, LEASES).json(&node::lease(name, uid, now))
        } else {
            patch(self.own(Method::PATCH, &format!("{LEASES}/{name}")), MERGE, &node::lease_renewal(now))
        };
        let answer = request.send().await.context("failed to write the Lease")?;
        match answer.status() {
            // It was there before us: the next renewal finds it.
            StatusCode::CONFLICT if is_first => Ok(Done::Written),
            StatusCode::NOT_FOUND => Ok(Done::Missing),
            status if status.is_success() => Ok(Done::Written),
            status => bail!("writing the Lease was answered by {status}: {}", text(answer).await),
        }
    }

    async fn status(&self, vm: &Vm, uid: &str, write: &StatusWrite, now: Timestamp) -> anyhow::Result<Done> {
        let path = format!("/api/v1/nodes/{}/status", vm.node_name);
        let body = node::status_patch(vm, uid, write, now);
        let request = patch(self.own(Method::PATCH, &path), STRATEGIC_MERGE, &body);
        let answer = request.send().await.context("failed to write the Node's status")?;
        match answer.status() {
            // A conflict says that the name has another uid by now.
            StatusCode::NOT_FOUND | StatusCode::CONFLICT => Ok(Done::Missing),
            status if status.is_success() => Ok(Done::Written),
            status => bail!("writing the Node's status was answered by {status}: {}", text(answer).await),
        }
    }

    pub(crate) fn own(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.own.request(method, format!("{}{path}", self.url));
        match &self.own_token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

pub(crate) fn patch(
    request: reqwest::RequestBuilder,
    media_type: &str,
    body: &Value,
) -> reqwest::RequestBuilder {
    request.header(CONTENT_TYPE, media_type).body(body.to_string())
}

fn client(config: &kube::Config) -> Result<reqwest::Client, StartError> {
    let builder = reqwest::Client::builder().no_proxy().http1_only().timeout(REQUEST_LIMIT);
    let builder = if config.cluster_url.scheme_str() == Some("https") {
        let tls = config.rustls_client_config().map_err(|error| StartError::Tls(Box::new(error)))?;
        builder.tls_backend_preconfigured(tls)
    } else {
        builder.tls_certs_only([])
    };
    builder.build().map_err(StartError::Client)
}

/// The token of the account; none if it has a client certificate, which the TLS settings carry.
fn own_token(config: &kube::Config) -> Result<Option<String>, StartError> {
    if let Some(path) = &config.auth_info.token_file {
        let token = std::fs::read_to_string(path)
            .map_err(|source| StartError::Token { path: path.into(), source })?;
        return Ok(Some(token.trim().to_owned()));
    }
    // The serialised form is the one that shows the token without a further crate.
    let shown = serde_json::to_value(&config.auth_info).unwrap_or_default();
    Ok(shown.get("token").and_then(Value::as_str).map(str::to_owned))
}

/// The first part of a body, for error messages.
async fn text(answer: reqwest::Response) -> String {
    answer.text().await.unwrap_or_default().chars().take(300).collect()
}
