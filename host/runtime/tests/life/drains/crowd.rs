//! A thousand drains at a time.

use super::workload::{budget, pod};
use super::*;

const DRAINS: usize = 1_000;

#[tokio::test(start_paused = true)]
async fn a_thousand_drains_cost_little_and_hold_up_nobody() {
    let stage = Stage::set();
    let _host = stage.host("host");
    let names: Vec<String> = (0..DRAINS).map(|number| format!("m{number:04}")).collect();
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
    stage.until("all are draining", MINUTE, || looks() >= DRAINS).await;
    tokio::time::sleep(5 * SECOND).await;

    // Somebody else comes and goes meanwhile.
    let begun = stage.wire.elapsed();
    stage.add_machine("other");
    stage.until_running("other").await;
    stage.api.delete("machines", &in_namespace("other")).unwrap();
    stage.until_gone("other").await;
    assert!(stage.wire.elapsed() - begun < 5 * SECOND, "held up for {:?}", stage.wire.elapsed() - begun);
    assert_eq!(stage.api.count("machines"), DRAINS, "the drains are still in flight");

    let from = stage.wire.len();
    tokio::time::sleep(20 * SECOND).await;
    let since = stage.wire.records_since(from, |call| call.verb != "WATCH");
    assert!(since.len() <= 5 * DRAINS, "{} requests in 20 s, most of them looks", since.len());
    let writes = stage.wire.records_since(from, Call::is_write);
    assert!(writes.is_empty(), "written though nothing happened:\n{}", memory_api::wire::table(&writes));
}
