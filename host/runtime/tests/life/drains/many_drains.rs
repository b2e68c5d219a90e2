//! Hundreds of drains at a time.

use memory_api::wire::Handling;

use super::workload::{budget, pod};
use super::*;

#[tokio::test(start_paused = true)]
async fn two_hundred_drains_cost_little_and_hold_up_nobody() {
    check(200).await;
}

#[tokio::test(start_paused = true)]
#[ignore = "nightly: a minute of processor time"]
async fn a_thousand_drains_cost_little_and_hold_up_nobody() {
    check(1_000).await;
}

async fn check(drains: usize) {
    let stage = Stage::set();
    let _host = stage.host("host");
    let names: Vec<String> = (0..drains).map(|number| format!("m{number:04}")).collect();
    for name in &names {
        stage.add_machine(name);
    }
    let are_running = || names.iter().all(|name| stage.phase(name) == "Running");
    stage.until("all run", 10 * MINUTE, are_running).await;
    let mut held = budget("tight", "held", 0, 1);
    held["spec"]["selector"]["matchLabels"] = json!({ "tier": "db" });
    put(&stage, "poddisruptionbudgets", &held);
    for name in &names {
        let mut db = pod(&format!("db-{name}"), name);
        db["metadata"]["labels"]["tier"] = json!("db");
        add(&stage, [db]);
    }
    tokio::time::sleep(SECOND).await;
    for name in &names {
        stage.api.delete("machines", &in_namespace(name)).unwrap();
    }
    let looks = || stage.wire.records(|call| call.what == "pods").len();
    stage.until("all are draining", MINUTE, || looks() >= drains).await;
    tokio::time::sleep(5 * SECOND).await;

    // Somebody else comes and goes meanwhile.
    let begun = stage.wire.elapsed();
    stage.add_running("other").await;
    stage.api.delete("machines", &in_namespace("other")).unwrap();
    stage.until_gone("other").await;
    assert!(stage.wire.elapsed() - begun < 5 * SECOND, "held up for {:?}", stage.wire.elapsed() - begun);
    assert_eq!(stage.api.count("machines"), drains, "the drains are still in flight");

    let from = stage.wire.len();
    tokio::time::sleep(20 * SECOND).await;
    let since = stage.wire.records_since(from, |call| call.verb != "WATCH");
    assert!(since.len() <= 5 * drains, "{} requests in 20 s, most of them looks", since.len());
    let writes = stage.wire.records_since(from, Call::is_write);
    assert!(writes.is_empty(), "written though nothing happened:\n{}", memory_api::wire::table(&writes));
}

#[tokio::test(start_paused = true)]
async fn a_crowd_at_a_slow_server_takes_turns_and_nobody_has_failed() {
    const CROWD: usize = 200;
    const PODS_EACH: usize = 10;
    let stage = Stage::set();
    let _host = stage.host("host");
    let names: Vec<String> = (0..CROWD).map(|number| format!("m{number:04}")).collect();
    for name in &names {
        stage.add_machine(name);
    }
    stage.until("all run", 10 * MINUTE, || names.iter().all(|name| stage.phase(name) == "Running")).await;
    for name in &names {
        add(&stage, (0..PODS_EACH).map(|number| pod(&format!("{name}-{number}"), name)));
    }
    tokio::time::sleep(15 * SECOND).await;
    let begun = stage.wire.len();
    // Of 2,000 evictions as many are on their way at a time as drains have room for.
    stage.wire.plan(
        |call: &Call| if call.what == "pods/eviction" { Handling::Delay(SECOND) } else { Handling::Pass },
    );
    for name in &names {
        stage.api.delete("machines", &in_namespace(name)).unwrap();
    }
    let asked = || stage.wire.records_since(begun, |call| call.what == "pods/eviction").len();
    stage.until("all are asked", MINUTE, || asked() >= CROWD * PODS_EACH).await;
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(asked(), CROWD * PODS_EACH, "each pod is asked once");
    let looks = stage.wire.records_since(begun, |call| call.what == "pods" && call.verb == "LIST").len();
    assert!(looks <= 8 * CROWD, "{looks} looks of {CROWD} drains");
    let writes = machine_writes(&stage, begun);
    assert!(writes <= 2 * CROWD, "{writes} writes of {CROWD} Machines");
    let failed = names.iter().filter(|name| stage.events(name).contains(&"DrainFailed".to_owned())).count();
    assert_eq!(failed, 0, "who waits for a turn has not failed");
}
