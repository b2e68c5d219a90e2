//! Drivers with the interfaces for Cluster API: ids of Nodes, failure domains, interruptions.

use std::time::Duration;

use machinist_api::infrastructure::names::annotations;
use memory_api::wire::table;
use serde_json::{Value, json};

use super::objects::{
    MACHINES, OWNERS, add_bootstrap, add_cluster, add_machine, add_machine_without_data, empty, find,
    is_provisioned, name_bootstrap, of_team, says,
};
use crate::fixture::cloud::Habits;
use crate::fixture::stage::{Host, Stage};

const LIMIT: Duration = Duration::from_secs(120);

/// A stage with a host and cluster `c`.
fn stage() -> (Stage, Host) {
    let stage = empty(Habits::default());
    let host = stage.host_without_target("host");
    add_cluster(&stage);
    (stage, host)
}

/// The machine `vm`, whose Machine asks for this failure domain.
fn add_machine_in(stage: &Stage, zone: &str) {
    add_bootstrap(stage, "vm");
    add_machine_without_data(stage, "vm");
    stage.api.edit(OWNERS, &of_team("vm"), &json!({ "spec": { "failureDomain": zone } })).unwrap();
    name_bootstrap(stage, "vm");
}

/// The machine `vm`, whose class asks for a VM that the cloud may take away.
fn add_spot_machine(stage: &Stage) {
    add_bootstrap(stage, "vm");
    add_machine_without_data(stage, "vm");
    let spot = json!({ "spec": { "providerSpec": { "spot": true } } });
    stage.api.edit(MACHINES, &of_team("vm"), &spot).unwrap();
    name_bootstrap(stage, "vm");
}

fn interruptible(stage: &Stage) -> Value {
    find(stage, "vm").unwrap()["status"]["interruptible"].clone()
}

fn annotation(stage: &Stage, name: &str) -> Value {
    find(stage, "vm").unwrap()["metadata"]["annotations"][name].clone()
}

async fn until_gone(stage: &Stage) {
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("it is gone", LIMIT, || find(stage, "vm").is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
    stage.assert_one_vm_each(1);
}

#[tokio::test(start_paused = true)]
async fn the_spec_has_the_id_of_the_node_and_calls_get_the_drivers_own() {
    let (stage, _host) = stage();
    stage.cloud.name_nodes(0);
    add_machine(&stage, "vm");
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    assert_eq!(find(&stage, "vm").unwrap()["spec"]["providerID"], "ccm://zone-a/vm-1");
    assert_eq!(annotation(&stage, annotations::VM_ID), "sim:///vm-1");
    // Looks find the VM by the driver's own id, for as long as it is there.
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
    assert_eq!(says(&stage, "vm", "Ready").1, "InstanceRunning");
    let looks = stage.wire.records(|call| call.verb == "CALL" && call.what == "get-status");
    assert!(!looks.is_empty());
    until_gone(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_vm_whose_node_has_no_id_yet_is_kept_and_stored_later() {
    let (stage, _host) = stage();
    stage.cloud.name_nodes(2);
    add_machine(&stage, "vm");
    stage.until("it says so", LIMIT, || says(&stage, "vm", "Ready").1 == "NodeIdUnknown").await;
    assert_eq!(says(&stage, "vm", "Ready").0, "False");
    assert!(find(&stage, "vm").unwrap()["spec"]["providerID"].is_null());
    let limit = Duration::from_secs(1_800);
    stage.until("the VM is provided", limit, || is_provisioned(&stage, "vm")).await;
    assert_eq!(find(&stage, "vm").unwrap()["spec"]["providerID"], "ccm://zone-a/vm-1");
    until_gone(&stage).await;
}

/// A look that finds the second step missing does not show the VM, of which the id of the Node is made.
#[tokio::test(start_paused = true)]
async fn a_vm_that_a_crash_left_half_made_is_completed_and_gets_the_id_of_its_node() {
    let stage = empty(Habits { initializes: true, ..Habits::default() });
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    stage.cloud.name_nodes(1);
    add_machine(&stage, "vm");
    let limit = Duration::from_secs(600);
    stage.until("the VM is provided", limit, || is_provisioned(&stage, "vm")).await;
    assert_eq!(find(&stage, "vm").unwrap()["spec"]["providerID"], "ccm://zone-a/vm-1");
    assert_eq!(annotation(&stage, annotations::VM_ID), "sim:///vm-1");
    until_gone(&stage).await;
}

/// The annotation of another object would lead to another object's VM.
#[tokio::test(start_paused = true)]
async fn an_id_that_came_with_a_template_counts_for_nothing() {
    let (stage, _host) = stage();
    add_bootstrap(&stage, "vm");
    add_machine_without_data(&stage, "vm");
    let copied = json!({ "metadata": { "annotations": { annotations::VM_ID: "sim:///vm-9" } } });
    stage.api.edit(MACHINES, &of_team("vm"), &copied).unwrap();
    name_bootstrap(&stage, "vm");
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    assert!(annotation(&stage, annotations::VM_ID).is_null());
    until_gone(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_vm_is_made_in_the_failure_domain_that_its_machine_asks_for_and_deleted_there() {
    let (stage, _host) = stage();
    stage.cloud.place(true);
    add_machine_in(&stage, "zone-b");
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    assert_eq!(find(&stage, "vm").unwrap()["status"]["failureDomain"], "zone-b");
    assert_eq!(annotation(&stage, annotations::FAILURE_DOMAIN), "zone-b");
    // The Machine may be gone first.
    stage.api.delete(OWNERS, &of_team("vm")).unwrap();
    until_gone(&stage).await;
}

/// A create whose id was never stored: looks at the zone of the class would find nothing, and leave the VM.
#[tokio::test(start_paused = true)]
async fn a_vm_without_a_stored_id_is_found_in_its_failure_domain() {
    let (stage, _host) = stage();
    stage.cloud.place(true);
    stage.cloud.name_nodes(usize::MAX);
    add_machine_in(&stage, "zone-b");
    stage.until("the VM is made", LIMIT, || says(&stage, "vm", "Ready").1 == "NodeIdUnknown").await;
    assert_eq!(stage.cloud.vms(), 1);
    stage.api.edit(OWNERS, &of_team("vm"), &json!({ "spec": { "failureDomain": "zone-a" } })).unwrap();
    tokio::time::sleep(Duration::from_secs(1_800)).await;
    stage.assert_one_vm_each(1);
    until_gone(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_puts_the_vm_elsewhere_is_found_out_and_the_vm_is_never_provided() {
    let (stage, _host) = stage();
    stage.cloud.misplace("zone-a");
    add_machine_in(&stage, "zone-b");
    let is_reported = || says(&stage, "vm", "Ready") == ("False".to_owned(), "InstanceMisplaced".to_owned());
    stage.until("it says so", LIMIT, is_reported).await;
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
    assert!(is_reported() && !is_provisioned(&stage, "vm"));
    assert_eq!(find(&stage, "vm").unwrap()["spec"]["providerID"], "sim:///vm-1", "so that it can be deleted");
    until_gone(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_domain_that_the_class_cannot_have_makes_no_vm() {
    let (stage, _host) = stage();
    stage.cloud.place(true);
    add_machine_in(&stage, "zone-z");
    stage.until("it says so", LIMIT, || says(&stage, "vm", "Ready").1 == "FailureDomainUnsupported").await;
    let message = find(&stage, "vm").unwrap()["status"]["conditions"].to_string();
    assert!(message.contains("there is no zone zone-z"), "{message}");
    let calls = stage.wire.records(|call| call.verb == "CALL");
    assert!(calls.is_empty(), "{}", table(&calls));
}

#[tokio::test(start_paused = true)]
async fn whether_the_cloud_may_take_the_vm_away_comes_with_its_provision_and_costs_no_write() {
    let (stage, _host) = stage();
    stage.cloud.tell_interruptions(0);
    add_spot_machine(&stage);
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    assert_eq!(interruptible(&stage), true);
    tokio::time::sleep(LIMIT).await;
    let writes = stage.wire.records(|call| call.is_write() && call.name.starts_with("vm"));
    assert_eq!(writes.len(), 3, "{}", table(&writes));
    // Later looks have the answer.
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
    let asked = stage.wire.records(|call| call.what == "is-interruptible");
    assert_eq!(asked.len(), 1, "{}", table(&asked));
    assert_eq!(interruptible(&stage), true);
    until_gone(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_class_that_does_not_say_so_is_not_interruptible_and_a_driver_without_the_interface_says_nothing() {
    for (tells, expected) in [(true, json!(false)), (false, Value::Null)] {
        let (stage, _host) = stage();
        if tells {
            stage.cloud.tell_interruptions(0);
        }
        add_machine(&stage, "vm");
        stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
        assert_eq!(interruptible(&stage), expected);
        assert_eq!(says(&stage, "vm", "Ready").1, "InstanceRunning");
    }
}

#[tokio::test(start_paused = true)]
async fn a_driver_that_fails_to_say_so_holds_no_machine_up_and_is_asked_again_at_the_next_look() {
    let (stage, _host) = stage();
    stage.cloud.tell_interruptions(1);
    add_spot_machine(&stage);
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    assert_eq!(says(&stage, "vm", "Ready"), ("True".to_owned(), "InstanceRunning".to_owned()));
    assert!(interruptible(&stage).is_null());
    let limit = Duration::from_secs(3 * 3_600);
    stage.until("it is known", limit, || interruptible(&stage) == true).await;
    let asked = stage.wire.records(|call| call.what == "is-interruptible");
    assert_eq!(asked.len(), 2, "{}", table(&asked));
    until_gone(&stage).await;
}
