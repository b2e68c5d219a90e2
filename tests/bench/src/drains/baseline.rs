//! A client that makes the writes of drains and deletions and nothing else: what this server can take.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use e2e::manifests::workloads::{PodShape, WORKLOADS, pod};
use e2e::{Lab, manifests};
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, EvictParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use machinist_api::{Machine, names};
use serde_json::{Value, json};

use crate::machines::baseline::{Share, make_namespace, many, name};
use crate::machines::{CONCURRENCY, Requests};
use crate::progress::Progress;

/// No host looks at this one.
const NAMESPACE: &str = "plain-deletions";
const MANAGER: &str = "plain-client";

/// How long it took.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeletionBaseline {
    pub(crate) wall: Duration,
    /// With the requests for deletion and the kubelets' writes.
    pub(crate) writes: u64,
}

/// The host's writes, apart from evictions and the deletion of the Node.
#[derive(Clone, Copy, Debug)]
struct Shares {
    machine: Share,
    machine_status: Share,
    node: Share,
    node_status: Share,
}

/// Makes, for as many Machines with as many pods, the writes of the host and of the kubelets that end the pods: one
/// Machine's in sequence but for its pods, which go side by side, and many Machines at once.
pub(crate) async fn measure(
    lab: &Lab,
    machines: usize,
    pods: usize,
    made: &Requests,
) -> Result<DeletionBaseline> {
    let client = lab.client.clone();
    make_namespace(&client, NAMESPACE).await?;
    let progress = Progress::of(lab, None);
    let prepared = many(machines, CONCURRENCY, async |number| prepare(lab, number, pods).await);
    progress.during(&format!("{machines} Machines and Nodes with {pods} pods each"), prepared).await?;
    let share = |verb, resource| Share::of(made.of(verb, resource), machines);
    let shares = Shares {
        machine: share("PATCH", "machines")?,
        machine_status: share("PATCH", "machines/status")?,
        node: share("PATCH", "nodes")?,
        node_status: share("PATCH", "nodes/status")?,
    };
    let started = Instant::now();
    let deletions = many(machines, CONCURRENCY, async |number| one(&client, number, pods, shares).await);
    let writes = progress.during("their deletion", deletions).await?;
    Ok(DeletionBaseline { wall: started.elapsed(), writes })
}

fn pod_name(number: usize, pod: usize) -> String {
    format!("{}-{pod}", name(number))
}

/// A Node without a kubelet, its pods, and a Machine that stays until its finalizer is taken away.
async fn prepare(lab: &Lab, number: usize, pods: usize) -> Result<u64> {
    let node: Node = serde_json::from_value(json!({ "metadata": { "name": name(number) } }))?;
    lab.node_objects().create(&PostParams::default(), &node).await.context("failed to create a Node")?;
    for one in 0..pods {
        lab.create_pod(&pod(&pod_name(number, one), &name(number), &PodShape::of("plain"))).await?;
    }
    let mut machine = manifests::machine(&name(number), "small");
    machine.metadata.namespace = Some(NAMESPACE.to_owned());
    machine.metadata.finalizers = Some(vec![names::finalizers::MACHINE.to_owned()]);
    let machines: Api<Machine> = Api::namespaced(lab.client.clone(), NAMESPACE);
    machines.create(&PostParams::default(), &machine).await.context("failed to create a Machine")?;
    Ok(0)
}

/// One Machine's writes; how many there were.
async fn one(client: &Client, number: usize, pods: usize, shares: Shares) -> Result<u64> {
    let machines: Api<Machine> = Api::namespaced(client.clone(), NAMESPACE);
    let nodes: Api<Node> = Api::all(client.clone());
    let (name, params) = (name(number), PatchParams::apply(MANAGER));
    let mut writes = 0;
    machines.delete(&name, &DeleteParams::default()).await?;
    for time in 0..shares.node.times(number) {
        nodes.patch(&name, &params, &Patch::Merge(node_patch(time))).await?;
        writes += 1;
    }
    for time in 0..shares.node_status.times(number) {
        let patch = Patch::Strategic(node_status_patch(time));
        nodes.patch_status(&name, &PatchParams::default(), &patch).await?;
        writes += 1;
    }
    for time in 0..shares.machine_status.times(number) {
        machines.patch_status(&name, &params, &Patch::Merge(status_patch(time))).await?;
        writes += 1;
    }
    let ends = (0..pods).map(|one| end(client, pod_name(number, one)));
    writes += futures::future::try_join_all(ends).await?.into_iter().sum::<u64>();
    nodes.delete(&name, &DeleteParams::default()).await?;
    // The last of these takes the finalizer away.
    for time in 1..shares.machine.times(number) {
        let patch = json!({ "metadata": { "annotations": { "plain-client": time.to_string() } } });
        machines.patch(&name, &params, &Patch::Merge(patch)).await?;
        writes += 1;
    }
    machines.patch(&name, &params, &Patch::Merge(json!({ "metadata": { "finalizers": null } }))).await?;
    Ok(writes + 3)
}

/// An eviction, and the removal that a kubelet makes.
async fn end(client: &Client, name: String) -> Result<u64> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), WORKLOADS);
    pods.evict(&name, &EvictParams::default()).await.context("failed to evict a pod")?;
    match pods.delete(&name, &DeleteParams::default().grace_period(0)).await {
        Ok(_) => Ok(2),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(1),
        Err(error) => Err(error).context("failed to remove a pod"),
    }
}

fn node_patch(time: usize) -> Value {
    json!({ "spec": { "unschedulable": true }, "metadata": { "annotations": { "plain-client": time.to_string() } } })
}

fn node_status_patch(time: usize) -> Value {
    json!({ "status": { "conditions": [{
        "type": "Terminating", "status": "True", "reason": "AsItIs", "message": format!("for the time number {time}"),
    }] } })
}

fn status_patch(time: usize) -> Value {
    const NOW: &str = "2026-01-02T03:04:05Z";
    json!({ "status": {
        "currentStatus": { "phase": "Terminating", "lastUpdateTime": NOW, "timeoutActive": false },
        "lastOperation": {
            "type": "Delete", "state": "Processing", "lastUpdateTime": NOW,
            "description": format!("about as long as a sentence of a deletion: {time}"),
        },
    } })
}
