//! The generated definitions: not stale, and what users and other programs expect of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use machinist_api::{crd, infrastructure};
use serde_json::{Value, json};

fn deploy(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(folder)
}

fn definitions() -> Vec<Value> {
    crd::definitions().unwrap().iter().map(|definition| serde_json::to_value(definition).unwrap()).collect()
}

fn definition(kind: &str) -> Value {
    definitions().into_iter().find(|definition| definition["spec"]["names"]["kind"] == kind).unwrap()
}

fn version(kind: &str) -> Value {
    definition(kind)["spec"]["versions"][0].clone()
}

/// Calls `see` with each schema inside a schema, and its path.
fn walk(schema: &Value, path: &str, see: &mut impl FnMut(&str, &Value)) {
    see(path, schema);
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        walk(inner, &format!("{path}.{name}"), see);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(keyword).filter(|inner| inner.is_object()) {
            walk(inner, path, see);
        }
    }
}

fn schema_at<'a>(version: &'a Value, path: &str) -> &'a Value {
    let root = &version["schema"]["openAPIV3Schema"];
    path.split('.').fold(root, |schema, name| &schema["properties"][name])
}

#[test]
fn the_files_in_deploy_are_what_the_types_say() {
    let all =
        [("crds", crd::definitions().unwrap()), ("clusterctl/crds", infrastructure::definitions().unwrap())];
    for (folder, definitions) in all {
        let files = crd::files(&definitions).unwrap();
        for (file, definition) in files.iter().zip(&definitions) {
            let stored = fs::read_to_string(deploy(folder).join(&file.name)).unwrap_or_default();
            assert!(stored == file.yaml, "deploy/{folder}/{} is stale: run cargo xtask generate", file.name);
            let read = serde_yaml_ng::from_str::<Value>(&file.yaml).unwrap();
            assert_eq!(read, serde_json::to_value(definition).unwrap(), "{}", file.name);
        }
        let names: BTreeSet<String> = files.into_iter().map(|file| file.name).collect();
        let stored = fs::read_dir(deploy(folder)).unwrap();
        let stored = stored.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(stored.collect::<BTreeSet<_>>(), names, "deploy/{folder} holds generated files only");
    }
}

#[test]
fn names_are_those_that_users_type() {
    let rows = [
        ("Machine", "machines", "mc"),
        ("MachineClass", "machineclasses", "mcc"),
        ("MachineSet", "machinesets", "mcs"),
        ("MachineDeployment", "machinedeployments", "mcd"),
    ];
    for (kind, plural, short) in rows {
        let definition = definition(kind);
        let names = &definition["spec"]["names"];
        assert_eq!(definition["metadata"]["name"], format!("{plural}.machine.sapcloud.io"));
        assert_eq!((&names["plural"], &names["shortNames"]), (&json!(plural), &json!([short])));
        assert_eq!(names["singular"], kind.to_lowercase());
        assert_eq!(names["listKind"], format!("{kind}List"));
        assert_eq!(definition["spec"]["scope"], "Namespaced");
        assert_eq!(definition["spec"]["group"], "machine.sapcloud.io");
        let version = version(kind);
        assert_eq!(
            (&version["name"], &version["served"], &version["storage"]),
            (&json!("v1alpha1"), &json!(true), &json!(true))
        );
    }
}

#[test]
fn columns_are_those_that_users_read() {
    let columns = |kind: &str| -> Vec<String> {
        let columns = version(kind)["additionalPrinterColumns"].clone();
        let columns = columns.as_array().cloned().unwrap_or_default();
        let text = |column: &Value, key: &str| column[key].as_str().unwrap().to_owned();
        let row = |column: &Value| {
            let priority = column["priority"].as_i64().unwrap_or(0);
            format!(
                "{} {} {} {priority}",
                text(column, "name"),
                text(column, "type"),
                text(column, "jsonPath")
            )
        };
        columns.iter().map(row).collect()
    };
    assert_eq!(
        columns("Machine"),
        [
            "Status string .status.currentStatus.phase 0",
            "Age date .metadata.creationTimestamp 0",
            "Node string .metadata.labels.node 0",
            "ProviderID string .spec.providerID 1",
        ]
    );
    assert_eq!(columns("MachineClass"), [""; 0]);
    assert_eq!(
        columns("MachineSet"),
        [
            "Desired integer .spec.replicas 0", "Current integer .status.replicas 0",
            "Ready integer .status.readyReplicas 0", "Age date .metadata.creationTimestamp 0",
        ]
    );
    assert_eq!(
        columns("MachineDeployment"),
        [
            "Ready integer .status.readyReplicas 0",
            "Desired integer .spec.replicas 0",
            "Up-to-date integer .status.updatedReplicas 0",
            "Available integer .status.availableReplicas 0",
            "Age date .metadata.creationTimestamp 0",
        ]
    );
}

#[test]
fn every_kind_has_a_status_and_what_has_replicas_can_be_scaled() {
    let status_alone = json!({ "status": {} });
    let scalable = json!({
        "status": {},
        "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
    });
    assert_eq!(version("Machine")["subresources"], status_alone);
    assert_eq!(version("MachineClass")["subresources"], status_alone);
    assert_eq!(version("MachineSet")["subresources"], scalable);
    assert_eq!(version("MachineDeployment")["subresources"], scalable);
}

#[test]
fn the_schemas_apart_from_rules_refuse_nothing_but_what_others_refuse_too() {
    let forbidden = [
        "default", "enum", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern",
        "anyOf", "oneOf", "allOf", "not", "$ref", "title",
    ];
    let mut required = Vec::new();
    for definition in definitions() {
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        walk(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], kind, &mut |path, schema| {
            for keyword in forbidden {
                // Nowhere in Kubernetes is the value of a label longer.
                let is_label =
                    path.ends_with(".matchLabels") && keyword == "maxLength" && schema[keyword] == 63;
                assert!(schema.get(keyword).is_none() || is_label, "{path} has {keyword}");
            }
            let fields = schema["required"].as_array().into_iter().flatten();
            required.extend(fields.map(|field| format!("{path}.{}", field.as_str().unwrap())));
        });
    }
    // Lists of Kubernetes' own types, and conditions, have required fields in the definitions of others too.
    required.retain(|path| {
        let own = [
            ".taints.", "onditions.", "machineSetCondition.", ".addresses.", ".configMap.",
            "matchExpressions.",
        ];
        !own.iter().any(|part| path.contains(part))
    });
    assert_eq!(
        required,
        [
            "MachineClass.providerSpec", "MachineClass.nodeTemplate.capacity",
            "MachineClass.nodeTemplate.instanceType", "MachineClass.nodeTemplate.region",
            "MachineClass.nodeTemplate.zone", "MachineDeployment.spec.template",
        ]
    );
}

#[test]
fn the_schemas_are_structural() {
    for definition in definitions() {
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        walk(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], kind, &mut |path, schema| {
            let is_typed = schema["type"].is_string() != (schema["x-kubernetes-int-or-string"] == true);
            assert!(is_typed, "{path} has no type: {schema}");
            assert!(schema["type"] != "array" || schema["items"].is_object(), "{path} has no items");
            assert!(
                schema["properties"].is_null() || schema["additionalProperties"].is_null(),
                "{path} has both"
            );
        });
    }
}

#[test]
fn what_belongs_to_others_is_kept_as_it_is() {
    let rows = [
        ("Machine", "spec.nodeTemplate.metadata"),
        ("MachineClass", "providerSpec"),
        ("MachineClass", "nodeTemplate"),
        ("MachineSet", "spec.template.metadata"),
        ("MachineSet", "spec.template.spec.nodeTemplate.metadata"),
        ("MachineDeployment", "spec.template.metadata"),
        ("MachineDeployment", "spec.template.spec.nodeTemplate.metadata"),
    ];
    for (kind, path) in rows {
        let version = version(kind);
        let schema = schema_at(&version, path);
        assert_eq!(schema["type"], "object", "{kind}.{path}");
        assert_eq!(schema["x-kubernetes-preserve-unknown-fields"], true, "{kind}.{path}");
    }
}

#[test]
fn null_is_allowed_where_others_write_it() {
    let mut nullable = Vec::new();
    for definition in definitions() {
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        walk(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], kind, &mut |path, schema| {
            if schema["nullable"] == true {
                nullable.push(path.to_owned());
            }
        });
    }
    assert_eq!(
        nullable,
        ["Machine.status.currentStatus.preserveExpiryTime", "MachineClass.nodeTemplate.architecture",]
    );
}
