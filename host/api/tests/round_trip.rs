//! Decoding and encoding keep objects of others as they are, and an invalid object does not stop a list.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube_core::{Resource, ResourceExt};
use machinist_api::machine_deployment::{OrchestrationType, StrategyType};
use machinist_api::value::{IntOrString, time};
use machinist_api::{Machine, MachineClass, MachineDeployment, MachineSet, Word};
use machinist_core::value::phase::{OperationState, OperationType, Phase};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn fixture(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Decodes from text, as a client does, and from a value, as tests do.
fn decode<K: DeserializeOwned + PartialEq + Debug>(json: &Value) -> K {
    let object: K = serde_json::from_str(&json.to_string()).unwrap();
    assert_eq!(object, serde_json::from_value(json.clone()).unwrap());
    object
}

fn comes_back<K: DeserializeOwned + Serialize + PartialEq + Debug>(name: &str) -> K {
    let json = fixture(name);
    let object: K = decode(&json);
    assert_eq!(serde_json::to_value(&object).unwrap(), json, "{name}");
    object
}

/// A field that no fixture has would be a field that no test protects.
fn leaves(json: &Value, path: &str, found: &mut Vec<String>) {
    match json {
        Value::Object(entries) => entries.iter().for_each(|(key, value)| {
            found.push(format!("{path}.{key}"));
            leaves(value, &format!("{path}.{key}"), found);
        }),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, path, found)),
        _ => {}
    }
}

/// Paths of all properties of a schema, without those inside types of Kubernetes that are not ours.
fn properties(schema: &Value, path: &str, found: &mut Vec<String>) {
    let schema = schema.get("items").unwrap_or(schema);
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        let is_of_kubernetes = path.ends_with("nodeTemplate.spec");
        found.push(path.clone());
        if !is_of_kubernetes {
            properties(inner, &path, found);
        }
    }
}

#[test]
fn a_running_machine_comes_back_as_it_was() {
    let machine: Machine = comes_back("machine-running.json");
    let template = machine.spec.node_template.as_ref().unwrap();
    assert_eq!(machine.phase(), Phase::Running);
    assert_eq!(machine.provider_id(), Some("aws:///eu-west-1/i-0abc123def4567890"));
    assert_eq!(machine.last_known_state(), Some("{\"volume\":\"vol-1\"}"));
    assert_eq!(template.labels().len(), 2);
    assert_eq!(template.taints().len(), 2);
    assert_eq!(machine.name_any(), "shoot--a--b-worker-z1-6b7f9-x2k4q");
}

#[test]
fn a_failed_creation_keeps_the_code_that_the_autoscaler_reads() {
    let machine: Machine = comes_back("machine-failed-preserved.json");
    let status = machine.status.clone().unwrap();
    assert_eq!(status.last_operation.error_code.as_deref(), Some("ResourceExhausted"));
    assert_eq!(status.last_operation.type_, Some(OperationType::Create.into()));
    assert_eq!(status.last_operation.state, Some(OperationState::Failed.into()));
    assert_eq!(machine.phase(), Phase::CrashLoopBackOff);
    assert!(machine.provider_id().is_none() && machine.last_known_state().is_none());
}

#[test]
fn our_own_status_comes_back() {
    let machine: Machine = comes_back("machine-own-status.json");
    let own = machine.status.unwrap().machinist.unwrap();
    assert_eq!(own.attempts, Some(3));
    assert_eq!(own.conditions[0].reason, "UnknownProvider");
}

#[test]
fn a_class_keeps_what_belongs_to_drivers_and_others() {
    let class: MachineClass = comes_back("machineclass.json");
    let secrets: Vec<_> = class.secret_references().filter_map(|secret| secret.name.as_deref()).collect();
    assert_eq!(secrets, ["shoot--a--b-worker-z1-0f3d1", "cloudprovider"]);
    assert_eq!(class.node_template.unwrap().others["operatingSystem"]["name"], "gardenlinux");
    assert!(class.provider_spec.unwrap()["iam"].is_null());
}

#[test]
fn sets_and_deployments_come_back_as_they_were() {
    let set: MachineSet = comes_back("machineset.json");
    let deployment: MachineDeployment = comes_back("machinedeployment.json");
    let strategy = deployment.spec.strategy;
    assert_eq!(set.status.unwrap().conditions[0].type_, "Frozen");
    assert_eq!(set.spec.template.unwrap().metadata.unwrap().labels()["name"], "w");
    assert_eq!(strategy.type_, Some(StrategyType::RollingUpdate.into()));
    assert_eq!(strategy.rolling_update.unwrap().max_surge, Some(IntOrString::Text("25%".into())));
    let in_place = strategy.in_place_update.unwrap();
    assert_eq!(in_place.max_surge, Some(IntOrString::Int(0)));
    assert_eq!(in_place.orchestration_type, Some(OrchestrationType::Manual.into()));
}

#[test]
fn every_field_of_the_schemas_is_in_a_fixture() {
    let fixtures = BTreeMap::from([
        ("Machine", vec!["machine-running.json", "machine-failed-preserved.json", "machine-own-status.json"]),
        ("MachineClass", vec!["machineclass.json", "machine-own-status.json"]),
        ("MachineSet", vec!["machineset.json", "machine-running.json", "machine-own-status.json"]),
        (
            "MachineDeployment",
            vec!["machinedeployment.json", "machine-running.json", "machine-own-status.json"],
        ),
    ]);
    for definition in machinist_api::crd::definitions().unwrap() {
        let definition = serde_json::to_value(definition).unwrap();
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap().to_owned();
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let (mut wanted, mut found) = (Vec::new(), Vec::new());
        properties(schema, "", &mut wanted);
        fixtures[&*kind].iter().for_each(|name| leaves(&fixture(name), "", &mut found));
        // A template holds a Machine's spec, which the Machine's own fixture covers.
        found.extend(found.clone().iter().map(|path| format!(".spec.template{path}")));
        wanted.retain(|path| !found.contains(path));
        assert_eq!(wanted, Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn an_object_with_nothing_in_it_decodes() {
    for json in [
        json!({}),
        json!({ "metadata": null, "spec": null, "status": null }),
        json!({ "spec": {}, "status": {} }),
    ] {
        assert_eq!(decode::<Machine>(&json).phase(), Phase::New);
        assert!(decode::<MachineSet>(&json).spec.template.is_none());
        assert!(decode::<MachineDeployment>(&json).spec.selector.is_none());
        assert!(decode::<MachineClass>(&json).provider_spec.is_none());
    }
    let machine = json!({ "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine", "metadata": {}, "spec": {} });
    assert_eq!(serde_json::to_value(Machine::default()).unwrap(), machine);
}

#[test]
fn null_is_absent_everywhere() {
    let nulls = json!({
        "metadata": { "name": "m", "creationTimestamp": null, "labels": null, "finalizers": null },
        "spec": { "class": null, "providerID": null, "nodeTemplate": null, "drainTimeout": null, "maxEvictRetries": null,
                  "disableHealthTimeout": null },
        "status": { "addresses": null, "conditions": null, "lastOperation": null, "lastKnownState": null,
                    "currentStatus": { "phase": null, "lastUpdateTime": null, "preserveExpiryTime": null },
                    "machinist": { "conditions": null, "attempts": null, "failureDomain": null } },
    });
    let machine: Machine = decode(&nulls);
    assert_eq!(machine.phase(), Phase::New);
    assert_eq!(machine.spec, Machine::default().spec);

    let set: MachineSet = decode(&json!({
        "spec": { "replicas": null, "selector": null, "template": null, "machineClass": null },
        "status": { "machineSetCondition": null, "failedMachines": null, "lastOperation": null, "replicas": null },
    }));
    assert_eq!(set.spec, MachineSet::default().spec);
    assert_eq!(set.status.unwrap(), Default::default());

    let deployment: MachineDeployment = decode(&json!({
        "spec": { "template": null, "strategy": null, "rollbackTo": null, "selector": { "matchLabels": null } },
        "status": { "conditions": null, "failedMachines": null, "collisionCount": null },
    }));
    assert!(deployment.spec.selector.unwrap().match_labels.is_none());

    let class: MachineClass = decode(&json!({
        "nodeTemplate": { "capacity": null, "architecture": null }, "secretRef": null, "providerSpec": null,
    }));
    assert!(class.node_template.unwrap().capacity.is_empty());
}

#[test]
fn words_that_nobody_knows_are_kept() {
    let json = json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine", "metadata": {}, "spec": {},
        "status": {
            "currentStatus": { "phase": "Hibernating" },
            "lastOperation": { "state": "Paused", "type": "Reboot", "errorCode": "Melted" },
        },
    });
    let machine: Machine = decode(&json);
    assert_eq!(machine.phase(), Word::Other("Hibernating".into()));
    assert_eq!(serde_json::to_value(&machine).unwrap(), json);
}

#[test]
fn durations_that_nobody_can_parse_are_kept() {
    let json = json!({ "drainTimeout": "two hours", "healthTimeout": "", "creationTimeout": "10d" });
    let machine: Machine = decode(&json!({ "spec": json }));
    assert_eq!(serde_json::to_value(&machine.spec).unwrap(), json);
}

#[test]
fn values_of_the_wrong_type_are_read_as_what_they_can_mean() {
    let machine: Machine = decode(&json!({
        "spec": { "drainTimeout": 20, "maxEvictRetries": "7", "disableHealthTimeout": "true", "providerID": ["x"],
                  "healthTimeout": { "seconds": 5 }, "nodeConditions": 1.5, "creationTimeout": true },
        "status": { "currentStatus": { "lastUpdateTime": "yesterday", "timeoutActive": 1, "phase": 7 },
                    "lastOperation": { "lastUpdateTime": 12 } },
    }));
    let spec = &machine.spec;
    assert_eq!(spec.drain_timeout.as_deref(), Some("20"));
    assert_eq!(spec.node_conditions.as_deref(), Some("1.5"));
    assert_eq!(spec.creation_timeout.as_deref(), Some("true"));
    assert_eq!((spec.max_evict_retries, spec.disable_health_timeout), (Some(7), Some(true)));
    assert!(spec.provider_id.is_none() && spec.health_timeout.is_none());
    let current = machine.status.clone().unwrap().current_status;
    assert!(current.last_update_time.is_none() && current.timeout_active.is_none());
    assert_eq!(machine.phase(), Word::Other("7".into()));

    let numbers = [
        (json!(1e3), Some(1000)),
        (json!(5_000_000_000_i64), Some(i32::MAX)),
        (json!(2.5), None),
        (json!(-5_000_000_000_i64), Some(i32::MIN)),
        (json!(u64::MAX), Some(i32::MAX)),
        (json!("many"), None),
    ];
    for (number, replicas) in numbers {
        let set: MachineSet = decode(&json!({ "spec": { "replicas": number } }));
        assert_eq!(set.spec.replicas, replicas, "{number}");
    }
}

#[test]
fn quantities_may_be_numbers_and_surge_may_be_anything() {
    let class: MachineClass =
        decode(&json!({ "nodeTemplate": { "capacity": { "cpu": 8, "memory": "1.5Gi", "gpu": "x" } } }));
    let capacity = class.node_template.unwrap().capacity;
    assert_eq!(capacity["cpu"], Quantity("8".into()));
    assert_eq!(capacity["gpu"], Quantity("x".into()));

    let rows = [
        (json!(5_000_000_000_i64), IntOrString::Int(5_000_000_000)),
        (json!("30"), IntOrString::Text("30".into())),
        (json!("a third"), IntOrString::Text("a third".into())),
    ];
    for (json, value) in rows {
        let strategy = json!({ "rollingUpdate": { "maxSurge": json } });
        let deployment: MachineDeployment = decode(&json!({ "spec": { "strategy": strategy } }));
        assert_eq!(deployment.spec.strategy.rolling_update.clone().unwrap().max_surge, Some(value));
        assert_eq!(serde_json::to_value(&deployment.spec.strategy).unwrap(), strategy);
    }
}

#[test]
fn a_time_as_objects_store_it_equals_itself_after_a_write() {
    let at: jiff::Timestamp = "2026-03-01T10:20:00.123456789Z".parse().unwrap();
    let seconds = serde_json::to_value(time(at)).unwrap();
    assert_eq!(seconds, "2026-03-01T10:20:00Z");
    assert_eq!(time(at), serde_json::from_value(seconds).unwrap());
}

#[test]
fn the_kinds_are_found_where_the_api_server_serves_them() {
    let path = |path: String, plural: &str| {
        assert_eq!(path, format!("/apis/machine.sapcloud.io/v1alpha1/namespaces/n/{plural}"));
    };
    path(Machine::url_path(&(), Some("n")), "machines");
    path(MachineClass::url_path(&(), Some("n")), "machineclasses");
    path(MachineSet::url_path(&(), Some("n")), "machinesets");
    path(MachineDeployment::url_path(&(), Some("n")), "machinedeployments");
}
