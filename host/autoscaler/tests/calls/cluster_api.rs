//! Sizes of groups of Cluster API, whose core is not there: the tests look at what the host writes.

use machinist_autoscaler::messages::instance_status::InstanceState;
use machinist_core::value::id::ObjectKey;
use machinist_runtime::autoscaler::Scope;
use memory_api::wire::{Call, Handling};
use serde_json::{Value, json};
use tonic::Code;

use crate::fixture::{
    Stage, decrease, delete, group_of, groups, increase, instances, node, refuses, target_size,
};
use crate::objects::{
    CAPI, CAPI_DEPLOYMENTS, CAPI_MACHINES, TEAM, add_capi_machine, add_md, add_set, capi_id_of, limits,
    replicas,
};

async fn stage(machines: &[&str]) -> Stage {
    Stage::over(|api| add_md(api, machines, &limits(5))).await
}

fn is_marked(stage: &Stage, machine: &str) -> bool {
    let machine = stage.api.find(CAPI_MACHINES, &format!("{TEAM}/{machine}")).unwrap();
    !machine["metadata"]["annotations"]["cluster.x-k8s.io/delete-machine"].is_null()
}

fn is_write(call: &Call) -> bool {
    call.verb == "PATCH" && call.what.contains("cluster.x-k8s.io")
}

#[tokio::test]
async fn replicas_follow_and_nothing_else_is_written() {
    let stage = stage(&["a", "b"]).await;
    let mut client = stage.client().await;
    increase(&mut client, CAPI, 2).await.unwrap();
    assert_eq!((target_size(&mut client, CAPI).await, replicas(&stage.api, CAPI)), (4, 4));
    decrease(&mut client, CAPI, -2).await.unwrap();
    assert_eq!((target_size(&mut client, CAPI).await, replicas(&stage.api, CAPI)), (2, 2));
    refuses(decrease(&mut client, CAPI, -1).await, Code::FailedPrecondition, "2 Machines with a VM");
    let md = stage.api.find(CAPI_DEPLOYMENTS, &format!("{TEAM}/md")).unwrap();
    assert_eq!(md["metadata"]["annotations"], limits(5));
}

#[tokio::test]
async fn machines_are_marked_before_the_group_shrinks_and_a_repeat_writes_nothing() {
    let stage = stage(&["a", "b", "c"]).await;
    let mut client = stage.client().await;
    let (b, c) = (capi_id_of("b"), capi_id_of("c"));
    let begun = stage.wire.len();
    delete(&mut client, CAPI, &[&b, &c]).await.unwrap();
    let writes: Vec<String> =
        stage.wire.records_since(begun, is_write).iter().map(|record| record.call.what.clone()).collect();
    assert_eq!(writes, [CAPI_MACHINES, CAPI_MACHINES, CAPI_DEPLOYMENTS]);
    assert!(!is_marked(&stage, "a") && is_marked(&stage, "b") && is_marked(&stage, "c"));
    let begun = stage.wire.len();
    delete(&mut client, CAPI, &[&b]).await.unwrap();
    delete(&mut client, CAPI, &[&c, &b]).await.unwrap();
    assert!(stage.wire.records_since(begun, is_write).is_empty(), "{}", stage.wire.trace());
    assert_eq!((replicas(&stage.api, CAPI), target_size(&mut client, CAPI).await), (1, 1));
    let deleting = |id: &str, all: &[machinist_autoscaler::messages::Instance]| {
        let instance = all.iter().find(|instance| instance.id == id).unwrap();
        instance.status.as_ref().unwrap().instance_state() == InstanceState::InstanceDeleting
    };
    let all = instances(&mut client, CAPI).await;
    assert!(deleting(&b, &all) && deleting(&c, &all) && !deleting(&capi_id_of("a"), &all));
}

#[tokio::test]
async fn a_crash_between_mark_and_size_is_repeated_and_shrinks_once() {
    let stage = stage(&["a", "b", "c"]).await;
    let mut client = stage.client().await;
    let b = capi_id_of("b");
    // The marks arrive, and the new size does not.
    stage.wire.plan(|call| match call.what == CAPI_DEPLOYMENTS && call.verb == "PATCH" {
        true => Handling::Lose,
        false => Handling::Pass,
    });
    assert!(delete(&mut client, CAPI, &[&b]).await.is_err());
    assert_eq!(replicas(&stage.api, CAPI), 3);
    stage.wire.plan(|call| match call.what == CAPI_DEPLOYMENTS && call.verb == "PATCH" {
        true => Handling::LoseAnswer,
        false => Handling::Pass,
    });
    assert!(delete(&mut client, CAPI, &[&b]).await.is_err());
    assert_eq!(replicas(&stage.api, CAPI), 2);
    stage.wire.heal();
    delete(&mut client, CAPI, &[&b]).await.unwrap();
    assert_eq!(replicas(&stage.api, CAPI), 2);
    assert!(is_marked(&stage, "b"));
}

#[tokio::test]
async fn a_refused_size_takes_the_marks_back() {
    let stage = stage(&["a", "b", "c"]).await;
    let mut client = stage.client().await;
    stage.wire.plan(|call| match call.what == CAPI_DEPLOYMENTS && call.verb == "PATCH" {
        true => Handling::Refuse(403),
        false => Handling::Pass,
    });
    refuses(
        delete(&mut client, CAPI, &[&capi_id_of("b")]).await,
        Code::PermissionDenied,
        "deploy/autoscaler",
    );
    assert!(!is_marked(&stage, "b"));
    assert_eq!(replicas(&stage.api, CAPI), 3);
}

#[tokio::test]
async fn nothing_is_deleted_while_a_group_is_rolled() {
    let stage = stage(&["a", "b"]).await;
    let mut client = stage.client().await;
    let md = stage.api.find(CAPI_DEPLOYMENTS, &format!("{TEAM}/md")).unwrap();
    add_set(&stage.api, &md, "md-2", 1);
    add_capi_machine(&stage.api, "md-2", "c");
    let count = async || instances(&mut client.clone(), CAPI).await.len();
    stage.until("the next set is seen", async || count().await == 3).await;
    refuses(delete(&mut client, CAPI, &[&capi_id_of("a")]).await, Code::FailedPrecondition, "being rolled");
    assert_eq!(replicas(&stage.api, CAPI), 2);
    assert!(!is_marked(&stage, "a"));
}

#[tokio::test]
async fn a_vm_without_capacity_has_the_class_of_missing_resources() {
    let stage = stage(&["a"]).await;
    let mut client = stage.client().await;
    let condition = json!({
        "type": "Ready", "status": "False", "reason": "InsufficientCapacity", "message": "no m5",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    // Paused, so that the host leaves the condition as it is.
    let metadata = json!({
        "name": "b", "namespace": TEAM, "annotations": { "cluster.x-k8s.io/paused": "" },
    });
    let vm = json!({ "metadata": metadata, "spec": { "provider": "sim", "providerSpec": {} } });
    stage.api.create("machinistmachines", &vm).unwrap();
    stage
        .api
        .edit_status(
            "machinistmachines",
            &format!("{TEAM}/b"),
            &json!({ "status": { "conditions": [condition] } }),
        )
        .unwrap();
    add_capi_machine(&stage.api, "md-1", "b");
    let error = async || {
        let all = instances(&mut client.clone(), CAPI).await;
        let mut errors = all.into_iter().filter_map(|instance| instance.status.unwrap().error_info);
        errors.next().map(|error| (error.error_code, error.instance_error_class))
    };
    let expected = Some(("InsufficientCapacity".to_owned(), 1));
    stage.until("capacity is missing", async || error().await == expected).await;
    drop(client);
    client = stage.client().await;
    assert_eq!(instances(&mut client, CAPI).await.len(), 2);
}

/// An autoscaler would delete Machines of other clusters as ones that never registered.
#[tokio::test]
async fn an_autoscaler_sees_nothing_of_other_clusters() {
    let other: Value = limits(5);
    let scope = Scope { mcm: false, clusters: [ObjectKey::new(TEAM, "another")].into() };
    let stage = Stage::with(scope, None, true, |api| add_md(api, &["a", "b"], &other)).await;
    let mut client = stage.client().await;
    assert_eq!(groups(&mut client).await, []);
    assert_eq!(group_of(&mut client, node(&capi_id_of("a"), "node-a")).await, "");
    refuses(increase(&mut client, CAPI, 1).await, Code::NotFound, "of a cluster that this address serves");
    assert_eq!(replicas(&stage.api, CAPI), 2);
}
