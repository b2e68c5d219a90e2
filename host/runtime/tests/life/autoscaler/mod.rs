//! Node groups of cluster-autoscaler, with Machines that get VMs and Nodes.

use std::collections::BTreeSet;
use std::time::Duration;

use machinist_core::autoscaler::member::{Instance, InstanceState, NamedNode};
use machinist_core::driver::error::{CallError as DriverFailure, Code, DriverError};
use machinist_runtime::autoscaler::{CallError, NodeGroups, NodeQuery, Scope};
use memory_api::wire::{Call, Handling};
use serde_json::json;

use crate::fixture::stage::{Host, NAMESPACE, Stage, in_namespace};

const POOL: &str = "mcm/shoot/pool";
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// A host, and the groups that it serves.
struct Served {
    stage: Stage,
    groups: NodeGroups,
    scope: Scope,
    _host: Host,
}

/// Deployment `pool` of 1 to 6 nodes, with so many that run.
async fn pool(replicas: usize) -> Served {
    let stage = Stage::set();
    let groups = NodeGroups::new(false);
    *stage.node_groups.lock().unwrap() = Some(groups.clone());
    let host = stage.host("host");
    let limits = json!({
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1",
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": "6",
    });
    let template = json!({
        "metadata": { "labels": { "name": "pool" } },
        "spec": { "class": { "kind": "MachineClass", "name": "small" } },
    });
    let pool = json!({
        "metadata": { "name": "pool", "namespace": NAMESPACE, "annotations": limits },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "name": "pool" } }, "template": template,
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
        },
    });
    stage.api.create("machinedeployments", &pool).unwrap();
    let served = Served { stage, groups, scope: Scope { mcm: true, ..Scope::default() }, _host: host };
    served.until_running(replicas).await;
    served
}

impl Served {
    fn instances(&self) -> Vec<Instance> {
        self.groups.instances(&self.scope, POOL).unwrap_or_default()
    }

    async fn until_running(&self, count: usize) {
        let is_running = || {
            let all = self.instances();
            all.len() == count && all.iter().all(|instance| instance.state == InstanceState::Running)
        };
        self.stage.until(&format!("{count} nodes run"), LIMIT, is_running).await;
    }

    fn replicas(&self) -> i64 {
        let pool = self.stage.api.find("machinedeployments", &in_namespace("pool")).unwrap();
        pool["spec"]["replicas"].as_i64().unwrap()
    }

    fn ids(&self) -> Vec<String> {
        self.instances().into_iter().map(|instance| instance.id).collect()
    }

    async fn delete(&self, ids: &[&str]) -> Result<(), CallError> {
        let nodes: Vec<NamedNode<'_>> =
            ids.iter().map(|id| NamedNode { provider_id: id, name: "" }).collect();
        self.groups.delete(&self.scope, POOL, &nodes).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_grows_and_shrinks_by_the_nodes_that_are_named() {
    let served = pool(2).await;
    served.groups.increase(&served.scope, POOL, 2).await.unwrap();
    assert_eq!(served.groups.target_size(&served.scope, POOL), Ok(4));
    served.until_running(4).await;
    let before = served.ids();
    // Each id is that of a Node.
    let nodes: BTreeSet<String> = served
        .stage
        .api
        .collect("nodes", |node| Some(node["spec"]["providerID"].as_str().unwrap().to_owned()))
        .into_iter()
        .collect();
    assert_eq!(before.iter().cloned().collect::<BTreeSet<_>>(), nodes);
    let (keep, gone) = (vec![before[0].clone(), before[2].clone()], [before[1].as_str(), before[3].as_str()]);
    served.delete(&gone).await.unwrap();
    served.until_running(2).await;
    assert_eq!(served.ids(), keep);
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!((served.ids(), served.replicas(), served.stage.cloud.vms()), (keep, 2, 2));
}

#[tokio::test(start_paused = true)]
async fn repeats_at_any_time_of_a_deletion_shrink_a_group_once() {
    let served = pool(4).await;
    let id = served.ids()[1].clone();
    served.delete(&[&id]).await.unwrap();
    let mut repeats = 0;
    while served.ids().contains(&id) {
        served.delete(&[&id]).await.unwrap();
        assert_eq!(served.replicas(), 3);
        repeats += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(repeats > 3, "the deletion takes a while");
    served.until_running(3).await;
    assert!(matches!(served.delete(&[&id]).await, Err(CallError::Refused(_))), "it is gone");
    assert_eq!(served.replicas(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_saved_by_a_larger_size_can_be_deleted_later() {
    let served = pool(3).await;
    let id = served.ids()[1].clone();
    // Nobody sees the smaller size before it is raised again.
    served.stage.api.delay_watches(Duration::from_secs(30));
    served.delete(&[&id]).await.unwrap();
    served.groups.increase(&served.scope, POOL, 1).await.unwrap();
    served.stage.api.delay_watches(Duration::ZERO);
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    served.until_running(3).await;
    if served.ids().contains(&id) {
        served.delete(&[&id]).await.unwrap();
        served.until_running(2).await;
        assert!(!served.ids().contains(&id));
    }
}

#[tokio::test(start_paused = true)]
async fn missing_capacity_is_reported_and_the_machine_can_be_deleted_by_its_placeholder() {
    let served = pool(2).await;
    let error = DriverError::new(Code::ResourceExhausted, "no more VMs of this type");
    served.stage.wire.plan(move |call: &Call| match call.calls("create") {
        true => Handling::Answer(DriverFailure::Guest(error.clone())),
        false => Handling::Pass,
    });
    served.groups.increase(&served.scope, POOL, 1).await.unwrap();
    let failed = || served.instances().into_iter().find(|instance| instance.error.is_some());
    served.stage.until("it is reported", LIMIT, || failed().is_some()).await;
    let failed = failed().unwrap();
    let error = failed.error.unwrap();
    assert_eq!((error.class.number(), error.code), (1, "ResourceExhausted"));
    assert!(failed.id.starts_with("requested://mcm/shoot/pool-"), "{}", failed.id);
    served.delete(&[&failed.id]).await.unwrap();
    served.until_running(2).await;
    assert_eq!(served.replicas(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_rolled_keeps_its_nodes() {
    let served = pool(3).await;
    let id = served.ids()[1].clone();
    let annotation = json!({ "machinist.dev/restarted-at": "now" });
    let template = json!({ "metadata": { "annotations": annotation } });
    let patch = json!({ "spec": { "template": template } });
    served.stage.api.edit("machinedeployments", &in_namespace("pool"), &patch).unwrap();
    let is_rolling = || served.stage.api.count("machinesets") == 2 && served.stage.api.count("machines") > 3;
    served.stage.until("it is rolled", LIMIT, is_rolling).await;
    let refused = served.delete(&[&id]).await.unwrap_err();
    assert!(refused.to_string().contains("being rolled"), "{refused}");
    assert_eq!(served.replicas(), 3);
}

#[tokio::test(start_paused = true)]
async fn questions_cost_no_request_and_a_follower_answers_none() {
    let served = pool(3).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let begun = served.stage.wire.len();
    for id in served.ids() {
        let query = NodeQuery { node: NamedNode { provider_id: &id, name: "" }, machine: None };
        let group = served.groups.group_of_node(&served.scope, &query).unwrap().unwrap();
        assert_eq!((group.id.to_string().as_str(), group.replicas), (POOL, 3));
    }
    assert_eq!(served.groups.groups(&served.scope).unwrap().len(), 1);
    assert_eq!(served.stage.wire.len(), begun);
    served._host.depose();
    assert_eq!(served.groups.groups(&served.scope), Err(CallError::NotLeading));
    assert_eq!(served.groups.increase(&served.scope, POOL, 1).await, Err(CallError::NotLeading));
    assert_eq!(served.replicas(), 3);
}
