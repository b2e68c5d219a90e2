//! MachinistMachines that wait for other objects, and their conditions meanwhile.

use std::time::Duration;

use machinist_api::infrastructure::names::annotations;
use memory_api::encode;
use memory_api::wire::table;
use serde_json::json;

use super::objects::{
    MACHINES, OWNERS, add_bootstrap, add_cluster, add_cluster_alone, add_machine_without_data, add_orphan,
    adopt, empty, find, is_provisioned, name_bootstrap, of_team, provide_cluster, provided, says,
};
use crate::fixture::cloud::Habits;
use crate::fixture::stage::Stage;

const LIMIT: Duration = Duration::from_secs(120);

async fn until_waits(stage: &Stage, reason: &str) {
    let is_it = || says(stage, "vm", "Ready") == ("False".to_owned(), reason.to_owned());
    stage.until(reason, LIMIT, is_it).await;
    assert_eq!(stage.cloud.vms(), 0);
    assert!(find(stage, "vm").unwrap()["metadata"]["finalizers"].is_null(), "nothing is asked for yet");
}

#[tokio::test(start_paused = true)]
async fn each_prerequisite_is_named_and_its_change_continues_at_once() {
    let stage = empty(Habits::default());
    let _host = stage.host_without_target("host");
    add_machine_without_data(&stage, "vm");
    until_waits(&stage, "WaitingForCluster").await;
    add_cluster_alone(&stage);
    until_waits(&stage, "WaitingForClusterInfrastructureReady").await;
    provide_cluster(&stage);
    until_waits(&stage, "WaitingForBootstrapData").await;
    let begun = stage.wire.elapsed();
    add_bootstrap(&stage, "vm");
    name_bootstrap(&stage, "vm");
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    assert!(stage.wire.elapsed() - begun < Duration::from_secs(1));
}

/// A MachineSet edits its new objects once more, with optimistic locks.
#[tokio::test(start_paused = true)]
async fn nothing_is_written_before_a_machine_owns_it() {
    let stage = empty(Habits::default());
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    add_orphan(&stage, "vm");
    tokio::time::sleep(LIMIT).await;
    let writes = stage.wire.records(|call| call.is_write() && call.name == "vm");
    assert!(writes.is_empty(), "{}", table(&writes));
    assert_eq!(stage.events("vm"), ["WaitingForMachine"]);
    add_bootstrap(&stage, "vm");
    let spec = json!({ "clusterName": "c", "bootstrap": { "dataSecretName": "vm-data" } });
    let machine = json!({ "metadata": { "name": "vm", "namespace": "team" }, "spec": spec });
    stage.api.create(OWNERS, &machine).unwrap();
    adopt(&stage, "vm");
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_without_data_is_named_and_its_fix_is_seen() {
    let stage = empty(Habits::default());
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    add_machine_without_data(&stage, "vm");
    name_bootstrap(&stage, "vm");
    until_waits(&stage, "WaitingForBootstrapData").await;
    let secret = |data| json!({ "metadata": { "name": "vm-data", "namespace": "team" }, "data": data });
    stage.api.create("secrets", &secret(json!({ "other": "" }))).unwrap();
    tokio::time::sleep(LIMIT).await;
    until_waits(&stage, "WaitingForBootstrapData").await;
    let message = find(&stage, "vm").unwrap()["status"]["conditions"].to_string();
    assert!(message.contains("no key value: set it"), "{message}");
    let data = json!({ "data": { "value": encode(b"#cloud-config") } });
    stage.api.edit("secrets", &of_team("vm-data"), &data).unwrap();
    let limit = Duration::from_secs(1_200);
    stage.until("the VM is provided", limit, || is_provisioned(&stage, "vm")).await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_in_a_failure_domain_that_the_driver_does_not_honour_is_refused() {
    let stage = empty(Habits::default());
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    add_bootstrap(&stage, "vm");
    add_machine_without_data(&stage, "vm");
    stage.api.edit(OWNERS, &of_team("vm"), &json!({ "spec": { "failureDomain": "zone-b" } })).unwrap();
    name_bootstrap(&stage, "vm");
    until_waits(&stage, "FailureDomainUnsupported").await;
    stage.api.edit(OWNERS, &of_team("vm"), &json!({ "spec": { "failureDomain": null } })).unwrap();
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_without_a_driver_waits_for_it() {
    let stage = empty(Habits::default());
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    add_bootstrap(&stage, "vm");
    add_machine_without_data(&stage, "vm");
    stage.api.edit(MACHINES, &of_team("vm"), &json!({ "spec": { "provider": "other" } })).unwrap();
    name_bootstrap(&stage, "vm");
    until_waits(&stage, "DriverNotReady").await;
    stage.cloud.serve("other");
    stage.report_plugins(&["other"]);
    stage.until("the VM is provided", Duration::from_secs(1), || is_provisioned(&stage, "vm")).await;
}

/// A copy of an object, or a restore: nobody knows whose VM it is.
#[tokio::test(start_paused = true)]
async fn two_objects_with_one_key_say_so_and_nothing_is_done_to_the_vm() {
    let (stage, _host) = provided().await;
    let key = super::objects::key(&stage, "vm");
    add_bootstrap(&stage, "copy");
    add_machine_without_data(&stage, "copy");
    let metadata = json!({ "metadata": { "annotations": { annotations::MACHINE_KEY: key } } });
    stage.api.edit(MACHINES, &of_team("copy"), &metadata).unwrap();
    name_bootstrap(&stage, "copy");
    let is_contested = |name: &str| says(&stage, name, "Ready").1 == "KeyContested";
    stage.until("both say so", LIMIT, || is_contested("vm") && is_contested("copy")).await;
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    tokio::time::sleep(LIMIT).await;
    assert_eq!(stage.cloud.vms(), 1);
    stage.assert_one_vm_each(1);
    stage.api.edit(MACHINES, &of_team("copy"), &json!({ "metadata": { "annotations": null } })).unwrap();
    stage.until("the first is gone", Duration::from_secs(900), || find(&stage, "vm").is_none()).await;
}
