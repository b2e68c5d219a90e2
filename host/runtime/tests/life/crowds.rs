//! Many Machines at a time.

use std::time::Duration;

use crate::stage::{Stage, in_namespace};
use memory_api::wire::Call;

#[tokio::test(start_paused = true)]
async fn two_hundred_machines_at_once_get_one_vm_each_and_go_again() {
    let stage = Stage::set();
    let _host = stage.host("host");
    let names: Vec<String> = (0..200).map(|number| format!("m{number:03}")).collect();
    let begun = stage.wire.elapsed();
    for name in &names {
        stage.add_machine(name);
    }
    let are_running = || names.iter().all(|name| stage.phase(name) == "Running");
    stage.until("all are Running", Duration::from_secs(60), are_running).await;
    // The cloud and the boot take 520 ms; nothing waits in line behind others.
    let took = stage.wire.elapsed() - begun;
    assert!(took < Duration::from_millis(800), "{took:?}");
    stage.assert_one_vm_each(200);
    let writes = stage.wire.records(Call::is_write).len();
    assert!(writes <= 200 * 7 + 2, "{writes} writes for 200 Machines, a class and a Secret");
    let creates = stage.wire.records(|call| call.verb == "CALL");
    assert_eq!(creates.len(), 200, "one call of the driver each");

    let begun = stage.wire.elapsed();
    for name in &names {
        stage.api.delete("machines", &in_namespace(name)).unwrap();
    }
    let are_gone = || stage.api.all("machines").is_empty();
    stage.until("all are gone", Duration::from_secs(60), are_gone).await;
    let took = stage.wire.elapsed() - begun;
    assert!(took < Duration::from_secs(3), "{took:?}");
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn a_host_that_dies_among_two_hundred_creates_leaves_one_vm_each() {
    let stage = Stage::set();
    let host = stage.host("host");
    for number in 0..200 {
        stage.add_machine(&format!("m{number}"));
    }
    tokio::time::sleep(Duration::from_millis(12)).await;
    drop(host);
    assert!(stage.cloud.made().len() > 50, "the crash is in the middle of the creates");
    let _next = stage.host("next");
    let are_running = || (0..200).all(|number| stage.phase(&format!("m{number}")) == "Running");
    stage.until("all are Running", Duration::from_secs(60), are_running).await;
    stage.assert_one_vm_each(200);
    assert!(stage.tokens().is_empty());
}
