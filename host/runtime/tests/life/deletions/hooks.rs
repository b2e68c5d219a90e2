//! Hooks of others block the drain and the deletion of the VM.

use machinist_api::names::{annotations, labels};

use super::*;

#[tokio::test(start_paused = true)]
async fn hooks_hold_the_drain_and_the_vm_until_they_are_taken_off() {
    let stage = running().await;
    let _host = stage.host("host");
    stage.until_running("a").await;
    let _kubelet = kubelet(&stage);
    add_pods(&stage, &["web-0"]);
    let drain = format!("{}backup", annotations::PRE_DRAIN_HOOK);
    let terminate = format!("{}etcd", annotations::PRE_TERMINATE_HOOK);
    annotate(&stage, &drain, Some("someone"));
    annotate(&stage, &terminate, Some("someone"));
    delete(&stage);
    stage.until("the first hook is awaited", MOMENT, || stage.reason("a") == "PreDrainHooks").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let ready = condition(&stage, "Ready");
    assert!(ready["message"].as_str().unwrap().contains(&drain), "{ready}");
    let is_cordoned = || stage.api.find("nodes", "a").unwrap()["spec"]["unschedulable"] == true;
    assert!(!is_cordoned() && stage.api.count("pods") == 1, "{}", stage.wire.trace());
    annotate(&stage, &drain, None);
    stage.until("the second hook is awaited", MOMENT, || stage.reason("a") == "PreTerminateHooks").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((vm_orders(&stage), stage.api.count("pods")), (0, 0));
    // The removal of the VM has not begun: a Node that joins meanwhile would be drained.
    assert_eq!(description(&stage), "Initiate node drain");
    annotate(&stage, &terminate, None);
    let begun = stage.wire.elapsed();
    stage.until_gone("a").await;
    let took = stage.wire.elapsed() - begun;
    assert!(took < Duration::from_secs(3), "{took:?}\n{}", stage.wire.trace());
    stage.assert_nothing_left();
}

#[tokio::test(start_paused = true)]
async fn no_hook_holds_for_ever_and_force_waits_for_none() {
    for is_forced in [false, true] {
        let stage = running().await;
        let host = stage.host("host");
        stage.until_running("a").await;
        annotate(&stage, &format!("{}x", annotations::PRE_DRAIN_HOOK), Some(""));
        annotate(&stage, &format!("{}y", annotations::PRE_TERMINATE_HOOK), Some(""));
        annotate(&stage, annotations::DELETION_HOOK_TIMEOUT, Some("5m"));
        if is_forced {
            label(&stage, labels::FORCE_DELETION, "true");
        }
        let begun = stage.wire.elapsed();
        delete(&stage);
        tokio::time::sleep(Duration::from_secs(450)).await;
        // The clock of the second hook is not in this process.
        drop(host);
        let _next = stage.host("next");
        stage.until_gone("a").await;
        let took = stage.wire.elapsed() - begun;
        let limit = Duration::from_secs(if is_forced { 0 } else { 600 });
        assert!(is_forced || (took >= limit && took < limit + Duration::from_secs(5)), "{took:?}");
        stage.assert_nothing_left();
    }
}
