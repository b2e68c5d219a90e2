//! Finalizers and owners that somebody takes off.

use std::time::Duration;

use machinist_api::infrastructure::names::finalizers;
use serde_json::{Value, json};

use super::objects::{CLUSTERS, MACHINES, adopt, find, of_team, provided, says};

const LIMIT: Duration = Duration::from_secs(60);
/// No watch shows the Secret: it is read from time to time.
const UNTIL_READ: Duration = Duration::from_secs(700);

/// Without them a deletion would leave a VM, or credentials that a VM's deletion needs.
#[tokio::test(start_paused = true)]
async fn a_finalizer_that_somebody_takes_off_comes_back() {
    let (stage, _host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    for (plural, name, finalizer, limit) in [
        (MACHINES, "vm", finalizers::MACHINE, LIMIT),
        (CLUSTERS, "c", finalizers::CLUSTER, LIMIT),
        ("secrets", "account", finalizers::IDENTITY, UNTIL_READ),
    ] {
        let held = || stage.api.find(plural, &of_team(name)).unwrap()["metadata"]["finalizers"].clone();
        stage.until(plural, limit, || held() == json!([finalizer])).await;
        stage.api.edit(plural, &of_team(name), &json!({ "metadata": { "finalizers": null } })).unwrap();
        assert_eq!(held(), Value::Null, "{plural}");
        stage.until(finalizer, limit, || held() == json!([finalizer])).await;
    }
    assert_eq!(says(&stage, "vm", "Ready"), ("True".to_owned(), "InstanceRunning".to_owned()));
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("it is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
}

/// Core sets them again. Until then nothing happens to the VM, and the finalizer is back at once.
#[tokio::test(start_paused = true)]
async fn a_machine_without_owner_and_finalizer_keeps_its_vm_and_is_held_again() {
    let (stage, _host) = provided().await;
    tokio::time::sleep(LIMIT).await;
    let nothing = json!({ "metadata": { "finalizers": null, "ownerReferences": null } });
    stage.api.edit(MACHINES, &of_team("vm"), &nothing).unwrap();
    let held = || find(&stage, "vm").unwrap()["metadata"]["finalizers"] == json!([finalizers::MACHINE]);
    stage.until("it is held again", LIMIT, held).await;
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(says(&stage, "vm", "Ready"), ("True".to_owned(), "InstanceRunning".to_owned()));
    adopt(&stage, "vm");
    stage.assert_one_vm_each(1);
    stage.api.delete(MACHINES, &of_team("vm")).unwrap();
    stage.until("it is gone", LIMIT, || find(&stage, "vm").is_none()).await;
    assert_eq!(stage.cloud.vms(), 0);
}
