//! Sizes of groups of machine-controller-manager's kind, whose controllers follow them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use machinist_autoscaler::messages::instance_status::InstanceState;
use memory_api::wire::{Call, Handling};
use serde_json::json;
use tonic::Code;

use crate::fixture::{Stage, decrease, delete, increase, instances, refuses, target_size};
use crate::objects::{MCM, add_pool, id_of, join, limits, machines, replicas};

/// Group `pool` of 1 to 5 nodes, with so many of them.
async fn stage(nodes: usize) -> Stage {
    let stage = Stage::over(|api| add_pool(api, i32::try_from(nodes).unwrap(), &limits(5))).await;
    stage.until("the set has its Machines", async || machines(&stage.api).len() == nodes).await;
    for machine in machines(&stage.api) {
        join(&stage.api, &machine);
    }
    let mut client = stage.client().await;
    let is_running = async |mut client| {
        let all = instances(&mut client, MCM).await;
        let running = |instance: &&machinist_autoscaler::messages::Instance| {
            instance.status.as_ref().unwrap().instance_state() == InstanceState::InstanceRunning
        };
        all.iter().filter(running).count() == nodes
    };
    stage.until("all Nodes are seen", async || is_running(client.clone()).await).await;
    client = stage.client().await;
    assert_eq!(instances(&mut client, MCM).await.len(), nodes);
    stage
}

fn is_shrink(call: &Call) -> bool {
    call.verb == "PATCH" && call.what == "machinedeployments"
}

#[tokio::test]
async fn more_nodes_are_one_write_and_the_next_question_has_the_size() {
    let stage = stage(2).await;
    let mut client = stage.client().await;
    let begun = stage.wire.len();
    increase(&mut client, MCM, 2).await.unwrap();
    assert_eq!(target_size(&mut client, MCM).await, 4);
    assert_eq!(stage.wire.records_since(begun, is_shrink).len(), 1);
    stage.until("the Machines are made", async || machines(&stage.api).len() == 4).await;
    increase(&mut client, MCM, 1).await.unwrap();
    assert_eq!((target_size(&mut client, MCM).await, replicas(&stage.api, MCM)), (5, 5));
}

#[tokio::test]
async fn a_request_that_was_not_fulfilled_is_taken_back_and_no_node_goes() {
    let stage = stage(2).await;
    let mut client = stage.client().await;
    increase(&mut client, MCM, 2).await.unwrap();
    refuses(decrease(&mut client, MCM, -3).await, Code::FailedPrecondition, "name the nodes");
    decrease(&mut client, MCM, -2).await.unwrap();
    assert_eq!(target_size(&mut client, MCM).await, 2);
    let nodes = |stage: &Stage| {
        let with_node = |object: &serde_json::Value| object["metadata"]["labels"]["node"].as_str().map(drop);
        stage.api.collect("machines", with_node).len()
    };
    stage.until("the others are gone", async || machines(&stage.api).len() == 2).await;
    assert_eq!(nodes(&stage), 2);
}

#[tokio::test]
async fn the_named_nodes_go_and_no_others_also_when_they_are_named_again() {
    let stage = stage(4).await;
    let mut client = stage.client().await;
    let all = machines(&stage.api);
    let ids = [id_of(&all[3]), id_of(&all[1])];
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    delete(&mut client, MCM, &ids).await.unwrap();
    assert_eq!(target_size(&mut client, MCM).await, 2);
    let state = |instance: &machinist_autoscaler::messages::Instance| {
        instance.status.as_ref().unwrap().instance_state()
    };
    for instance in instances(&mut client, MCM).await {
        let expected = ids.contains(&instance.id.as_str());
        assert_eq!(state(&instance) == InstanceState::InstanceDeleting, expected, "{}", instance.id);
    }
    // The same nodes, as somebody does who has lost the answer. They may be gone by now.
    for _ in 0..3 {
        let repeated = delete(&mut client, MCM, &ids).await;
        if let Err(status) = repeated {
            assert_eq!(status.code(), Code::NotFound, "{status:?}");
        }
        assert_eq!(replicas(&stage.api, MCM), 2);
    }
    let expected = vec![all[0].clone(), all[2].clone()];
    stage.until("the named are gone", async || machines(&stage.api) == expected).await;
    assert_eq!(replicas(&stage.api, MCM), 2);
}

#[tokio::test]
async fn a_lost_answer_and_a_repeat_shrink_a_group_once() {
    let stage = stage(3).await;
    let mut client = stage.client().await;
    let machine = machines(&stage.api)[1].clone();
    let id = id_of(&machine);
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    stage.wire.plan(move |call| match is_shrink(call) && count.fetch_add(1, Ordering::Relaxed) == 0 {
        true => Handling::LoseAnswer,
        false => Handling::Pass,
    });
    refuses(delete(&mut client, MCM, &[&id]).await, Code::Unavailable, "unknown");
    stage.wire.heal();
    let repeated = delete(&mut client, MCM, &[&id]).await;
    assert!(repeated.is_ok() || repeated.unwrap_err().code() == Code::NotFound);
    assert_eq!(replicas(&stage.api, MCM), 2);
    stage.until("it is gone", async || !machines(&stage.api).contains(&machine)).await;
    assert_eq!((machines(&stage.api).len(), replicas(&stage.api, MCM)), (2, 2));
}

#[tokio::test]
async fn a_change_by_others_is_read_again_before_it_is_written() {
    let stage = stage(2).await;
    let mut client = stage.client().await;
    // What the host has cached is older than what is there.
    stage.api.delay_watches(std::time::Duration::from_secs(3_600));
    stage.api.edit("machinedeployments", "shoot/pool", &json!({ "spec": { "replicas": 4 } })).unwrap();
    increase(&mut client, MCM, 1).await.unwrap();
    assert_eq!((replicas(&stage.api, MCM), target_size(&mut client, MCM).await), (5, 5));
    stage
        .api
        .edit("machinedeployments", "shoot/pool", &json!({ "spec": { "replicas": 5, "paused": true } }))
        .unwrap();
    refuses(increase(&mut client, MCM, 1).await, Code::OutOfRange, "maximum 5");
    assert_eq!(replicas(&stage.api, MCM), 5);
}

#[tokio::test]
async fn a_machine_that_somebody_else_deletes_is_not_counted() {
    let stage = stage(3).await;
    let mut client = stage.client().await;
    let machine = machines(&stage.api)[0].clone();
    let path = format!("shoot/{machine}");
    stage
        .api
        .edit("machines", &path, &json!({ "metadata": { "finalizers": ["example.org/held"] } }))
        .unwrap();
    stage.api.delete("machines", &path).unwrap();
    let id = id_of(&machine);
    let is_deleting = async || {
        let all = instances(&mut client.clone(), MCM).await;
        all.iter().any(|instance| {
            instance.id == id
                && instance.status.as_ref().unwrap().instance_state() == InstanceState::InstanceDeleting
        })
    };
    stage.until("its deletion is seen", is_deleting).await;
    delete(&mut client, MCM, &[&id]).await.unwrap();
    assert_eq!(replicas(&stage.api, MCM), 3, "its set makes another one");
    drop(client);
    client = stage.client().await;
    assert_eq!(target_size(&mut client, MCM).await, 3);
}

#[tokio::test]
async fn a_placeholder_deletes_a_machine_that_never_got_a_vm() {
    let stage = stage(2).await;
    let mut client = stage.client().await;
    let before = machines(&stage.api);
    increase(&mut client, MCM, 1).await.unwrap();
    stage.until("it is there", async || machines(&stage.api).len() == 3).await;
    let requested = async || {
        let all = instances(&mut client.clone(), MCM).await;
        all.into_iter().map(|instance| instance.id).find(|id| id.starts_with("requested://"))
    };
    stage.until("it is listed", async || requested().await.is_some()).await;
    let id = requested().await.unwrap();
    delete(&mut client.clone(), MCM, &[&id]).await.unwrap();
    stage.until("it is gone", async || machines(&stage.api) == before).await;
    assert_eq!(replicas(&stage.api, MCM), 2);
}
