//! The autoscaler's requests: fewer Machines, and which.

use super::*;

const TRIGGER: &str = "node.machine.sapcloud.io/trigger-deletion-by-mcm";
const LOWERED: &str = "machine.sapcloud.io/last-deployment-replica-change-by-scaler-time";

/// One write, as the autoscaler does it.
fn remove(stage: &Stage, replicas: u32, list: &str) {
    let now = stage.clock.now().to_string();
    edit(
        stage,
        &json!({
            "metadata": { "annotations": { TRIGGER: list, LOWERED: now } },
            "spec": { "replicas": replicas },
        }),
    );
}

fn trigger(stage: &Stage) -> Value {
    deployment(stage)["metadata"]["annotations"][TRIGGER].clone()
}

fn names(stage: &Stage) -> Vec<String> {
    stage.api.all("machines").iter().map(name_of).collect()
}

#[tokio::test(start_paused = true)]
async fn the_machine_that_the_autoscaler_names_goes_and_no_other() {
    let stage = stage();
    let _host = running(&stage, &pool(4)).await;
    let before = names(&stage);
    let chosen = [before[3].clone(), before[1].clone()];
    let at = stage.clock.now().to_string();
    remove(&stage, 2, &format!("{}~{at},{}~{at}", chosen[0], chosen[1]));
    until_complete(&stage).await;
    let expected: Vec<String> = before.into_iter().filter(|name| !chosen.contains(name)).collect();
    assert_eq!(names(&stage), expected);
    stage.until("the list is empty", LONG, || trigger(&stage).is_null()).await;
    let set = &stage.api.all("machinesets")[0];
    let lowered = &deployment(&stage)["metadata"]["annotations"][LOWERED];
    assert_eq!(&set["metadata"]["annotations"][LOWERED], lowered);
    assert_quiet(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_is_marked_before_its_set_is_made_smaller() {
    let stage = stage();
    let _host = running(&stage, &pool(3)).await;
    let chosen = names(&stage)[2].clone();
    let begun = stage.wire.len();
    remove(&stage, 2, &chosen);
    until_complete(&stage).await;
    assert!(!names(&stage).contains(&chosen));
    let writes = stage.wire.records_since(begun, Call::is_write);
    let first =
        |what: &str| writes.iter().position(|record| record.call.what == what && record.call.verb == "PATCH");
    assert!(first("machines") < first("machinesets"), "{}", stage.wire.trace());
}

#[tokio::test(start_paused = true)]
async fn the_autoscalers_machine_goes_also_in_mid_rollout() {
    let stage = slow_stage();
    let mut deployment = pool(4);
    deployment["spec"]["strategy"] = rolling(1, 1);
    let _host = running(&stage, &deployment).await;
    roll_to(&stage, "large");
    stage
        .until("two are rolled", LONG, || {
            machines_of(&stage, "large").iter().filter(|machine| is_available(machine)).count() == 2
        })
        .await;
    let chosen = name_of(machines_of(&stage, "large").iter().find(|machine| is_available(machine)).unwrap());
    let at = stage.clock.now().to_string();
    remove(&stage, 3, &format!("{chosen}~{at}"));
    until_complete(&stage).await;
    assert!(!names(&stage).contains(&chosen));
    assert_eq!(wanted(&stage), [("large".into(), 3), ("small".into(), 0)].into());
    assert_eq!(stage.api.count("machines"), 3);
}

#[tokio::test(start_paused = true)]
async fn what_names_nobody_is_dropped_after_a_while_and_reported() {
    let stage = stage();
    let _host = running(&stage, &pool(2)).await;
    let at = stage.clock.now().to_string();
    remove(&stage, 2, &format!("nobody~{at},other~soon"));
    tokio::time::sleep(30 * SECOND).await;
    assert_eq!(trigger(&stage), format!("nobody~{at}"));
    tokio::time::sleep(MINUTE).await;
    assert!(trigger(&stage).is_null());
    assert_eq!(stage.api.count("machines"), 2);
    let notes = stage.event_notes("pool").join("\n");
    assert!(
        notes.contains("\"other~soon\" has no time") && notes.contains("\"nobody\" is no Machine"),
        "{notes}"
    );
}
