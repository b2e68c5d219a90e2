//! A client that makes the host's writes and nothing else: what this server can take.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use control_plane::process_usage;
use e2e::{Cloud, Lab, manifests};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Namespace, Node, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, core::ObjectMeta};
use machinist_api::{Machine, names};
use serde_json::{Value, json};

use crate::conditions::BusyCores;

use super::requests::Requests;

/// No host looks at this one.
const NAMESPACE: &str = "plain-client";
const TOKENS: &str = "kube-system";

/// How long it took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline {
    pub(crate) wall: Duration,
    /// Creates of Machines and the host's own writes.
    pub(crate) writes: u64,
    pub(crate) api_server_cpu: Duration,
    pub(crate) client_cpu: Duration,
    pub(crate) others: f64,
    pub(crate) concurrency: usize,
}

/// How many writes of a kind a Machine gets: so many each, and one more for the first ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    each: usize,
    rest: usize,
}

impl Share {
    pub(crate) fn of(total: u64, machines: usize) -> Result<Self> {
        let total = usize::try_from(total)?;
        Ok(Self { each: total / machines, rest: total % machines })
    }

    pub(crate) fn times(self, number: usize) -> usize {
        self.each + usize::from(number < self.rest)
    }
}

/// Writes of one Machine beside its create, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Write {
    PostToken,
    PatchMachine,
    PatchStatus,
    PatchNode,
    DeleteToken,
}

impl Write {
    const ALL: [Self; 5] =
        [Self::PostToken, Self::PatchMachine, Self::PatchStatus, Self::PatchNode, Self::DeleteToken];

    fn counted(self, requests: &Requests) -> u64 {
        match self {
            Self::PostToken => requests.of("POST", "secrets"),
            Self::PatchMachine => requests.of("PATCH", "machines"),
            Self::PatchStatus => requests.of("PATCH", "machines/status"),
            Self::PatchNode => requests.of("PATCH", "nodes"),
            Self::DeleteToken => requests.of("DELETE", "secrets"),
        }
    }
}

/// Makes, for as many Machines, the writes that the host made, each Machine's one after the other and many Machines at
/// once. Nodes are there before, as kubelets bring them. `ask_cloud` makes the calls of the cloud for one Machine.
pub(crate) async fn measure(
    lab: &Lab<impl Cloud>,
    machines: usize,
    made: &Requests,
    concurrency: usize,
    ask_cloud: impl AsyncFn(usize) -> Result<()>,
) -> Result<Baseline> {
    let client = lab.client.clone();
    make_namespace(&client, NAMESPACE).await?;
    many(machines, concurrency, async |number| node(&client, number).await).await?;
    let share = |write: &Write| anyhow::Ok((*write, Share::of(write.counted(made), machines)?));
    let shares: BTreeMap<Write, Share> = Write::ALL.iter().map(share).collect::<Result<_>>()?;
    let api_server = lab.plane.pids().api_server.context("the API server runs")?;
    let before = (process_usage(api_server)?.cpu, process_usage(std::process::id())?.cpu);
    let cores = BusyCores::start()?;
    let started = Instant::now();
    let writes = many(machines, concurrency, async |number| {
        ask_cloud(number).await?;
        one(&client, number, &shares).await
    })
    .await?;
    let wall = started.elapsed();
    let api_server_cpu = process_usage(api_server)?.cpu.saturating_sub(before.0);
    let client_cpu = process_usage(std::process::id())?.cpu.saturating_sub(before.1);
    let others = cores.others(api_server_cpu + client_cpu)?;
    Ok(Baseline { wall, writes, api_server_cpu, client_cpu, others, concurrency })
}

/// Does it for many Machines at once; how many writes there were.
pub(crate) async fn many(
    machines: usize,
    concurrency: usize,
    each: impl AsyncFn(usize) -> Result<u64>,
) -> Result<u64> {
    let all = futures::stream::iter(0..machines).map(|number| each(number)).buffer_unordered(concurrency);
    all.try_fold(0, async |sum, writes| Ok(sum + writes)).await
}

/// The namespace of a plain client's Machines.
pub(crate) async fn make_namespace(client: &Client, name: &str) -> Result<()> {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    let created = Api::all(client.clone()).create(&PostParams::default(), &namespace).await;
    created.map(drop).context("failed to create a namespace")
}

async fn node(client: &Client, number: usize) -> Result<u64> {
    let node: Node = serde_json::from_value(json!({
        "metadata": { "name": name(number) },
        "spec": { "providerID": format!("sim:///sim-1a/{}", name(number)) },
    }))?;
    Api::<Node>::all(client.clone())
        .create(&PostParams::default(), &node)
        .await
        .context("failed to create a Node")?;
    Ok(1)
}

/// The name of a Machine, and of its Node.
pub(crate) fn name(number: usize) -> String {
    format!("plain-{number:04}")
}

/// One Machine's writes; how many there were.
async fn one(client: &Client, number: usize, shares: &BTreeMap<Write, Share>) -> Result<u64> {
    let machines: Api<Machine> = Api::namespaced(client.clone(), NAMESPACE);
    let mut machine = manifests::machine(&name(number), "small");
    machine.metadata.namespace = Some(NAMESPACE.to_owned());
    machines.create(&PostParams::default(), &machine).await.context("failed to create a Machine")?;
    let mut writes = 1;
    for (write, share) in shares {
        for time in 0..share.times(number) {
            perform(client, &machines, *write, &name(number), time).await?;
            writes += 1;
        }
    }
    Ok(writes)
}

/// About as large as what the host writes, and never the same twice: what changes nothing is not stored.
async fn perform(
    client: &Client,
    machines: &Api<Machine>,
    write: Write,
    name: &str,
    time: usize,
) -> Result<()> {
    let params = PatchParams::apply("plain-client");
    let secrets: Api<Secret> = Api::namespaced(client.clone(), TOKENS);
    match write {
        Write::PostToken => drop(secrets.create(&PostParams::default(), &token(name, time)).await?),
        Write::DeleteToken => drop(secrets.delete(&token_name(name, time), &DeleteParams::default()).await?),
        Write::PatchMachine => {
            drop(machines.patch(name, &params, &Patch::Merge(machine_patch(name, time))).await?);
        }
        Write::PatchStatus => {
            drop(machines.patch_status(name, &params, &Patch::Merge(status_patch(time))).await?);
        }
        Write::PatchNode => {
            let patch = json!({ "metadata": {
                "labels": { "pool": "workers", names::labels::MACHINE_NAME: name },
                "annotations": { names::annotations::LAST_APPLIED_TEMPLATE: format!("{{\"time\":{time}}}") },
            } });
            drop(Api::<Node>::all(client.clone()).patch(name, &params, &Patch::Merge(patch)).await?);
        }
    }
    Ok(())
}

fn token_name(name: &str, time: usize) -> String {
    format!("{name}-{time}")
}

fn token(name: &str, time: usize) -> Secret {
    let fields = ["description", "token-id", "token-secret", "expiration", "usage-bootstrap-authentication"];
    let value = ByteString(b"about as long as a field of a token".to_vec());
    Secret {
        metadata: ObjectMeta { name: Some(token_name(name, time)), ..ObjectMeta::default() },
        data: Some(fields.map(|field| (field.to_owned(), value.clone())).into()),
        ..Secret::default()
    }
}

fn machine_patch(name: &str, time: usize) -> Value {
    if time == 0 {
        return json!({ "metadata": {
            "finalizers": [names::finalizers::MACHINE],
            "annotations": { names::annotations::PRIORITY: names::annotations::DEFAULT_PRIORITY },
        } });
    }
    json!({
        "metadata": { "labels": { names::labels::NODE: name } },
        "spec": { "providerID": format!("sim:///sim-1a/{name}-{time}") },
    })
}

fn status_patch(time: usize) -> Value {
    const NOW: &str = "2026-01-02T03:04:05Z";
    let condition = |kind: &str, status: &str| {
        json!({
            "type": kind, "status": status, "reason": "AsItIs", "message": format!("for the time number {time}"),
            "lastTransitionTime": NOW,
        })
    };
    json!({ "status": {
        "currentStatus": { "phase": if time == 0 { "Pending" } else { "Running" }, "lastUpdateTime": NOW, "timeoutActive": time == 0 },
        "lastOperation": {
            "type": "Create", "state": "Processing", "lastUpdateTime": NOW,
            "description": format!("the VM is created, its Node has not joined yet: {time}"),
        },
        "conditions": [condition("Ready", "True"), condition("DiskPressure", "False")],
        "machinist": { "conditions": [condition("Ready", "True")], "observedGeneration": time },
    } })
}
