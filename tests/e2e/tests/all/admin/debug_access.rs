//! Access to `/debug` of a host whose account reviews tokens at a real API server.

use std::net::UdpSocket;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Host, Lab, manifests, within};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use crate::scene::flagged;

/// The host may review tokens.
const DELEGATOR: &str = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: machinist-auth-delegator }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:auth-delegator }
subjects: [{ kind: ServiceAccount, name: machinist, namespace: machinist-system }]
";

/// The reader may get what is below /debug.
const READER: &str = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: machinist-debug }
rules: [{ nonResourceURLs: ['/debug/*'], verbs: [get] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: machinist-debug }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: machinist-debug }
subjects: [{ kind: ServiceAccount, name: reader, namespace: machinist-system }]
";

/// An address of this machine that is not on loopback, as another pod has one.
fn elsewhere() -> Result<String> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // Nothing is sent: the kernel only chooses the way.
    socket.connect("192.0.2.254:9").context("this machine has no address but loopback")?;
    Ok(socket.local_addr()?.ip().to_string())
}

async fn token(lab: &Lab, audiences: &[&str]) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(lab.client.clone(), manifests::NAMESPACE);
    let audiences = audiences.iter().map(|audience| (*audience).to_owned()).collect();
    let request = TokenRequest {
        spec: TokenRequestSpec { audiences, ..TokenRequestSpec::default() },
        ..TokenRequest::default()
    };
    let answer = accounts.create_token_request("reader", &PostParams::default(), &request).await?;
    Ok(answer.status.context("it has a token")?.token)
}

/// Status and text of a page, asked from elsewhere.
async fn ask(host: &Host, page: &str, token: Option<&str>) -> Result<(u16, String)> {
    let url = host.url().replace("127.0.0.1", &elsewhere()?);
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut request = client.get(format!("{url}{page}"));
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let answer = request.send().await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}

async fn answers(host: &Host, token: Option<&str>, status: u16, part: &str) -> Result<()> {
    // RBAC follows new roles a moment later.
    within(Duration::from_secs(60), part, async || {
        let (got, text) = ask(host, "/debug/plugins", token).await?;
        ensure!(got == status && text.contains(part), "{got} {text}");
        Ok(Some(()))
    })
    .await
}

async fn story(lab: &Lab, host: &Host) -> Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(lab.client.clone(), manifests::NAMESPACE);
    let reader = serde_json::from_value(json!({ "metadata": { "name": "reader" } }))?;
    accounts.create(&PostParams::default(), &reader).await?;
    let ours = token(lab, &["machinist"]).await?;
    let usual = token(lab, &[]).await?;

    // Without the rights the host says so, and serves loopback.
    within(Duration::from_secs(60), "it says what it lacks", async || {
        let text = host.page("/readyz?verbose").await?;
        Ok(text.contains("lacks create on tokenreviews").then_some(()))
    })
    .await?;
    answers(host, Some(&ours), 403, "system:auth-delegator").await?;
    ensure!(host.page("/debug/plugins").await?.contains("plugins"), "loopback needs no token");

    lab.plane.apply(DELEGATOR).await?;
    within(Duration::from_secs(90), "it has found its rights", async || {
        let text = host.page("/readyz?verbose").await?;
        Ok(text.contains("accounts that may get it").then_some(()))
    })
    .await?;
    answers(host, None, 401, "--audience machinist").await?;
    answers(host, Some("x.y.z"), 401, "has ended, or is not for the audience").await?;
    // A token that would be worth something at the API server does not count.
    answers(host, Some(&usual), 401, "is not for the audience").await?;
    answers(host, Some(&ours), 403, "nonResourceURLs").await?;
    lab.plane.apply(READER).await?;
    answers(host, Some(&ours), 200, "plugins").await?;
    let metrics = host.metrics().await?;
    for reason in ["Unauthenticated", "Forbidden", "NotReviewed"] {
        let label = format!("reason=\"{reason}\"");
        ensure!(metrics.sum("machinist_http_refused_total", &[&label]) > 0.0, "{reason}");
    }
    let (status, _) = ask(host, "/metrics", None).await?;
    ensure!(status == 200, "metrics are open: {status}");
    Ok(())
}

#[tokio::test]
async fn attack_debug_is_read_from_elsewhere_only_by_accounts_that_the_api_server_lets() {
    flagged(&["--address=0.0.0.0", "--debug-access=authorized"], story).await;
}
