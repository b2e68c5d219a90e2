use std::sync::Arc;

use machinist_api::{MachineDeployment, MachineSet};
use machinist_core::value::id::ObjectKey;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cache::Store;
use crate::context::GateState;
use crate::context::clock::Clock;
use crate::context::settings::Controllers;

use super::{InventorySources, Metrics, Milestone};

/// The text of a scrape.
struct Scrape(String);

impl Scrape {
    /// Of a process that runs these, with these objects in its caches.
    fn of(controllers: Controllers, sets: &[Value], deployments: &[Value]) -> Self {
        let metrics = Metrics::default();
        let now = jiff::Timestamp::UNIX_EPOCH;
        for milestone in [Milestone::StaleDeleted, Milestone::SetFrozen("TooMany"), Milestone::SetThawed] {
            metrics.reached(None, milestone, now);
        }
        let (all_sets, all_deployments) = (Store::default(), Store::default());
        let key = |object: &Value| ObjectKey::new("n", object["metadata"]["name"].as_str().unwrap());
        for set in sets {
            let object: MachineSet = serde_json::from_value(set.clone()).unwrap();
            all_sets.insert(key(set), Arc::new(object));
        }
        for deployment in deployments {
            let object: MachineDeployment = serde_json::from_value(deployment.clone()).unwrap();
            all_deployments.insert(key(deployment), Arc::new(object));
        }
        let (_, gate_state) = watch::channel(GateState::default());
        metrics.show(InventorySources {
            machines: Store::default().reader(),
            sets: all_sets.reader(),
            deployments: all_deployments.reader(),
            controllers,
            serves_cluster_api: false,
            gate_state,
            cluster: String::new(),
            clock: Clock::Wall,
        });
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        Self(text)
    }

    fn has(&self, name: &str) -> bool {
        self.0.lines().any(|line| line.split(['{', ' ']).next() == Some(name))
    }

    #[track_caller]
    fn check(&self, samples: &[&str]) {
        for sample in samples {
            assert!(self.0.lines().any(|line| line == *sample), "{sample} is missing in\n{}", self.0);
        }
    }
}

const MACHINES: Controllers = Controllers { machines: true, sets: false, deployments: false };
const OWNERS: Controllers = Controllers { machines: false, sets: true, deployments: true };

#[test]
fn a_set_is_shown_with_its_numbers_conditions_and_failed_machines() {
    let operation = json!({ "type": "Create", "state": "Failed" });
    let failed =
        json!({ "name": "s-1", "providerID": "sim:///1", "ownerRef": "s", "lastOperation": operation });
    let frozen = json!({ "type": "Frozen", "status": "True" });
    let set = json!({
        "metadata": { "name": "s", "creationTimestamp": "1970-01-01T00:01:00Z" },
        "spec": { "replicas": 5, "minReadySeconds": 7, "machineClass": { "kind": "MachineClass", "name": "small" } },
        "status": {
            "replicas": 4, "readyReplicas": 2, "availableReplicas": 3, "fullyLabeledReplicas": 1,
            "machineSetCondition": [frozen, frozen, { "type": "ReplicaFailure", "status": "Unknown" }],
            "failedMachines": [failed, failed],
        },
    });
    let bare = json!({ "metadata": { "name": "bare" }, "spec": {} });
    Scrape::of(OWNERS, &[set, bare], &[]).check(&[
        "mcm_machine_set_items_total 2",
        r#"mcm_machine_set_info{name="s",namespace="n",createdAt="60",spec_machine_class_api_group="",spec_machine_class_kind="MachineClass",spec_machine_class_name="small"} 1"#,
        r#"mcm_machine_set_info_spec_replicas{name="s",namespace="n"} 5"#,
        r#"mcm_machine_set_info_spec_replicas{name="bare",namespace="n"} 0"#,
        r#"mcm_machine_set_info_spec_min_ready_seconds{name="s",namespace="n"} 7"#,
        r#"mcm_machine_set_status_replicas{name="s",namespace="n"} 4"#,
        r#"mcm_machine_set_status_ready_replicas{name="s",namespace="n"} 2"#,
        r#"mcm_machine_set_status_available_replicas{name="s",namespace="n"} 3"#,
        r#"mcm_machine_set_status_fully_labelled_replicas{name="s",namespace="n"} 1"#,
        r#"mcm_machine_set_status_replicas{name="bare",namespace="n"} 0"#,
        r#"mcm_machine_set_status_condition{name="s",namespace="n",condition="Frozen"} 1"#,
        r#"mcm_machine_set_status_condition{name="s",namespace="n",condition="ReplicaFailure"} 2"#,
        r#"mcm_machine_set_failed_machines{name="s",namespace="n",failed_machine_name="s-1",failed_machine_provider_id="sim:///1",failed_machine_owner_ref="s",failed_machine_last_operation_state="Failed",failed_machine_last_operation_machine_operation_type="Create"} 1"#,
        "mcm_machine_stale_machines_total 1",
        r#"machinist_set_freezes_total{reason="TooMany"} 1"#,
        "machinist_set_thaws_total 1",
    ]);
}

#[test]
fn no_series_is_there_twice() {
    let twice = json!([{ "type": "Frozen", "status": "True" }, { "type": "Frozen", "status": "False" }]);
    let failed = json!([{ "name": "a" }, { "name": "a" }]);
    let status = json!({ "machineSetCondition": twice, "conditions": twice, "failedMachines": failed });
    let object = json!({ "metadata": { "name": "x" }, "spec": { "template": {} }, "status": status });
    let scrape = Scrape::of(Controllers::ALL, std::slice::from_ref(&object), std::slice::from_ref(&object));
    let mut series: Vec<&str> = scrape.0.lines().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
    let all = series.len();
    series.sort_unstable();
    series.dedup();
    assert_eq!(series.len(), all, "{}", scrape.0);
}

#[test]
fn a_deployment_is_shown_with_its_numbers_and_shares_are_worked_out() {
    let bounds = json!({ "maxSurge": "25%", "maxUnavailable": "25%" });
    let deployment = json!({
        "metadata": { "name": "d", "creationTimestamp": "1970-01-01T00:01:00Z" },
        "spec": {
            "replicas": 10, "paused": true, "minReadySeconds": 7, "template": {},
            "strategy": { "type": "RollingUpdate", "rollingUpdate": bounds },
            "revisionHistoryLimit": 3, "progressDeadlineSeconds": 600, "rollbackTo": { "revision": 4 },
        },
        "status": {
            "replicas": 12, "updatedReplicas": 5, "readyReplicas": 8, "availableReplicas": 9,
            "unavailableReplicas": 3, "collisionCount": 1,
            "conditions": [{ "type": "Available", "status": "True" }, { "type": "Progressing", "status": "False" }],
            "failedMachines": [{ "name": "d-1", "ownerRef": "d-x" }],
        },
    });
    let one = |name: &str, value: &str| {
        format!(r#"mcm_machine_deployment_{name}{{name="d",namespace="n"}} {value}"#)
    };
    let numbers = [
        one("info_spec_replicas", "10"),
        one("info_spec_paused", "1"),
        one("info_spec_min_ready_seconds", "7"),
        one("info_spec_rolling_update_max_surge", "3"),
        one("info_spec_rolling_update_max_unavailable", "2"),
        one("info_spec_revision_history_limit", "3"),
        one("info_spec_progress_deadline_seconds", "600"),
        one("info_spec_rollback_to_revision", "4"),
        one("status_replicas", "12"),
        one("status_updated_replicas", "5"),
        one("status_ready_replicas", "8"),
        one("status_available_replicas", "9"),
        one("status_unavailable_replicas", "3"),
        one("status_collision_count", "1"),
    ];
    let scrape = Scrape::of(OWNERS, &[], &[deployment]);
    scrape.check(&numbers.each_ref().map(String::as_str));
    scrape.check(&[
        "mcm_machine_deployment_items_total 1",
        r#"mcm_machine_deployment_info{name="d",namespace="n",createdAt="60",spec_strategy_type="RollingUpdate"} 1"#,
        r#"mcm_machine_deployment_status_condition{name="d",namespace="n",condition="Available"} 1"#,
        r#"mcm_machine_deployment_status_condition{name="d",namespace="n",condition="Progressing"} 0"#,
        r#"mcm_machine_deployment_failed_machines{name="d",namespace="n",failed_machine_name="d-1",failed_machine_provider_id="",failed_machine_owner_ref="d-x",failed_machine_last_operation_state="",failed_machine_last_operation_machine_operation_type=""} 1"#,
    ]);
}

#[test]
fn absent_settings_of_a_deployment_have_no_series_and_invalid_ones_do_no_harm() {
    let bounds = json!({ "maxSurge": "a lot", "maxUnavailable": 1 });
    let strategy = json!({ "rollingUpdate": bounds });
    let invalid = json!({ "metadata": { "name": "d" }, "spec": { "template": {}, "strategy": strategy } });
    let scrape = Scrape::of(OWNERS, &[], &[invalid]);
    for name in [
        "revision_history_limit", "progress_deadline_seconds", "rollback_to_revision",
        "rolling_update_max_surge",
    ] {
        assert!(!scrape.has(&format!("mcm_machine_deployment_info_spec_{name}")), "{name}");
    }
    scrape.check(&[
        r#"mcm_machine_deployment_info_spec_rolling_update_max_unavailable{name="d",namespace="n"} 1"#,
        r#"mcm_machine_deployment_info_spec_replicas{name="d",namespace="n"} 0"#,
    ]);
}

#[test]
fn a_process_shows_what_it_looks_after_as_the_two_binaries_do() {
    let object = json!({ "metadata": { "name": "x" }, "spec": { "template": {} } });
    let scrape =
        |controllers| Scrape::of(controllers, std::slice::from_ref(&object), std::slice::from_ref(&object));
    let (machines, owners) = (scrape(MACHINES), scrape(OWNERS));
    let of_machines = ["mcm_machine_items_total", "mcm_machine_controller_frozen"];
    let of_owners = [
        "mcm_machine_set_items_total", "mcm_machine_set_info", "mcm_machine_deployment_items_total",
        "mcm_machine_deployment_info",
    ];
    for name in of_machines {
        assert!(machines.has(name) && !owners.has(name), "{name}");
    }
    for name in of_owners {
        assert!(owners.has(name) && !machines.has(name), "{name}");
    }
    let all = scrape(Controllers::ALL);
    assert!(of_machines.iter().chain(&of_owners).all(|name| all.has(name)));
    // Caches without a complete listing count against their binary.
    machines.check(&[
        r#"mcm_misc_scrape_failure_total{kind="Machine-count",binary="machine-controller-manager-provider"} 1"#,
    ]);
    owners.check(&[
        r#"mcm_misc_scrape_failure_total{kind="MachineSet-count",binary="machine-controller-manager"} 1"#,
        r#"mcm_misc_scrape_failure_total{kind="MachineDeployment-count",binary="machine-controller-manager"} 1"#,
    ]);
}

#[test]
fn the_queues_have_the_names_of_machine_controller_managers() {
    let scrape = Scrape::of(Controllers::ALL, &[], &[]);
    for name in [
        "machine", "machineclass", "machinedeployment", "machinesafetyapiserver", "machinesafetyorphanvms",
        "machinesafetyovershooting", "machineset", "machinetermination", "node", "secret",
    ] {
        scrape.check(&[format!("mcm_workqueue_adds_total{{name=\"{name}\"}} 0").as_str()]);
    }
}
