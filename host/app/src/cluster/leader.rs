//! Pages of the leader, through a port-forward of the API server or from a given address.

use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::rt::TokioExecutor;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use machinist_api::names::leases;
use machinist_core::value::error_chain::chain;
use serde::de::DeserializeOwned;
use std::time::Duration;

use crate::cluster::message_of;
use crate::cluster::port_forward::{self, Error, Target};

/// Long enough for a server that has to dial first.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The most that is read. A Machine's page has a few kilobytes, a plugin's lines some hundred.
const MOST_BYTES: usize = 4 << 20;

/// Where the host that leads can be found.
pub(crate) struct HostLocation<'a> {
    /// Its address, for users without access through the API server.
    pub(crate) address: Option<&'a str>,
    /// The flag that names the address.
    pub(crate) address_flag: &'static str,
    /// The namespace of its Lease.
    pub(crate) leases: &'a str,
    /// The namespace of its pod.
    pub(crate) pods: &'a str,
    /// The port of its HTTP server.
    pub(crate) port: u16,
}

/// Reads a page of the leader, at its address or through the API server, and returns its name with the page. The error
/// says how to fix the problem.
pub(crate) async fn ask<T: DeserializeOwned>(
    control: Option<&Client>,
    location: &HostLocation<'_>,
    page: &str,
) -> Result<(String, T), String> {
    let (whom, text) = match (location.address, control) {
        (Some(address), _) => (address.to_owned(), ask_at(address, location.address_flag, page).await?),
        (None, Some(control)) => ask_pod(control, location, page).await?,
        (None, None) => return Err(format!("{} says where the host is", location.address_flag)),
    };
    match serde_json::from_str(&text) {
        Ok(answer) => Ok((whom, answer)),
        Err(error) => {
            Err(format!("{whom} answers something else, perhaps another program or version: {error}"))
        }
    }
}

/// Reads a page of the leader's pod through the API server, and returns the name of the pod with it.
async fn ask_pod(
    control: &Client,
    location: &HostLocation<'_>,
    page: &str,
) -> Result<(String, String), String> {
    let holder = holder(control, location).await?;
    let pod = pod_of(&holder);
    let whom = format!("pod {pod}");
    match tokio::time::timeout(TIMEOUT, forwarded(control, location, pod, page)).await {
        Ok(answer) => Ok((whom, answer?)),
        Err(_) => Err(format!("{whom} has not answered within {TIMEOUT:?}")),
    }
}

/// Reads a page of the host at this address, which the flag `direct` has named.
async fn ask_at(address: &str, direct: &str, page: &str) -> Result<String, String> {
    match tokio::time::timeout(TIMEOUT, directly(address, direct, page)).await {
        Ok(answer) => answer,
        Err(_) => Err(format!("{address} has not answered within {TIMEOUT:?}")),
    }
}

/// Returns the holder of the Lease.
async fn holder(control: &Client, location: &HostLocation<'_>) -> Result<String, String> {
    let HostLocation { leases: namespace, address_flag: direct, .. } = location;
    let name = leases::MACHINE_CONTROLLER;
    let api: Api<Lease> = Api::namespaced(control.clone(), namespace);
    let lease = api.get_opt(name).await.map_err(|error| {
        format!(
            "Lease {name}, which says who leads, cannot be read: {}; {direct} names the leader instead",
            message_of(&error)
        )
    })?;
    let holder = lease.and_then(|lease| lease.spec?.holder_identity).filter(|holder| !holder.is_empty());
    holder.ok_or_else(|| {
        format!("nobody leads: Lease {name} in namespace {namespace} has no holder, so nothing is done; is a host running?")
    })
}

/// Returns in words which process leads, for somebody who waits without success for a host to look at a plugin.
pub(crate) async fn current_leader(control: &Client, namespace: &str) -> String {
    let name = leases::MACHINE_CONTROLLER;
    let lease = Api::<Lease>::namespaced(control.clone(), namespace).get_opt(name).await;
    match lease {
        Ok(lease) => {
            let holder = lease.and_then(|lease| lease.spec?.holder_identity);
            leadership(holder.as_deref().unwrap_or_default(), namespace)
        }
        Err(error) => format!(
            "Lease {name} in namespace {namespace}, which says who leads, cannot be read: {}",
            message_of(&error)
        ),
    }
}

/// Returns what the holder of the Lease means for plugins: only a host that leads writes onto them.
fn leadership(holder: &str, namespace: &str) -> String {
    let name = leases::MACHINE_CONTROLLER;
    if holder.is_empty() {
        return format!(
            "nobody leads in namespace {namespace}: Lease {name} has no holder; is a host running there, and is its --namespace this one?"
        );
    }
    if is_ours(holder) {
        return format!(
            "host {holder} leads in namespace {namespace}: check its --plugin-namespace and its log (`kubectl -n {namespace} logs {}`)",
            pod_of(holder)
        );
    }
    format!(
        "{holder}, which is no host of this kind, leads in namespace {namespace}: machine-controller-manager, perhaps. A host that waits \
         for the Lease loads plugins and writes nothing onto them; its log says of each `plugin state`, and `Ready` once it could serve"
    )
}

/// A host's identity ends with a number for each start: 16 hexadecimal digits. Other programs' end with other things.
fn is_ours(holder: &str) -> bool {
    holder
        .rsplit_once('_')
        .is_some_and(|(_, number)| number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The identity of a host is the name of its pod, and a number for each start.
fn pod_of(holder: &str) -> &str {
    holder.rsplit_once('_').map_or(holder, |(host, _)| host)
}

async fn forwarded(
    control: &Client,
    location: &HostLocation<'_>,
    pod: &str,
    page: &str,
) -> Result<String, String> {
    let HostLocation { pods: namespace, port, address_flag: direct, .. } = location;
    let target = Target { namespace, pod, port: *port };
    port_forward::page(control, &target, page, MOST_BYTES).await.map_err(|error| {
        let help = match &error {
            Error::NoPod { .. } => format!(
                "--host-namespace names another namespace of the host's pod, {direct} the host itself"
            ),
            Error::Forbidden { .. } => format!(
                "ask an administrator for `create` and `get` on pods/portforward in namespace {namespace}, or give {direct}"
            ),
            Error::Refused { .. } | Error::NoAnswer { .. } => {
                format!("--port says on which port the host serves, {direct} where")
            }
            Error::Status { .. } => format!("{direct} names another host"),
        };
        format!("pod {namespace}/{pod}, which leads, cannot be asked: {error}; {help}")
    })
}

async fn directly(address: &str, direct: &str, page: &str) -> Result<String, String> {
    let url = format!("http://{}{page}", address.trim_start_matches("http://").trim_end_matches('/'));
    let failed =
        |why: String| format!("{url} cannot be asked: {why}; {direct} is HOST:PORT of the host that leads");
    let uri: http::Uri = url.parse().map_err(|error: http::uri::InvalidUri| failed(error.to_string()))?;
    let client = HttpClient::builder(TokioExecutor::new()).build_http::<Empty<bytes::Bytes>>();
    let answer = client.get(uri).await.map_err(|error| failed(chain(&error)))?;
    let status = answer.status();
    let body = http_body_util::Limited::new(answer.into_body(), MOST_BYTES);
    let body = body.collect().await.map_err(|error| failed(chain(error.as_ref())))?.to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    if status.is_success() { Ok(text) } else { Err(failed(format!("{status} {text}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pod_is_the_part_of_the_identity_before_the_number() {
        assert_eq!(pod_of("machinist-7d9-x2_00ff00ff00ff00ff"), "machinist-7d9-x2");
        assert_eq!(pod_of("somebody"), "somebody");
    }

    #[test]
    fn it_is_said_whether_a_host_leads() {
        let ours = leadership("machinist-7d9-x2_00ff00ff00ff00ff", "ns");
        assert!(ours.contains("host machinist-7d9-x2_") && ours.contains("logs machinist-7d9-x2`"), "{ours}");
        let other = leadership("mcm-0_3e9f4b52-8c14-4b0e-9d1c-1a2b3c4d5e6f", "ns");
        assert!(other.contains("is no host of this kind") && other.contains("`Ready`"), "{other}");
        assert!(leadership("", "ns").contains("nobody leads in namespace ns"));
    }
}
