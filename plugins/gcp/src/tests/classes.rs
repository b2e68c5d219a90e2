//! Classes that the driver accepts and refuses; fixtures of real-looking ones.

use machinist_sdk::driver::Code;
use machinist_sdk::mock::MockHost;
use serde_json::{Value, json};

use super::harness::{Harness, class, request_of, spec, spec_with};
use crate::component::GcpDriver;

/// Classes as machine-controller-manager's provider accepts them, and one with the driver's own fields.
pub(super) const FIXTURES: [(&str, &str); 4] = [
    ("gardener-worker", include_str!("../../fixtures/gardener-worker.json")),
    ("dual-stack", include_str!("../../fixtures/dual-stack.json")),
    ("gpu-preemptible", include_str!("../../fixtures/gpu-preemptible.json")),
    ("spot-zones", include_str!("../../fixtures/spot-zones.json")),
];

fn validate(spec: &Value) -> Result<Vec<String>, String> {
    let host = MockHost::answering([]);
    host.driver::<GcpDriver>().validate_class(&class(spec)).map_err(|failure| {
        assert_eq!((failure.code, failure.terminal), (Code::InvalidArgument, true));
        failure.message.trim_start_matches("the MachineClass's providerSpec is invalid: ").to_owned()
    })
}

#[test]
fn real_looking_classes_are_accepted_and_make_instances() {
    for (name, text) in FIXTURES {
        let spec: Value = serde_json::from_str(text).unwrap();
        validate(&spec).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        let harness = Harness::new();
        let mut request = request_of(1, &spec);
        harness.create(&mut request).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        harness.status(&request).unwrap();
        harness.delete(&mut request).unwrap();
        assert!(harness.cloud(|cloud| cloud.is_empty()), "{name}");
    }
}

#[test]
fn the_schema_knows_each_field_of_the_fixtures() {
    let schema: Value = serde_json::from_str(crate::class::spec::SCHEMA).unwrap();
    fn names(schema: &Value, root: &Value, value: &Value, at: &str) {
        let schema = if schema["$ref"].is_string() { &root["$defs"]["labels"] } else { schema };
        match value {
            Value::Object(fields) if schema["properties"].is_object() => {
                for (name, field) in fields {
                    let known = schema["properties"].as_object().unwrap();
                    let found = known.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
                    // A Secret's reference is a relic of older classes, and ignored with a warning.
                    if name != "secretRef" {
                        let (_, inner) = found.unwrap_or_else(|| panic!("{at}.{name} is not in the schema"));
                        names(inner, root, field, &format!("{at}.{name}"));
                    }
                }
            }
            Value::Array(entries) => {
                entries.iter().for_each(|entry| names(&schema["items"], root, entry, at));
            }
            _ => {}
        }
    }
    for (name, text) in FIXTURES {
        names(&schema, &schema, &serde_json::from_str(text).unwrap(), name);
    }
}

#[test]
fn keys_are_read_without_regard_to_case_and_null_is_absent() {
    let plain = json!({
        "REGION": "europe-west1", "Zone": "europe-west1-b", "machinetype": "e2-medium",
        "Disks": [{ "BOOT": true, "Image": "i", "SIZEGB": 10, "autodelete": null }],
        "networkinterfaces": [{ "SubNetwork": "nodes", "DisableExternalIp": true }],
        "Scheduling": { "onhostmaintenance": "MIGRATE", "preemptible": null },
        "labels": null, "gpu": null, "metadata": null,
        "TAGS": ["kubernetes-io-cluster-a", "kubernetes-io-role-node"],
    });
    assert_eq!(validate(&plain), Ok(Vec::new()));
}

#[test]
fn all_problems_of_a_class_come_at_once_each_with_its_path() {
    let broken = json!({
        "region": 7,
        "zone": "../x",
        "machineType": " ",
        "disks": [{ "type": "SCRATCH" }, { "boot": true, "sizeGb": -1, "encryption": {} }],
        "networkInterfaces": [{ "stackType": "IPV6", "ipCidrRange": "24" }],
        "scheduling": { "onHostMaintenance": "WAIT" },
        "metadata": [{ "key": "user-data", "value": "x" }],
        "gpu": { "count": 0 },
        "labels": { "Team": "a" },
        "tags": ["No Tag"],
    });
    let problems = validate(&broken).unwrap_err();
    for expected in [
        "region must be a string, got 7",
        "zone must consist of lower-case letters",
        "machineType is missing",
        "disks[0].interface is missing",
        "disks[1].image is missing",
        "disks[1].sizeGb must not be negative, got -1",
        "disks[1].encryption.kmsKeyName is missing",
        "networkInterfaces[0].network is missing",
        "networkInterfaces[0].stackType must be one of IPV4_ONLY, IPV4_IPV6",
        "networkInterfaces[0].ipCidrRange must be /0 to /32",
        "scheduling.onHostMaintenance must be one of MIGRATE, TERMINATE",
        "metadata[0].key must not be user-data",
        "gpu.acceleratorType is missing",
        "gpu.count must be 1 to 1000, got 0",
        "labels[\"Team\"]",
        "tags[0] \"No Tag\" is no network tag",
    ] {
        assert!(problems.contains(expected), "{expected} is not in {problems}");
    }
}

#[test]
fn a_class_without_what_every_instance_needs_is_refused() {
    for (fields, expected) in [
        (json!({ "disks": [] }), "disks is missing"),
        (json!({ "disks": null }), "disks is missing"),
        (json!({ "disks": [{ "image": "i" }] }), "disks has no boot disk"),
        (
            json!({ "disks": [{ "boot": true, "image": "i" }, { "boot": true, "image": "i" }] }),
            "several boot disks",
        ),
        (json!({ "networkInterfaces": [] }), "networkInterfaces is missing"),
        (json!({ "scheduling": null }), "scheduling is missing"),
        (json!({ "scheduling": {} }), "scheduling.onHostMaintenance is missing"),
        (json!({ "metadata": [{ "key": "a" }, { "key": "a" }] }), "is there twice"),
        (json!({ "project": "../x" }), "project must be the id of a project"),
        (json!({ "zones": ["A"] }), "zones[0] must be a zone"),
        (
            json!({ "scheduling": { "onHostMaintenance": "TERMINATE", "instanceTerminationAction": "STOP" } }),
            "needs provisioningModel SPOT",
        ),
        (
            json!({ "scheduling": { "onHostMaintenance": "TERMINATE", "preemptible": true, "provisioningModel": "STANDARD" } }),
            "contradicts preemptible",
        ),
    ] {
        let problems = validate(&spec_with(fields.clone())).unwrap_err();
        assert!(problems.contains(expected), "{fields}: {problems}");
    }
    assert!(validate(&json!([])).unwrap_err().contains("must be an object"));
    let host = MockHost::answering([]);
    let mut broken = class(&spec());
    broken.spec = "{\n x".to_owned();
    let failure = host.driver::<GcpDriver>().validate_class(&broken).unwrap_err();
    assert!(failure.message.contains("line 2"), "{}", failure.message);
}

#[test]
fn what_has_no_effect_is_a_warning() {
    let unusual = spec_with(json!({
        "colour": "red",
        "tags": [],
        "labels": { "machinist-cluster": "other" },
        "scheduling": { "onHostMaintenance": "MIGRATE", "automaticRestart": true, "provisioningModel": "SPOT" },
    }));
    let warnings = validate(&unusual).unwrap();
    for expected in [
        "colour is not a field",
        "no tag contains kubernetes-io-cluster-",
        "no tag contains kubernetes-io-role-",
        "labels[\"machinist-cluster\"] belongs to the driver",
        "scheduling.automaticRestart has no effect",
        "MIGRATE counts as TERMINATE",
    ] {
        assert!(
            warnings.iter().any(|warning| warning.contains(expected)),
            "{expected} is not in {warnings:?}"
        );
    }
    assert_eq!(warnings.len(), 6);
}
