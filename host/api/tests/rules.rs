//! Rules are at the right fields, and stop no program that has to write an object.

use std::collections::BTreeSet;

use machinist_api::crd;
use serde_json::Value;

/// Writers of fields, beside users. A name alone includes all fields below it.
const WRITTEN: [(&str, &str, &str); 37] = [
    ("Machine", "metadata", "the host: finalizers, labels, annotations, owners"),
    ("Machine", "status", "the host"),
    ("Machine", "spec.providerID", "the host, when the VM is made"),
    ("Machine", "spec.nodeTemplate", "its set hands it down"),
    ("Machine", "spec.class.kind", "its set hands it down"),
    ("Machine", "spec.creationTimeout", "its set hands it down"),
    ("Machine", "spec.drainTimeout", "its set hands it down"),
    ("Machine", "spec.healthTimeout", "its set hands it down"),
    ("Machine", "spec.inPlaceUpdateTimeout", "its set hands it down"),
    ("Machine", "spec.machinePreserveTimeout", "its set hands it down"),
    ("Machine", "spec.disableHealthTimeout", "its set hands it down"),
    ("Machine", "spec.maxEvictRetries", "its set hands it down"),
    ("Machine", "spec.nodeConditions", "its set hands it down"),
    ("MachineClass", "metadata", "the host: its finalizer"),
    ("MachineClass", "status", "the host"),
    ("MachineSet", "metadata", "the host"),
    ("MachineSet", "status", "the host"),
    ("MachineSet", "spec.replicas", "scale, and its deployment"),
    ("MachineSet", "spec.minReadySeconds", "its deployment"),
    ("MachineSet", "spec.autoPreserveFailedMachineMax", "its deployment"),
    ("MachineSet", "spec.selector.matchLabels", "its deployment: the label of the hash"),
    ("MachineSet", "spec.template.metadata", "its deployment: the label of the hash"),
    ("MachineSet", "spec.template.spec.nodeTemplate", "its deployment hands it down"),
    ("MachineSet", "spec.template.spec.class.kind", "its deployment hands it down"),
    ("MachineSet", "spec.template.spec.creationTimeout", "its deployment hands it down"),
    ("MachineSet", "spec.template.spec.drainTimeout", "its deployment hands it down"),
    ("MachineSet", "spec.template.spec.healthTimeout", "its deployment hands it down"),
    ("MachineSet", "spec.template.spec.inPlaceUpdateTimeout", "its deployment hands it down"),
    ("MachineSet", "spec.template.spec.machinePreserveTimeout", "its deployment hands it down"),
    ("MachineSet", "spec.template.spec.disableHealthTimeout", "its deployment hands it down"),
    ("MachineSet", "spec.template.spec.maxEvictRetries", "its deployment hands it down"),
    ("MachineSet", "spec.template.spec.nodeConditions", "its deployment hands it down"),
    ("MachineDeployment", "metadata", "the host and the autoscaler"),
    ("MachineDeployment", "status", "the host"),
    ("MachineDeployment", "spec.replicas", "scale and the autoscaler"),
    ("MachineDeployment", "spec.rollbackTo", "the host takes it away"),
    ("MachineDeployment", "spec.paused", "the command line"),
];

/// Calls `see` with each schema inside a schema, and its path.
fn walk(schema: &Value, path: &str, see: &mut impl FnMut(&str, &Value)) {
    see(path, schema);
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        walk(inner, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, see);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(keyword).filter(|inner| inner.is_object()) {
            walk(inner, &format!("{path}.[]"), see);
        }
    }
}

fn schemas() -> Vec<(String, Value)> {
    let definitions = crd::definitions().unwrap();
    let schema = |definition| -> (String, Value) {
        let definition: Value = serde_json::to_value(definition).unwrap();
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap().to_owned();
        (kind, definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone())
    };
    definitions.iter().map(schema).collect()
}

/// A rule as it is generated: kind, place, and the rule itself.
fn rules() -> Vec<(String, String, Value)> {
    let mut rules = Vec::new();
    for (kind, schema) in schemas() {
        walk(&schema, "", &mut |path, schema| {
            let here = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
            rules.extend(here.map(|rule| (kind.clone(), path.to_owned(), rule.clone())));
        });
    }
    rules
}

/// It takes what was as wrong before, whatever else changes with it.
fn looks_back(rule: &Value) -> bool {
    rule["optionalOldSelf"] == true
}

/// The first is the second, or the second is inside of it.
fn holds(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[test]
fn rules_stand_where_they_are_meant_to() {
    let places: BTreeSet<String> = rules()
        .iter()
        .map(|(kind, at, rule)| {
            let about = rule["fieldPath"].as_str().unwrap_or_default();
            let past = if looks_back(rule) { " (was as wrong)" } else { "" };
            format!("{kind} {at}{}{about}{past}", if about.is_empty() { "" } else { " ->" })
        })
        .collect();
    let places: Vec<String> = places.into_iter().collect();
    expect_test::expect![[r#"
        Machine spec.class ->.kind (was as wrong)
        Machine spec.class ->.name (was as wrong)
        MachineClass nodeTemplate.capacity
        MachineClass nodeTemplate.instanceType
        MachineClass nodeTemplate.region
        MachineClass nodeTemplate.zone
        MachineDeployment  ->.spec.selector (was as wrong)
        MachineDeployment  ->.spec.selector.matchLabels (was as wrong)
        MachineDeployment  ->.spec.strategy (was as wrong)
        MachineDeployment spec.selector (was as wrong)
        MachineDeployment spec.selector.matchExpressions.[]
        MachineDeployment spec.selector.matchExpressions.[].key
        MachineDeployment spec.selector.matchExpressions.[].operator
        MachineDeployment spec.strategy ->.inPlaceUpdate (was as wrong)
        MachineDeployment spec.strategy ->.inPlaceUpdate.maxSurge (was as wrong)
        MachineDeployment spec.strategy ->.inPlaceUpdate.maxUnavailable (was as wrong)
        MachineDeployment spec.strategy ->.inPlaceUpdate.orchestrationType (was as wrong)
        MachineDeployment spec.strategy ->.rollingUpdate (was as wrong)
        MachineDeployment spec.strategy ->.rollingUpdate.maxSurge (was as wrong)
        MachineDeployment spec.strategy ->.rollingUpdate.maxUnavailable (was as wrong)
        MachineDeployment spec.strategy ->.type (was as wrong)
        MachineDeployment spec.strategy.type
        MachineDeployment spec.template ->.spec.class.kind (was as wrong)
        MachineDeployment spec.template ->.spec.class.name (was as wrong)
        MachineDeployment spec.template.spec.creationTimeout
        MachineDeployment spec.template.spec.drainTimeout
        MachineDeployment spec.template.spec.healthTimeout
        MachineDeployment spec.template.spec.inPlaceUpdateTimeout
        MachineDeployment spec.template.spec.machinePreserveTimeout
        MachineSet  ->.spec.selector (was as wrong)
        MachineSet  ->.spec.selector.matchLabels (was as wrong)
        MachineSet  ->.spec.template (was as wrong)
        MachineSet spec.selector.matchExpressions.[]
        MachineSet spec.selector.matchExpressions.[].key
        MachineSet spec.selector.matchExpressions.[].operator
        MachineSet spec.template ->.spec.class.kind (was as wrong)
        MachineSet spec.template ->.spec.class.name (was as wrong)"#]]
    .assert_eq(&places.join("\n"));
}

#[test]
fn a_rule_at_a_whole_object_or_spec_looks_back() {
    for (kind, at, rule) in rules() {
        let is_whole = ["", "spec", "status", "metadata"].contains(&at.as_str());
        assert!(!is_whole || looks_back(&rule), "{kind} {at:?}: {rule}");
    }
}

#[test]
fn a_rule_at_or_above_a_field_that_somebody_has_to_write_looks_back() {
    let mut above = 0;
    for (kind, at, rule) in rules() {
        for (_, written, who) in WRITTEN.iter().filter(|(of, _, _)| *of == kind) {
            // A rule about such a field, or about one below it, could stop its writer.
            assert!(!holds(written, &at), "{kind} {at} is written by {who}: {rule}");
            if holds(&at, written) {
                above += 1;
                assert!(looks_back(&rule), "{kind} {at} holds {written}, written by {who}: {rule}");
            }
        }
    }
    assert!(above > 0, "a class is such a place: the test looks at something");
}

#[test]
fn the_fields_that_somebody_writes_are_there() {
    for (kind, path, _) in WRITTEN {
        let (_, schema) = schemas().into_iter().find(|(of, _)| of == kind).unwrap();
        let mut found = false;
        walk(&schema, "", &mut |at, _| found |= at == path);
        assert!(found, "{kind} has no {path}");
    }
}

#[test]
fn a_rule_that_looks_back_is_marked_and_asks_first_whether_there_was_anything() {
    for (kind, at, rule) in rules() {
        let text = rule["rule"].as_str().unwrap();
        assert_eq!(text.contains("oldSelf"), looks_back(&rule), "{kind} {at}: {text}");
        let looks = text.split_once("oldSelf").is_none_or(|(before, _)| before.ends_with(" || ("));
        assert!(looks, "{kind} {at} asks first whether there was anything: {text}");
        assert!(!looks_back(&rule) || text.contains(" || (oldSelf.hasValue() && "), "{kind} {at}: {text}");
    }
}

#[test]
fn every_complaint_says_what_to_write() {
    for (kind, at, rule) in rules() {
        let message = rule["message"].as_str().unwrap();
        let fixes = ["set ", "name ", "write ", "say ", "need "];
        assert!(fixes.iter().any(|word| message.contains(word)), "{kind} {at}: {message}");
        assert!(["FieldValueInvalid", "FieldValueRequired"].contains(&rule["reason"].as_str().unwrap()));
    }
}
