//! Objects that are right, and each thing that can be wrong with one.

use serde_json::{Value, json};

/// The smallest object of each kind with all that rules speak of.
pub(super) fn valid(kind: &str) -> Value {
    let class = json!({ "kind": "MachineClass", "name": "small" });
    let template = json!({ "metadata": { "labels": { "pool": "a" } }, "spec": { "class": class } });
    let selector = json!({ "matchLabels": { "pool": "a" } });
    let share = json!({ "maxSurge": 1, "maxUnavailable": "0%" });
    let mut object = json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": kind, "metadata": { "name": "workers" },
    });
    match kind {
        "Machine" => object["spec"] = json!({ "class": class }),
        "MachineClass" => {
            object["providerSpec"] = json!({});
            object["nodeTemplate"] = json!({
                "capacity": { "cpu": 4, "gpu": "0", "memory": "16Gi" },
                "instanceType": "m", "region": "r", "zone": "z",
            });
        }
        "MachineSet" => object["spec"] = json!({ "selector": selector, "template": template }),
        "MachineDeployment" => {
            let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": share });
            object["spec"] = json!({ "selector": selector, "template": template, "strategy": strategy });
        }
        other => panic!("{other} is no kind of ours"),
    }
    object
}

/// One thing that is wrong.
pub(super) struct Wrong {
    pub(super) kind: &'static str,
    pub(super) object: Value,
    /// The field that the server is to name.
    pub(super) field: &'static str,
}

/// With these values at these places; null takes the field away.
pub(super) fn with(mut object: Value, changes: &[(&str, Value)]) -> Value {
    for (path, value) in changes {
        let (parents, last) = path.rsplit_once('.').unwrap_or(("", path));
        let parents = parents.split('.').filter(|name| !name.is_empty());
        let place = parents.fold(&mut object, |place, name| &mut place[name]);
        if value.is_null() {
            place.as_object_mut().expect("it has fields").remove(last);
        } else {
            place[last] = value.clone();
        }
    }
    object
}

fn row(kind: &'static str, changes: &[(&str, Value)], field: &'static str) -> Wrong {
    Wrong { kind, object: with(valid(kind), changes), field }
}

fn one(kind: &'static str, field: &'static str, value: Value) -> Wrong {
    row(kind, &[(field, value)], field)
}

/// All of them: each rule, in each way in which somebody may break it.
pub(super) fn wrong() -> Vec<Wrong> {
    let mut rows = Vec::new();
    for (kind, class) in [
        ("Machine", ["spec.class.name", "spec.class.kind"]),
        ("MachineSet", ["spec.template.spec.class.name", "spec.template.spec.class.kind"]),
        ("MachineDeployment", ["spec.template.spec.class.name", "spec.template.spec.class.kind"]),
    ] {
        for field in class {
            rows.push(one(kind, field, json!("")));
            rows.push(one(kind, field, Value::Null));
        }
    }
    for kind in ["MachineSet", "MachineDeployment"] {
        let field = "spec.template.spec.class.name";
        rows.push(row(kind, &[("spec.template", json!({}))], field));
        rows.push(row(kind, &[("spec.template.spec", json!({}))], field));
        rows.push(one(kind, "spec.replicas", json!(-1)));
        rows.push(one(kind, "spec.selector", Value::Null));
        let fit = "spec.selector.matchLabels";
        rows.push(row(kind, &[("spec.template.metadata", json!({}))], fit));
        rows.push(row(kind, &[("spec.template.metadata", Value::Null)], fit));
        rows.push(row(kind, &[("spec.template.metadata", json!({ "labels": { "pool": "b" } }))], fit));
        rows.push(row(kind, &[(fit, json!({ "pool": "a", "other": "x" }))], fit));
        for (expression, field) in [
            (json!({ "key": "", "operator": "Exists" }), "spec.selector.matchExpressions[0].key"),
            (
                json!({ "key": "a", "operator": "in", "values": ["b"] }),
                "spec.selector.matchExpressions[0].operator",
            ),
            (json!({ "key": "a", "operator": "In" }), "spec.selector.matchExpressions[0]"),
            (json!({ "key": "a", "operator": "NotIn", "values": [] }), "spec.selector.matchExpressions[0]"),
            (
                json!({ "key": "a", "operator": "Exists", "values": ["b"] }),
                "spec.selector.matchExpressions[0]",
            ),
        ] {
            rows.push(row(kind, &[("spec.selector.matchExpressions", json!([expression]))], field));
        }
    }
    rows.push(row("MachineSet", &[("spec", Value::Null)], "spec.selector"));
    rows.push(one("MachineSet", "spec.template", Value::Null));
    rows.push(one("MachineDeployment", "spec.strategy", Value::Null));
    rows.extend(of_class());
    rows.extend(of_deployment());
    rows
}

fn of_class() -> Vec<Wrong> {
    let kind = "MachineClass";
    let mut rows = Vec::new();
    for key in ["cpu", "gpu", "memory"] {
        let path = format!("nodeTemplate.capacity.{key}");
        rows.push(row(kind, &[(&path, Value::Null)], "nodeTemplate.capacity"));
    }
    for field in ["nodeTemplate.instanceType", "nodeTemplate.region", "nodeTemplate.zone"] {
        rows.push(one(kind, field, json!("")));
    }
    rows
}

fn of_deployment() -> Vec<Wrong> {
    let kind = "MachineDeployment";
    let mut rows = vec![
        row(kind, &[("spec.selector", json!({}))], "spec.selector"),
        row(kind, &[("spec.selector.matchLabels", json!({}))], "spec.selector"),
        one(kind, "spec.strategy.type", Value::Null),
        one(kind, "spec.strategy.type", json!("")),
        one(kind, "spec.strategy.type", json!("Rolling")),
        one(kind, "spec.strategy.type", json!("rollingUpdate")),
        one(kind, "spec.strategy.rollingUpdate", Value::Null),
        row(kind, &[("spec.strategy.type", json!("InPlaceUpdate"))], "spec.strategy.inPlaceUpdate"),
    ];
    let shares = ["spec.strategy.rollingUpdate.maxSurge", "spec.strategy.rollingUpdate.maxUnavailable"];
    let in_place = ["spec.strategy.inPlaceUpdate.maxSurge", "spec.strategy.inPlaceUpdate.maxUnavailable"];
    for (field, place) in shares.iter().chain(&in_place).zip([false, false, true, true]) {
        let mut invalid = vec![Value::Null, json!(-1), json!(""), json!("many")];
        invalid.extend(["25 %", "1.5%", "-1%", "%"].map(|text| json!(text)));
        for value in invalid {
            let base: &[_] = if place { &[("spec.strategy", updated_in_place())] } else { &[] };
            rows.push(row(kind, &[base, &[(field, value)]].concat(), field));
        }
    }
    for value in [Value::Null, json!(""), json!("auto")] {
        let field = "spec.strategy.inPlaceUpdate.orchestrationType";
        rows.push(row(kind, &[("spec.strategy", updated_in_place()), (field, value)], field));
    }
    for field in [
        "spec.template.spec.creationTimeout",
        "spec.template.spec.drainTimeout",
        "spec.template.spec.healthTimeout",
        "spec.template.spec.inPlaceUpdateTimeout",
        "spec.template.spec.machinePreserveTimeout",
    ] {
        rows.extend(
            ["", "20", "3d", "20 m", "1h30", "m", ".s", "soon"].map(|text| one(kind, field, json!(text))),
        );
    }
    rows
}

/// A strategy that is right.
pub(super) fn updated_in_place() -> Value {
    let bounds = json!({ "maxSurge": "20%", "maxUnavailable": 1, "orchestrationType": "Manual" });
    json!({ "type": "InPlaceUpdate", "inPlaceUpdate": bounds })
}
