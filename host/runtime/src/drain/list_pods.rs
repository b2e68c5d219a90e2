//! The pods of a Node as they are.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::core::Request;
use kube::{Client, Resource};
use machinist_core::drain::{Look, PodFact, Read};
use machinist_core::driver::write_error::ActError;
use machinist_core::value::id::NodeName;

use crate::client::errors::within_deadline;

use super::caches::DrainCaches;
use super::raw::{RawPod, RawPods};
use super::volumes::Volumes;
use super::{VolumeDriver, budgets};

/// Pods a page. A Node has some dozens, a few have hundreds.
const PODS_PER_PAGE: u32 = 250;

/// Pages that are read of one Node: no Node runs so many pods, so that more is a server that repeats itself.
const MAX_PAGES: usize = 100;

pub(super) async fn list_pods(
    caches: &DrainCaches,
    client: &Client,
    driver: &VolumeDriver<'_>,
    (node, read): (&NodeName, Read),
    now: Timestamp,
) -> Result<Look, ActError> {
    let raw = list(client, node, read).await?;
    let mut volumes = match read {
        Read::Cached | Read::Latest => Volumes::new(caches, client, driver).resolve(node, &raw).await?,
        Read::WithoutVolumes => BTreeMap::new(),
    };
    let pods: Vec<PodFact> = raw
        .into_iter()
        .map(|pod| {
            let claims = volumes.remove(pod.metadata.uid.as_str()).unwrap_or_default();
            let budgets = budgets::of(caches, &pod.metadata, now);
            pod.fact(claims, budgets)
        })
        .collect();
    caches.blocked.record(node, &pods);
    Ok(Look { read, pods })
}

async fn list(client: &Client, node: &NodeName, read: Read) -> Result<Vec<RawPod>, ActError> {
    let pages = Request::new(Pod::url_path(&(), None));
    let mut params = ListParams::default().fields(&format!("spec.nodeName={node}")).limit(PODS_PER_PAGE);
    if read != Read::Latest {
        params = params.match_any();
    }
    let mut pods = Vec::new();
    for _ in 0..MAX_PAGES {
        let request =
            pages.list(&params).map_err(|error| ActError::Invalid { message: error.to_string() })?;
        let page: RawPods = within_deadline(client.request(request)).await?;
        pods.extend(page.items);
        let Some(token) = page.metadata.token.filter(|token| !token.is_empty()) else { return Ok(pods) };
        // A page that continues another is of that one's version.
        params.version_match = None;
        params.resource_version = None;
        params.continue_token = Some(token);
    }
    Err(ActError::Invalid { message: format!("the list of pods does not end after {MAX_PAGES} pages") })
}
