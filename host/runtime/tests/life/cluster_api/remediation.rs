//! Reboots of unhealthy machines, and the request to their owner when these do not help.

use std::time::Duration;

use memory_api::wire::table;
use serde_json::{Value, json};

use super::objects::{MACHINES, OWNERS, TEAM, add_orphan, condition, key, of_team, provided};
use crate::fixture::stage::{Stage, count_moments};

const REMEDIATIONS: &str = "machinistremediations";
const LIMIT: Duration = Duration::from_secs(60);

/// As a MachineHealthCheck does it: first the remediation, then its reason on the Machine.
fn add_remediation(stage: &Stage, strategy: &Value, problem: &str) {
    let owner = stage.api.find(OWNERS, &of_team("vm")).unwrap();
    let remediation = json!({
        "metadata": {
            "name": "vm", "namespace": TEAM,
            "ownerReferences": [{
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "vm",
                "uid": owner["metadata"]["uid"],
            }],
        },
        "spec": { "strategy": strategy },
    });
    stage.api.create(REMEDIATIONS, &remediation).unwrap();
    says_health(stage, "False", problem);
}

fn says_health(stage: &Stage, status: &str, reason: &str) {
    let conditions = json!([
        { "type": "Available", "status": "True", "reason": "Available" },
        { "type": "HealthCheckSucceeded", "status": status, "reason": reason },
    ]);
    stage
        .api
        .edit_status(OWNERS, &of_team("vm"), &json!({ "status": { "conditions": conditions } }))
        .unwrap();
}

fn remediation(stage: &Stage) -> Value {
    stage.api.find(REMEDIATIONS, &of_team("vm")).unwrap_or_default()
}

fn reason(stage: &Stage) -> String {
    condition(&remediation(stage), "Remediated").1
}

/// Whether the Machine's owner has to replace it.
fn is_asked(stage: &Stage) -> bool {
    let machine = stage.api.find(OWNERS, &of_team("vm")).unwrap();
    condition(&machine, "OwnerRemediated") == ("False".into(), "WaitingForRemediation".into())
}

#[tokio::test(start_paused = true)]
async fn a_vm_is_rebooted_once_and_a_machine_that_becomes_healthy_is_left_alone() {
    let (stage, _host) = provided().await;
    // The condition is still that of the healthy Machine when the host sees the remediation.
    says_health(&stage, "True", "HealthCheckSucceeded");
    add_remediation(&stage, &json!(null), "UnhealthyNode");
    stage.until("it is rebooted", LIMIT, || reason(&stage) == "Rebooted").await;
    assert_eq!(stage.cloud.rebooted().len(), 1);
    assert_eq!(remediation(&stage)["status"]["retryCount"], 1);
    tokio::time::sleep(Duration::from_secs(120)).await;
    says_health(&stage, "True", "HealthCheckSucceeded");
    stage.until("it has helped", LIMIT, || reason(&stage) == "Healthy").await;
    assert_eq!(condition(&remediation(&stage), "Remediated").0, "True");
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!((stage.cloud.rebooted().len(), is_asked(&stage)), (1, false));
    let events = stage.events("vm");
    assert!(!events.contains(&"Healthy".to_owned()), "it is no news before the first reboot: {events:?}");
}

#[tokio::test(start_paused = true)]
async fn reboots_that_do_not_help_end_with_a_request_to_the_owner() {
    let (stage, _host) = provided().await;
    let strategy = json!({ "type": "Reboot", "retryLimit": 2, "timeoutSeconds": 100 });
    add_remediation(&stage, &strategy, "UnhealthyNode");
    stage.until("it is rebooted", LIMIT, || stage.cloud.rebooted().len() == 1).await;
    tokio::time::sleep(Duration::from_secs(90)).await;
    assert_eq!(stage.cloud.rebooted().len(), 1, "the first has its time");
    stage.until("it is rebooted again", LIMIT, || stage.cloud.rebooted().len() == 2).await;
    assert!(!is_asked(&stage));
    stage.until("its owner is asked", Duration::from_secs(160), || is_asked(&stage)).await;
    stage.until("it says so", LIMIT, || reason(&stage) == "OwnerReplaces").await;
    let machine = stage.api.find(OWNERS, &of_team("vm")).unwrap();
    assert_eq!(condition(&machine, "Available").0, "True", "other conditions stay");
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(stage.cloud.rebooted().len(), 2);
    let asked = stage.wire.records(|call| call.is_write() && call.what.contains("machines.cluster.x-k8s.io"));
    assert!(asked.len() <= 1, "it is asked once: {}", table(&asked));
}

#[tokio::test(start_paused = true)]
async fn a_deleted_node_is_not_rebooted_and_a_pause_holds_everything() {
    let (stage, _host) = provided().await;
    let paused = |is: bool| json!({ "spec": { "paused": is } });
    stage.api.edit("clusters.cluster.x-k8s.io", &of_team("c"), &paused(true)).unwrap();
    tokio::time::sleep(LIMIT).await;
    add_remediation(&stage, &json!({ "retryLimit": 3 }), "NodeDeleted");
    stage.until("it is paused", LIMIT, || reason(&stage) == "Paused").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(!is_asked(&stage));
    stage.api.edit("clusters.cluster.x-k8s.io", &of_team("c"), &paused(false)).unwrap();
    stage.until("its owner is asked", LIMIT, || is_asked(&stage)).await;
    assert_eq!(stage.cloud.rebooted(), Vec::<String>::new());
}

/// Its credentials are not read while it is paused: a call without them would look like a refusal.
#[tokio::test(start_paused = true)]
async fn a_paused_machinist_machine_is_rebooted_once_it_goes_on() {
    let (stage, _host) = provided().await;
    let paused =
        |value: Value| json!({ "metadata": { "annotations": { "cluster.x-k8s.io/paused": value } } });
    stage.api.edit(MACHINES, &of_team("vm"), &paused(json!(""))).unwrap();
    tokio::time::sleep(LIMIT).await;
    add_remediation(&stage, &json!(null), "UnhealthyNode");
    stage.until("it is paused", LIMIT, || reason(&stage) == "Paused").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((stage.cloud.rebooted().len(), is_asked(&stage)), (0, false));
    stage.api.edit(MACHINES, &of_team("vm"), &paused(Value::Null)).unwrap();
    stage.until("it is rebooted", LIMIT, || reason(&stage) == "Rebooted").await;
    assert_eq!(stage.cloud.rebooted().len(), 1);
}

/// Two objects with one key: it is not certain whose VM a reboot would hit.
#[tokio::test(start_paused = true)]
async fn a_vm_that_two_objects_claim_is_not_rebooted() {
    let (stage, _host) = provided().await;
    add_orphan(&stage, "copy");
    let key = json!({ "metadata": { "annotations": { "machinist.dev/machine-key": key(&stage, "vm") } } });
    stage.api.edit(MACHINES, &of_team("copy"), &key).unwrap();
    tokio::time::sleep(LIMIT).await;
    add_remediation(&stage, &json!(null), "UnhealthyNode");
    stage.until("it says so", LIMIT, || reason(&stage) == "VmUnclear").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((stage.cloud.rebooted().len(), is_asked(&stage)), (0, false));
    stage.api.delete(MACHINES, &of_team("copy")).unwrap();
    let limit = Duration::from_secs(900);
    stage.until("it is rebooted", limit, || stage.cloud.rebooted().len() == 1).await;
}

/// Lets the host die at the `number`th call of a remediation. False when that was over before.
async fn survives(number: usize, is_carried_out: bool) -> bool {
    let (stage, host) = provided().await;
    stage.crash_at(number, is_carried_out);
    add_remediation(&stage, &json!({ "retryLimit": 1, "timeoutSeconds": 60 }), "UnhealthyNode");
    let ends = async {
        stage.until("its owner is asked", Duration::from_secs(300), || is_asked(&stage)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    tokio::select! {
        biased;
        () = stage.wire.crashed() => {}
        () = ends => return false,
    }
    drop(host);
    stage.wire.heal();
    let _next = stage.host_without_target("next");
    stage.until("the next host asks its owner", Duration::from_secs(300), || is_asked(&stage)).await;
    let rebooted = stage.cloud.rebooted().len();
    assert!(rebooted <= 1, "{rebooted} reboots: {}", stage.wire.trace());
    true
}

/// The reboot is noted before it is requested: a host that is killed in between counts it.
#[tokio::test(start_paused = true)]
async fn hosts_that_are_killed_reboot_no_more_often_than_the_strategy_says() {
    for is_carried_out in [false, true] {
        let moments = count_moments(async |number| survives(number, is_carried_out).await).await;
        assert!(moments >= 3, "only {moments} moments");
    }
}
