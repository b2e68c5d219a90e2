//! Machines that are gone and that the caches still show.

use std::time::Duration;

use serde_json::json;

use super::{names, scale, stage, until_stable};
use crate::fixture::stage::{Stage, in_namespace};
use memory_api::wire::{Call, Fate};

/// Nobody hears of changes of Machines any more.
fn silence(stage: &Stage) {
    stage.wire.plan(|call: &Call| {
        let hears = call.what == "machines" && matches!(call.verb, "WATCH" | "LIST");
        if hears { Fate::Hang } else { Fate::Pass }
    });
    stage.api.drop_watches("host", Some("machines"));
}

fn take_away(stage: &Stage) {
    for name in names(stage) {
        let path = in_namespace(&name);
        stage.api.edit("machines", &path, &json!({ "metadata": { "finalizers": null } })).unwrap();
        stage.api.delete("machines", &path).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn no_deletion_is_repeated_while_the_caches_are_behind() {
    let stage = stage(3);
    let _host = stage.host("host");
    until_stable(&stage, 3).await;
    silence(&stage);
    take_away(&stage);
    scale(&stage, 0);
    tokio::time::sleep(Duration::from_secs(20)).await;
    let deletions = stage.wire.records(|call| call.verb == "DELETE" && call.what == "machines");
    assert_eq!(deletions.len(), 3, "{}", memory_api::wire::table(&deletions));
    assert!(!stage.events("pool").contains(&"SuccessfulDelete".to_owned()), "nothing was deleted");
    stage.wire.heal();
    stage.api.drop_watches("host", Some("machines"));
    until_stable(&stage, 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_deleted_does_not_ask_again_for_machines_that_are_gone() {
    let stage = stage(3);
    let _host = stage.host("host");
    until_stable(&stage, 3).await;
    silence(&stage);
    take_away(&stage);
    stage.api.delete("machinesets", &in_namespace("pool")).unwrap();
    stage.until("it is gone", Duration::from_secs(60), || super::look(&stage, "pool").is_none()).await;
    let deletions = stage.wire.records(|call| call.verb == "DELETE" && call.what == "machines");
    assert_eq!(deletions.len(), 3, "{}", memory_api::wire::table(&deletions));
}

#[tokio::test(start_paused = true)]
async fn machines_that_are_gone_are_replaced_without_waiting_for_the_caches() {
    let stage = stage(2);
    let _host = stage.host("host");
    until_stable(&stage, 2).await;
    scale(&stage, 1);
    until_stable(&stage, 1).await;
    take_away(&stage);
    until_stable(&stage, 1).await;
    assert_eq!(names(&stage).len(), 1);
}
