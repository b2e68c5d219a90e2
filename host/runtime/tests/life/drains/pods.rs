//! Drains of pods without volumes: evictions, budgets, refusals.

use super::workload::{budget, ending_after, pod};
use super::*;
use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use memory_api::wire::Handling;

#[tokio::test(start_paused = true)]
async fn pods_are_evicted_and_have_ended_before_the_vm_goes() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    let mut daemon = pod("daemon", "a");
    daemon["metadata"]["ownerReferences"][0]["kind"] = json!("DaemonSet");
    let mut mirror = pod("mirror", "a");
    mirror["metadata"]["annotations"]["kubernetes.io/config.mirror"] = json!("x");
    let slow = ending_after(pod("slow", "a"), "25");
    let mut finished = pod("finished", "a");
    finished["status"]["phase"] = json!("Succeeded");
    add(&stage, [pod("quick", "a"), slow, finished, daemon, mirror, pod("neighbour", "b")]);
    let before = stage.wire.len();
    delete(&stage);
    stage.until_gone("a").await;
    for name in ["quick", "slow", "finished"] {
        assert!(is_gone(&stage, name), "{name} is left");
        assert_eq!(evicted_at(&stage, name).len(), 1, "{name}");
    }
    for name in ["daemon", "mirror", "neighbour"] {
        assert!(!is_gone(&stage, name) && evicted_at(&stage, name).is_empty(), "{name} was touched");
    }
    let took = vm_ordered_away_at(&stage) - evicted_at(&stage, "slow")[0];
    assert!(took >= 25 * SECOND && took < 35 * SECOND, "{took:?}");
    assert!(machine_writes(&stage, before) <= 8, "{}", stage.wire.trace());
    let looks = stage.wire.records_since(before, |call| call.verb == "LIST" && call.what == "pods").len();
    assert!(looks < 20, "{looks} looks");
}

#[tokio::test(start_paused = true)]
async fn a_node_with_another_form_of_its_vms_id_is_drained_before_the_vm_goes() {
    let habits = KubeletHabits { has_own_ids: true, ..KubeletHabits::default() };
    let stage = Stage::with(Habits::default(), habits);
    stage.add_class();
    let _host = stage.host("host");
    stage.add_running("a").await;
    let _workload = Workload::start(&stage, PACE);
    add(&stage, [ending_after(pod("slow", "a"), "25")]);
    delete(&stage);
    stage.until_gone("a").await;
    assert!(is_gone(&stage, "slow"));
    let took = vm_ordered_away_at(&stage) - evicted_at(&stage, "slow")[0];
    assert!(took >= 25 * SECOND && took < 35 * SECOND, "{took:?}");
    assert!(stage.api.find("nodes", "a").is_none(), "its Node goes with it");
}

#[tokio::test(start_paused = true)]
async fn a_pod_of_the_same_name_that_came_meanwhile_is_left_alone() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    add(&stage, [pod("p", "a")]);
    let api = stage.api.clone();
    stage.wire.plan(move |call: &Call| {
        if call.what == "pods/eviction" && api.find("pods", "apps/p").unwrap()["spec"]["nodeName"] == "a" {
            api.delete_within("pods", "apps/p", Some(0)).unwrap();
            api.create("pods", &pod("p", "other")).unwrap();
        }
        Handling::Pass
    });
    delete(&stage);
    stage.until_gone("a").await;
    let left = stage.api.find("pods", "apps/p").unwrap();
    assert_eq!(left["metadata"]["deletionTimestamp"], Value::Null, "the other pod was evicted");
    let refused = stage.wire.records(|call| call.what == "pods/eviction");
    assert_eq!(refused.iter().map(|record| record.code).collect::<Vec<_>>(), [Some(409)]);
}

#[tokio::test(start_paused = true)]
async fn a_spent_budget_is_named_and_not_asked_until_it_has_room() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    put(&stage, "poddisruptionbudgets", &budget("tight", "held", 0, 1));
    add(&stage, [pod("held", "a"), pod("free", "a")]);
    tokio::time::sleep(SECOND).await;
    delete(&stage);
    until_reason(&stage, "Budget").await;
    let (status, _, message) = drained(&stage);
    assert_eq!(status, "False");
    assert!(message.contains("apps/held") && message.contains("apps/tight"), "{message}");
    tokio::time::sleep(2 * MINUTE).await;
    assert!(evicted_at(&stage, "held").is_empty(), "asked though there is no room");
    assert!(is_gone(&stage, "free"));
    let begun = stage.wire.elapsed();
    let room = json!({ "status": { "disruptionsAllowed": 1 } });
    stage.api.edit_status("poddisruptionbudgets", "apps/tight", &room).unwrap();
    stage.until_gone("a").await;
    let asked = evicted_at(&stage, "held");
    assert_eq!(asked.len(), 1);
    assert!(asked[0] - begun < 21 * SECOND, "asked {:?} after there was room", asked[0] - begun);
}

#[tokio::test(start_paused = true)]
async fn a_misconfigured_budget_is_named_and_asked_calmly_until_force() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    drain_timeout(&stage, "10m");
    put(&stage, "poddisruptionbudgets", &budget("never", "held", 0, 2));
    add(&stage, [pod("held", "a")]);
    tokio::time::sleep(SECOND).await;
    let begun = stage.wire.elapsed();
    let from = stage.wire.len();
    delete(&stage);
    until_reason(&stage, "BudgetMisconfigured").await;
    assert!(drained(&stage).2.contains("apps/never"), "{:?}", drained(&stage));
    // Readers of lastOperation know it as an error of the drain, by these words, for as long as it lasts.
    for _ in 0..3 {
        let last = stage.machine("a").unwrap()["status"]["lastOperation"].clone();
        assert_eq!((&last["type"], &last["state"]), (&"Delete".into(), &"Failed".into()), "{last}");
        let said = last["description"].as_str().unwrap_or_default();
        let budget =
            "pod disruption budget apps/never is misconfigured and requires zero voluntary evictions";
        assert!(said.starts_with("Drain failed due to - ") && said.contains(budget), "{said}");
        tokio::time::sleep(MINUTE).await;
    }
    stage.until("force", 11 * MINUTE, || stage.machine("a").is_none()).await;
    let asked = evicted_at(&stage, "held");
    assert!((1..=6).contains(&asked.len()), "{asked:?}");
    let refused = stage.wire.records_since(from, |call| call.what == "pods/eviction");
    assert!(refused.iter().all(|record| record.code == Some(429)), "{refused:?}");
    let forced = deleted_at(&stage, "pods", "held");
    assert_eq!(forced.len(), 1);
    let after = forced[0] - begun;
    assert!(after >= 10 * MINUTE - SECOND && after < 10 * MINUTE + 3 * SECOND, "forced after {after:?}");
    let looks = stage.wire.records_since(from, |call| call.verb == "LIST" && call.what == "pods").len();
    assert!(looks < 40, "{looks} looks in ten minutes");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_throttles_is_left_alone_for_as_long_as_it_asks() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    add(&stage, (0..30).map(|number| pod(&format!("p{number:02}"), "a")));
    let mut refusals = 0;
    stage.wire.plan(move |call: &Call| {
        if call.what == "pods/eviction" && refusals < 60 {
            refusals += 1;
            return Handling::Refuse(429);
        }
        Handling::Pass
    });
    delete(&stage);
    stage.until("the first tries", MINUTE, || !evicted_at(&stage, "p00").is_empty()).await;
    tokio::time::sleep(SECOND / 2).await;
    assert!(!drained(&stage).1.starts_with("Budget"), "{:?}", drained(&stage));
    stage.until_gone("a").await;
    let times = stage.wire.times(|call| call.what == "pods/eviction");
    let bursts = times.windows(2).filter(|pair| pair[1] - pair[0] > SECOND / 10);
    for pair in bursts {
        assert!(pair[1] - pair[0] >= SECOND - SECOND / 100, "asked too early: {pair:?}");
    }
    assert!((0..30).all(|number| is_gone(&stage, &format!("p{number:02}"))));
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_opens_is_used_within_moments() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    put(&stage, "poddisruptionbudgets", &budget("held", "web", 0, 2));
    add(&stage, [pod("web", "a")]);
    delete(&stage);
    until_reason(&stage, "BudgetMisconfigured").await;
    tokio::time::sleep(10 * MINUTE + 7 * SECOND).await;
    let asked = evicted_at(&stage, "web").len();
    let open = json!({ "status": { "disruptionsAllowed": 1 } });
    stage.api.edit_status("poddisruptionbudgets", &format!("{PODS}/held"), &open).unwrap();
    stage.until("it is asked at once", SECOND, || evicted_at(&stage, "web").len() > asked).await;
    stage.until_gone("a").await;
}

#[tokio::test(start_paused = true)]
async fn a_budget_whose_refusal_says_when_is_left_alone_until_then_while_others_end() {
    let (stage, _host) = running().await;
    let _workload = Workload::start(&stage, PACE);
    put(&stage, "poddisruptionbudgets", &budget("held", "web", 1, 1));
    add(&stage, [pod("web", "a"), ending_after(pod("slow", "a"), "25")]);
    tokio::time::sleep(SECOND).await;
    let (api, path) = (stage.api.clone(), format!("{PODS}/held"));
    let mut asked = 0;
    stage.wire.plan(move |call: &Call| {
        if call.what == "pods/eviction" && call.name == "web" {
            asked += 1;
            if asked == 1 {
                // It is edited at that moment, and its controller has not seen that yet: the server says 10 s.
                api.edit("poddisruptionbudgets", &path, &json!({ "spec": { "minAvailable": 3 } })).unwrap();
            }
        }
        Handling::Pass
    });
    delete(&stage);
    stage.until("it was asked", MINUTE, || !evicted_at(&stage, "web").is_empty()).await;
    tokio::time::sleep(SECOND / 2).await;
    // The controller has seen it half a second later, and the copy says that a pod may go.
    let budget = stage.api.find("poddisruptionbudgets", &format!("{PODS}/held")).unwrap();
    let seen = json!({ "status": { "observedGeneration": budget["metadata"]["generation"] } });
    stage.api.edit_status("poddisruptionbudgets", &format!("{PODS}/held"), &seen).unwrap();
    stage.until_gone("a").await;
    let asked = evicted_at(&stage, "web");
    assert_eq!(asked.len(), 2, "{asked:?}");
    let pause = asked[1] - asked[0];
    assert!(pause >= 10 * SECOND && pause < 13 * SECOND, "{pause:?}");
}
