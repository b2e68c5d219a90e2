//! The definitions for Cluster API: names, labels and limits that its contract asks for, and decoding.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use machinist_api::infrastructure::{MachinistIdentity, MachinistMachine, definitions};
use serde_json::{Value, json};

fn definition(kind: &str) -> CustomResourceDefinition {
    definitions().unwrap().into_iter().find(|definition| definition.spec.names.kind == kind).unwrap()
}

fn schema(kind: &str, path: &str) -> Value {
    let version = serde_json::to_value(&definition(kind).spec.versions[0]).unwrap();
    let root = version["schema"]["openAPIV3Schema"].clone();
    path.split('.').fold(root, |schema, name| match name {
        "[]" => schema["items"].clone(),
        name => schema["properties"][name].clone(),
    })
}

/// Core computes the name of a definition from the kind that a reference names, and reads its label for the versions of
/// the contract.
#[test]
fn core_finds_each_definition_by_its_name_and_label() {
    let rows = [
        ("MachinistMachine", "machinistmachines"),
        ("MachinistMachineTemplate", "machinistmachinetemplates"),
        ("MachinistCluster", "machinistclusters"),
        ("MachinistClusterTemplate", "machinistclustertemplates"),
        ("MachinistRemediation", "machinistremediations"),
        ("MachinistRemediationTemplate", "machinistremediationtemplates"),
    ];
    for (kind, plural) in rows {
        let definition = definition(kind);
        let name = format!("{plural}.infrastructure.machinist.dev");
        assert_eq!(definition.metadata.name.as_deref(), Some(name.as_str()));
        assert_eq!(
            (definition.spec.names.plural.as_str(), definition.spec.scope.as_str()),
            (plural, "Namespaced")
        );
        assert_eq!(definition.spec.names.categories.unwrap_or_default(), ["cluster-api"]);
        let labels = definition.metadata.labels.unwrap_or_default();
        let mut expected = vec![
            ("cluster.x-k8s.io/provider", "infrastructure-machinist"),
            ("cluster.x-k8s.io/v1beta2", "v1alpha1"),
            ("clusterctl.cluster.x-k8s.io", ""),
        ];
        if kind == "MachinistRemediationTemplate" {
            expected.push(("clusterctl.cluster.x-k8s.io/move", ""));
        }
        let labels = labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        assert!(labels.clone().eq(expected), "{kind}: {:?}", labels.collect::<Vec<_>>());
    }
    assert_eq!(definition("MachinistIdentity").spec.scope, "Cluster");
}

#[test]
fn columns_show_readiness_and_its_reason_and_the_vm() {
    let columns = |kind: &str| -> Vec<String> {
        let columns = definition(kind).spec.versions[0].additional_printer_columns.clone();
        columns.into_iter().flatten().map(|column| column.name).collect()
    };
    assert_eq!(columns("MachinistMachine"), ["Cluster", "Ready", "Reason", "ProviderID", "Provider", "Age"]);
    assert_eq!(columns("MachinistMachineTemplate"), ["Provider", "Age"]);
    assert_eq!(columns("MachinistCluster"), ["Cluster", "Ready", "Reason", "Endpoint", "Age"]);
    assert_eq!(columns("MachinistRemediation"), ["Cluster", "Reboots", "Reason", "Age"]);
}

/// Core and the kubeadm control plane collect roles by these labels, and can then read the objects of this provider.
#[test]
fn the_controllers_of_cluster_api_collect_the_role_for_these_kinds() {
    let roles = include_str!("../../../deploy/clusterctl/rbac/10-clusterroles.yaml");
    let collected = roles.split("\n---\n").find(|role| role.contains("aggregate-to-manager")).unwrap();
    for label in [
        "cluster.x-k8s.io/aggregate-to-manager",
        "kubeadm.controlplane.cluster.x-k8s.io/aggregate-to-manager",
    ] {
        let line = format!("    {label}: \"true\"");
        assert!(collected.lines().any(|found| found == line), "{line}");
    }
}

/// One address that the schema of core's Machine refuses blocks every write of that Machine.
#[test]
fn limits_are_those_of_the_contract() {
    let rows = [
        ("MachinistMachine", "spec.providerID", "maxLength", json!(512)),
        ("MachinistMachine", "status.addresses", "maxItems", json!(256)),
        ("MachinistMachine", "status.addresses.[].address", "maxLength", json!(256)),
        (
            "MachinistMachine",
            "status.addresses.[].type",
            "enum",
            json!(["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"]),
        ),
        ("MachinistMachine", "status.failureDomain", "maxLength", json!(256)),
        ("MachinistMachine", "status.initialization", "minProperties", json!(1)),
        ("MachinistCluster", "spec.controlPlaneEndpoint.host", "maxLength", json!(512)),
        ("MachinistCluster", "status.failureDomains", "maxItems", json!(100)),
        (
            "MachinistMachineTemplate",
            "spec.template.spec.providerSpec",
            "x-kubernetes-preserve-unknown-fields",
            json!(true),
        ),
    ];
    for (kind, path, keyword, expected) in rows {
        assert_eq!(schema(kind, path)[keyword], expected, "{kind}.{path}");
    }
    // Core takes a failure domain in the spec for a wish of its own, and would overwrite the Machine's.
    assert_eq!(schema("MachinistMachine", "spec.failureDomain"), Value::Null);
}

#[test]
fn a_machine_reads_back_as_it_was_written_and_bad_fields_hide_no_others() {
    let written = json!({
        "apiVersion": "infrastructure.machinist.dev/v1alpha1",
        "kind": "MachinistMachine",
        "metadata": { "name": "m", "namespace": "n" },
        "spec": {
            "provider": "sim",
            "providerSpec": { "size": "small", "unknown": [1, { "deep": null }] },
            "identityRef": { "kind": "Secret", "name": "cloud" },
            "providerID": "sim:///1",
        },
        "status": {
            "initialization": { "provisioned": true },
            "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }],
            "failureDomain": "a",
        },
    });
    let machine: MachinistMachine = serde_json::from_value(written.clone()).unwrap();
    assert_eq!((machine.provider_id(), machine.is_provisioned()), (Some("sim:///1"), true));
    assert_eq!(serde_json::to_value(&machine).unwrap(), written);
    let unusual: MachinistMachine = serde_json::from_value(json!({
        "metadata": { "name": "m" },
        "spec": { "provider": 3, "providerID": "", "classRef": null },
        "status": { "addresses": null, "conditions": null, "initialization": { "provisioned": "no" } },
    }))
    .unwrap();
    assert_eq!(
        (unusual.spec.provider.as_deref(), unusual.provider_id(), unusual.is_provisioned()),
        (Some("3"), None, false)
    );
}

#[test]
fn an_identity_says_which_namespaces_may_use_it() {
    let allows = |allowed: Value, name: &str, team: &str| {
        let identity: MachinistIdentity =
            serde_json::from_value(json!({ "spec": { "allowedNamespaces": allowed } })).unwrap();
        let labels = BTreeMap::from([("team".to_owned(), team.to_owned())]);
        identity.spec.allowed_namespaces.is_some_and(|allowed| allowed.allow(name, &labels))
    };
    let rows = [
        (Value::Null, "a", "red", false),
        (json!({}), "a", "red", true),
        (json!({ "list": ["a", "b"] }), "b", "red", true),
        (json!({ "list": ["a", "b"] }), "c", "red", false),
        (json!({ "selector": { "matchLabels": { "team": "red" } } }), "c", "red", true),
        (json!({ "selector": { "matchLabels": { "team": "red" } } }), "c", "blue", false),
        (json!({ "list": ["c"], "selector": { "matchLabels": { "team": "red" } } }), "c", "blue", true),
        (json!({ "selector": {} }), "c", "blue", true),
        (
            json!({ "selector": { "matchExpressions": [{ "key": "team", "operator": "NotIn", "values": ["red"] }] } }),
            "c",
            "red",
            false,
        ),
        (
            json!({ "selector": { "matchExpressions": [{ "key": "team", "operator": "Near" }] } }),
            "c",
            "red",
            false,
        ),
    ];
    for (allowed, name, team, expected) in rows {
        assert_eq!(allows(allowed.clone(), name, team), expected, "{allowed} {name} {team}");
    }
}
