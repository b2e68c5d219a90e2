//! Credentials of a cluster-scoped identity, in a namespace that no workload cluster has, and what a move does to them.

use anyhow::{Context as _, Result, ensure};
use cluster_api::Clusterctl;
use control_plane::ControlPlane;
use e2e::cluster_api::{Elsewhere, Management, Workload, credentials};
use e2e::{Cloud as _, Lab, eventually};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use machinist_api::infrastructure::MachinistIdentity;
use machinist_api::infrastructure::names::finalizers;
use serde_json::json;

use super::moves::deploy;
use super::scene::{Sim, TEAM, ends, ids, managed, options, workload};
use crate::scene::SIM;

const CENTRAL: &str = "central";

/// It counts by the labels of the namespace, which the host may read under the rights of `deploy/clusterctl`.
#[tokio::test]
#[ignore = "nightly: three minutes; lives of the runtime use identities on each change"]
async fn an_identity_is_held_while_it_is_used_and_serves_after_a_move() {
    managed::<Sim>(options(), async |lab, management, _| used_and_moved(lab, management).await).await;
}

async fn used_and_moved(lab: &Lab, management: &Management) -> Result<()> {
    put_secret(&lab.plane, lab).await?;
    let identity = json!({
        "apiVersion": "infrastructure.machinist.dev/v1alpha1",
        "kind": "MachinistIdentity",
        "metadata": { "name": CENTRAL },
        "spec": {
            "secretRef": { "name": "keys", "namespace": CENTRAL },
            "allowedNamespaces": { "selector": { "matchLabels": { "kubernetes.io/metadata.name": TEAM } } },
        },
    });
    lab.plane.apply(&identity.to_string()).await?;
    let workload = workload(lab).await?;
    let reference = json!({ "spec": { "identityRef": { "kind": "MachinistIdentity", "name": CENTRAL } } });
    let clusters = workload.all("infrastructure.machinist.dev", "v1alpha1", "MachinistCluster");
    clusters.patch("shop", &PatchParams::default(), &Patch::Merge(reference)).await?;
    workload.deploy(&lab.plane, 1).await?;
    workload.has(1, "small").await?;
    is_held(&lab.plane, true).await?;
    let vms = ids(lab).await?;

    let there = Elsewhere::start(&lab.cloud.plugin(&SIM)?).await?;
    put_secret(&there.plane, lab).await?;
    let clusterctl = Clusterctl::new(&management.programs, &deploy())?;
    let (from, to) = (lab.plane.admin_kubeconfig(), there.plane.admin_kubeconfig());
    let to = to.to_str().context("a path")?;
    clusterctl.run(&from, &["move", "--namespace", TEAM, "--to-kubeconfig", to]).await?;
    let moved = Workload::of(TEAM, "shop", there.plane.client()?);
    moved.initialize_control_plane().await?;
    let outcome = moved.has(1, "small").await;
    outcome.map_err(|error| error.context(there.management.logs()).context(there.host.log_end()))?;
    ensure!(ids(lab).await? == vms, "the same VM");
    is_held(&there.plane, true).await?;

    // Who deletes the credentials first finds them kept until the VM is gone.
    secrets(&there.plane)?.delete("keys", &DeleteParams::default()).await?;
    identities(&there.plane)?.delete(CENTRAL, &DeleteParams::default()).await?;
    ends(lab, &moved).await?;
    is_held(&there.plane, false).await
}

async fn put_secret(plane: &ControlPlane, lab: &Lab) -> Result<()> {
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": CENTRAL } });
    plane.apply(&namespace.to_string()).await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "keys", "namespace": CENTRAL },
        "stringData": credentials(&lab.cloud)?,
    });
    plane.apply(&secret.to_string()).await?;
    Ok(())
}

fn secrets(plane: &ControlPlane) -> Result<Api<Secret>> {
    Ok(Api::namespaced(plane.client()?, CENTRAL))
}

fn identities(plane: &ControlPlane) -> Result<Api<MachinistIdentity>> {
    Ok(Api::all(plane.client()?))
}

/// Waits until both have the finalizer, or until neither has it.
async fn is_held(plane: &ControlPlane, wanted: bool) -> Result<()> {
    let (secrets, identities) = (secrets(plane)?, identities(plane)?);
    eventually(&format!("the credentials are held: {wanted}"), async || {
        let secret = secrets.get_opt("keys").await?;
        let identity = identities.get_opt(CENTRAL).await?;
        let has = |all: &[String]| all.iter().any(|name| name == finalizers::IDENTITY);
        let secret = secret.is_some_and(|secret| has(secret.finalizers()));
        let identity = identity.is_some_and(|identity| has(identity.finalizers()));
        Ok((secret == wanted && identity == wanted).then_some(()))
    })
    .await
}
