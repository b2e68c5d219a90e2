//! What the process that leads knows, asked through the API server's proxy for pods, or at a given address.

use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use machinist_api::names::leases;
use machinist_core::id::ObjectKey;
use machinist_runtime::insight::MachineInsight;
use std::time::Duration;

use crate::args::ExplainFlags;
use crate::cluster::said;

/// Long enough for a proxy that has to dial first.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most that is read. A Machine's page has a few kilobytes.
const MOST_BYTES: usize = 1 << 20;

/// Who was asked, and its answer; or why there is none, with what to do.
pub(super) async fn ask(
    control: &Client,
    flags: &ExplainFlags,
    machine: &ObjectKey,
) -> Result<(String, MachineInsight), String> {
    let page = format!("/debug/machines/{}/{}", machine.namespace, machine.name);
    let (whom, answer) = match &flags.address {
        Some(address) => (address.clone(), tokio::time::timeout(PATIENCE, directly(address, &page)).await),
        None => {
            let holder = holder(control, machine.namespace.as_str()).await?;
            let pod = pod_of(&holder).to_owned();
            (
                format!("pod {pod}"),
                tokio::time::timeout(
                    PATIENCE,
                    proxied(control, flags, (machine.namespace.as_str(), &pod), &page),
                )
                .await,
            )
        }
    };
    let text = match answer {
        Ok(Ok(text)) => text,
        Ok(Err(why)) => return Err(why),
        Err(_) => return Err(format!("{whom} has not answered within {PATIENCE:?}")),
    };
    let insight = serde_json::from_str(&text).map_err(|error| {
        format!("{whom} answers something else, perhaps another program or version: {error}")
    })?;
    Ok((whom, insight))
}

/// Who holds the Lease.
async fn holder(control: &Client, namespace: &str) -> Result<String, String> {
    let name = leases::MACHINE_CONTROLLER;
    let api: Api<Lease> = Api::namespaced(control.clone(), namespace);
    let lease = api.get_opt(name).await.map_err(|error| {
        format!(
            "Lease {name}, which says who leads, cannot be read: {}; --address names the leader instead",
            said(&error)
        )
    })?;
    let holder = lease.and_then(|lease| lease.spec?.holder_identity).filter(|holder| !holder.is_empty());
    holder.ok_or_else(|| {
        format!("nobody leads: Lease {name} in namespace {namespace} has no holder, so nothing is done; is a host running?")
    })
}

/// A host calls itself by its host name, which is its pod's, and a number for each start.
fn pod_of(holder: &str) -> &str {
    holder.rsplit_once('_').map_or(holder, |(host, _)| host)
}

/// Asks a pod of a namespace, or one of that name where the flags say that the host is.
async fn proxied(
    control: &Client,
    flags: &ExplainFlags,
    (namespace, pod): (&str, &str),
    page: &str,
) -> Result<String, String> {
    let namespace = flags.host_namespace.as_deref().unwrap_or(namespace);
    let port = flags.port;
    let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}:{port}/proxy{page}");
    let request = http::Request::get(path).body(Vec::new()).map_err(|error| error.to_string())?;
    control.request_text(request).await.map_err(|error| {
        let help = match &error {
            kube::Error::Api(status) if status.code == 404 => {
                "; --host-namespace names another namespace of the host's pod, --address the host itself"
            }
            kube::Error::Api(status) if status.code == 403 => {
                "; ask an administrator for get on pods/proxy in this namespace, or give --address"
            }
            _ => "; --port says on which port the host serves, --address where",
        };
        format!("pod {namespace}/{pod}, which leads, cannot be asked: {}{help}", said(&error))
    })
}

async fn directly(address: &str, page: &str) -> Result<String, String> {
    let url = format!("http://{}{page}", address.trim_start_matches("http://").trim_end_matches('/'));
    let failed =
        |why: String| format!("{url} cannot be asked: {why}; --address is HOST:PORT of the host that leads");
    let uri: http::Uri = url.parse().map_err(|error: http::uri::InvalidUri| failed(error.to_string()))?;
    let client = HttpClient::builder(TokioExecutor::new()).build_http::<Empty<bytes::Bytes>>();
    let answer = client.get(uri).await.map_err(|error| failed(chain(&error)))?;
    let status = answer.status();
    let body = http_body_util::Limited::new(answer.into_body(), MOST_BYTES);
    let body = body.collect().await.map_err(|error| failed(error.to_string()))?.to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    if status.is_success() { Ok(text) } else { Err(failed(format!("{status} {text}"))) }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pod_is_the_part_of_the_identity_before_the_number() {
        assert_eq!(pod_of("machinist-7d9-x2_00ff00ff00ff00ff"), "machinist-7d9-x2");
        assert_eq!(pod_of("somebody"), "somebody");
    }
}
