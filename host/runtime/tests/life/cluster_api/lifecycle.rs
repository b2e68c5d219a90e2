//! From creation to deletion, without any failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::SignedDuration;
use machinist_api::infrastructure::names::{annotations, finalizers};
use machinist_core::driver::error::{Code, DriverError};
use memory_api::wire::{Call, Handling, table};
use serde_json::{Value, json};

use super::objects::{
    CLUSTERS, MACHINES, OWNER_CLUSTERS, OWNERS, TEAM, add_cluster, add_machine, empty, find, is_provisioned,
    key, of_team, provided, says, served,
};
use crate::fixture::cloud::Habits;
use crate::fixture::stage::{Stage, in_namespace, machine};

const LIMIT: Duration = Duration::from_secs(60);

fn of_machine(call: &Call) -> bool {
    call.is_request() && call.name.starts_with("vm")
}

#[tokio::test(start_paused = true)]
async fn a_machine_gets_one_vm_with_three_writes_and_leaves_nothing() {
    let (stage, _host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    let requests = stage.wire.records(of_machine);
    let writes = requests.iter().filter(|record| record.call.is_write()).count();
    assert_eq!((writes, requests.len()), (3, 4), "{}", table(&requests));
    let calls = stage.wire.records(|call| call.verb == "CALL");
    assert_eq!(calls.len(), 1, "one create and no look before it:\n{}", table(&calls));

    let machine = find(&stage, "vm").unwrap();
    assert_eq!(machine["spec"]["providerID"], "sim:///vm-1");
    assert_eq!(machine["metadata"]["finalizers"], json!([finalizers::MACHINE]));
    assert_eq!(machine["metadata"]["annotations"][annotations::MACHINE_KEY], machine["metadata"]["uid"]);
    assert_eq!(machine["status"]["failureDomain"], "zone-a");
    assert_eq!(says(&stage, "vm", "Ready"), ("True".to_owned(), "InstanceRunning".to_owned()));
    assert_eq!(says(&stage, "vm", "Paused"), ("False".to_owned(), "NotPaused".to_owned()));
    for condition in machine["status"]["conditions"].as_array().unwrap() {
        assert_eq!(condition["observedGeneration"], machine["metadata"]["generation"], "{condition}");
    }
    assert_eq!(stage.events("vm"), ["VmRecorded"]);

    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("it is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
    stage.assert_one_vm_each(1);
}

/// The create, the credentials and the user data are the driver's; nothing of them is guessed.
#[tokio::test(start_paused = true)]
async fn the_driver_gets_the_bootstrap_data_as_it_is_and_the_credentials_of_the_cluster() {
    let (stage, _host) = provided().await;
    let secrets = stage.cloud.secrets();
    let (call, brought) = secrets.first().unwrap();
    assert_eq!(*call, "create");
    assert_eq!(brought.user_data.as_deref(), Some(&b"#cloud-config"[..]));
    assert_eq!(brought.values.keys().collect::<Vec<_>>(), ["token"]);
}

/// Nothing of a deletion reads what may be gone by then.
#[tokio::test(start_paused = true)]
async fn a_machine_is_deleted_although_its_owner_its_cluster_and_its_data_are_gone() {
    let (stage, _host) = provided().await;
    let unheld = json!({ "metadata": { "finalizers": null } });
    stage.api.edit(CLUSTERS, &of_team("c"), &unheld).unwrap();
    for (plural, name) in [(OWNERS, "vm"), (OWNER_CLUSTERS, "c"), (CLUSTERS, "c"), ("secrets", "vm-data")] {
        stage.api.delete(plural, &of_team(name)).unwrap();
    }
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("it is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
    let secrets = stage.cloud.secrets();
    let (_, brought) = secrets.iter().rfind(|(call, _)| *call == "delete").unwrap();
    assert_eq!(brought.values.keys().collect::<Vec<_>>(), ["token"], "it still has its credentials");
}

#[tokio::test(start_paused = true)]
async fn a_vm_that_others_removed_is_reported_and_never_made_again() {
    let (stage, _host) = provided().await;
    stage.cloud.lose("vm");
    let is_reported = || says(&stage, "vm", "Ready") == ("False".to_owned(), "InstanceDeleted".to_owned());
    stage.until("the loss is seen", Duration::from_secs(3 * 3_600), is_reported).await;
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
    assert!(is_reported() && is_provisioned(&stage, "vm"));
    stage.assert_one_vm_each(1);
}

/// An outage of the cloud or of the driver replaces no machine, and is not said over and over.
#[tokio::test(start_paused = true)]
async fn in_an_outage_ready_is_unknown_until_the_vm_is_seen_again() {
    let (stage, _host) = provided().await;
    let away = Arc::new(AtomicBool::new(true));
    let cloud = away.clone();
    stage.wire.plan(move |call| {
        let is_away = cloud.load(Ordering::Relaxed) && call.calls("get-status");
        let error = DriverError::new(Code::Unavailable, "no answer");
        if is_away { Handling::Answer(error.into()) } else { Handling::Pass }
    });
    let ready = |status: &str, reason: &str| says(&stage, "vm", "Ready") == (status.into(), reason.into());
    let hour_and_more = Duration::from_secs(4_200);
    stage.until("it is said", hour_and_more, || ready("Unknown", "InstanceStateUnknown")).await;
    let begun = stage.wire.len();
    tokio::time::sleep(hour_and_more).await;
    assert!(ready("Unknown", "InstanceStateUnknown") && is_provisioned(&stage, "vm"));
    let writes = stage.wire.records_since(begun, |call| of_machine(call) && call.is_write());
    assert_eq!(writes.len(), 0, "{}", table(&writes));
    away.store(false, Ordering::Relaxed);
    stage.until("it is back", Duration::from_secs(900), || ready("True", "InstanceRunning")).await;

    stage.cloud.begin_loading("sim");
    stage.until("no driver", hour_and_more, || ready("Unknown", "DriverUnavailable")).await;
    stage.cloud.serve("sim");
    stage.until("a driver", Duration::from_secs(900), || ready("True", "InstanceRunning")).await;
    stage.assert_one_vm_each(1);
}

#[tokio::test(start_paused = true)]
async fn a_cloud_with_a_second_step_and_one_without_keys_serve_both() {
    let forgetful = Habits { keeps_keys: false, reads_lag: Duration::from_secs(8), initializes: false };
    let late = Habits { keeps_keys: true, reads_lag: Duration::from_secs(8), initializes: true };
    for habits in [forgetful, late] {
        let stage = empty(habits);
        let _host = stage.host_without_target("host");
        add_cluster(&stage);
        add_machine(&stage, "vm");
        stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
        stage.api.delete(MACHINES, &of_team("vm")).unwrap();
        stage.until("it is gone", Duration::from_secs(600), || find(&stage, "vm").is_none()).await;
        assert_eq!(stage.cloud.vms(), 0, "{habits:?}");
        stage.assert_one_vm_each(1);
    }
}

/// The time of the deletion is by the server's clock, which is behind here by less than is noted, and somebody sets the
/// host's clock meanwhile. The VM counts as gone only once reads must show it.
#[tokio::test(start_paused = true)]
async fn the_wait_for_reads_in_a_deletion_is_counted_by_the_clock_of_the_host() {
    let lag = Duration::from_secs(8);
    let stage = empty(Habits { keeps_keys: true, reads_lag: lag, initializes: false });
    stage.shift_hosts(SignedDuration::from_secs(4));
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    add_machine(&stage, "vm");
    stage.until("the VM is provided", LIMIT, || is_provisioned(&stage, "vm")).await;
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    let asked = tokio::time::Instant::now();
    tokio::time::sleep(Duration::from_secs(2)).await;
    stage.shift_hosts(SignedDuration::from_secs(60));
    stage.until("it is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    assert!(asked.elapsed() >= lag, "{:?}", asked.elapsed());
    assert_eq!(stage.cloud.vms(), 0);
}

/// The create began before the deletion, and made its VM after it.
#[tokio::test(start_paused = true)]
async fn reads_must_show_a_vm_that_was_made_during_the_deletion() {
    let (lag, create) = (Duration::from_secs(8), Duration::from_secs(20));
    let stage = empty(Habits { keeps_keys: true, reads_lag: lag, initializes: false });
    stage.wire.plan(move |call| if call.calls("create") { Handling::Delay(create) } else { Handling::Pass });
    let _host = stage.host_without_target("host");
    add_cluster(&stage);
    add_machine(&stage, "vm");
    let began = tokio::time::Instant::now();
    tokio::time::sleep(Duration::from_secs(2)).await;
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("it is gone", 2 * LIMIT, || find(&stage, "vm").is_none()).await;
    assert!(began.elapsed() >= create + lag, "{:?}", began.elapsed());
    assert_eq!(stage.cloud.vms(), 0);
    stage.assert_one_vm_each(1);
}

/// Both worlds in one process, in one namespace, with one name.
#[tokio::test(start_paused = true)]
async fn a_machine_of_mcm_and_one_of_cluster_api_of_the_same_name_do_not_meet() {
    let stage = served(Stage::set());
    *stage.namespace.lock().unwrap() = TEAM;
    let of_class = |mut object: Value| {
        object["metadata"]["namespace"] = json!(TEAM);
        object
    };
    stage.api.create("machineclasses", &of_class(crate::fixture::stage::class())).unwrap();
    let mut account = of_class(crate::fixture::stage::secret());
    account["metadata"]["name"] = json!("mcm-account");
    stage.api.create("secrets", &account).unwrap();
    let reference = json!({ "secretRef": { "name": "mcm-account", "namespace": TEAM } });
    stage.api.edit("machineclasses", &of_team("small"), &reference).unwrap();
    let _host = stage.host("host");
    add_cluster(&stage);
    add_machine(&stage, "vm");
    stage.api.create("machines", &of_class(machine("vm"))).unwrap();
    let phase = || {
        let machine = stage.api.find("machines", &of_team("vm")).unwrap_or_default();
        machine["status"]["currentStatus"]["phase"].as_str().unwrap_or_default().to_owned()
    };
    let limit = Duration::from_secs(600);
    stage.until("both have a VM", limit, || is_provisioned(&stage, "vm") && phase() == "Running").await;
    assert_eq!(stage.cloud.vms(), 2);
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("one is gone", limit, || find(&stage, "vm").is_none()).await;
    tokio::time::sleep(limit).await;
    assert_eq!((stage.cloud.vms(), phase().as_str()), (1, "Running"));
    assert!(stage.api.find("machines", &in_namespace("vm")).is_none());
    assert!(!key_is_shared(&stage));
}

/// The key is the object's uid, and that of MCM's Machine another.
fn key_is_shared(stage: &Stage) -> bool {
    let machine = stage.api.find("machines", &of_team("vm")).unwrap();
    find(stage, "vm").is_some() && machine["metadata"]["uid"] == key(stage, "vm")
}
