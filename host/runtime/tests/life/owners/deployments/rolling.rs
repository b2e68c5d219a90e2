//! Rollouts: the bounds hold at every moment.

use super::*;

/// Rolls five Machines under these bounds, and watches.
async fn rolls_within(strategy: Value, most: usize, fewest: usize) {
    let stage = slow_stage();
    let mut deployment = pool(5);
    deployment["spec"]["strategy"] = strategy;
    let _host = running(&stage, &deployment).await;
    let watcher = Watcher::of(&stage);
    roll_to(&stage, "large");
    until_complete(&stage).await;
    watcher.assert_within(most, fewest);
    assert_eq!(wanted(&stage), [("large".into(), 5), ("small".into(), 0)].into());
    assert!(machines_of(&stage, "small").is_empty());
    assert_tidy(&stage, 5);
    assert_eq!(condition(&stage, "Progressing"), ("True".into(), "NewMachineSetAvailable".into()));
    assert_quiet(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_with_a_surge_keeps_all_machines_available() {
    rolls_within(rolling(2, 0), 7, 5).await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_without_a_surge_has_never_more_machines_than_wanted() {
    rolls_within(rolling(0, 2), 5, 3).await;
}

#[tokio::test(start_paused = true)]
async fn shares_are_rounded_so_that_neither_bound_is_passed() {
    rolls_within(rolling("25%", "25%"), 7, 4).await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_with_neither_surge_nor_absence_takes_one_at_a_time() {
    rolls_within(rolling(0, 0), 5, 4).await;
}

#[tokio::test(start_paused = true)]
async fn shares_above_a_hundred_replace_all_at_once_and_are_reported_where_they_are_invalid() {
    let stage = slow_stage();
    let mut deployment = pool(3);
    deployment["spec"]["strategy"] = rolling("150%", "150%");
    let _host = running(&stage, &deployment).await;
    assert!(reported(&stage).1.contains("maxUnavailable 150% counts as 100%"), "{:?}", reported(&stage));
    let watcher = Watcher::of(&stage);
    roll_to(&stage, "large");
    until_complete(&stage).await;
    watcher.assert_within(8, 0);
    assert_tidy(&stage, 3);
}

#[tokio::test(start_paused = true)]
async fn recreate_makes_the_first_one_when_the_last_old_one_is_gone() {
    let stage = slow_stage();
    let mut deployment = pool(3);
    deployment["spec"]["strategy"] = json!({ "type": "Recreate" });
    let _host = running(&stage, &deployment).await;
    let watcher = Watcher::of(&stage);
    let mixed = Arc::new(Mutex::new(false));
    roll_to(&stage, "large");
    let both = || !machines_of(&stage, "small").is_empty() && !machines_of(&stage, "large").is_empty();
    stage
        .until("all are gone", LONG, || {
            *mixed.lock().unwrap() |= both();
            machines_of(&stage, "small").is_empty()
        })
        .await;
    until_complete(&stage).await;
    assert!(!*mixed.lock().unwrap());
    watcher.assert_within(3, 0);
    assert_tidy(&stage, 3);
}

#[tokio::test(start_paused = true)]
async fn another_template_in_mid_rollout_is_followed_within_the_bounds() {
    let stage = slow_stage();
    let mut huge = class();
    huge["metadata"]["name"] = json!("huge");
    stage.api.create("machineclasses", &huge).unwrap();
    let mut deployment = pool(4);
    deployment["spec"]["strategy"] = rolling(1, 1);
    let _host = running(&stage, &deployment).await;
    let watcher = Watcher::of(&stage);
    roll_to(&stage, "large");
    stage.until("half is rolled", LONG, || machines_of(&stage, "large").len() == 2).await;
    roll_to(&stage, "huge");
    until_complete(&stage).await;
    watcher.assert_within(5, 3);
    assert_eq!(wanted(&stage), [("huge".into(), 4), ("large".into(), 0), ("small".into(), 0)].into());
    assert_tidy(&stage, 4);
}

#[tokio::test(start_paused = true)]
async fn a_rollout_is_scaled_up_and_down_while_it_goes_on() {
    let stage = slow_stage();
    let mut deployment = pool(4);
    deployment["spec"]["strategy"] = rolling(1, 1);
    let _host = running(&stage, &deployment).await;
    let watcher = Watcher::of(&stage);
    roll_to(&stage, "large");
    stage.until("it is begun", LONG, || machines_of(&stage, "large").len() == 2).await;
    scale(&stage, 7);
    stage.until("there are more", LONG, || stage.api.count("machines") >= 7).await;
    scale(&stage, 3);
    until_complete(&stage).await;
    watcher.assert_within(8, 2);
    assert_eq!(wanted(&stage), [("large".into(), 3), ("small".into(), 0)].into());
    assert_tidy(&stage, 3);
}

#[tokio::test(start_paused = true)]
async fn an_annotation_of_the_template_rolls_without_another_class() {
    let stage = stage();
    let _host = running(&stage, &pool(2)).await;
    let before: Vec<String> = stage.api.all("machines").iter().map(name_of).collect();
    let restarted = json!({ "annotations": { "machinist.dev/restarted-at": "2026-01-01T01:00:00Z" } });
    edit(&stage, &json!({ "spec": { "template": { "metadata": restarted } } }));
    until_complete(&stage).await;
    let after: Vec<String> = stage.api.all("machines").iter().map(name_of).collect();
    assert!(before.iter().all(|name| !after.contains(name)), "{before:?} {after:?}");
    assert_tidy(&stage, 2);
}

#[tokio::test(start_paused = true)]
async fn a_paused_deployment_rolls_nothing_and_is_scaled_all_the_same() {
    let stage = stage();
    let _host = running(&stage, &pool(2)).await;
    edit(&stage, &json!({ "spec": { "paused": true } }));
    roll_to(&stage, "large");
    until_reported(&stage, "Paused").await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(stage.api.count("machinesets"), 1);
    assert_eq!(condition(&stage, "Progressing"), ("Unknown".into(), "DeploymentPaused".into()));
    scale(&stage, 3);
    stage.until("it is scaled", LONG, || machines_of(&stage, "small").len() == 3).await;
    edit(&stage, &json!({ "spec": { "paused": false } }));
    until_complete(&stage).await;
    assert_eq!(wanted(&stage), [("large".into(), 3), ("small".into(), 0)].into());
}

#[tokio::test(start_paused = true)]
async fn a_rollout_is_paused_where_it_is_and_goes_on_later() {
    let stage = slow_stage();
    let _host = running(&stage, &pool(4)).await;
    let watcher = Watcher::of(&stage);
    roll_to(&stage, "large");
    stage.until("it is begun", LONG, || machines_of(&stage, "large").len() == 2).await;
    edit(&stage, &json!({ "spec": { "paused": true } }));
    until_reported(&stage, "Paused").await;
    tokio::time::sleep(MINUTE).await;
    let held = wanted(&stage);
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(wanted(&stage), held);
    assert!(held["small"] > 0, "{held:?}");
    edit(&stage, &json!({ "spec": { "paused": false } }));
    until_complete(&stage).await;
    watcher.assert_within(5, 4);
    assert_tidy(&stage, 4);
}

#[tokio::test(start_paused = true)]
async fn a_rollout_waits_for_its_window_and_says_when_that_opens() {
    let stage = stage();
    let mut deployment = pool(2);
    // The test begins at midnight, on a Thursday.
    let windows = json!({ "machinist.dev/maintenance-windows": "Thu 02:00-04:00 UTC" });
    deployment["metadata"]["annotations"] = windows;
    let _host = running(&stage, &deployment).await;
    roll_to(&stage, "large");
    until_reported(&stage, "WaitingForWindow").await;
    assert!(reported(&stage).1.contains("opens at 2026-01-01T02:00:00Z"), "{:?}", reported(&stage));
    assert_eq!(condition(&stage, "Progressing"), ("Unknown".into(), "DeploymentPaused".into()));
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!(stage.api.count("machinesets"), 1);
    tokio::time::sleep(65 * MINUTE).await;
    assert_eq!(wanted(&stage), [("large".into(), 2), ("small".into(), 0)].into());
    assert!(
        set_of(&stage, "large")["metadata"]["annotations"]["machinist.dev/maintenance-windows"].is_null()
    );
}

#[tokio::test(start_paused = true)]
async fn a_rollout_that_gets_nowhere_is_reported_after_its_deadline_and_ends_when_it_is_fixed() {
    let stage = stage();
    let mut deployment = pool(2);
    deployment["spec"]["progressDeadlineSeconds"] = json!(60);
    let _host = running(&stage, &deployment).await;
    roll_to(&stage, "missing");
    until_reported(&stage, "ProgressDeadlineExceeded").await;
    assert_eq!(condition(&stage, "Progressing"), ("False".into(), "ProgressDeadlineExceeded".into()));
    assert!(stage.events("pool").contains(&"ProgressDeadlineExceeded".to_owned()));
    let (_, message) = reported(&stage);
    assert!(message.contains("spec.rollbackTo") && message.contains("60 s"), "{message}");
    roll_to(&stage, "large");
    until_complete(&stage).await;
    assert_eq!(condition(&stage, "Progressing"), ("True".into(), "NewMachineSetAvailable".into()));
    assert_tidy(&stage, 2);
}

#[tokio::test(start_paused = true)]
async fn a_rolled_machine_costs_few_calls_of_the_cloud_and_few_events() {
    let keyless = crate::fixture::cloud::Habits {
        keeps_keys: false,
        reads_lag: 10 * SECOND,
        ..crate::fixture::cloud::Habits::default()
    };
    let stage = Stage::with(keyless, KubeletHabits::default());
    stage.add_class();
    let stage = with_large(stage);
    let _host = running(&stage, &pool(10)).await;
    tokio::time::sleep(2 * MINUTE).await;
    let (begun, reported) = (stage.wire.len(), stage.api.all("events").len());
    roll_to(&stage, "large");
    until_complete(&stage).await;
    assert_tidy(&stage, 10);
    let calls = stage.wire.records_since(begun, |call| call.verb == "CALL");
    // A create, an order and its proof; the driver looks once more before a create without keys.
    assert!(calls.len() <= 4 * 10, "{} calls", calls.len());
    let events = stage.api.all("events");
    let reasons: BTreeMap<String, usize> =
        events[reported..].iter().fold(BTreeMap::new(), |mut all, event| {
            *all.entry(event["reason"].to_string()).or_default() += 1;
            all
        });
    let about_machines =
        events[reported..].iter().filter(|event| event["regarding"]["kind"] == "Machine").count();
    assert!(about_machines <= 4 * 10, "{reasons:?}");
    // A step of the rollout is one Machine up and one down: two of the deployment and two of its sets, as with
    // machine-controller-manager. A larger surge takes fewer steps.
    assert!(events.len() - reported - about_machines <= 4 * 10 + 4, "{reasons:?}");
}
